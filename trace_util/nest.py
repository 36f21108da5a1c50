"""What lies in what on the CPU side: the parent and the op around each event, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Events, Ints
from trace_util.nesting import enclosing, nearest

# Events that are nested at a time, so that memory does not follow the length of the trace.
BLOCK = 1 << 17
# Of so many events one is looked at to choose where the blocks begin.
_SAMPLE = 64


def parents_and_ops(
    events: Events, is_host: NDArray[np.bool_], is_op: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """For each host event the innermost host event around it, and the innermost op, ``[n]``.

    -1 for none and for every other event. Blocks follow each other in time; what is still open at
    the end of one is taken along into the next.
    """
    parent = np.full(len(events), -1, dtype=np.int32)
    op = np.full(len(events), -1, dtype=np.int32)
    tolerance = _resolution_ns(events, is_host)
    still_open = np.zeros(0, dtype=np.int64)
    for new, border in _blocks(events.start_ns, is_host):
        rows = np.concatenate((still_open, new))
        start, duration = events.start_ns[rows], events.duration_ns[rows]
        inner = enclosing(_thread(events, rows), start, duration, tolerance)
        known = np.arange(len(rows)) < len(still_open)
        up = nearest(inner, known | is_op[rows])[len(still_open) :]
        inner = inner[len(still_open) :]
        parent[new] = np.where(inner >= 0, rows[inner], -1)
        # What is open from before knows the op around it already.
        found = np.where(is_op[rows], rows, op[rows])
        op[new] = np.where(up >= 0, found[up], -1)
        still_open = rows[start + duration > border]
    return parent, op


def _resolution_ns(events: Events, is_host: NDArray[np.bool_]) -> int:
    """How far an end can be off: until 2023 Kineto cut ts and dur to whole microseconds."""
    # A few events usually settle it; only a trace of whole microseconds is looked at in full.
    for some in (slice(0, 4096), slice(None)):
        host = is_host[some]
        if (events.start_ns[some][host] % 1000).any() or (
            events.duration_ns[some][host] % 1000
        ).any():
            return 1
    return 1000


def _blocks(
    start_ns: NDArray[np.int64], wanted: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """The wanted rows, about ``BLOCK`` at a time, each with the time when the next ones begin."""
    last = int(np.iinfo(np.int64).max)
    count = int(wanted.sum()) // BLOCK + 1
    if count == 1:
        yield np.flatnonzero(wanted), last
        return
    sample = np.sort(start_ns[::_SAMPLE][wanted[::_SAMPLE]])
    at = (np.arange(1, count) * len(sample)) // count
    low = int(np.iinfo(np.int64).min)
    for high in [*dict.fromkeys(sample[at].tolist() if len(sample) else []), last]:
        rows = np.flatnonzero(wanted & (start_ns >= low) & (start_ns < high))
        if len(rows):
            yield rows, high
        low = high


def _thread(events: Events, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each thread of each process."""
    threads = int(events.thread.max(initial=0)) + 2
    return events.process[rows].astype(np.int64) * threads + events.thread[rows] + 1
