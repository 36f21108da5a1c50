"""The window of a trace: the stretch of time that its shares are shares of."""

from __future__ import annotations

import numpy as np

from trace_util.blocks import rows_where
from trace_util.events import CALL_KINDS, GPU_KINDS, Kind, Trace
from trace_util.links import HOST_KINDS, Links
from trace_util.timeline import Indexes


def trace_window(trace: Trace, links: Links) -> tuple[int, int] | None:
    """Start and end in ns; ``None`` for a trace with nothing but the profiler's own books.

    From the first step's start to the last step's end, without steps the span of the CPU ops (of
    the calls, of anything, where there are none), and on to the end of the last GPU event that was
    launched from within.
    """
    events = trace.events
    gpu = rows_where(events.is_kind(*GPU_KINDS))
    if links.steps:
        low = links.steps[0].start_ns
        high = max(step.end_ns for step in links.steps)
    else:
        rows = _first_kind_present(trace)
        if not len(rows):
            return None
        low, high = int(events.start_ns[rows].min()), int(events.ends(rows).max())
    origin = np.where(links.launch[gpu] >= 0, links.launch[gpu], links.op[gpu])
    if not (origin >= 0).any():
        # Nothing says what launched what. Then what ran counts as launched when it started, and
        # without step marks all of it is meant.
        origin = gpu
        if not links.steps and len(gpu):
            low, high = (
                min(low, int(events.start_ns[gpu].min())),
                max(high, int(events.ends(gpu).max())),
            )
    gpu, origin = gpu[origin >= 0], origin[origin >= 0]
    launched = events.start_ns[origin]
    within = gpu[(launched >= low) & (launched <= high)]
    return low, max(high, int(events.ends(within).max(initial=high)))


def _first_kind_present(trace: Trace) -> Indexes:
    for kinds in ((Kind.CPU_OP,), CALL_KINDS, GPU_KINDS, HOST_KINDS):
        rows = rows_where(trace.events.is_kind(*kinds))
        if len(rows):
            return rows
    return rows_where(trace.events.kind != Kind.BOOKKEEPING)
