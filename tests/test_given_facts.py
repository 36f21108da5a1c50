"""What people stumbled over in public bug reports, as small traces with the right answer.

Each test names the report that it stands for. The reader's own cases (damaged files) are tested
with the reader.
"""

from __future__ import annotations

from typing import Any

import pytest
from make_trace import (
    Event,
    annotation,
    call,
    complete,
    copy,
    facts_of,
    frame,
    kernel,
    mark,
    op,
    read,
    trace_of,
)

from trace_util.facts import trace_facts
from trace_util.gaps import Cause
from trace_util.links import link
from trace_util.report.oddities import oddities


def us(value: float) -> int:
    return int(value * 1000)


def told(*events: Event, **header: Any) -> str:
    """All sentences about what is odd, on one line."""
    trace = trace_of(*events, **header)
    return " ".join(oddities(trace, trace_facts(trace)))


def steps(count: int = 3, length: float = 20, first: int = 2) -> list[Event]:
    return [mark(first + i, i * length, length) for i in range(count)]


# --- GPU events missing -------------------------------------------------------------------------


def test_launches_without_any_kernel_are_not_an_idle_gpu() -> None:
    """pytorch/pytorch#99615, pytorch/kineto#762, NVIDIA/TensorRT-LLM#9073: CUPTI did not record."""
    events = [*steps(), *(call(3 + 10 * i, 2, i + 1) for i in range(6))]
    facts = facts_of(*events, deviceProperties=[{"id": 0, "name": "NVIDIA A100"}])
    assert facts.gpu_activity == "missing"
    assert facts.gpu_busy_ns is None and facts.busy_share is None
    assert len(facts.gaps) == 0
    assert facts.lost_launches == 0
    assert facts.launch_count == 6 and [step.launches for step in facts.steps] == [2, 2, 2]
    assert "GPU activity was not recorded: 6 launches but no kernel" in told(*events)


def test_step_that_lost_its_kernels_is_named() -> None:
    """pytorch/pytorch#192021: the first iterations of each session lose their kernels."""
    events = steps()
    for i in range(6):
        events.append(call(3 + 10 * i, 2, i + 1))
        if i >= 2:
            events.append(kernel(6 + 10 * i, 3, i + 1))
    facts = facts_of(*events)
    assert facts.gpu_activity == "recorded"
    assert [step.lost_kernels for step in facts.steps] == [2, 0, 0]
    assert facts.lost_launches == 2
    assert "ProfilerStep#2 lost 2 kernels: leave it out of averages." in told(*events)


# --- Schedule and steps -------------------------------------------------------------------------


def test_last_step_is_kept_and_may_be_cut() -> None:
    """HolisticTraceAnalysis#76: the last step was dropped."""
    end = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 70}
    events = [*steps(), call(55, 1), kernel(60, 15), end]
    facts = facts_of(*events)
    assert facts.steps[-1].kernels == 1 and facts.steps[-1].gpu_busy_ns == us(15)
    assert facts.window_end_ns == us(75)
    assert "ProfilerStep#4: GPU work runs past the recording and may be cut." in told(*events)
    assert "may be cut" not in told(*steps(), call(55, 1), kernel(60, 5), end)


def test_trace_without_steps_is_one_region() -> None:
    """HolisticTraceAnalysis#238: tools give up without step marks."""
    events = [op(0, 10), call(2, 1), kernel(12, 8)]
    facts = facts_of(*events)
    assert facts.steps == () and facts.window_ns == us(20) and facts.busy_share == 0.4
    assert "times per step are unavailable" in told(*events)


def test_one_step_around_everything() -> None:
    """mlcommons/chakra#162: a single mark around 32 products."""
    events = [mark(1, 0, 400)]
    for i in range(32):
        events += [op(10 * i, 5), call(10 * i + 1, 2, i + 1), kernel(10 * i + 5, 5, i + 1)]
    facts = facts_of(*events)
    (step,) = facts.steps
    assert (step.kernels, step.launches, step.wide) == (32, 32, False)
    assert facts.busy_share == 160 / 400


def test_op_that_crosses_into_a_step_counts_where_it_began() -> None:
    """pytorch-lightning#8222: `step()` inside a closure, the range crosses `Optimizer.step`."""
    events = [
        *steps(),
        annotation(15, 10, "Optimizer.step#SGD.step"),
        op(16, 2),
        call(22, 1),
        kernel(24, 3),
    ]
    trace = trace_of(*events)
    links = link(trace)
    facts = trace_facts(trace, links)
    assert [trace.name_of(row) for row in facts.crossing_rows] == ["Optimizer.step#SGD.step"]
    assert links.step.tolist() == [0, 1, 2, 0, 0, 1, 1]
    assert told(*events).count("cross") == 1
    assert "1 range crosses into a later step (first: " in told(*events)


def test_ranges_inside_or_around_a_step_do_not_cross() -> None:
    around, inside, to_its_end = annotation(0, 60, "all"), op(25, 5), op(30, 10)
    assert facts_of(*steps(), around, inside, to_its_end).crossing_rows == ()


# --- Time values --------------------------------------------------------------------------------


def test_events_at_zero_stretch_nothing() -> None:
    """pytorch/pytorch#188481: half of the events have ts and dur of 0."""
    good = [kernel(1e12 + 10 * i, 5, i + 1) for i in range(4)]
    zero = [kernel(0, 0, 10 + i) for i in range(4)]
    facts = facts_of(*good, *zero)
    assert (facts.window_start_ns, facts.window_ns) == (10**15, us(35))
    assert facts.busy_share == 20 / 35
    assert sum(trace_of(*good, *zero).skipped.values()) == 4


def test_impossible_durations_and_times_are_left_out() -> None:
    """pytorch/pytorch#124080, tensorpack#819: unfinished ops, and a copy dated years ahead."""
    good = [op(1e9, 100), op(1e9 + 10, 20, "aten::t")]
    bad = [op(1e9 + 40, -5), op(1e9 + 40, 9.2e15), copy(1e16, 5, 0)]
    facts = facts_of(*good, *bad)
    assert facts.window_ns == us(100)
    assert sum(one.self_ns for one in facts.ops) == us(100)
    assert facts.copies == ()
    assert sum(trace_of(*good, *bad).skipped.values()) == 3


def test_child_that_ends_half_a_nanosecond_late_is_a_child() -> None:
    """pytorch/pytorch#116830: doubles are this coarse."""
    trace = read(
        {"traceEvents": [op(7100000000000.001, 10), op(7100000000002.0005, 8.001, "aten::add")]}
    )
    assert link(trace).parent.tolist() == [-1, 0]


def test_figures_do_not_depend_on_the_base_time() -> None:
    """pytorch/kineto#890: times are relative to a base that differs from file to file."""
    events = [*steps(), call(5, 1), kernel(8, 3)]
    one = trace_of(*events, baseTimeNanoseconds=0)
    other = trace_of(*events, baseTimeNanoseconds=1_790_857_026_000_000_000)
    assert trace_facts(one).devices == trace_facts(other).devices
    assert other.header.base_time_ns == 1_790_857_026_000_000_000


# --- Overlap, and what Perfetto drops -----------------------------------------------------------


def test_kernels_that_cross_on_one_stream_are_counted_and_named() -> None:
    """google/perfetto#4280: the second of the two is dropped without a word."""
    events = [kernel(3, 3.776, 1), kernel(5, 2, 2)]
    facts = facts_of(*events)
    assert facts.hidden_in_perfetto == 1
    assert facts.gpu_busy_ns == 4000
    assert facts.kernel_count == 2 and facts.kernel_total_ns == 5776
    assert facts.devices[0].same_stream_overlaps == 1
    assert "Perfetto will not show 1 GPU event in place" in told(*events)


@pytest.mark.parametrize(
    ("events", "hidden"),
    [
        ([kernel(0, 10), kernel(10, 10)], 0),  # touching
        ([kernel(0, 10), kernel(2, 8)], 0),  # nested, up to the same end
        ([kernel(0, 10), kernel(5, 10, stream=8)], 0),  # on another row
        ([kernel(0, 10), kernel(5, 10, device=1)], 0),
        ([kernel(0, 10), kernel(5, 10), kernel(8, 10)], 2),
        ([kernel(0, 10), kernel(5, 10), kernel(12, 10)], 1),  # the dropped one hides nothing
        ([kernel(0, 20), kernel(5, 10), kernel(12, 5), kernel(18, 5)], 2),
        ([kernel(0, 20), kernel(5, 5), kernel(10, 5)], 0),  # side by side inside another
    ],
)
def test_what_perfetto_hides_follows_its_nesting(events: list[Event], hidden: int) -> None:
    assert facts_of(*events).hidden_in_perfetto == hidden


def test_kernel_that_lasts_far_over_the_next_ones() -> None:
    """AMD-AGI/TraceLens#669: adding durations over-counts by orders of magnitude."""
    events = [kernel(0, 1.6e6, 1), *(kernel(10 * i, 5, i, name="k") for i in range(2, 6))]
    facts = facts_of(*events)
    assert facts.gpu_busy_ns == us(1.6e6)
    assert facts.busy_share == 1.0
    assert facts.kernels[0].exceeds_span
    assert facts.devices[0].overcount_ns == us(20)
    assert "counts 20.0 µs twice" in told(*events)
    assert not facts_of(kernel(0, 5), kernel(10, 5)).kernels[0].exceeds_span
    assert facts_of(kernel(0, 5), kernel(5, 5)).devices[0].same_stream_overlaps == 0


def test_streams_that_work_at_once_are_not_called_wrong() -> None:
    """Two streams add up to more than there is from first to last, and nothing overlaps."""
    both = [kernel(10, 100, 1, stream=7), kernel(10, 100, 2, stream=8), kernel(110, 50, 3)]
    facts = facts_of(*both)
    assert (facts.kernels[0].exceeds_span, facts.devices[0].overcount_ns) == (False, 0)
    assert "overlap" not in told(*both)


def test_durations_that_overlap_are_measured_on_their_own_stream() -> None:
    inside = [kernel(3, 3.776, 1), kernel(5, 2, 2), kernel(40, 10, 3, name="other", stream=8)]
    facts = facts_of(*inside)
    assert [(one.name, one.exceeds_span) for one in facts.kernels] == [
        ("other", False),
        ("k", True),
    ]
    assert "k: its durations on one stream add up to more than the time from the first" in told(
        *inside
    )


# --- Launch and kernel --------------------------------------------------------------------------


def test_launch_calls_of_every_name_count_and_pairs_once() -> None:
    """HolisticTraceAnalysis#61, pytorch/pytorch#99571: counting `cudaLaunchKernel` loses half."""
    names = [
        ("cudaLaunchKernel", "cuda_runtime"),
        ("cudaLaunchKernelExC", "cuda_runtime"),
        ("cuLaunchKernel", "cuda_driver"),
        ("cuLaunchKernelEx", "cuda_driver"),
        ("hipLaunchKernel", "cuda_runtime"),
        ("hipModuleLaunchKernel", "cuda_runtime"),
        ("hipExtModuleLaunchKernel", "cuda_runtime"),
    ]
    events = []
    for i, (name, category) in enumerate(names):
        events += [
            call(10 * i, 3, i + 1, name=name, category=category),
            kernel(10 * i + 5, 2, i + 1),
        ]
    pair = [
        call(100, 5, 50),
        call(101, 3, 50, name="cuLaunchKernel", category="cuda_driver"),
        kernel(110, 2, 50),
    ]
    facts = facts_of(*events, *pair)
    assert facts.launch_count == 8
    assert facts.lost_launches == facts.unlinked_gpu_events == 0


def test_merged_ranks_with_equal_correlations() -> None:
    """AMD-AGI/TraceLens#581, NVIDIA/PyProf#79: kernels went to the wrong rank."""
    ranks = [
        [
            op(0, 9, f"rank{r}", pid=100 + r),
            call(2 + r, 1, 1, pid=100 + r),
            kernel(5, 2 + r, 1, device=r),
        ]
        for r in (0, 1)
    ]
    trace = trace_of(*ranks[0], *ranks[1])
    facts = trace_facts(trace)
    assert {one.name: one.gpu_ns for one in facts.ops} == {"rank0": us(2), "rank1": us(3)}
    assert [device.kernels for device in facts.devices] == [1, 1]


def test_very_long_and_mangled_names() -> None:
    """pytorch/kineto#1142, triton#8000."""
    mangled = "_ZN7cutlass6KernelI" + "x" * 1300
    facts = facts_of(kernel(0, 5, 1, name=mangled), kernel(10, 3, 2, name="n" * 2048))
    assert [len(one.name) for one in facts.kernels] == [len(mangled), 2048]


# --- Other vendors and vocabularies -------------------------------------------------------------


def test_correlation_of_zero_is_no_link() -> None:
    """ROCm/roctracer#100: communication kernels all carry 0."""
    events = [
        call(0, 2, 0, name="hipExtModuleLaunchKernel"),
        *(kernel(10 * i + 5, 5, 0) for i in range(3)),
    ]
    facts = facts_of(*events)
    assert (facts.kernel_count, facts.unlinked_gpu_events) == (3, 3)
    assert facts.launches[0].kernels == 0
    assert facts.lost_launches == 0  # nobody can tell
    assert facts_of(call(0, 2, 9), kernel(5, 5, 0)).lost_launches == 0
    assert facts_of(call(0, 2, 0), kernel(5, 5, 9)).lost_launches == 0
    assert facts_of(call(0, 2, 8), kernel(5, 5, 9)).lost_launches == 1
    assert "3 GPU events without a recorded launch" in told(*events)


def test_vocabulary_of_2021() -> None:
    """pytorch/kineto#659: `Operator`, `Runtime`, `Kernel`, `Memcpy`, tid as "stream 7"."""
    events = [
        complete("Operator", "ProfilerStep#5", 0, 50, 25738, "25738"),
        complete("Operator", "aten::mm", 5, 20, 25738, "25738"),
        complete("Runtime", "cudaLaunchKernel", 8, 2, 25738, "25738", correlation=1),
        complete("Runtime", "cudaMemcpyAsync", 14, 2, 25738, "25738", correlation=2),
        complete(
            "Kernel", "volta_sgemm", 20, 10, 0, "stream 7 ", correlation=1, device=0, stream=7
        ),
        complete("Memcpy", "Memcpy HtoD", 40, 5, 0, "stream 7 ", correlation=2, device=0, stream=7),
    ]
    facts = facts_of(*events)
    assert facts.kernels[0].op == "aten::mm"
    assert (facts.steps[0].kernels, facts.steps[0].copies, facts.steps[0].launches) == (1, 1, 1)
    assert facts.devices[0].streams == (7,)
    assert [one.name for one in facts.ops] == ["aten::mm"]
    assert facts.busy_share == 15 / 50


def test_categories_in_any_letter_case() -> None:
    facts = facts_of(kernel(category="KERNEL"), call(category="CUDA_Runtime"))
    assert (facts.kernel_count, facts.launch_count, facts.unlinked_gpu_events) == (1, 1, 0)


# --- Annotations, memory, odd processes ---------------------------------------------------------


def test_gpu_annotations_are_no_work_and_no_steps() -> None:
    """HolisticTraceAnalysis#8: rows of annotations were taken for kernels."""
    events = [
        mark(2, 0, 60),
        call(1, 1, 1),
        call(3, 1, 2),
        kernel(10, 5, 1),
        kernel(40, 5, 2),
        complete("gpu_user_annotation", "ProfilerStep#2", 10, 35, 0, 7),
    ]
    facts = facts_of(*events)
    assert facts.gpu_busy_ns == us(10)
    assert (len(facts.steps), facts.steps[0].kernels, facts.kernel_count) == (1, 2, 2)
    assert facts.annotations == ()


def test_memory_instants_have_no_time() -> None:
    """HolisticTraceAnalysis#222: `[memory]` instants, with negative bytes and device -1."""
    instants = [
        {
            "ph": "i",
            "s": "t",
            "name": "[memory]",
            "cat": "cpu_instant_event",
            "pid": 100,
            "tid": 100,
            "ts": 900 + i,
            "args": {"Device Id": -1, "Bytes": -4096},
        }
        for i in range(5)
    ]
    trace = trace_of(op(0, 10), *instants)
    assert trace_facts(trace).window_ns == us(10)
    assert trace.phases == {"X": 1, "i": 5}


def test_rows_of_the_profilers_own_books_are_no_work() -> None:
    span = complete("Trace", "PyTorch Profiler (0)", 0, 1000, "Spans", "PyTorch Profiler")
    facts = facts_of(span, op(10, 10), call(12, 1), kernel(15, 10))
    assert facts.window_ns == us(15)


# --- Ranks --------------------------------------------------------------------------------------


def test_trace_of_a_single_gpu_needs_no_rank() -> None:
    """pytorch/kineto#974: no `distributedInfo`."""
    trace = trace_of(op(0, 10), call(2, 1), kernel(12, 3))
    assert trace.header.distributed == {}
    assert trace_facts(trace).kernel_count == 1


def test_absent_calls_are_normal() -> None:
    """HolisticTraceAnalysis#107: look-ups fail when a runtime name is absent."""
    facts = facts_of(op(0, 10), kernel(12, 3))
    assert facts.launches == () and facts.syncs == () and facts.queue_delay is None
    assert facts.flush_row is None


# --- Reading the numbers ------------------------------------------------------------------------


def test_two_streams_at_once_are_not_two_hundred_percent() -> None:
    """GindaChen/nsys-ai#574: the sum over streams gave 112 %."""
    facts = facts_of(mark(2, 0, 100), kernel(0, 100, 1), kernel(0, 100, 2, stream=8))
    assert facts.busy_share == 1.0
    assert facts.devices[0].overlap_ns == us(100)


def test_gap_that_a_copy_fills_is_no_gap() -> None:
    """HolisticTraceAnalysis#4: idle time counted copies as nothing."""
    facts = facts_of(mark(2, 0, 30), kernel(0, 10, 1), copy(10, 10, 2), kernel(20, 10, 3))
    assert facts.busy_share == 1.0 and len(facts.gaps) == 0
    assert facts.devices[0].window_copy_ns == us(10)
    assert facts.devices[0].window_kernel_ns == us(20)


def test_first_step_is_an_outlier_and_named_as_one() -> None:
    """pytorch/kineto#328: the first active step has a dead window that the others lack."""
    events = [mark(2, 0, 300), mark(3, 300, 20), mark(4, 320, 19), call(290, 1), kernel(295, 2)]
    facts = facts_of(*events)
    assert [step.duration_ns for step in facts.steps] == [us(300), us(20), us(19)]
    assert facts.median_step_ns == us(20)
    assert facts.gaps.by_cause()[Cause.PROFILER] == (1, us(295))
    assert "ProfilerStep#2 (300 µs): over twice the median step of 20.0 µs" in told(*events)


def test_names_that_were_replaced_are_explained() -> None:
    """pytorch/kineto#1027: a name that is not ASCII becomes `unknown`."""
    events = [op(0, 5, "unknown"), op(10, 5, "unknown")]
    assert "2 events named unknown: the profiler writes that for a name" in told(*events)
    assert facts_of(*events).ops[0].count == 2


def test_python_frames_do_not_count_as_work() -> None:
    """pytorch/pytorch#136404: compiling with stacks leaves millions of frames."""
    events = [
        *steps(),
        *(frame(i / 10, 3, f"f{i}") for i in range(300)),
        op(5, 5),
        call(6, 1),
        kernel(9, 3),
    ]
    facts = facts_of(*events)
    assert facts.window_ns == us(60) and facts.steps[0].cpu_ns == us(5)
    assert [one.name for one in facts.ops] == ["aten::mm"]
