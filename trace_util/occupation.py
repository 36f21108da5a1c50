"""How a device spent the window: busy time by kind of work, overlap, and rows that overlap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trace_util.correlation import device_key
from trace_util.events import Events, Ints, Kind, Trace
from trace_util.tally import distinct
from trace_util.timeline import Indexes, Nanoseconds, at_least, clip, union, union_ns


class DeviceFacts(NamedTuple):
    """One device. Busy is the union over its streams, so that it never passes the time there is."""

    device: int  # its number, -1 where the trace does not say
    process: str | int  # its row in the trace; merged ranks may share a number
    streams: tuple[int, ...]
    kernels: int
    copies: int
    memsets: int
    busy_ns: int  # whole file
    window_busy_ns: int
    window_copy_ns: int  # union of copies alone, inside the window
    window_kernel_ns: int
    overlap_ns: int  # with work on two or more streams at once, whole file
    same_stream_overlaps: int  # events that begin before an earlier one on their stream ends
    overcount_ns: int  # what adding durations stream by stream counts twice
    hidden_in_perfetto: int


def rows_by_device(events: Events, gpu: Indexes) -> list[Indexes]:
    """The GPU events of each device, as rows, in order of device number."""
    key = device_key(events, gpu)
    found = [gpu[key == one] for one in distinct(key).tolist()]
    return sorted(found, key=lambda rows: (int(events.device[rows[0]]), int(rows[0])))


def device_facts(
    trace: Trace, by_device: list[Indexes], window: tuple[int, int] | None
) -> tuple[DeviceFacts, ...]:
    """The facts of each device, given the rows of its GPU events."""
    return tuple(_one(trace, rows, window or (0, 0)) for rows in by_device)


def _one(trace: Trace, rows: Indexes, window: tuple[int, int]) -> DeviceFacts:
    events = trace.events
    kind, stream = events.kind[rows], events.stream[rows]
    starts, ends = events.start_ns[rows], events.ends(rows)
    inside = clip(starts, ends, *window)
    copy, kernel = kind == Kind.MEMCPY, kind == Kind.KERNEL
    streams = distinct(stream)
    unions = [union(starts[stream == one], ends[stream == one]) for one in streams.tolist()]
    summed = int((ends - starts).sum())
    return DeviceFacts(
        device=int(events.device[rows[0]]),
        process=trace.processes[int(events.process[rows[0]])],
        streams=tuple(streams.tolist()),
        kernels=int(kernel.sum()),
        copies=int(copy.sum()),
        memsets=int((kind == Kind.MEMSET).sum()),
        busy_ns=union_ns(starts, ends),
        window_busy_ns=union_ns(*inside),
        window_copy_ns=union_ns(inside[0][copy], inside[1][copy]),
        window_kernel_ns=union_ns(inside[0][kernel], inside[1][kernel]),
        overlap_ns=at_least(
            np.concatenate([one.start_ns for one in unions]),
            np.concatenate([one.end_ns for one in unions]),
            2,
        ),
        same_stream_overlaps=_overlaps(stream, starts, ends),
        overcount_ns=summed - sum(one.length_ns for one in unions),
        hidden_in_perfetto=len(hidden_in_perfetto(events.thread[rows], starts, ends)),
    )


def _overlaps(row: Ints, starts: Nanoseconds, ends: Nanoseconds) -> int:
    """Events that begin before an earlier one of their row has ended."""
    order, reach = _in_order(row, starts, ends)
    same = row[order][1:] == row[order][:-1]
    return int((same & (starts[order][1:] < reach[:-1])).sum())


def _in_order(row: Ints, starts: Nanoseconds, ends: Nanoseconds) -> tuple[Indexes, Nanoseconds]:
    """Events by row and start, longest first, and the latest end so far in their row."""
    order: Indexes = np.lexsort((-ends, starts, row))
    reach = ends[order].copy()
    bounds = np.flatnonzero(np.diff(row[order])) + 1
    for part in np.split(reach, bounds):
        np.maximum.accumulate(part, out=part)
    return order, reach


def hidden_in_perfetto(row: Ints, starts: Nanoseconds, ends: Nanoseconds) -> list[int]:
    """The events that Perfetto does not draw in their place, as positions.

    Its importer nests the slices of a track; one that begins inside an open slice and ends after it
    is dropped (v52: statistic `slice_drop_overlapping_complete_event`) or moved to a track of its
    own (v57).
    """
    order, reach = _in_order(row, starts, ends)
    inside = np.zeros(len(order), dtype=bool)
    inside[1:] = (row[order][1:] == row[order][:-1]) & (starts[order][1:] < reach[:-1])
    hidden = []
    # Only runs of overlapping events need a stack; they are rare.
    for first in np.flatnonzero(inside & ~np.append(False, inside[:-1])).tolist():
        stack = [int(ends[order[first - 1]])]
        at = first
        while at < len(order) and inside[at]:
            event = int(order[at])
            while stack and stack[-1] <= starts[event]:
                stack.pop()
            if stack and ends[event] > stack[-1]:
                hidden.append(event)
            else:
                stack.append(int(ends[event]))
            at += 1
    return hidden
