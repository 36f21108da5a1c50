"""Links: parents, ops, launches and steps of hand-made events, and a slow search as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_trace import (
    annotation,
    call,
    complete,
    copy,
    frame,
    kernel,
    links_of,
    mark,
    op,
    trace_of,
)

from trace_util import nest
from trace_util.calls import Call, call_of, waits
from trace_util.events import Kind
from trace_util.nesting import enclosing, nearest


def test_parent_is_the_innermost_around() -> None:
    _, links = links_of(mark(2, 0, 100), op(10, 50), op(20, 10, "aten::add"), call(22, 3))
    assert links.parent.tolist() == [-1, 0, 1, 2]
    assert links.op.tolist() == [-1, -1, 1, 2]


def test_parent_is_on_the_same_thread() -> None:
    _, links = links_of(op(0, 100), op(10, 5, tid=7), op(10, 5, pid=7))
    assert links.parent.tolist() == [-1, -1, -1]


def test_siblings_that_touch_are_not_nested() -> None:
    _, links = links_of(op(0, 5), op(5, 0, "aten::view"), op(6, 5, "aten::add"))
    assert links.parent.tolist() == [-1, -1, -1]


def test_equal_times_nest_in_the_order_of_the_file() -> None:
    _, links = links_of(op(0, 5), op(0, 5, "aten::add"))
    assert links.parent.tolist() == [-1, 0]


def test_parent_may_end_a_nanosecond_early() -> None:
    _, links = links_of(op(7.1e9, 5), op(7.1e9 + 1, 4.001, "aten::add"), call(7.1e9 + 2, 3.002))
    assert links.parent.tolist() == [-1, 0, 1]


def test_whole_microseconds_may_end_one_early() -> None:
    # 5.9 to 7.9 around 6.0 to 7.9 is cut to 5 to 7 around 6 to 7, or to 8 by another microsecond.
    _, links = links_of(op(5, 2), op(6, 2, "aten::add"))
    assert links.parent.tolist() == [-1, 0]


def test_steps_are_parents_by_time_though_frames_cross_them() -> None:
    trace, links = links_of(
        frame(0, 30, "a.py(1): opens the step"),
        mark(2, 10, 90),
        frame(40, 40, "a.py(9): model"),
        op(50, 20),
        call(55, 5),
        frame(95, 30, "a.py(7): leaves the step"),
        op(97, 2, "aten::add"),
    )
    assert links.parent.tolist() == [-1, -1, 1, 2, 3, -1, 5]
    assert links.step.tolist() == [-1, 0, 0, 0, 0, 0, 0]
    assert trace.name_of(links.steps[0].index) == "ProfilerStep#2"


@pytest.mark.parametrize("name", ["ProfilerStep#7", "ProfileStep#7"])
@pytest.mark.parametrize("category", ["user_annotation", "Operator"])
def test_step_marks_of_every_spelling(name: str, category: str) -> None:
    _, links = links_of(complete(category, name, 5, 10))
    (step,) = links.steps
    assert (step.name, step.number, step.start_ns, step.end_ns) == (name, 7, 5000, 15000)


def test_other_names_are_no_steps() -> None:
    names = ["ProfilerStep#", "ProfilerStep#x", "myProfilerStep#3", "ProfilerStep#3 (a)"]
    _, links = links_of(*(annotation(0, 5, name) for name in names))
    assert links.steps == ()


def test_gpu_step_rows_are_no_steps() -> None:
    _, links = links_of(complete("gpu_user_annotation", "ProfilerStep#2", 0, 5, 0, 7))
    assert links.steps == ()


def test_gpu_event_belongs_to_the_step_of_its_launch() -> None:
    _, links = links_of(
        mark(2, 0, 10), call(5, 1), mark(3, 10, 10), call(12, 1, 2), kernel(30, 5), kernel(9, 5, 2)
    )
    assert links.step[-2:].tolist() == [0, 1]


def test_work_without_a_launch_belongs_to_no_step() -> None:
    _, links = links_of(mark(2, 0, 10), call(5, 1), kernel(6, 1), kernel(2, 1, 99))
    assert links.step.tolist() == [0, 0, 0, -1]


def test_without_any_call_work_belongs_to_the_step_in_which_it_starts() -> None:
    _, links = links_of(mark(2, 0, 10), mark(3, 10, 10), kernel(6, 1), kernel(12, 1), kernel(40, 1))
    assert links.step.tolist() == [0, 1, 0, 1, -1]


def test_op_of_gpu_work_is_that_of_its_launch() -> None:
    _, links = links_of(op(0, 10), call(5, 1), kernel(20, 5), kernel(30, 5, None))
    assert links.launch.tolist() == [-1, -1, 1, -1]
    assert links.op.tolist() == [-1, 0, 0, -1]


def test_op_by_external_id_where_nesting_says_nothing() -> None:
    _, links = links_of(
        op(0, 10, External_id=5), call(12, 1, External_id=5), kernel(20, 5, None, External_id=5)
    )
    assert links.op.tolist() == [-1, 0, 0]


def test_external_id_of_two_processes_says_nothing_of_gpu_work() -> None:
    _, links = links_of(
        op(0, 10, External_id=5),
        op(0, 10, pid=200, External_id=5),
        kernel(20, 5, None, External_id=5),
        call(12, 1, 3, pid=200, External_id=5),
    )
    assert links.op.tolist() == [-1, -1, -1, 1]


@pytest.mark.parametrize("correlation", [0, None])
def test_no_correlation_links_nothing(correlation: int | None) -> None:
    _, links = links_of(call(correlation=correlation), kernel(correlation=correlation))
    assert links.launch.tolist() == [-1, -1]
    assert links.is_launch.tolist() == [True, False]


def test_runtime_and_driver_call_of_one_launch_count_once() -> None:
    _, links = links_of(
        call(2, 5, 1),
        call(3, 3, 1, name="cuLaunchKernel", category="cuda_driver"),
        kernel(),
    )
    assert links.launch.tolist() == [-1, -1, 0]
    assert links.is_launch.tolist() == [True, False, False]


def test_driver_call_beneath_with_its_own_correlation_counts_once() -> None:
    _, links = links_of(
        call(2, 5, 1),
        call(3, 3, 2, name="cuLaunchKernel", category="cuda_driver"),
        kernel(correlation=2),
    )
    assert links.launch.tolist() == [-1, -1, 0]
    assert links.is_launch.tolist() == [True, False, False]


def test_driver_call_beneath_with_work_of_its_own_is_a_launch_of_its_own() -> None:
    _, links = links_of(
        call(2, 5, 1, name="cudaMemcpyAsync"),
        call(3, 3, 2, name="cuLaunchKernel", category="cuda_driver"),
        copy(10, 1, 1),
        kernel(12, 1, 2),
    )
    assert links.launch.tolist() == [-1, -1, 0, 1]
    assert links.is_launch.tolist() == [True, True, False, False]


def test_step_mark_of_2021_is_no_op() -> None:
    _, links = links_of(complete("Operator", "ProfilerStep#5", 0, 50), call(5, 1), kernel(10, 5))
    assert links.parent.tolist() == [-1, 0, -1]
    assert links.op.tolist() == [-1, -1, -1]


def test_pair_that_lost_its_kernel_counts_once() -> None:
    _, links = links_of(
        call(2, 0, 1), call(2, 0, 1, name="cuLaunchKernel", category="cuda_driver"), kernel(9, 1, 9)
    )
    assert int(links.is_launch.sum()) == 1


def test_two_launches_that_touch_are_two() -> None:
    _, links = links_of(call(2, 5, 1), call(7, 0, 2), kernel(10, 1, 1), kernel(12, 1, 2))
    assert links.launch[2:].tolist() == [0, 1]
    assert int(links.is_launch.sum()) == 2


def test_graph_replay_has_many_kernels() -> None:
    _, links = links_of(
        call(name="cudaGraphLaunch"), kernel(10, 1), kernel(12, 1), copy(14, 1), kernel(16, 1)
    )
    assert links.launch.tolist() == [-1, 0, 0, 0, 0]
    assert int(links.launches_kernels.sum()) == 1


def test_call_of_an_unknown_name_is_a_launch_when_work_names_it() -> None:
    _, links = links_of(call(name="submitSomething"), call(20, 1, 2, name="query"), kernel())
    assert links.is_launch.tolist() == [True, False, False]
    assert links.launches_kernels.tolist() == [True, False, False]


def test_merged_ranks_link_within_their_own_process() -> None:
    ranks = []
    for rank in range(3):
        host, at = 1000 + rank, 10 * rank
        ranks += [op(at, 9, pid=host, tid=host), call(at + 1, 1, 1, pid=host, tid=host)]
        ranks += [call(at + 4, 1, 2, pid=host, tid=host)]
        ranks += [kernel(at + 2, 1, 1, device=rank), kernel(at + 6, 1, 2, device=rank)]
    _, links = links_of(*ranks)
    assert links.launch.tolist() == [x for b in (0, 5, 10) for x in (-1, -1, -1, b + 1, b + 2)]


def test_merged_ranks_with_nothing_but_the_order_of_the_file() -> None:
    _, links = links_of(
        call(0, 1, 1, pid=200), call(0, 1, 1, pid=100), kernel(device=1), kernel(device=0)
    )
    assert links.launch.tolist() == [-1, -1, 0, 1]


def test_merged_ranks_whose_times_contradict_the_order_of_the_file() -> None:
    _, links = links_of(
        call(100, 1, 1, pid=200), call(0, 1, 1, pid=100), kernel(2, device=0), kernel(102, device=1)
    )
    assert links.launch.tolist() == [-1, -1, 1, 0]


def test_merged_ranks_told_apart_by_their_external_ids() -> None:
    _, links = links_of(
        call(0, 1, 1, pid=200, External_id=8),
        call(0, 1, 1, pid=100, External_id=9),
        kernel(device=0, External_id=9),
        kernel(device=1, External_id=8),
    )
    assert links.launch.tolist() == [-1, -1, 1, 0]


def test_one_process_may_drive_many_devices() -> None:
    calls = [call(2 * i, 1, i + 1) for i in range(4)]
    kernels = [kernel(2 * i + 1, 1, i + 1, device=i) for i in range(4)]
    other = [call(100, 1, 90, pid=7), kernel(102, 1, 90, device=5)]
    _, links = links_of(*calls, *kernels, *other)
    assert links.launch.tolist() == [-1] * 4 + [0, 1, 2, 3, -1, 8]


def test_two_processes_on_one_device_link_where_only_one_fits() -> None:
    _, links = links_of(
        call(0, 1, 1, pid=1),
        call(5, 1, 1, pid=2),
        call(6, 1, 8, pid=2),
        kernel(2, 1, 1),
        kernel(9, 1, 8),
    )
    assert links.launch[-1] == 2
    assert links.launch[-2] in (0, 1)


@pytest.mark.parametrize(
    ("name", "does"),
    [
        ("cudaLaunchKernel", Call.KERNEL),
        ("cudaLaunchKernelExC", Call.KERNEL),
        ("cudaLaunchCooperativeKernel", Call.KERNEL),
        ("cuLaunchKernel", Call.KERNEL),
        ("cuLaunchKernelEx", Call.KERNEL),
        ("hipLaunchKernel", Call.KERNEL),
        ("hipModuleLaunchKernel", Call.KERNEL),
        ("hipExtModuleLaunchKernel", Call.KERNEL),
        ("urEnqueueKernelLaunch", Call.KERNEL),
        ("cudaGraphLaunch", Call.GRAPH),
        ("hipGraphLaunch", Call.GRAPH),
        ("cudaMemcpyAsync", Call.COPY),
        ("hipMemcpyWithStream", Call.COPY),
        ("cudaMemsetAsync", Call.MEMSET),
        ("cudaStreamBeginCapture_v10000", Call.CAPTURE_BEGIN),
        ("cudaStreamEndCapture", Call.CAPTURE_END),
        ("cudaDeviceSynchronize", Call.SYNC),
        ("cudaStreamSynchronize", Call.SYNC),
        ("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", Call.OCCUPANCY),
        ("cudaLaunchHostFunc", Call.OTHER),
        ("cudaStreamWaitEvent", Call.OTHER),
        ("cudaStreamIsCapturing", Call.OTHER),
        ("cudaGraphInstantiateWithFlags", Call.OTHER),
        ("cudaFuncSetAttribute", Call.OTHER),
    ],
)
def test_what_a_call_does(name: str, does: Call) -> None:
    assert call_of(name) is does


def test_blocking_copies_wait_and_others_do_not() -> None:
    assert waits("cudaMemcpy") and waits("hipMemcpyWithStream") and waits("cudaEventSynchronize")
    assert not waits("cudaMemcpyAsync") and not waits("cudaMemcpy2DAsync")
    assert not waits("cudaStreamWaitEvent")


rows = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=25
)


@given(rows, st.sampled_from([0, 1]))
def test_enclosing_is_what_a_search_of_all_pairs_finds(
    intervals: list[tuple[int, int, int]], tolerance: int
) -> None:
    row, start, length = (
        np.array(column, dtype=np.int64) for column in zip(*intervals, strict=True)
    )
    found = enclosing(row, start, length, tolerance)
    # By start, then longest first, then as given: of those around, the last one is the innermost.
    order = sorted(range(len(row)), key=lambda i: (start[i], -length[i], i))
    for place, inner in enumerate(order):
        around = [
            outer
            for outer in order[:place]
            if row[outer] == row[inner]
            and start[outer] + length[outer] > start[inner]
            and start[outer] + length[outer] + tolerance >= start[inner] + length[inner]
        ]
        assert found[inner] == (around[-1] if around else -1)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.sets(st.integers(0, 39)))
def test_nearest_is_what_climbing_step_by_step_finds(back: list[int], wanted: set[int]) -> None:
    parent = np.array([max(i - step, -1) if step else -1 for i, step in enumerate(back)])
    mask = np.isin(np.arange(len(back)), list(wanted))
    found = nearest(parent, mask)
    for at in range(len(back)):
        up = parent[at]
        while up >= 0 and not mask[up]:
            up = parent[up]
        assert found[at] == up


host_events = st.lists(
    st.tuples(
        st.sampled_from(["cpu_op", "user_annotation", "python_function", "cuda_runtime"]),
        st.sampled_from([100, 101]),
        st.integers(0, 60),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=30,
)


@given(host_events, st.integers(1, 6))
def test_nesting_in_blocks_is_nesting_at_once(
    made: list[tuple[str, int, int, int]], block: int
) -> None:
    # Quarters of a microsecond: neither whole ones nor within a nanosecond of one another.
    events = [
        complete(category, "x", start / 4 + 1, length / 4 + 0.001, tid=thread)
        for category, thread, start, length in made
    ]
    trace = trace_of(*events)
    is_op = trace.events.is_kind(Kind.CPU_OP)
    is_host = np.ones(len(events), dtype=bool)
    at_once = nest.parents_and_ops(trace.events, is_host, is_op)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nest, "BLOCK", block)
        patch.setattr(nest, "_SAMPLE", 1)
        in_blocks = nest.parents_and_ops(trace.events, is_host, is_op)
    assert in_blocks[0].tolist() == at_once[0].tolist()
    assert in_blocks[1].tolist() == at_once[1].tolist()


def test_op_around_what_is_still_open_is_known_in_the_next_block() -> None:
    # The op ends where the third block begins, a nanosecond before the annotation inside it.
    trace = trace_of(op(1, 9), annotation(2, 8.001), call(10, 0.001))
    is_op = trace.events.is_kind(Kind.CPU_OP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nest, "BLOCK", 1)
        patch.setattr(nest, "_SAMPLE", 1)
        parent, around = nest.parents_and_ops(trace.events, np.ones(3, dtype=bool), is_op)
    assert (parent.tolist(), around.tolist()) == ([-1, 0, 1], [-1, 0, 0])


def test_step_number_that_no_integer_holds_marks_no_step() -> None:
    _, links = links_of(annotation(0, 5, "ProfilerStep#" + "9" * 4301), mark(3, 5, 5))
    assert [step.number for step in links.steps] == [3]
