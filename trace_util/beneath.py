"""What was launched from within a stretch of CPU time, and what of that time is the op's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trace_util.events import CALL_KINDS, GPU_KINDS, Ints, Kind, Trace
from trace_util.links import Links
from trace_util.nest import BLOCK
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
        calls = np.flatnonzero(links.is_launch)
        self._starts = np.sort(events.start_ns[calls])
        self._known = distinct(self._thread(calls))
        key = self._key(calls, events.start_ns[calls])
        order = np.argsort(key, kind="stable")
        self._sorted = key[order]
        gpu = np.flatnonzero(events.is_kind(*GPU_KINDS) & (links.launch >= 0))
        by = np.searchsorted(calls, links.launch[gpu])
        gpu_ns = np.zeros(len(calls), dtype=np.int64)
        np.add.at(gpu_ns, by, events.duration_ns[gpu])
        kernels = np.bincount(by[events.kind[gpu] == Kind.KERNEL], minlength=len(calls))
        self._gpu_ns = _running(gpu_ns[order])
        self._kernels = _running(kernels[order])

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


def _running(amount: Ints) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(amount, dtype=np.int64)))


def beneath(trace: Trace, links: Links, rows: Indexes) -> Beneath:
    """What each of the host events ``rows`` launched."""
    return Launched(trace, links).inside(rows)


def in_blocks(wanted: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """The wanted rows, some at a time, so that what is made of them stays small."""
    for block in range(0, len(wanted), BLOCK):
        yield block + np.flatnonzero(wanted[block : block + BLOCK])


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
