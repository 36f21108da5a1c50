"""What is odd about a trace, in sentences: what it lacks, and where its numbers need care."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trace_util.events import GPU_KINDS, Kind, Trace
from trace_util.facts import Facts
from trace_util.report.text import clean
from trace_util.report.units import counted, duration

# Kineto replaces a name that holds a byte it cannot print by this word (kineto, output_json.cpp).
REPLACED_NAME = "unknown"


def oddities(trace: Trace, facts: Facts) -> list[str]:
    """One sentence for each odd thing, the reader's own warnings first."""
    return [*trace.warnings, *_missing(facts), *_step_oddities(trace, facts), *_rows(trace, facts)]


def repairs_warning(trace: Trace) -> str | None:
    """What to say to who hands the file on to the Perfetto UI, which mends less than we do."""
    if not trace.repairs:
        return None
    mended = ", ".join(f"{what} ({count})" for what, count in trace.repairs.items())
    return f"read with repairs: {mended}; the Perfetto UI may refuse the file"


def _missing(facts: Facts) -> Iterator[str]:
    if facts.gpu_activity == "missing":
        yield (
            f"GPU activity was not recorded: {counted(facts.launch_count, 'launch', 'launches')} "
            "but no kernel. Nothing can be said of the GPU. Common causes: no permission to "
            "profile (containers, WSL2), another profiler such as nsys attached, a wrong "
            "libcupti, or ProfilerActivity.CUDA left out."
        )
    if facts.unlinked_gpu_events:
        queued = facts.queued_before
        before = f", {queued:,} of them queued before the first recorded launch" if queued else ""
        yield (
            f"{counted(facts.unlinked_gpu_events, 'GPU event')} without a recorded launch{before}."
        )
    if facts.lost_launches and not any(step.lost_kernels for step in facts.steps):
        yield (
            f"{counted(facts.lost_launches, 'launch', 'launches')} without a recorded kernel: the "
            "GPU figures are too low."
        )


def _step_oddities(trace: Trace, facts: Facts) -> Iterator[str]:
    if not facts.steps:
        yield "No step marks: the window is taken as one region, times per step are unavailable."
    for step in facts.steps:
        if step.lost_kernels:
            lost = counted(step.lost_kernels, "kernel")
            yield f"{clean(step.name)} lost {lost}: leave it out of averages."
    wide = [step for step in facts.steps if step.wide]
    if wide:
        middle = duration(facts.median_step_ns)
        names = ", ".join(f"{clean(step.name)} ({duration(step.duration_ns)})" for step in wide)
        yield f"{names}: over twice the median step of {middle}; compare the others."
    if facts.crossing_rows:
        first = clean(trace.name_of(facts.crossing_rows[0]))
        yield (
            f"{counted(len(facts.crossing_rows), 'range crosses', 'ranges cross')} into a later "
            f"step (first: {first}): step() was called inside. Each counts where it began."
        )
    end = trace.header.record_end_ns
    last = facts.steps[-1] if facts.steps else None
    if last and end is not None and (last.last_gpu_end_ns or end) > end:
        yield f"{clean(last.name)}: GPU work runs past the recording and may be cut."


def _rows(trace: Trace, facts: Facts) -> Iterator[str]:
    hidden = facts.hidden_in_perfetto
    if hidden:
        yield (
            f"Perfetto will not show {counted(hidden, 'GPU event')} in place: they overlap another "
            "one on their row. The figures here count them."
        )
    twice = sum(device.overcount_ns for device in facts.devices)
    if twice:
        yield (
            f"Durations on one stream overlap: adding them up counts {duration(twice)} twice. "
            "Busy times here are unions."
        )
    for kernel in facts.kernels:
        if kernel.exceeds_span:
            yield (
                f"{clean(kernel.name)}: its durations on one stream add up to more than the time "
                "from the first kernel there to the last; they overlap or are wrong."
            )
    replaced = _replaced_names(trace)
    if replaced:
        yield (
            f"{counted(replaced, 'event')} named {REPLACED_NAME}: the profiler writes that for a "
            "name that is not ASCII; they need not be one and the same."
        )


def _replaced_names(trace: Trace) -> int:
    if REPLACED_NAME not in trace.names:
        return 0
    kinds = trace.events.is_kind(Kind.CPU_OP, Kind.USER_ANNOTATION, Kind.PYTHON, *GPU_KINDS)
    name = trace.names.index(REPLACED_NAME)
    return int(np.count_nonzero(kinds & (trace.events.name == name)))
