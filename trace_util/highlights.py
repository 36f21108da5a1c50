"""Where to look first in a trace: its recorded steps, the GPU's streams, the events that prove it.

The notes stand on the first launch of a step, the largest gap with its cause, the fused kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trace_util.events import GPU_KINDS, Ints, Kind, Trace
from trace_util.facts import Facts, trace_facts
from trace_util.focus import Focus, Note
from trace_util.gaps import Cause
from trace_util.kernel_names import decode
from trace_util.links import Links, link
from trace_util.timeline import Indexes

# Pinned tracks take room from the others; the busiest few show what there is to see.
MOST_STREAMS = 4

# A gap below this part of the window is no finding.
SMALL_GAP = 0.01

WHY = {
    Cause.UNKNOWN: "the trace does not show why",
    Cause.OVERHEAD: "the CPU had not launched the next work yet",
    Cause.SYNCHRONISE: "the CPU was waiting for the GPU",
    Cause.PROFILER: "an artefact of the recording",
}


def focus_on(trace: Trace, links: Links | None = None, facts: Facts | None = None) -> Focus | None:
    """Where to look first in a trace; ``None`` when no event's times can be trusted."""
    links = links or link(trace)
    facts = facts or trace_facts(trace, links)
    if facts.window_start_ns is None or facts.window_end_ns is None:
        return None
    gpu = np.flatnonzero(trace.events.is_kind(*GPU_KINDS))
    launches = np.flatnonzero(links.launches_kernels)
    notes = (*_first_launch(trace, links), *_largest_gaps(facts), *_fused(trace, links))
    return Focus(
        *_view(trace, facts.window_start_ns, facts.window_end_ns),
        pinned=_streams(trace, gpu),
        expanded=_processes(trace, launches),
        notes=tuple(sorted(notes, key=lambda note: note.start_ns)),
    )


def _view(trace: Trace, start_ns: int, end_ns: int) -> tuple[int, int]:
    """The window with some air, inside the file: the UI ignores a view that leaves the trace."""
    events = trace.events
    air = (end_ns - start_ns) // 50
    first = int(events.start_ns.min())
    last = int(events.end_ns.max())
    return max(start_ns - air, first), min(end_ns + air, last)


def _streams(trace: Trace, gpu: Indexes) -> tuple[str, ...]:
    """Patterns for the tracks of the GPU streams with the most work, the busiest first.

    The UI calls a track by the thread's name and number (``stream 7  7``), or ``Thread 7`` where
    the trace has no name for it. The same name on several devices is one pattern.
    """
    events = trace.events
    weight = events.duration_ns[gpu].astype(float)
    keys = _by_weight(events.process[gpu], events.thread[gpu], weight)[:MOST_STREAMS]
    return tuple(dict.fromkeys(_thread_pattern(trace, process, thread) for process, thread in keys))


def _processes(trace: Trace, launches: Indexes) -> tuple[str, ...]:
    """The pattern for the track group of the process that launches the most; empty without one."""
    column = trace.events.process[launches]
    keys = _by_weight(column, np.zeros_like(column), np.ones(len(column)))[:1]
    processes = [trace.processes[process] for process, _ in keys]
    return tuple(
        f"^{_literal(trace.process_names.get(one, 'Process').strip())} +{_literal(str(one))}$"
        for one in processes
    )


def _by_weight(first: Ints, second: Ints, weight: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The distinct pairs of two columns, the heaviest sum of weights first."""
    pairs, where = np.unique(np.stack([first, second], axis=1), axis=0, return_inverse=True)
    total = np.bincount(where.reshape(-1), weight, minlength=len(pairs))
    return [(int(a), int(b)) for a, b in pairs[np.argsort(-total, kind="stable")]]


def _thread_pattern(trace: Trace, process: int, thread: int) -> str:
    number = trace.threads[thread]
    name = trace.thread_names.get((trace.processes[process], number))
    if name is None and isinstance(number, str):
        name = number  # before 2022 a stream was numbered "stream 7 "
    if name is None:
        return f"^Thread {number}$"
    return rf"^{_literal(name.strip())}\b"


def _literal(text: str) -> str:
    """``text`` as a JavaScript regular expression that matches itself."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", text)


def _first_launch(trace: Trace, links: Links) -> Iterator[Note]:
    """The first launch of the first recorded step, against those of the later steps."""
    events = trace.events
    launches = np.flatnonzero(links.launches_kernels)
    delays, rows = [], []
    for i, step in enumerate(links.steps):
        mine = launches[links.step[launches] == i]
        if len(mine):
            row = int(mine[np.argmin(events.start_ns[mine])])
            rows.append(row)
            delays.append(int(events.start_ns[row]) - step.start_ns)
    if not rows:
        return
    text = f"first launch, {_time(delays[0])} into the step"
    if len(delays) > 1:
        text += f" (later steps: {_time(float(np.median(delays[1:])))})"
    step_name = links.steps[int(links.step[rows[0]])].name
    detail = f"{step_name}, {trace.name_of(rows[0])}"
    yield _note_on(trace, rows[0], text, detail)


def _largest_gaps(facts: Facts) -> Iterator[Note]:
    """The longest stretch without GPU work, and why.

    Where that one is the recording's own doing, the longest other one too.
    """
    gaps = facts.gaps
    for position in gaps.largest(len(gaps)):
        length = int(gaps.duration_ns[position])
        if length < SMALL_GAP * (facts.window_ns or 0):
            return
        cause = Cause(int(gaps.cause[position]))
        yield Note(
            int(gaps.start_ns[position]), length, f"{_time(length)} without GPU work: {WHY[cause]}"
        )
        if cause != Cause.PROFILER:
            return


def _fused(trace: Trace, links: Links) -> Iterator[Note]:
    """The first run of the fused kernel that takes the most time, and what it does in one."""
    events = trace.events
    kernels = np.flatnonzero(events.is_kind(Kind.KERNEL))
    if (links.step[kernels] >= 0).any():
        kernels = kernels[links.step[kernels] >= 0]
    total = np.bincount(events.name[kernels], events.duration_ns[kernels], len(trace.names))
    for name in np.argsort(-total, kind="stable")[: np.count_nonzero(total)].tolist():
        decoded = decode(trace.names[name])
        if len(decoded.ops) < 2 and not decoded.epilogue:
            continue
        mine = kernels[events.name[kernels] == name]
        row = int(mine[np.argmin(events.start_ns[mine])])
        merged = ", ".join((*decoded.ops, *decoded.epilogue))
        what = f"{merged} in one kernel" if decoded.ops else f"{decoded.role} and {merged} in one"
        length = _time(int(events.duration_ns[row]))
        yield _note_on(trace, row, f"fused, {length}: {what}", decoded.short)
        return


def _note_on(trace: Trace, row: int, text: str, detail: str) -> Note:
    events = trace.events
    return Note(int(events.start_ns[row]), int(events.duration_ns[row]), text, detail)


def _time(ns: float) -> str:
    """A time in the unit that suits it, three significant digits."""
    scale, unit = next(
        ((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if ns >= s), (1.0, "ns")
    )
    value = ns / scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
