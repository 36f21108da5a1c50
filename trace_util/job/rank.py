"""The facts of one rank that a job's answer needs: small, and all that travels between machines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from trace_util.cautions import is_of_incomplete
from trace_util.document import CUT_OFF as NO_END
from trace_util.events import Kind, Trace
from trace_util.facts import Facts, trace_facts
from trace_util.job.spending import Spent, host_spending, spending, spending_by_step
from trace_util.job.stretches import Stretches, stretches
from trace_util.links import Links, link
from trace_util.sources import CUT_OFF, DAMAGED

# Changes whenever facts of an older version must not be taken for those of this one.
FORMAT = 2
MOST_KERNELS = 200  # names of a rank's kernels; most models have 20 to 150

# No job is larger, and names have six digits; every rank that is missing of one will be named.
MOST_RANKS = 1_000_000

_RANK_IN_NAME = re.compile(r"(?<![a-z])rank[-_.=]?(\d{1,6})(?!\d)", re.IGNORECASE)


@dataclass(frozen=True)
class RankStep:
    """One step of a rank, nanoseconds. ``number`` is -1 where the trace has no step marks."""

    number: int
    mark_ns: int  # its mark on the CPU
    duration_ns: int  # its stretch, see :mod:`trace_util.job.stretches`
    work_ns: int  # in which the rank computes or copies
    comm_ns: int  # in collectives
    exposed_ns: int  # in collectives and nothing else
    idle_ns: int
    collectives: int
    kernels: int
    launches: int
    spent: tuple[Spent, ...]  # on the work, by kernel; without a GPU by op
    host: tuple[Spent, ...]  # on the CPU, by op

    @property
    def own_ns(self) -> int:
        """What the rank needs itself: the step without the time in which it only communicates."""
        return self.duration_ns - self.exposed_ns


@dataclass(frozen=True)
class RankFacts:
    """One trace as a rank of a job; ``None`` is what it does not say.

    ``broken`` says why there are no facts, or why they are not all: such a rank is compared with no
    other.
    """

    path: str
    size_bytes: int
    rank: int | None = None
    world_size: int | None = None
    gpu: str | None = None
    on_gpu: bool = False
    events: int = 0
    start_ns: int | None = None  # of the window, on the wall clock where the trace tells it
    window_ns: int | None = None
    steps: tuple[RankStep, ...] = ()  # without those that lost kernels, and the ones after them
    kernels: tuple[Spent, ...] = ()  # of all steps, without the collectives
    broken: str | None = None


def broken_rank(path: str, reason: str) -> RankFacts:
    """A rank of which nothing is known but why."""
    reason = " ".join(reason.split()).removeprefix(f"{path}: ")
    try:
        size = os.stat(path).st_size
    except OSError:
        size = 0
    return RankFacts(path, size, rank=rank_in_name(path), broken=reason)


def rank_in_name(path: str) -> int | None:
    """The rank that a file's name, or else one of its folders, gives: ``rank0``, ``rank_12``."""
    for part in reversed(path.replace("\\", "/").split("/")):
        if found := _RANK_IN_NAME.findall(part):
            return int(found[-1])
    return None


def without_rank(path: str) -> str:
    """The path with ``*`` for the number of the rank; the same for all ranks of one job."""
    parts = path.replace("\\", "/").split("/")
    for index in reversed(range(len(parts))):
        if found := list(_RANK_IN_NAME.finditer(parts[index])):
            start, end = found[-1].span(1)
            parts[index] = f"{parts[index][:start]}*{parts[index][end:]}"
            break
    return "/".join(parts)


def facts_of(
    trace: Trace, path: str, links: Links | None = None, facts: Facts | None = None
) -> RankFacts:
    """The facts of a trace that is read; ``path`` is what the user calls it."""
    links = links or link(trace)
    facts = facts or trace_facts(trace, links)
    told = trace.header.distributed
    found = stretches(trace, links)
    return RankFacts(
        path=path,
        size_bytes=trace.size_bytes,
        rank=_number(told.get("rank"), rank_in_name(path)),
        world_size=_number(told.get("world_size"), None),
        gpu=facts.gpu,
        on_gpu=facts.gpu_activity == "recorded",
        events=sum(trace.phases.values()),
        start_ns=None
        if facts.window_start_ns is None
        else facts.window_start_ns + (trace.header.base_time_ns or 0),
        window_ns=facts.window_ns,
        steps=tuple(_steps(trace, links, facts, found)) if found else (),
        kernels=_kernels(trace, found) if found else (),
        broken=incomplete(trace),
    )


def _number(told: object, otherwise: int | None) -> int | None:
    if not isinstance(told, int) or isinstance(told, bool):
        return otherwise
    return told if 0 <= told <= MOST_RANKS else otherwise


def incomplete(trace: Trace) -> str | None:
    """Why a trace that could be read does not hold all that was recorded."""
    for repair, what in (
        (NO_END, "the end of the file is missing"),
        (CUT_OFF, "its gzip stream is cut off"),
        (DAMAGED, "its gzip data are damaged"),
    ):
        if repair in trace.repairs:
            return f"{what}; {trace.phases.get('X', 0):,} events could be read"
    if is_of_incomplete(trace.header.other):
        return "a copy of a file that was cut off or damaged"
    return None


def _steps(trace: Trace, links: Links, facts: Facts, found: Stretches) -> Iterator[RankStep]:
    events = trace.events
    duration = found.end_ns - found.start_ns
    host = host_spending(trace, links, found) if links.steps else [()]
    spent = host
    if found.device is not None:
        names, lengths = events.name[found.work], events.duration_ns[found.work]
        spent = spending_by_step(trace, names, lengths, found.step_of_work, len(duration))
    for index in range(len(duration)):
        told = facts.steps[index] if facts.steps else None
        # What was lost would seem idle, in its step or, if it was the last work, in the next one.
        if any(step.lost_kernels for step in facts.steps[max(index - 1, 0) : index + 1]):
            continue
        yield RankStep(
            number=told.number if told else -1,
            mark_ns=told.duration_ns if told else int(duration[index]),
            duration_ns=int(duration[index]),
            work_ns=int(found.work_ns[index]),
            comm_ns=int(found.comm_ns[index]),
            exposed_ns=int(found.exposed_ns[index]),
            idle_ns=int(duration[index] - found.busy_ns[index]),
            collectives=int(found.collectives[index]),
            kernels=told.kernels if told else facts.kernel_count,
            launches=told.launches if told else facts.launch_count,
            spent=spent[index],
            host=host[index],
        )


def _kernels(trace: Trace, found: Stretches) -> tuple[Spent, ...]:
    events = trace.events
    rows = found.work[found.step_of_work >= 0]
    rows = rows[events.kind[rows] == Kind.KERNEL]
    return spending(trace, events.name[rows], events.duration_ns[rows], MOST_KERNELS)
