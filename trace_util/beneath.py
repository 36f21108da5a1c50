"""What was launched from within a stretch of CPU time, and what of that time is the op's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trace_util.blocks import BLOCK, in_blocks, rows_where
from trace_util.events import CALL_KINDS, GPU_KINDS, Events, Ints, Kind, Trace
from trace_util.links import Links
from trace_util.tally import distinct
from trace_util.timeline import Indexes, Nanoseconds


class Beneath(NamedTuple):
    """For some host events what was launched from within them, at any depth; columns ``[k]``."""

    launches: Indexes  # calls that put work on a stream
    kernels: Indexes
    gpu_ns: Nanoseconds  # sum of the durations of the GPU events, not their union


class Launched:
    """The launches of a trace in order of thread and time, with running sums of their work."""

    def __init__(self, trace: Trace, links: Links) -> None:
        self.events = events = trace.events
        self._threads = int(events.thread.max(initial=0)) + 2
        calls = rows_where(links.is_launch)
        pieces = [calls[at : at + BLOCK] for at in range(0, len(calls), BLOCK)]
        self._known = _distinct_in(self._thread(piece) for piece in pieces)
        self._starts = events.start_ns[calls]
        self._starts.sort()
        key = np.empty(len(calls), dtype=np.int64)
        for at, piece in zip(range(0, len(calls), BLOCK), pieces, strict=True):
            key[at : at + BLOCK] = self._key(piece, events.start_ns[piece])
        order = np.argsort(key, kind="stable").astype(np.int32)
        self._sorted = key[order]
        del key, pieces
        self._gpu_ns = _running(events, links, calls, order, "ns")
        self._kernels = _running(events, links, calls, order, "kernels")

    def inside(self, rows: Indexes) -> Beneath:
        """What each of these host events launched: by start, on its own thread."""
        events = self.events
        first = np.searchsorted(self._sorted, self._key(rows, events.start_ns[rows]))
        last = np.searchsorted(self._sorted, self._key(rows, events.ends(rows)))
        # A thread without launches has the place of the next one, where it would count that one's.
        last[~np.isin(self._thread(rows), self._known)] = 0
        first = np.minimum(first, last)
        return Beneath(
            last - first,
            self._kernels[last] - self._kernels[first],
            self._gpu_ns[last] - self._gpu_ns[first],
        )

    def _thread(self, rows: Indexes) -> NDArray[np.int64]:
        process = self.events.process[rows].astype(np.int64)
        return process * self._threads + self.events.thread[rows] + 1

    def _key(self, rows: Indexes, at_ns: Nanoseconds) -> NDArray[np.int64]:
        """One sortable number for a time on a thread: times by the launches before them."""
        thread = np.searchsorted(self._known, self._thread(rows))
        return thread * (len(self._starts) + 1) + np.searchsorted(self._starts, at_ns)


def _running(events: Events, links: Links, calls: Indexes, order: Indexes, of: str) -> Ints:
    """The running sum of the time, or of the number, of what calls launched, in order."""
    counted = (Kind.KERNEL,) if of == "kernels" else GPU_KINDS
    amount = np.zeros(len(calls), dtype=np.int32 if of == "kernels" else np.int64)
    for some in in_blocks(events.is_kind(*counted)):
        rows = some[links.launch[some] >= 0]
        by = np.searchsorted(calls, links.launch[rows])
        np.add.at(amount, by, 1 if of == "kernels" else events.duration_ns[rows])
    total = np.zeros(len(calls) + 1, dtype=amount.dtype)
    np.cumsum(amount[order], out=total[1:])
    return total


def _distinct_in(parts: Iterable[Indexes]) -> NDArray[np.int64]:
    return distinct(np.concatenate([np.zeros(0, dtype=np.int64), *map(distinct, parts)]))


def launched_rows(events: Events, links: Links, *kinds: Kind) -> Indexes:
    """The GPU events of the kinds whose launch was recorded."""
    return rows_where(events.is_kind(*kinds), lambda rows: links.launch[rows] >= 0)


def beneath(trace: Trace, links: Links, rows: Indexes) -> Beneath:
    """What each of the host events ``rows`` launched."""
    return Launched(trace, links).inside(rows)


def inner_ns(trace: Trace, links: Links, outer: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each name the time of the ops, annotations and calls directly inside, ``[names]``.

    Of the events in the mask ``outer`` only. Python frames are looked through: traces show them,
    but no time is their own.
    """
    events = trace.events
    counted = events.is_kind(Kind.CPU_OP, Kind.USER_ANNOTATION, *CALL_KINDS)
    total = np.zeros(len(trace.names), dtype=np.int64)
    for rows in in_blocks(counted):
        around = links.parent[rows]
        while (through := (around >= 0) & ~counted[around]).any():
            around[through] = links.parent[around[through]]
        inner = (around >= 0) & outer[around]
        np.add.at(total, events.name[around[inner]], events.duration_ns[rows[inner]])
    return total
