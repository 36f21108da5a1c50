"""What each recorded step did: launches, GPU work, time on both sides, and what it lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace_util.events import CALL_KINDS, Kind, Trace
from trace_util.gaps import WIDE
from trace_util.links import Links, Step
from trace_util.tally import distinct, middle
from trace_util.timeline import Indexes, clip, union_ns


@dataclass(frozen=True)
class StepFacts:
    """One step. Its GPU figures are those of the work that it launched, whenever that ran."""

    name: str
    number: int
    start_ns: int
    duration_ns: int
    kernels: int
    memsets: int
    copies: int
    launches: int  # calls that launch kernels or replay a graph
    gpu_busy_ns: int  # union over devices and streams
    cpu_ns: int  # union of the ops and calls inside, on all threads
    lost_kernels: int  # launches without GPU work, where GPU work was recorded elsewhere
    last_gpu_end_ns: int | None
    wide: bool  # far longer than the median step
    index: int  # of the mark, in the columns of the events


def step_facts(trace: Trace, links: Links, lost: NDArray[np.bool_]) -> tuple[StepFacts, ...]:
    """The facts of every step, in order; ``lost`` masks the launches that lost their GPU work."""
    order = np.argsort(links.step, kind="stable")
    bounds = np.searchsorted(links.step[order], np.arange(len(links.steps) + 1))
    median = middle([step.end_ns - step.start_ns for step in links.steps]) if links.steps else 0.0
    return tuple(
        _one(trace, links, lost, step, np.sort(order[bounds[i] : bounds[i + 1]]), median)
        for i, step in enumerate(links.steps)
    )


def _one(
    trace: Trace,
    links: Links,
    lost: NDArray[np.bool_],
    step: Step,
    rows: Indexes,
    median_ns: float,
) -> StepFacts:
    events = trace.events
    kind = events.kind[rows]
    starts, ends = events.start_ns[rows], events.ends(rows)
    gpu = (kind == Kind.KERNEL) | (kind == Kind.MEMCPY) | (kind == Kind.MEMSET)
    host = np.isin(kind, (Kind.CPU_OP, *CALL_KINDS)) & (rows != step.index)
    duration = step.end_ns - step.start_ns
    return StepFacts(
        name=step.name,
        number=step.number,
        start_ns=step.start_ns,
        duration_ns=duration,
        kernels=int((kind == Kind.KERNEL).sum()),
        memsets=int((kind == Kind.MEMSET).sum()),
        copies=int((kind == Kind.MEMCPY).sum()),
        launches=int(links.launches_kernels[rows].sum()),
        gpu_busy_ns=union_ns(starts[gpu], ends[gpu]),
        cpu_ns=union_ns(*clip(starts[host], ends[host], step.start_ns, step.end_ns)),
        lost_kernels=int(lost[rows].sum()),
        last_gpu_end_ns=int(ends[gpu].max()) if gpu.any() else None,
        wide=len(links.steps) >= 3 and duration > WIDE * median_ns,
        index=step.index,
    )


def crossing(trace: Trace, links: Links) -> Indexes:
    """The ops and annotations that begin before a step and end inside it, as rows.

    `step()` was then called inside of them. They belong to the step in which they began.
    """
    events = trace.events
    marks = np.array([step.index for step in links.steps], dtype=np.int64)
    rows = np.flatnonzero(events.is_kind(Kind.CPU_OP, Kind.USER_ANNOTATION))
    rows = rows[~np.isin(rows, marks)]
    found = [rows[:0]]
    for process in distinct(events.process[marks]).tolist():
        mine = rows[events.process[rows] == process]
        steps = marks[events.process[marks] == process]
        starts, ends = events.start_ns[steps], events.ends(steps)
        began = np.searchsorted(starts, events.start_ns[mine], side="right")
        ended = np.searchsorted(starts, events.ends(mine), side="left")
        crosses = (ended > began) & (events.ends(mine) < ends[np.maximum(ended, 1) - 1])
        found.append(mine[crosses])
    return np.sort(np.concatenate(found))
