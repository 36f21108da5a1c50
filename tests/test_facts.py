"""Facts: sums that one can do in one's head, and any trace at all against the slow reference."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from make_trace import (
    annotation,
    call,
    complete,
    copy,
    facts_of,
    frame,
    kernel,
    mark,
    memset,
    op,
)
from slow_reference import Slow

from trace_util import beneath, blocks, gaps, nest, sparse
from trace_util.events import Trace
from trace_util.facts import Facts, trace_facts
from trace_util.gaps import Cause
from trace_util.links import link
from trace_util.reader import read_trace
from trace_util.tally import Spread


def us(value: float) -> int:
    return int(value * 1000)


# --- window and busy time -----------------------------------------------------------------------


def test_window_reaches_to_the_last_work_launched_from_within() -> None:
    facts = facts_of(
        mark(2, 10, 10),
        mark(3, 20, 10),
        call(25, 1),
        kernel(40, 5),
        kernel(50, 5, 9),
        call(35, 1, 9),
    )
    assert (facts.window_start_ns, facts.window_end_ns) == (us(10), us(45))
    assert (facts.gpu_busy_ns, facts.window_busy_ns) == (us(10), us(5))
    assert facts.busy_share == 5 / 35


def test_window_ends_with_the_last_step_when_the_work_ends_before() -> None:
    facts = facts_of(mark(2, 10, 30), call(12, 1), kernel(15, 5))
    assert facts.window_ns == us(30)


def test_window_without_steps_is_the_ops_and_what_they_launched() -> None:
    facts = facts_of(
        annotation(0, 100), op(10, 10), op(30, 10), call(32, 1), kernel(60, 5), kernel(90, 5, 9)
    )
    assert (facts.window_start_ns, facts.window_end_ns) == (us(10), us(65))


def test_window_of_nothing_but_gpu_work_is_its_span() -> None:
    facts = facts_of(kernel(10, 5), kernel(30, 5))
    assert (facts.window_ns, facts.gpu_busy_ns, facts.busy_share) == (us(25), us(10), 0.4)


def test_busy_is_a_union_over_streams_and_devices() -> None:
    facts = facts_of(
        mark(2, 0, 100),
        kernel(10, 20),
        kernel(20, 20, stream=8),
        kernel(30, 20, device=1),
        copy(60, 10),
    )
    assert [device.busy_ns for device in facts.devices] == [us(40), us(20)]
    assert facts.gpu_busy_ns == us(50)
    assert facts.devices[0].overlap_ns == us(10)
    assert facts.devices[0].window_copy_ns == us(10)
    assert facts.devices[0].window_kernel_ns == us(30)
    assert facts.devices[0].streams == (7, 8)


def test_ranks_that_share_a_device_number_are_two_devices() -> None:
    one, other = kernel(0, 10), kernel(5, 10)
    other["pid"] = 16
    facts = facts_of(one, other)
    assert [(d.device, d.process, d.busy_ns) for d in facts.devices] == [
        (0, 0, us(10)),
        (0, 16, us(10)),
    ]


def test_trace_without_gpu_work_says_none_and_not_zero() -> None:
    facts = facts_of(op(0, 10), op(20, 10))
    assert facts.gpu_activity == "none"
    assert facts.gpu_busy_ns is None and facts.window_busy_ns is None and facts.busy_share is None
    assert facts.window_ns == us(30)
    assert len(facts.gaps) == 0


# --- by name ------------------------------------------------------------------------------------


def test_kernels_by_name_largest_total_first() -> None:
    facts = facts_of(
        op(0, 9),
        call(1, 1, 1),
        call(3, 1, 2),
        kernel(10, 3, 1, name="a"),
        kernel(20, 1, 2, name="a"),
        kernel(30, 2.5, 3, name="b"),
        kernel(40, 2, 4, name="a"),
        kernel(50, 1.001, 5, name="a"),
    )
    a, b = facts.kernels
    assert (a.name, a.count, a.total_ns, a.min_ns, a.median_ns, a.max_ns) == (
        "a",
        4,
        7001,
        1000,
        1500.5,
        3000,
    )
    assert (a.op, b.op) == ("aten::mm", None)
    assert (b.count, b.median_ns) == (1, 2500)
    assert (facts.kernel_count, facts.kernel_total_ns) == (5, 9501)


def test_op_figures_are_total_self_launches_and_gpu_time() -> None:
    facts = facts_of(
        op(0, 100, "aten::linear"),
        op(5, 10, "aten::t"),
        frame(20, 70, "a.py(1): f"),
        op(30, 40, "aten::addmm"),
        call(40, 10),
        kernel(60, 25),
    )
    by_name = {one.name: one for one in facts.ops}
    linear, t, addmm = (by_name[f"aten::{name}"] for name in ("linear", "t", "addmm"))
    assert (linear.total_ns, linear.self_ns, linear.launches) == (us(100), us(50), 1)
    assert (addmm.total_ns, addmm.self_ns, addmm.gpu_ns) == (us(40), us(30), us(25))
    assert t.metadata_only and not linear.metadata_only


def test_op_inside_its_own_overload_is_a_part_of_it() -> None:
    facts = facts_of(
        op(0, 20, "aten::sum"),
        op(5, 10, "aten::sum"),
        call(6, 2),
        kernel(30, 4),
        op(40, 5, "aten::sum"),
    )
    (one,) = facts.ops
    assert (one.count, one.total_ns, one.self_ns) == (2, us(25), us(23))
    assert (one.launches, one.gpu_ns) == (1, us(4))


def test_annotation_with_the_name_of_an_op_takes_nothing_from_it() -> None:
    facts = facts_of(annotation(0, 50, "mm"), op(5, 20, "mm"), op(30, 5, "aten::add"))
    assert {one.name: one.self_ns for one in facts.ops} == {"mm": us(20), "aten::add": us(5)}


def test_annotations_know_what_was_launched_in_them_and_marks_are_none() -> None:
    facts = facts_of(
        mark(2, 0, 100),
        annotation(10, 20, "linear_fwd"),
        call(15, 1),
        call(50, 1, 2),
        kernel(60, 5),
    )
    (one,) = facts.annotations
    assert (one.name, one.count, one.launches, one.kernels, one.gpu_ns) == (
        "linear_fwd",
        1,
        1,
        1,
        us(5),
    )


def test_launch_calls_by_name_and_what_became_of_them() -> None:
    facts = facts_of(
        call(0, 2, 1),
        call(5, 2, 2, name="cudaMemcpyAsync"),
        call(10, 2, 3, name="cudaMemsetAsync"),
        call(15, 2, 4, name="cudaGraphLaunch"),
        call(20, 2, 5, name="cudaStreamIsCapturing"),
        kernel(30, 1, 1),
        copy(32, 1, 2),
        memset(34, 1, 3),
        kernel(36, 1, 4),
        kernel(38, 1, 4),
    )
    by_name = {one.name: one for one in facts.launches}
    assert facts.launch_count == 2
    assert (facts.graph_launches, facts.graph_kernels) == (1, 2)
    assert set(by_name) == {
        "cudaLaunchKernel",
        "cudaMemcpyAsync",
        "cudaMemsetAsync",
        "cudaGraphLaunch",
    }
    assert by_name["cudaMemcpyAsync"].copies == by_name["cudaMemsetAsync"].memsets == 1
    assert by_name["cudaGraphLaunch"].kernels == 2
    # The kernel launched at 0 and the graph's first one; not the copy and the memset between them.
    assert facts.queue_delay == Spread(2, us(30 + 21), us(21), us(25.5), us(30))


def test_copies_by_kind_with_their_bytes() -> None:
    facts = facts_of(
        copy(0, 4, bytes=100),
        copy(10, 6, bytes=50),
        copy(20, 1, name="Memcpy DtoH (Device -> Pageable)"),
        memset(30, 2, bytes=8),
    )
    to_device, to_host = facts.copies
    assert (to_device.kind, to_device.count, to_device.total_ns, to_device.size_bytes) == (
        "HtoD",
        2,
        us(10),
        150,
    )
    assert (to_host.kind, to_host.size_bytes) == ("DtoH", None)
    assert (facts.memsets[0].kind, facts.memsets[0].size_bytes) == ("Memset", 8)


def test_synchronises_and_the_closing_flush() -> None:
    waiting = call(30, 5, 8, name="cudaStreamSynchronize")
    flush = call(60, 9, 9, name="cudaDeviceSynchronize")
    facts = facts_of(mark(2, 0, 50), call(5, 1), kernel(20, 12), waiting, flush)
    assert [(one.name, one.total_ns) for one in facts.syncs] == [
        ("cudaDeviceSynchronize", us(9)),
        ("cudaStreamSynchronize", us(5)),
    ]
    assert facts.flush_row == 4


def test_synchronise_inside_a_step_or_an_op_is_no_flush() -> None:
    work = [mark(2, 0, 50), call(5, 1), kernel(20, 12)]
    for at, around in ((40, []), (60, [op(55, 20)])):
        inside = call(at, 5, 9, name="cudaDeviceSynchronize")
        assert facts_of(*work, *around, inside).flush_row is None


# --- lost and unlinked work ---------------------------------------------------------------------


def test_launches_captured_into_a_graph_are_not_lost() -> None:
    facts = facts_of(
        call(0, 1, 1, name="cudaStreamBeginCapture"),
        call(2, 1, 2),
        call(2, 1, 3, tid=7),
        call(4, 1, 4, name="cudaStreamEndCapture"),
        call(6, 1, 5, name="cudaGraphLaunch"),
        kernel(10, 5, 5),
    )
    assert facts.lost_launches == 1  # the one on another thread


def test_copies_of_no_bytes_are_not_lost() -> None:
    assert facts_of(call(0, 1, 9, name="cudaMemsetAsync"), call(), kernel()).lost_launches == 0


def test_work_queued_before_the_window_has_no_launch() -> None:
    facts = facts_of(
        kernel(0, 5, 90), kernel(6, 5, 91), call(8, 1, 1), kernel(15, 5), kernel(30, 5, 92)
    )
    assert (facts.unlinked_gpu_events, facts.queued_before) == (3, 2)


# --- steps --------------------------------------------------------------------------------------


def test_step_figures_are_of_the_work_that_it_launched() -> None:
    facts = facts_of(
        mark(5, 0, 20),
        op(1, 10),
        call(5, 10, 1),
        call(16, 1, 2, name="cudaMemcpyAsync"),
        mark(6, 20, 20),
        call(25, 1, 3),
        kernel(30, 10, 1),
        copy(35, 10, 2),
        kernel(50, 5, 3),
    )
    five, six = facts.steps
    assert (five.name, five.number, five.duration_ns) == ("ProfilerStep#5", 5, us(20))
    assert (five.kernels, five.copies, five.launches, five.gpu_busy_ns) == (1, 1, 1, us(15))
    assert (five.cpu_ns, five.last_gpu_end_ns) == (us(15), us(45))
    assert (six.kernels, six.copies, six.launches, six.gpu_busy_ns) == (1, 0, 1, us(5))
    assert facts.median_step_ns == us(20)


def test_step_mark_of_2021_is_no_time_of_ops() -> None:
    (step,) = facts_of(complete("Operator", "ProfilerStep#5", 0, 20), op(4, 3)).steps
    assert step.cpu_ns == us(3)


def test_time_on_the_cpu_ends_with_the_step() -> None:
    (step,) = facts_of(mark(5, 0, 20), op(15, 10), op(16, 2, "aten::t"), call(4, 3)).steps
    assert step.cpu_ns == us(8)


def test_launch_at_the_end_of_an_op_is_not_beneath_it() -> None:
    facts = facts_of(op(0, 10), call(10, 1, 1), op(20, 10, tid=7), call(19, 5, 2))
    assert [one.launches for one in facts.ops] == [0]


def test_first_step_is_wide_when_it_is_over_twice_the_median() -> None:
    wide = facts_of(mark(2, 0, 300), mark(3, 300, 20), mark(4, 320, 19))
    assert [step.wide for step in wide.steps] == [True, False, False]
    even = facts_of(mark(2, 0, 40), mark(3, 40, 20), mark(4, 60, 20))
    assert not any(step.wide for step in even.steps)
    assert not any(step.wide for step in facts_of(mark(2, 0, 300), mark(3, 300, 20)).steps)


# --- gaps ---------------------------------------------------------------------------------------


def causes(*events: dict[str, Any]) -> list[tuple[int, int, Cause, int]]:
    """Start, end (µs), cause and evidence of each gap."""
    gaps = facts_of(*events).gaps
    return [
        (int(start) // 1000, int(end) // 1000, Cause(cause), int(row))
        for start, end, cause, row in zip(
            gaps.start_ns, gaps.end_ns, gaps.cause, gaps.evidence, strict=True
        )
    ]


def test_gap_before_a_late_launch_is_overhead() -> None:
    assert causes(
        mark(2, 0, 40), call(5, 2), kernel(10, 10), call(25, 2, 2), kernel(30, 10, 2)
    ) == [
        (0, 10, Cause.OVERHEAD, -1),
        (20, 30, Cause.OVERHEAD, -1),
    ]


def test_gap_before_work_that_was_launched_is_unknown() -> None:
    assert causes(mark(2, 0, 40), call(1, 2), call(5, 2, 2), kernel(3, 17), kernel(30, 10, 2)) == [
        (0, 3, Cause.OVERHEAD, -1),
        (20, 30, Cause.UNKNOWN, -1),
    ]


def test_gap_during_the_launch_of_the_next_work_is_overhead() -> None:
    events = [mark(2, 0, 40), call(0, 2), kernel(2, 18), call(18, 4, 2), kernel(30, 10, 2)]
    assert causes(*events)[1:] == [(20, 30, Cause.OVERHEAD, -1)]


def test_gap_after_the_closing_flush_ran_the_device_dry_is_the_profilers() -> None:
    flush = call(12, 20, 8, name="cudaDeviceSynchronize")
    assert causes(op(0, 10), op(35, 5), call(1, 1), kernel(2, 18), flush)[1:] == [
        (20, 40, Cause.PROFILER, 4)
    ]


def test_gap_before_work_without_a_launch_is_unknown() -> None:
    assert causes(mark(2, 0, 40), call(20, 2, 9), kernel(30, 10)) == [(0, 30, Cause.UNKNOWN, -1)]


def test_gap_in_which_launched_work_is_kept_waiting_is_unknown() -> None:
    # As on a rank whose GPU is in an all-reduce from before the recording, whose others are late.
    late = [mark(2, 0, 40), call(10, 20), kernel(500, 5), call(34, 2, 2), kernel(505, 5, 2)]
    assert causes(*late)[0] == (0, 500, Cause.UNKNOWN, -1)
    mostly_not_launched = [mark(2, 0, 400), call(310, 20), kernel(450, 5)]
    assert causes(*mostly_not_launched)[0] == (0, 450, Cause.OVERHEAD, -1)


def test_gap_after_a_synchronise_ran_the_device_dry() -> None:
    waiting = call(12, 9, 8, name="cudaStreamSynchronize")
    events = [mark(2, 0, 40), call(0, 2), kernel(2, 18), waiting, call(25, 2, 2), kernel(30, 10, 2)]
    assert causes(*events)[1:] == [(20, 30, Cause.SYNCHRONISE, 3)]


def test_synchronise_of_another_process_is_no_cause() -> None:
    waiting = call(12, 9, 8, name="cudaStreamSynchronize", pid=7)
    events = [mark(2, 0, 40), call(0, 2), kernel(2, 18), waiting, call(25, 2, 2), kernel(30, 10, 2)]
    assert causes(*events)[1:] == [(20, 30, Cause.OVERHEAD, -1)]


def test_gap_mostly_spent_waiting_is_a_synchronise() -> None:
    waiting = call(22, 6, 8, name="cudaEventSynchronize")
    events = [mark(2, 0, 40), call(0, 2), kernel(2, 18), waiting, call(29, 1, 2), kernel(30, 10, 2)]
    assert causes(*events)[1:] == [(20, 30, Cause.SYNCHRONISE, 3)]


def test_gap_that_the_profiler_fills_is_its_own() -> None:
    request = complete("overhead", "Activity Buffer Request", 21, 7, -1, 0)
    loading = complete("overhead", "Lazy Function Loading", 21, 7, -1, 0)
    events = [mark(2, 0, 40), call(0, 2), kernel(2, 18), call(29, 1, 2), kernel(30, 10, 2)]
    assert causes(*events, request)[1:] == [(20, 30, Cause.PROFILER, 5)]
    assert causes(*events, loading)[1:] == [(20, 30, Cause.OVERHEAD, -1)]


def test_gap_into_a_wide_first_step_is_the_profilers() -> None:
    events = []
    for i, (start, length) in enumerate([(0, 300), (300, 20), (320, 20)]):
        late = start + length - 10
        events += [mark(i, start, length), call(late, 2, i + 1), kernel(late + 4, 2, i + 1)]
    assert causes(*events) == [
        (0, 294, Cause.PROFILER, 0),
        (296, 314, Cause.OVERHEAD, -1),
        (316, 334, Cause.OVERHEAD, -1),
        (336, 340, Cause.OVERHEAD, -1),
    ]


@pytest.mark.parametrize("starts", [(0, 5), (5, 0)])
def test_each_rank_of_a_job_has_a_first_step_and_a_pace_of_its_own(starts: tuple[int, int]) -> None:
    """The first rank's steps take 20, and only its first one is wide; the other's take 100."""
    events = []
    for rank, lengths in enumerate([(300, 20, 20), (100, 100, 100)]):
        start = starts[rank]
        for i, length in enumerate(lengths):
            id, host = 10 * rank + i + 1, {"pid": 1000 + rank, "tid": 1}
            late = start + length - 10
            events += [mark(i + 2, start, length, **host), call(late, 2, id, **host)]
            events += [kernel(late + 4, 2, id, device=rank)]
            start += length
    facts = facts_of(*events)
    wide = [(step.number, step.duration_ns) for step in facts.steps if step.wide]
    assert wide == [(2, 300_000)]
    first = [facts.gaps.device.tolist().index(device) for device in (0, 1)]
    assert facts.gaps.cause[first].tolist() == [Cause.PROFILER, Cause.OVERHEAD]


def test_window_without_any_work_is_one_gap() -> None:
    steps = [mark(2, 0, 300), mark(3, 300, 20), mark(4, 320, 20)]
    assert causes(*steps, kernel(500, 5, 9), call(330, 1, 1, name="cudaMalloc")) == [
        (0, 340, Cause.OVERHEAD, -1)
    ]


def test_gaps_are_filled_by_copies_and_split_by_device() -> None:
    gaps = facts_of(
        mark(2, 0, 40), kernel(0, 10), copy(10, 20), kernel(30, 10), kernel(0, 30, device=1)
    ).gaps
    assert [
        (g, int(s), int(e)) for g, s, e in zip(gaps.device, gaps.start_ns, gaps.end_ns, strict=True)
    ] == [(1, us(30), us(40))]


def test_largest_gaps_come_first_and_sums_are_by_cause() -> None:
    gaps = facts_of(
        mark(2, 0, 60), call(4, 1), kernel(5, 5), call(35, 1, 2), kernel(40, 15, 2)
    ).gaps
    assert [int(gaps.duration_ns[i]) for i in gaps.largest(2)] == [us(30), us(5)]
    assert gaps.by_cause() == {Cause.OVERHEAD: (3, us(40))}


# --- run facts ----------------------------------------------------------------------------------


def test_unprofiled_step_time_comes_from_the_run_facts() -> None:
    told = {"median": 61.5, "min": 60, "max": 70, "n": 20, "clock": "cuda_event"}
    facts = facts_of(kernel(), run_facts={"unprofiled_step_us": told})
    step = facts.unprofiled_step
    assert step is not None
    assert (step.median_ns, step.min_ns, step.max_ns) == (61500, 60000, 70000)
    assert (step.count, step.clock) == (20, "cuda_event")


@pytest.mark.parametrize(
    "told",
    [
        *(None, {}, 5),
        *({"median": told} for told in (None, "61", 0, -61.5, 1e308, 10**400)),
    ],
)
def test_unusable_run_facts_are_none(told: Any) -> None:
    assert facts_of(kernel(), run_facts={"unprofiled_step_us": told}).unprofiled_step is None


@pytest.mark.parametrize("id", [[0], {"of": 0}, None, "0"])
def test_the_gpu_has_its_name_whatever_its_id(id: Any) -> None:
    assert facts_of(kernel(), deviceProperties=[{"id": id, "name": "GPU"}]).gpu == "GPU"


# --- any trace ----------------------------------------------------------------------------------

VOCABULARIES = [
    {},
    {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel", "gpu_memcpy": "Memcpy"},
]
ORIGINS = ["0", "5144730587666.687", "1712195495519761.132"]


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[dict[str, Any]], str]:
    """Events with decimal times, and the JSON text of a trace of them in some layout."""
    origin = Decimal(draw(st.sampled_from(ORIGINS)))
    words = draw(st.sampled_from(VOCABULARIES))
    grid = draw(st.sampled_from([1, 1000]))

    def time(most: int, least: int = 0) -> Decimal:
        return Decimal(draw(st.integers(least, most)) * grid) / 1000

    events = []
    at = Decimal(grid) / 1000
    for number in range(draw(st.integers(0, 3))):
        length = time(40, 1)
        name = draw(st.sampled_from(["ProfilerStep#", "ProfileStep#"])) + str(number)
        events.append(complete("user_annotation", name, at, length))
        at += length + time(5)
    for _ in range(draw(st.integers(0, 5))):
        category = draw(st.sampled_from(["cpu_op", "cpu_op", "user_annotation", "python_function"]))
        name = draw(st.sampled_from(["aten::mm", "aten::add"]))
        thread = draw(st.sampled_from([100, 101]))
        events.append(complete(category, name, time(80, 1), time(60), 100, thread))
    calls = draw(st.integers(0, 5))
    for correlation in range(1, calls + 1):
        name = draw(
            st.sampled_from(["cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync", "x"])
        )
        thread = draw(st.sampled_from([100, 101]))
        events.append(call(time(90, 1), time(10), correlation, name=name, tid=thread))
    for _ in range(draw(st.integers(0, 6))):
        category = draw(st.sampled_from(["kernel", "kernel", "gpu_memcpy", "gpu_memset"]))
        events.append(
            kernel(
                time(120, 1),
                time(40),
                draw(st.integers(0, 6)),
                name=draw(st.sampled_from(["gemm", "add", "relu"])),
                device=draw(st.sampled_from([0, 0, 1])),
                stream=draw(st.sampled_from([7, 8])),
                category=category,
            )
        )
    events = [e | {"cat": words.get(e["cat"], e["cat"]), "ts": origin + e["ts"]} for e in events]
    draw(st.randoms(use_true_random=False)).shuffle(events)
    return events, _text(events, draw(st.sampled_from(["first", "last", "list", "texts"])))


def _text(events: list[dict[str, Any]], layout: str) -> str:
    quote = '"' if layout == "texts" else ""
    rows = []
    for event in events:
        rest = json.dumps({key: event[key] for key in event if key not in ("ts", "dur")})
        times = f'"ts": {quote}{event["ts"]}{quote}, "dur": {event["dur"]}'
        rows.append(f"{rest[:-1]}, {times}}}")
    body = "[" + ",\n".join(rows) + "]"
    if layout == "list":
        return body
    header = '"schemaVersion": 1, "displayTimeUnit": "ms"'
    if layout == "last":
        return f'{{"traceEvents": {body}, {header}}}'
    return f'{{{header}, "traceEvents": {body}}}'


def _read(text: str, zipped: bool, columns: str = "all") -> Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
        return read_trace(path, columns=columns)


def ns(value: Decimal) -> int | float:
    scaled = value * 1000
    return int(scaled) if scaled == int(scaled) else float(scaled)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents(), st.booleans())
def test_any_trace_agrees_with_the_slow_reference(
    made: tuple[list[dict[str, Any]], str], zipped: bool
) -> None:
    events, text = made
    if not events:
        return
    slow = Slow(events)
    trace = _read(text, zipped)
    links = link(trace)
    facts = trace_facts(trace, links)
    assert trace.events.start_ns.tolist() == [ns(e["ts"]) for e in events]

    def known(found: int) -> int | None:
        return None if found < 0 else found

    for i, parent in slow.parent.items():
        assert known(int(links.parent[i])) == parent
    for i in slow.gpu:
        assert known(int(links.launch[i])) == slow.launch[i]
        assert known(int(links.op[i])) == slow.op[i]
        if slow.calls:
            assert known(int(links.step[i])) == slow.step[i]

    assert {
        k.name: (k.count, k.total_ns, k.min_ns, k.median_ns, k.max_ns) for k in facts.kernels
    } == {name: (k[0], *map(ns, k[1:])) for name, k in slow.kernels.items()}
    assert {o.name: (o.count, o.total_ns, o.self_ns, o.launches, o.gpu_ns) for o in facts.ops} == {
        name: (o[0], ns(o[1]), max(ns(o[2]), 0), o[3], ns(o[4])) for name, o in slow.ops().items()
    }
    low, high = slow.window
    assert (facts.window_start_ns, facts.window_end_ns) == (ns(low), ns(high))
    assert {d.device: (d.busy_ns, d.window_busy_ns) for d in facts.devices} == {
        device: (ns(whole), ns(inside)) for device, (whole, inside) in slow.busy.items()
    }
    if slow.gpu:
        assert (facts.gpu_busy_ns, facts.window_busy_ns) == tuple(map(ns, slow.busy_in_all))
        idle = sum(ns(high - low) - ns(inside) for _, inside in slow.busy.values())
        assert int(facts.gaps.duration_ns.sum()) == idle
    if slow.calls:
        for step, position in zip(facts.steps, range(len(slow.marks)), strict=True):
            told = slow.of_step(position)
            assert (step.kernels, step.copies, step.memsets) == (
                told["kernels"],
                told["copies"],
                told["memsets"],
            )
            assert step.launches == told["launches"]
            assert step.gpu_busy_ns == ns(told["busy"])
    delays = [ns(delay) for delay in slow.delays()]
    if delays:
        assert facts.queue_delay is not None
        assert (facts.queue_delay.count, facts.queue_delay.total_ns) == (len(delays), sum(delays))
        assert (facts.queue_delay.min_ns, facts.queue_delay.max_ns) == (delays[0], delays[-1])
    else:
        assert facts.queue_delay is None


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents(), st.integers(1, 8))
def test_the_columns_of_a_summary_give_the_same_facts(
    made: tuple[list[dict[str, Any]], str], block: int
) -> None:
    events, text = made
    # A summary does without Python frames; one that crosses an op hides it from what is in both.
    assume(events and not any("python" in event["cat"].lower() for event in events))
    full = trace_facts(_read(text, False))
    with pytest.MonkeyPatch.context() as patch:
        for module in (beneath, blocks, gaps, nest, sparse):
            patch.setattr(module, "BLOCK", block)
        brief = trace_facts(_read(text, False, "summary"))
    for name in Facts.__struct_fields__:
        one, other = getattr(full, name), getattr(brief, name)
        if name == "gaps":
            assert one.duration_ns.tolist() == other.duration_ns.tolist()
            assert one.cause.tolist() == other.cause.tolist()
        else:
            assert one == other, name


def test_the_order_of_the_file_changes_no_figure() -> None:
    events = [mark(2, 0, 50), mark(3, 50, 50)]
    for i in range(20):
        events += [op(1 + 4 * i, 3), call(2 + 4 * i, 1, i + 1), kernel(6 + 5 * i, 4 + i % 3, i + 1)]
    straight = facts_of(*events)
    random.Random(0).shuffle(events)
    mixed = facts_of(*events)
    assert mixed.kernels == straight.kernels and mixed.ops == straight.ops
    assert mixed.devices == straight.devices and mixed.gaps.by_cause() == straight.gaps.by_cause()
    assert [s.gpu_busy_ns for s in mixed.steps] == [s.gpu_busy_ns for s in straight.steps]
