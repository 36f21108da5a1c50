"""What a figure shows of a trace: lanes of bars, launch arrows, steps and idle stretches, in ns.

Numbers only. What is too narrow to be seen is merged, so that the figure of a large trace is no
larger than that of a small one; whatever is left out is said in ``Panel.notes``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_util.events import GPU_KINDS, Trace, TraceError
from trace_util.facts import Facts
from trace_util.gaps import Cause
from trace_util.launches import first_of_each_launch
from trace_util.links import Links
from trace_util.plot.bars import Bar, bars_of
from trace_util.plot.roles import Role, role_column
from trace_util.plot.rows import Row, gpu_rows, host_rows
from trace_util.report.units import counted
from trace_util.timeline import Indexes

MOST_ARROWS = 90  # more are a grey cloud


@dataclass(frozen=True)
class View:
    """Which part of a trace to show: a step by its number, or a range from the window's start."""

    step: int | None = None
    range_ns: tuple[int, int] | None = None
    last_step: bool = False


@dataclass(frozen=True)
class Lane:
    """One row of the figure: a CPU thread with nested ops, or a GPU stream."""

    title: str
    is_gpu: bool
    bars: tuple[Bar, ...]
    depth: int  # rows of bars in it


@dataclass(frozen=True)
class Arrow:
    """From a launch call to the first GPU event that it launched."""

    from_lane: int
    from_depth: int
    from_ns: int
    to_lane: int
    to_depth: int
    to_ns: int


@dataclass(frozen=True)
class Mark:
    """A recorded step."""

    name: str
    number: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Idle:
    """A stretch in which a device runs nothing, and why."""

    start_ns: int
    end_ns: int
    cause: Cause
    lanes: tuple[int, ...]  # those of the device


@dataclass(frozen=True)
class Panel:
    """One trace in a figure. Times are the file's own; the axis counts from ``start_ns``."""

    start_ns: int
    end_ns: int
    since: str  # what the axis counts from
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    arrows: tuple[Arrow, ...]
    idle: tuple[Idle, ...]
    notes: tuple[str, ...]  # what is not drawn, and why


def span_of(trace: Trace, facts: Facts, view: View) -> tuple[int, int, str]:
    """Start and end in ns of what a view shows, and the name of its start.

    Raises:
        TraceError: the trace has no such step, nothing in that range, or no event at all.
    """
    if facts.window_start_ns is None or facts.window_end_ns is None:
        raise TraceError(f"{trace.path}: holds no event with a time, so there is nothing to draw")
    if view.step is not None or view.last_step:
        return _step_span(trace, facts, view.step)
    if view.range_ns is not None:
        low, high = view.range_ns
        start, end = facts.window_start_ns + low, facts.window_start_ns + high
        events = trace.events
        if not ((events.start_ns < end) & (events.end_ns > start)).any():
            raise TraceError(
                f"{trace.path}: nothing happens from {low / 1000:g} to {high / 1000:g} µs; "
                f"the window is {(facts.window_ns or 0) / 1000:,.1f} µs long"
            )
        return start, end, "the start of the window"
    first = facts.steps[0].name if facts.steps else "the window"
    return facts.window_start_ns, facts.window_end_ns, f"the start of {first}"


def _step_span(trace: Trace, facts: Facts, number: int | None) -> tuple[int, int, str]:
    if not facts.steps:
        raise TraceError(f"{trace.path}: has no step marks; leave --step out, or give --range")
    known = {step.number: step for step in facts.steps}
    step = facts.steps[-1] if number is None else known.get(number)
    if step is None:
        numbers = ", ".join(map(str, known))
        raise TraceError(f"{trace.path}: has no step {number}; it has {numbers}")
    # The GPU may finish a step long after the CPU has left it.
    end = max(step.start_ns + step.duration_ns, step.last_gpu_end_ns or 0)
    return step.start_ns, end, f"the start of {step.name}"


def panel_of(trace: Trace, links: Links, facts: Facts, view: View, resolution_ns: float) -> Panel:
    """What a view of a trace shows, with nothing finer than ``resolution_ns`` drawn on its own."""
    start, end, since = span_of(trace, facts, view)
    roles = role_column(trace, links)
    hosts, host_notes = host_rows(trace, links, roles, start, end)
    streams, gpu_notes = gpu_rows(trace, roles, start, end)
    shown = _shown_step(links, view)
    rows = (*hosts, *streams)
    lanes = tuple(
        Lane(
            row.title,
            row.is_gpu,
            bars_of(trace, links, roles, row, (start, end), resolution_ns, shown),
            int(row.depth.max(initial=0)) + 1,
        )
        for row in rows
    )
    arrows, arrow_notes = _arrows(trace, links, rows, start, end)
    return Panel(
        start_ns=start,
        end_ns=end,
        since=since,
        lanes=lanes,
        marks=_marks(facts, start, end),
        arrows=arrows,
        idle=_idle(facts, trace, rows, start, end),
        notes=(*_recorded(facts), *host_notes, *gpu_notes, *arrow_notes),
    )


def _shown_step(links: Links, view: View) -> int | None:
    """The index of the one step that is shown; ``None`` where all are."""
    if view.last_step and view.step is None:
        return len(links.steps) - 1
    numbers = [step.number for step in links.steps]
    return numbers.index(view.step) if view.step in numbers else None


def _marks(facts: Facts, start_ns: int, end_ns: int) -> tuple[Mark, ...]:
    return tuple(
        Mark(step.name, step.number, step.start_ns, step.start_ns + step.duration_ns)
        for step in facts.steps
        if step.start_ns < end_ns and step.start_ns + step.duration_ns > start_ns
    )


def _idle(
    facts: Facts, trace: Trace, rows: tuple[Row, ...], start_ns: int, end_ns: int
) -> tuple[Idle, ...]:
    gaps = facts.gaps
    inside = np.flatnonzero((gaps.start_ns < end_ns) & (gaps.end_ns > start_ns))
    found = []
    for i in inside.tolist():
        device = facts.devices[int(gaps.device[i])]
        lanes = tuple(
            at
            for at, row in enumerate(rows)
            if row.is_gpu and _device(trace, row) == (device.device, device.process)
        )
        low, high = max(int(gaps.start_ns[i]), start_ns), min(int(gaps.end_ns[i]), end_ns)
        if lanes:
            found.append(Idle(low, high, Cause(int(gaps.cause[i])), lanes))
    return tuple(found)


def _device(trace: Trace, row: Row) -> tuple[int, str | int]:
    """The number of a lane's device and its row in the trace: merged ranks may share a number."""
    first = row.events[0]
    return int(trace.events.device[first]), trace.processes[int(trace.events.process[first])]


def _arrows(
    trace: Trace, links: Links, rows: tuple[Row, ...], start_ns: int, end_ns: int
) -> tuple[tuple[Arrow, ...], tuple[str, ...]]:
    place = {
        int(event): (at, int(depth))
        for at, row in enumerate(rows)
        for event, depth in zip(row.events, row.depth, strict=True)
    }
    events = trace.events
    first = _first_of_each_launch(trace, links)
    gpu = [row for row in first if row in place and int(links.launch[row]) in place]
    gpu = [row for row in gpu if events.start_ns[row] < end_ns]
    gpu = [row for row in gpu if events.start_ns[row] >= start_ns]
    gpu = [row for row in gpu if events.end_ns[links.launch[row]] > start_ns]
    if len(gpu) > MOST_ARROWS:
        return (), (f"launch arrows left out: {counted(len(gpu), 'launch', 'launches')} in view",)
    arrows = []
    for row in gpu:
        call = int(links.launch[row])
        middle = int(events.start_ns[call] + events.duration_ns[call] // 2)
        arrows.append(
            Arrow(*place[call], max(middle, start_ns), *place[row], int(events.start_ns[row]))
        )
    return tuple(arrows), ()


def _first_of_each_launch(trace: Trace, links: Links) -> list[int]:
    gpu: Indexes = np.flatnonzero(trace.events.is_kind(*GPU_KINDS))
    return [int(row) for row in first_of_each_launch(trace, links, gpu)]


def _recorded(facts: Facts) -> tuple[str, ...]:
    if facts.gpu_activity == "missing":
        return ("GPU activity was not recorded: there are launches, but none of their work",)
    if facts.gpu_activity == "none":
        return ("nothing was launched: this trace shows a CPU at work",)
    return ()


__all__ = ["Arrow", "Bar", "Idle", "Lane", "Mark", "Panel", "Role", "View", "panel_of", "span_of"]
