"""Launches seen from both sides: whose work is missing, and how long the first of it waited."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trace_util.beneath import launched_rows
from trace_util.blocks import rows_where
from trace_util.calls import Call, is_any
from trace_util.events import CALL_KINDS, GPU_KINDS, Kind, Trace
from trace_util.links import Links
from trace_util.tally import distinct
from trace_util.timeline import Indexes


def lost_launches(trace: Trace, links: Links) -> NDArray[np.bool_]:
    """Mask ``[n]`` of the calls that launch kernels and of whose work nothing was recorded.

    Launches that are captured into a graph launch nothing yet; copies and memsets of no bytes leave
    no GPU event, so that neither kind is counted. Where kernels carry no correlation (ROCm's
    communication kernels), theirs may be any launch without work, and none is called lost.
    """
    events = trace.events
    lost: NDArray[np.bool_] = np.zeros(len(events), dtype=bool)
    if (events.correlation[events.is_kind(Kind.KERNEL)] <= 0).any():
        return lost
    calls = rows_where(links.launches_kernels)
    lost[calls] = events.correlation[calls] > 0
    lost[links.launch[launched_rows(events, links, *GPU_KINDS)]] = False
    for first, last, process, thread in _captures(trace, links):
        inside = (events.start_ns >= first) & (events.start_ns < last)
        lost &= ~(inside & (events.process == process) & (events.thread == thread))
    return lost


def _captures(trace: Trace, links: Links) -> list[tuple[int, int, int, int]]:
    """Start, end, process and thread of every graph capture on the CPU side."""
    events = trace.events
    rows = rows_where(is_any(links.call, (Call.CAPTURE_BEGIN, Call.CAPTURE_END)))
    rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
    begun: dict[tuple[int, int], int] = {}
    captures = []
    for row in rows.tolist():
        where = int(events.process[row]), int(events.thread[row])
        if links.call[row] == Call.CAPTURE_BEGIN:
            begun[where] = int(events.start_ns[row])
        elif where in begun:
            captures.append((begun.pop(where), int(events.ends(row)), *where))
    return captures


def first_of_each_launch(trace: Trace, links: Links, gpu: Indexes) -> Indexes:
    """The GPU event of each launch that started first, as rows."""
    linked = gpu[links.launch[gpu] >= 0]
    linked = linked[np.lexsort((trace.events.start_ns[linked], links.launch[linked]))]
    launch = links.launch[linked]
    opens = np.ones(len(linked), dtype=bool)
    opens[1:] = launch[1:] != launch[:-1]
    return linked[opens]


def unplaced_work(trace: Trace, links: Links) -> Indexes:
    """The GPU events that a step may have launched, without a word on which one, as rows.

    Neither their launch nor their op was recorded. Those before any other work are left out: they
    were queued before the recording; and collectives, whose step is that of the work before them
    (:mod:`trace_util.job.stretches`). Where no call was recorded at all, steps go by time instead.
    """
    events = trace.events
    gpu = rows_where(events.is_kind(*GPU_KINDS))
    placed = (links.launch[gpu] >= 0) | (links.op[gpu] >= 0)
    alone = gpu[~placed]
    if not len(alone) or not events.is_kind(*CALL_KINDS).any():
        return alone[:0]
    if placed.any():
        alone = alone[events.start_ns[alone] >= events.start_ns[gpu[placed]].min()]
    from trace_util.kernel_names import decode  # slow to load, and seldom needed here

    names = distinct(events.name[alone]).tolist()
    talks = [index for index in names if decode(trace.names[index]).role == "communication"]
    return alone[~np.isin(events.name[alone], talks)]
