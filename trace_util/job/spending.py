"""What a step's time was spent on, by name: kernels, and the CPU's own time in each op."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trace_util.calls import waits
from trace_util.events import CALL_KINDS, Ints, Kind, Trace
from trace_util.job.stretches import Stretches
from trace_util.links import Links
from trace_util.tally import distinct, tally
from trace_util.timeline import Indexes, Nanoseconds, covered_ns, union

MOST = 8  # names of one step; the ninth explains no straggler
MANY_STEPS, FEW = 200, 3  # of more steps than this only so many names each: facts are to be small
NAME_LENGTH = 160  # characters of a name that travel
OUTSIDE = "outside any op"  # Python, data loading, waiting: what the profiler has no row for


class Spent(NamedTuple):
    """Time by one name, nanoseconds."""

    name: str
    times: int
    total_ns: int


def spending(
    trace: Trace, name: Ints, length_ns: Nanoseconds, most: int = MOST
) -> tuple[Spent, ...]:
    """The names with most time, the largest first."""
    (found,) = spending_by_step(trace, name, length_ns, np.zeros(len(name), np.int64), 1, most)
    return found


def spending_by_step(
    trace: Trace,
    name: Ints,
    length_ns: Nanoseconds,
    step: Indexes,
    steps: int,
    most: int | None = None,
) -> list[tuple[Spent, ...]]:
    """For each of so many steps the names with most time, the largest first."""
    most = most or (MOST if steps <= MANY_STEPS else FEW)
    width = len(trace.names)
    found = tally(step.astype(np.int64) * width + name, length_ns)
    of, total = found.key // width, found.total_ns
    order = np.lexsort((found.key, -total, of))
    order = order[(of[order] >= 0) & (total[order] > 0)]
    bounds = np.searchsorted(of[order], np.arange(steps + 1)).tolist()
    return [
        tuple(
            Spent(
                trace.names[int(found.key[at]) % width][:NAME_LENGTH],
                int(found.count[at]),
                int(total[at]),
            )
            for at in order[first : min(last, first + most)].tolist()
        )
        for first, last in zip(bounds, bounds[1:], strict=False)
    ]


def host_spending(trace: Trace, links: Links, found: Stretches) -> list[tuple[Spent, ...]]:
    """For each step what the CPU itself spent time on: in ops and calls, less what is inside them.

    Waiting is no cause: calls in which the CPU waits for the GPU are left out, and so are
    collectives that run on the CPU. The mark's own time is ``OUTSIDE``.
    """
    events = trace.events
    marks = np.array([step.index for step in links.steps], dtype=np.int64)
    own = own_time(trace, links)
    rows = np.flatnonzero(events.is_kind(Kind.CPU_OP, Kind.USER_ANNOTATION, *CALL_KINDS))
    rows = rows[~np.isin(rows, marks) & ~_waiting(trace, rows) & ~np.isin(rows, found.comm)]
    if found.device is None:
        around = np.flatnonzero(events.is_kind(Kind.USER_ANNOTATION))
        own[around] = np.maximum(own[around] - _exposed_in(trace, found, around), 0)
    spent = spending_by_step(trace, events.name[rows], own[rows], links.step[rows], len(marks))
    return [
        tuple(sorted((*names, Spent(OUTSIDE, 1, int(own[mark]))), key=lambda one: -one.total_ns))
        for names, mark in zip(spent, marks.tolist(), strict=True)
    ]


def own_time(trace: Trace, links: Links) -> Nanoseconds:
    """Each host event's duration less those of the host events directly inside it, ``[n]``."""
    events = trace.events
    own = events.duration_ns.astype(np.int64)
    inner = np.flatnonzero(links.parent >= 0)
    np.subtract.at(own, links.parent[inner], events.duration_ns[inner])
    return np.maximum(own, 0)


def _exposed_in(trace: Trace, found: Stretches, rows: Indexes) -> Nanoseconds:
    """How long collectives run alone during each of the rows."""
    events = trace.events
    starts, ends = events.start_ns, events.end_ns

    def covered(work: Indexes) -> Nanoseconds:
        return covered_ns(union(starts[work], ends[work]), starts[rows], ends[rows])

    return covered(np.concatenate((found.work, found.comm))) - covered(found.work)


def _waiting(trace: Trace, rows: Indexes) -> NDArray[np.bool_]:
    names = trace.events.name[rows]
    waiting = np.zeros(len(trace.names), dtype=bool)
    waiting[[index for index in distinct(names).tolist() if waits(trace.names[index])]] = True
    return waiting[names]
