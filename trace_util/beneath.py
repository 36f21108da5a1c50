"""What lies inside a stretch of CPU time: launches, their GPU time, and the rest as self time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trace_util.events import CALL_KINDS, GPU_KINDS, Events, Ints, Kind, Trace
from trace_util.links import Links
from trace_util.nesting import nearest
from trace_util.tally import distinct
from trace_util.timeline import Indexes, Nanoseconds


class Beneath(NamedTuple):
    """For some host events what was launched from within them, at any depth; columns ``[k]``."""

    launches: Indexes  # calls that put work on a stream
    kernels: Indexes
    gpu_ns: Nanoseconds  # sum of the durations of the GPU events, not their union


def beneath(trace: Trace, links: Links, rows: Indexes) -> Beneath:
    """What each of the host events ``rows`` launched: by time, on its own thread."""
    events = trace.events
    calls = np.flatnonzero(links.is_launch)
    gpu = np.flatnonzero(events.is_kind(*GPU_KINDS) & (links.launch >= 0))
    gpu_ns = np.zeros(len(events), dtype=np.int64)
    np.add.at(gpu_ns, links.launch[gpu], events.duration_ns[gpu])
    kernels = gpu[events.kind[gpu] == Kind.KERNEL]
    kernel_count = np.bincount(links.launch[kernels], minlength=len(events))

    origin = int(events.start_ns[rows].min(initial=0))
    origin = min(origin, int(events.start_ns[calls].min(initial=origin)))
    reach = max(
        int(events.ends(rows).max(initial=origin)), int(events.start_ns[calls].max(initial=0))
    )
    place = _Places(events, np.concatenate((rows, calls)), origin, reach - origin + 1)
    calls = calls[np.argsort(place(calls, events.start_ns[calls]), kind="stable")]
    key = place(calls, events.start_ns[calls])
    first = np.searchsorted(key, place(rows, events.start_ns[rows]), side="left")
    last = np.searchsorted(key, place(rows, events.ends(rows)), side="left")

    def inside(amount: Ints) -> NDArray[np.int64]:
        running = np.concatenate(([0], np.cumsum(amount[calls], dtype=np.int64)))
        return running[last] - running[first]

    return Beneath(last - first, inside(kernel_count), inside(gpu_ns))


class _Places:
    """One sortable number for a time on a thread."""

    def __init__(self, events: Events, rows: Indexes, origin_ns: int, span_ns: int) -> None:
        self.events, self.origin_ns, self.span_ns = events, origin_ns, span_ns
        self.threads = int(events.thread.max(initial=0)) + 2
        # Only the threads that occur are numbered, so that the product stays far below 2**63.
        self.known = distinct(self._thread(rows))

    def _thread(self, rows: Indexes) -> Indexes:
        process = self.events.process[rows].astype(np.int64)
        return process * self.threads + self.events.thread[rows] + 1

    def __call__(self, rows: Indexes, at_ns: Nanoseconds) -> NDArray[np.int64]:
        number = np.searchsorted(self.known, self._thread(rows))
        return number * self.span_ns + (at_ns - self.origin_ns)


def self_ns(trace: Trace, links: Links) -> Nanoseconds:
    """Each event's duration without the ops, annotations and calls directly inside, ``[n]``.

    Python frames are looked through: they are shown in traces, but are nobody's own work.
    """
    events = trace.events
    counted = events.is_kind(Kind.CPU_OP, Kind.USER_ANNOTATION, *CALL_KINDS)
    around = nearest(links.parent, counted)
    inner = np.flatnonzero(counted & (around >= 0))
    inside = np.zeros(len(events), dtype=np.int64)
    np.add.at(inside, around[inner], events.duration_ns[inner])
    alone: Nanoseconds = np.maximum(events.duration_ns - inside, 0)
    return alone
