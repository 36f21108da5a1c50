"""Whose work is whose: steps that can be compared, ranges across steps, work of no step."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import RECORDED
from make_trace import call, facts_of, kernel, mark, op, trace_of

from trace_util.compare.times import times_of
from trace_util.compare.uses import kernel_uses
from trace_util.findings.launching import gpu_waits
from trace_util.findings.scene import scene_of
from trace_util.launches import unplaced_work
from trace_util.links import link
from trace_util.reader import read_trace
from trace_util.reading import reading_of
from trace_util.steps import StepFacts, sound_steps, whole_steps


def step(*, wide: bool = False, lost: int = 0, launches: int = 1, gpu: bool = True) -> StepFacts:
    """A step with that said of it."""
    return StepFacts(
        name="ProfilerStep#2", number=2, start_ns=0, duration_ns=100, kernels=launches, memsets=0,
        copies=0, launches=launches, gpu_busy_ns=50, cpu_ns=90, lost_kernels=lost,
        last_gpu_end_ns=60 if gpu else None, wide=wide, index=0,
    )  # fmt: skip


WIDE, LOSSY, SOUND = step(wide=True), step(lost=1), step()
EMPTY = step(launches=0, gpu=False)


@pytest.mark.parametrize(
    ("steps", "sound"),
    [
        ([SOUND, SOUND], [0, 1]),
        ([WIDE, SOUND, SOUND], [1, 2]),
        ([WIDE, SOUND, LOSSY, SOUND], [1, 3]),
        ([WIDE, LOSSY], [0]),
        ([LOSSY, step(wide=True, lost=1)], [0]),
        ([], []),
    ],
)
def test_sound_steps_are_neither_wide_nor_lossy(steps: list[StepFacts], sound: list[int]) -> None:
    assert sound_steps(steps) == sound


def test_kernels_of_wide_steps_are_counted() -> None:
    assert whole_steps([WIDE, SOUND, LOSSY]) == [0, 1]
    assert whole_steps([LOSSY, LOSSY]) == [0, 1]


def test_last_steps_without_launches_are_left_out() -> None:
    assert sound_steps([SOUND, EMPTY, SOUND, EMPTY, EMPTY]) == [0, 1, 2]
    assert whole_steps([LOSSY, EMPTY]) == [0]
    assert sound_steps([EMPTY, EMPTY]) == [0, 1]  # a run on the CPU
    # Work is known by its launch or by itself: a trace may lack either.
    assert sound_steps([SOUND, step(gpu=False)]) == sound_steps([SOUND, step(launches=0)]) == [0, 1]


def test_recording_that_ended_in_a_step_tells_of_the_others(shared_traces: Path) -> None:
    """Two steps: 9.3 ms with 14 launches, and 0.05 ms with none."""
    trace = read_trace(shared_traces / "mi250-rocm.json.gz")
    scene = scene_of(trace)
    assert [(step.launches, step.kernels) for step in scene.facts.steps] == [(14, 14), (0, 0)]
    assert (scene.launches_per_step, scene.step_gpu_ns) == (14, scene.facts.steps[0].gpu_busy_ns)
    (waits,) = (one for one in gpu_waits(scene))
    said = {value.name: value.amount for value in waits.values}
    assert said["launches"] == 14
    assert said["step"] == scene.facts.steps[1].start_ns - scene.facts.steps[0].start_ns
    assert sum(use.count for use in kernel_uses(reading_of(trace))) == 14


def test_range_that_ends_behind_its_last_step_does_not_cross() -> None:
    marks = mark(2, 0, 20), mark(3, 20, 20), mark(4, 50, 20)

    def crosses(start: float, end: float) -> bool:
        return bool(facts_of(*marks, op(start, end - start)).crossing_rows)

    # Into the second step; to its very end; into the pause behind it; into the third; behind it.
    found = [crosses(10, end) for end in (39, 40, 45, 55, 75)]
    assert found == [True, False, False, True, False]


def test_work_queued_before_the_recording_belongs_to_no_step() -> None:
    launched = [call(10, 1, 1), kernel(15, 5)]
    before, after = kernel(0, 5, None), kernel(30, 5, None)
    for events, rows in (
        ([before, *launched], []),
        ([*launched, after], [2]),
        ([before, *launched, after], [3]),
    ):
        trace = trace_of(*events)
        assert unplaced_work(trace, link(trace)).tolist() == rows


TRACES = sorted((RECORDED / "nvidia-h200").rglob("*.json.gz"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_gpu_time_of_a_step_is_one_number_for_all_reports(path: Path) -> None:
    trace = read_trace(path)
    explained = scene_of(trace).step_gpu_ns
    own = reading_of(trace)
    compared, checked = times_of(own, by_step=True).gpu, own.gpu_step()
    assert explained is not None and compared is not None and checked is not None
    assert explained == compared.median_ns == checked.median_ns


def test_wide_step_counts_in_no_comparison() -> None:
    """The first step of this run is wide, so that two of its three are compared."""
    own = reading_of(read_trace(RECORDED / "nvidia-h200/01_matmul/4096_bf16_warm_eager.json.gz"))
    assert [step.wide for step in own.facts.steps] == [True, False, False]
    times = times_of(own, by_step=True)
    assert times.gpu is not None and times.gpu.count == 2
    assert {use.time.count for use in kernel_uses(own)} == {3}
