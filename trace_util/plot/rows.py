"""Which threads and streams a figure shows, and at what depth each of their events lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace_util.correlation import device_key
from trace_util.events import GPU_KINDS, Ints, Trace
from trace_util.links import HOST_KINDS, Links
from trace_util.nesting import nearest
from trace_util.plot.roles import Role
from trace_util.report.text import clean
from trace_util.report.units import counted
from trace_util.timeline import Indexes, clip

MOST_THREADS = 3
MOST_STREAMS = 6
MOST_DEPTH = 9
MOST_OVERLAP = 3  # rows for kernels that overlap on one stream


@dataclass(frozen=True)
class Row:
    """The events of one thread or stream that are drawn, and the depth of each, ``[k]``."""

    title: str
    is_gpu: bool
    events: Indexes
    depth: Indexes


def host_rows(
    trace: Trace, links: Links, roles: NDArray[np.uint8], start_ns: int, end_ns: int
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The threads that launch most (that work most, where none launches), and what is left out."""
    drawn = trace.events.is_kind(*HOST_KINDS) & (roles > Role.NONE)
    rows = _inside(trace, np.flatnonzero(drawn), start_ns, end_ns)
    depth = _depths(links, drawn, rows)
    threads = _groups(trace.events.process[rows], trace.events.thread[rows])
    weigh = _weight(trace, links, rows, start_ns, end_ns)
    threads.sort(key=lambda members: -weigh[members].sum())
    found: list[Row] = []
    notes = []
    events = trace.events
    # Of those that are shown the one that began first is on top: most often the main thread.
    shown = sorted(
        threads[:MOST_THREADS], key=lambda members: int(events.start_ns[rows[members]].min())
    )
    for members in shown:
        mine = members[depth[members] < MOST_DEPTH]
        found.append(
            Row(
                _thread_title(trace, int(rows[mine[0]]), len(found)), False, rows[mine], depth[mine]
            )
        )
    deeper = int((depth >= MOST_DEPTH).sum())
    if deeper:
        notes.append(f"{counted(deeper, 'event')} nested deeper than {MOST_DEPTH} rows left out")
    if len(threads) > MOST_THREADS:
        more = counted(len(threads) - MOST_THREADS, "CPU thread")
        notes.append(f"{more} with fewer launches left out")
    return tuple(found), tuple(notes)


def _weight(
    trace: Trace, links: Links, rows: Indexes, start_ns: int, end_ns: int
) -> NDArray[np.float64]:
    """What makes a thread worth a lane: a launch counts for more than any time without one."""
    events = trace.events
    low, high = clip(events.start_ns[rows], events.end_ns[rows], start_ns, end_ns)
    time = (high - low) / max(float((high - low).sum()), 1.0)
    weight: NDArray[np.float64] = links.is_launch[rows] * 2.0 + time
    return weight


def _depths(links: Links, drawn: NDArray[np.bool_], rows: Indexes) -> Indexes:
    """How many drawn events enclose each of ``rows``."""
    up = nearest(links.parent, drawn)
    depth = np.zeros(len(rows), dtype=np.int64)
    above = up[rows]
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, up[above], -1)
    return depth


def gpu_rows(
    trace: Trace, roles: NDArray[np.uint8], start_ns: int, end_ns: int
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The busiest streams in the order of device and stream, and what is left out."""
    events = trace.events
    gpu = np.flatnonzero(events.is_kind(*GPU_KINDS) & (roles > Role.NONE))
    rows = _inside(trace, gpu, start_ns, end_ns)
    streams = _groups(device_key(events, rows), events.thread[rows])
    streams.sort(key=lambda members: -int(events.duration_ns[rows[members]].sum()))
    more = len(streams) - MOST_STREAMS
    shown = sorted(streams[:MOST_STREAMS], key=lambda members: int(members[0]))
    shown.sort(
        key=lambda members: (
            int(events.device[rows[members[0]]]),
            int(events.process[rows[members[0]]]),
            _stream(trace, int(rows[members[0]])),
        )
    )
    found = []
    for members in shown:
        mine = rows[members]
        mine = mine[np.argsort(events.start_ns[mine], kind="stable")]
        title = _stream_title(trace, int(mine[0]), gpu)
        found.append(
            Row(title, True, mine, _overlap_depths(events.start_ns[mine], events.end_ns[mine]))
        )
    notes = (f"{counted(more, 'GPU stream')} with less work left out",) if more > 0 else ()
    return tuple(found), notes


def _inside(trace: Trace, rows: Indexes, start_ns: int, end_ns: int) -> Indexes:
    events = trace.events
    inside = (events.start_ns[rows] < end_ns) & (events.end_ns[rows] > start_ns)
    return rows[inside]


def _groups(first: Ints, second: Ints) -> list[Indexes]:
    """Positions of equal pairs, in order of the pair."""
    if not len(first):
        return []
    order = np.lexsort((second, first))
    a, b = first[order], second[order]
    bounds = np.flatnonzero((a[1:] != a[:-1]) | (b[1:] != b[:-1])) + 1
    return list(np.split(order, bounds))


def _overlap_depths(start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> Indexes:
    """0, and more only for events that begin while earlier ones of their stream still run."""
    depth = np.zeros(len(start_ns), dtype=np.int64)
    if not len(depth) or not (start_ns[1:] < np.maximum.accumulate(end_ns)[:-1]).any():
        return depth
    reach = [0] * MOST_OVERLAP
    for i, (start, end) in enumerate(zip(start_ns.tolist(), end_ns.tolist(), strict=True)):
        free = [at for at, until in enumerate(reach) if until <= start]
        at = free[0] if free else MOST_OVERLAP - 1
        reach[at] = max(reach[at], end)
        depth[i] = at
    return depth


def _thread_title(trace: Trace, row: int, place: int) -> str:
    process = trace.processes[int(trace.events.process[row])]
    thread = trace.threads[int(trace.events.thread[row])]
    name = trace.thread_names.get((process, thread), f"thread {thread}")
    return "CPU" if place == 0 else f"CPU {clean(name)}"


def _stream(trace: Trace, row: int) -> int:
    stream = int(trace.events.stream[row])
    return stream if stream >= 0 else int(trace.events.thread[row])


def _stream_title(trace: Trace, row: int, gpu: Indexes) -> str:
    """``GPU stream 7``, with the device's number where there are several.

    Ranks that were merged may each have a device 0; then the rank, or else the row in the trace,
    tells them apart.
    """
    events = trace.events
    stream, number = int(events.stream[row]), int(events.device[row])
    devices = len(np.unique(device_key(events, gpu)))
    device = f"GPU {number}" if devices > 1 else "GPU"
    if devices > len(np.unique(events.device[gpu])):
        process = trace.processes[int(events.process[row])]
        # trace_util.merge names the row "rank 1: GPU 0".
        rank = trace.process_names.get(process, "").partition(":")[0]
        device = clean(rank or f"{device} (row {process})")
    if stream < 0:
        return device
    return f"{device} stream {stream}"
