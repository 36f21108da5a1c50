"""What lies in what on the CPU side: the parent and the op around each event, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trace_util.blocks import BLOCK, rows_where
from trace_util.events import Events, Ints
from trace_util.nesting import enclosing, nearest
from trace_util.sparse import LookedUp

# Of so many events one is looked at to choose where the blocks begin.
_SAMPLE = 64


def parents_and_ops(
    events: Events, is_host: NDArray[np.bool_], is_op: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """For each host event the innermost host event around it, and the innermost op, ``[n]``.

    -1 for none and for every other event.
    """
    parent = np.full(len(events), -1, dtype=np.int32)
    op = np.full(len(events), -1, dtype=np.int32)
    for rows, inner, known in _nested(events, is_host):
        up = nearest(inner, (np.arange(len(rows)) < known) | is_op[rows])[known:]
        parent[rows[known:]] = _rows_at(rows, inner[known:])
        # What is open from before knows the op around it already.
        found = np.where(is_op[rows], rows, op[rows])
        op[rows[known:]] = _rows_at(found, up)
    return parent, op


def parents(events: Events, is_host: NDArray[np.bool_]) -> Ints:
    """For each host event the innermost host event around it, ``[n]``; else -1."""
    parent = np.full(len(events), -1, dtype=np.int32)
    for rows, inner, known in _nested(events, is_host):
        parent[rows[known:]] = _rows_at(rows, inner[known:])
    return parent


class OpsAround(LookedUp):
    """The innermost op around each host event, and around the launch of each GPU event.

    Looked up from parent to parent: for events without Python frames, which would make long ways,
    and without external ids.
    """

    dtype = np.dtype(np.int32)

    def __init__(self, parent: Ints, launch: Ints, is_op: NDArray[np.bool_]) -> None:
        super().__init__(len(parent))
        self._parent, self._launch, self._is_op = parent, launch, is_op

    def _look_up(self, rows: Ints) -> Ints:
        launch = self._launch[rows]
        up = self._parent[np.where(launch >= 0, launch, rows)]
        while len(passing := np.flatnonzero((up >= 0) & ~self._is_op[up])):
            up[passing] = self._parent[up[passing]]
        return up


def _nested(events: Events, is_host: NDArray[np.bool_]) -> Iterator[tuple[Ints, Ints, int]]:
    """Host events block by block, and for each its parent's position in the block or -1.

    Blocks follow each other in time; what is still open at the end of one is taken along into the
    next: so many of its rows, the first ones, were in an earlier block.
    """
    tolerance = _resolution_ns(events, is_host)
    still_open = np.zeros(0, dtype=np.int32)
    for new, border in _blocks(events.start_ns, is_host):
        rows = np.concatenate((still_open, new))
        start, duration = events.start_ns[rows], events.duration_ns[rows]
        yield rows, enclosing(_thread(events, rows), start, duration, tolerance), len(still_open)
        still_open = rows[start + duration > border]


def _rows_at(rows: Ints, positions: Ints) -> Ints:
    return np.where(positions >= 0, rows[positions], -1)


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
) -> Iterator[tuple[NDArray[np.int32], int]]:
    """The wanted rows, about ``BLOCK`` at a time, each with the time when the next ones begin."""
    last = int(np.iinfo(np.int64).max)
    count = int(wanted.sum()) // BLOCK + 1
    if count == 1:
        yield rows_where(wanted), last
        return
    sample = np.sort(start_ns[::_SAMPLE][wanted[::_SAMPLE]])
    at = (np.arange(1, count) * len(sample)) // count
    low = int(np.iinfo(np.int64).min)
    for high in [*dict.fromkeys(sample[at].tolist() if len(sample) else []), last]:
        rows = rows_where(wanted, partial(_begun, start_ns, low, high))
        if len(rows):
            yield rows, high
        low = high


def _begun(start_ns: NDArray[np.int64], low_ns: int, high_ns: int, rows: Ints) -> NDArray[np.bool_]:
    at_ns = start_ns[rows]
    return (at_ns >= low_ns) & (at_ns < high_ns)


def _thread(events: Events, rows: Ints) -> NDArray[np.int64]:
    """One number for each thread of each process."""
    threads = int(events.thread.max(initial=0)) + 2
    return events.process[rows].astype(np.int64) * threads + events.thread[rows] + 1
