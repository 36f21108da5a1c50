"""How a device spent the window: busy time by kind of work, overlap, and rows that overlap."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trace_util.correlation import device_key
from trace_util.events import Events, Ints, Kind, Trace
from trace_util.tally import distinct
from trace_util.timeline import Indexes, Nanoseconds, at_least, clip, merged, union_ns


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
    kind = events.kind[rows]
    starts, ends = events.start_ns[rows], events.ends(rows)
    streams, overlap, overcount = _by_stream(events.stream[rows], starts, ends)
    overlaps, hidden = overlaps_and_hidden(events.thread[rows], starts, ends)
    busy = union_ns(starts, ends)
    starts, ends = clip(starts, ends, *window)
    copy, kernel = kind == Kind.MEMCPY, kind == Kind.KERNEL
    return DeviceFacts(
        device=int(events.device[rows[0]]),
        process=trace.processes[int(events.process[rows[0]])],
        streams=streams,
        kernels=int(kernel.sum()),
        copies=int(copy.sum()),
        memsets=int((kind == Kind.MEMSET).sum()),
        busy_ns=busy,
        window_busy_ns=union_ns(starts, ends),
        window_copy_ns=union_ns(starts[copy], ends[copy]),
        window_kernel_ns=union_ns(starts[kernel], ends[kernel]),
        overlap_ns=overlap,
        same_stream_overlaps=overlaps,
        overcount_ns=overcount,
        hidden_in_perfetto=hidden,
    )


def _by_stream(
    stream: Ints, starts: Nanoseconds, ends: Nanoseconds
) -> tuple[tuple[int, ...], int, int]:
    """The streams, the time with work on several, and what adding durations counts twice."""
    streams = tuple(distinct(stream).tolist())
    overcount = int((ends - starts).sum())
    if len(streams) == 1:  # nothing to tell apart, and no copy of all events
        return streams, 0, overcount - union_ns(starts, ends)
    unions = [merged(starts[stream == one], ends[stream == one]) for one in streams]
    overcount -= sum(int((end - start).sum()) for start, end in unions)
    every = [np.concatenate(column) for column in zip(*unions, strict=True)]
    del unions
    return streams, at_least(every[0], every[1], 2), overcount


def overlaps_and_hidden(row: Ints, starts: Nanoseconds, ends: Nanoseconds) -> tuple[int, int]:
    """Events that begin before an earlier one of their row ends, and those Perfetto misplaces.

    Its importer nests the slices of a track; one that begins inside an open slice and ends after it
    is dropped (v52: statistic `slice_drop_overlapping_complete_event`) or moved to a track of its
    own (v57).
    """
    order = np.lexsort((-ends, starts, row)).astype(np.int32)
    row, starts, ends = row[order], starts[order], ends[order]
    del order
    inside = np.zeros(len(row), dtype=bool)
    borders = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), len(row)]
    for first, end in pairwise(borders):
        reach = np.maximum.accumulate(ends[first:end])
        inside[first + 1 : end] = starts[first + 1 : end] < reach[:-1]
    hidden = 0
    # Only runs of overlapping events need a stack; they are rare.
    for first in np.flatnonzero(inside & ~np.append(False, inside[:-1])).tolist():
        stack = [int(ends[first - 1])]
        at = first
        while at < len(row) and inside[at]:
            while stack and stack[-1] <= starts[at]:
                stack.pop()
            if stack and ends[at] > stack[-1]:
                hidden += 1
            else:
                stack.append(int(ends[at]))
            at += 1
    return int(inside.sum()), hidden
