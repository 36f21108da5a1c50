"""What a step of a run takes: without the profiler, on the CPU and on the GPU with it."""

from __future__ import annotations

from dataclasses import dataclass

from trace_util.ranges import Range, range_of
from trace_util.reading import Reading
from trace_util.steps import sound_steps


@dataclass(frozen=True)
class Times:
    """Times of a step with their spread; ``None`` where the trace does not tell.

    Of a whole file only the GPU's busy time is there.
    """

    unprofiled: Range | None
    clock: str | None  # of the unprofiled time: "cuda_event" or "wall"
    after_profiler: bool | None  # whether it is an upper bound, taken after the profiler had run
    cpu: Range | None  # profiled: the annotated part of each step after the first, or its mark
    # Of the work that each step launched; steps that are wide or lost kernels left out.
    gpu: Range | None


def times_of(own: Reading, by_step: bool) -> Times:
    """The times of a step, or of the whole file."""
    return _step_times(own) if by_step else _whole_times(own)


def _whole_times(own: Reading) -> Times:
    busy = own.facts.gpu_busy_ns
    gpu = range_of([busy]) if own.no_gpu is None and busy is not None else None
    return Times(unprofiled=None, clock=None, after_profiler=None, cpu=None, gpu=gpu)


def _step_times(own: Reading) -> Times:
    """The times of a step."""
    told = own.trace.header.run.get("unprofiled_step_us")
    late = told.get("after_profiler") if isinstance(told, dict) else None
    clock = own.facts.unprofiled_step.clock if own.facts.unprofiled_step else None
    steps = own.facts.steps
    marks = [step.duration_ns for step in steps]
    gpu = range_of([steps[index].gpu_busy_ns for index in sound_steps(steps)])
    return Times(
        unprofiled=own.unprofiled(),
        clock=clock,
        after_profiler=late if isinstance(late, bool) else None,
        cpu=own.dispatch() or range_of(marks[1:] or marks),
        gpu=gpu if own.no_gpu is None and not own.unplaced else None,
    )


def unlike_clocks(a: Reading, b: Reading) -> str:
    """Why two unprofiled times must not be compared, "" when they may."""
    one, other = _step_times(a), _step_times(b)
    if one.clock != other.clock and one.clock and other.clock:
        return f"taken by unlike clocks, {one.clock} and {other.clock}"
    if one.after_profiler != other.after_profiler:
        if None in (one.after_profiler, other.after_profiler) or None in (
            one.unprofiled,
            other.unprofiled,
        ):
            return ""
        return "one of them was taken after the profiler had run, and is an upper bound"
    return ""
