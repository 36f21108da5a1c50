"""What each recorded step did: launches, GPU work, time on both sides, and what it lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trace_util.blocks import in_blocks, rows_where
from trace_util.events import CALL_KINDS, GPU_KINDS, Kind, Trace
from trace_util.links import Links
from trace_util.tally import distinct
from trace_util.timeline import Indexes, clip, unions_ns
from trace_util.wide_steps import wide_steps

ROWS_AT_A_TIME = 1 << 16  # so that what is worked out meanwhile takes a few MB


class StepFacts(Struct, frozen=True, gc=False):
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


def whole_steps(steps: Sequence[StepFacts]) -> list[int]:
    """The indexes of the steps whose kernels can be counted: those that lost none, or else all.

    Last steps that launched nothing are left out: the recording ended in them.
    """
    worked = [
        i for i, step in enumerate(steps) if step.launches or step.last_gpu_end_ns is not None
    ]
    begun = list(range(worked[-1] + 1 if worked else len(steps)))
    return [index for index in begun if not steps[index].lost_kernels] or begun


def sound_steps(steps: Sequence[StepFacts]) -> list[int]:
    """The indexes of the steps whose times can be compared: the whole ones that are not wide.

    All whole ones where each of them is wide.
    """
    whole = whole_steps(steps)
    return [index for index in whole if not steps[index].wide] or whole


def step_ranks(trace: Trace, steps: Sequence[StepFacts]) -> tuple[str, ...]:
    """The label of the rank that each step belongs to, where ranks were merged; else nothing."""
    if not isinstance(trace.header.other.get("merged"), dict):
        return ()
    names = [trace.process_names.get(process, "") for process in trace.processes]
    labels = [name.partition(":")[0] for name in names]  # as trace_util.merge names processes
    return tuple(labels[int(trace.events.process[step.index])] or "a rank" for step in steps)


def step_facts(trace: Trace, links: Links, lost: NDArray[np.bool_]) -> tuple[StepFacts, ...]:
    """The facts of every step, in order; ``lost`` masks the launches that lost their GPU work."""
    if not links.steps:
        return ()
    kind = trace.events.kind
    kernels, memsets, copies, launches, missing = (
        _by_step(links, mask)
        for mask in (
            kind == Kind.KERNEL,
            kind == Kind.MEMSET,
            kind == Kind.MEMCPY,
            links.launches_kernels,
            lost,
        )
    )
    gpu_busy, last_end = _gpu_work(trace, links)
    cpu = _cpu_work(trace, links)
    wide = wide_steps(trace, links).tolist()
    return tuple(
        StepFacts(
            name=step.name,
            number=step.number,
            start_ns=step.start_ns,
            duration_ns=step.end_ns - step.start_ns,
            kernels=kernels[i],
            memsets=memsets[i],
            copies=copies[i],
            launches=launches[i],
            gpu_busy_ns=gpu_busy[i],
            cpu_ns=cpu[i],
            lost_kernels=missing[i],
            last_gpu_end_ns=last_end[i],
            wide=wide[i],
            index=step.index,
        )
        for i, step in enumerate(links.steps)
    )


def _gpu_work(trace: Trace, links: Links) -> tuple[list[int], list[int | None]]:
    """Of every step, the time that its GPU work takes in all, and when the last of it ends."""
    events, busy, last = trace.events, [], []
    for _, rows, borders in _ByStep(links, events.is_kind(*GPU_KINDS)).batches():
        ends = events.ends(rows)
        busy += unions_ns(events.start_ns[rows], ends, borders).tolist()
        some = np.flatnonzero(np.diff(borders))  # `reduceat` would take an empty step for the next
        latest: list[int | None] = [None] * (len(borders) - 1)
        for step, end in zip(some, np.maximum.reduceat(ends, borders[some]).tolist(), strict=True):
            latest[step] = end
        last += latest
    return busy, last


def _cpu_work(trace: Trace, links: Links) -> list[int]:
    """Of every step, the time inside of it in which some op or call ran, on any thread."""
    events, worked = trace.events, []
    low, high = (
        np.array([getattr(step, name) for step in links.steps], dtype=np.int64)
        for name in ("start_ns", "end_ns")
    )
    for steps, rows, borders in _ByStep(links, _outer_work(trace, links)).batches():
        own = np.repeat(np.arange(steps.start, steps.stop), np.diff(borders))
        inside = clip(events.start_ns[rows], events.ends(rows), low[own], high[own])
        worked += unions_ns(*inside, borders).tolist()
    return worked


def _by_step(links: Links, mask: NDArray[np.bool_]) -> list[int]:
    """How many of the masked events each step has."""
    step = links.step[mask]
    counts: list[int] = np.bincount(step[step >= 0], minlength=len(links.steps)).tolist()
    return counts


class _ByStep:
    """The rows of the masked events of each step."""

    def __init__(self, links: Links, mask: NDArray[np.bool_]) -> None:
        rows = rows_where(mask, lambda rows: links.step[rows] >= 0)
        step = links.step[rows]
        if (step[1:] < step[:-1]).any():
            order = np.argsort(step, kind="stable").astype(np.int32)
            rows, step = rows[order], step[order]
        self._rows = rows
        self._borders = np.searchsorted(step, np.arange(len(links.steps) + 1, dtype=step.dtype))

    def batches(self) -> Iterator[tuple[range, Indexes, Indexes]]:
        """Some steps at a time: which, the rows of all of them, and the borders between these."""
        count = len(self._borders) - 1
        first = 0
        while first < count:
            most = self._borders[first] + ROWS_AT_A_TIME
            after = max(int(np.searchsorted(self._borders, most, side="right")) - 1, first + 1)
            borders = self._borders[first : after + 1]
            yield range(first, after), self._rows[borders[0] : borders[-1]], borders - borders[0]
            first = after


def _outer_work(trace: Trace, links: Links) -> NDArray[np.bool_]:
    """Mask ``[n]`` of the ops and calls that no other op or call is directly around."""
    work = trace.events.is_kind(Kind.CPU_OP, *CALL_KINDS)
    work[[step.index for step in links.steps]] = False
    outer: NDArray[np.bool_] = work.copy()
    for rows in in_blocks(work):
        outer[rows] = (links.parent[rows] < 0) | ~work[links.parent[rows]]
    return outer


def crossing(trace: Trace, links: Links) -> Indexes:
    """The ops and annotations that begin before a step and end inside it, as rows.

    `step()` was then called inside of them. They belong to the step in which they began.
    """
    events = trace.events
    marks = np.array([step.index for step in links.steps], dtype=np.int64)
    ranges = events.is_kind(Kind.CPU_OP, Kind.USER_ANNOTATION)
    ranges[marks] = False
    found = [marks[:0]]
    for process in distinct(events.process[marks]).tolist():
        steps = marks[events.process[marks] == process]
        starts, ends = events.start_ns[steps], events.ends(steps)
        for rows in in_blocks(ranges & (events.process == process)):
            range_ends = events.ends(rows)
            began = np.searchsorted(starts, events.start_ns[rows], side="right")
            ended = np.searchsorted(starts, range_ends, side="left")
            crosses = (ended > began) & (range_ends < ends[np.maximum(ended, 1) - 1])
            found.append(rows[crosses])
    return np.sort(np.concatenate(found))
