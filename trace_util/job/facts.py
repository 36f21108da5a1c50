"""The facts of a whole job: who is slow in which step and why, and what communication costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trace_util.job.grouping import Group
from trace_util.job.rank import RankFacts, RankStep
from trace_util.job.straggler import Straggler, straggler
from trace_util.tally import middle


@dataclass(frozen=True)
class JobStep:
    """One step on all ranks that recorded it; nanoseconds."""

    number: int  # -1: the whole recording, where there are no step marks
    ranks: tuple[int, ...]
    duration_ns: int  # of the rank that took longest
    own_median_ns: float  # what a rank needs itself, without waiting in collectives
    own_mean_ns: float
    own_max_ns: int
    comm_ns: int  # summed over the ranks
    exposed_ns: int
    waiting_ns: int  # of that, longer than the rank that was in collectives the shortest time
    total_ns: int  # of the ranks' durations, what the sums are parts of
    slow: Straggler | None

    @property
    def imbalance(self) -> float:
        """By what part of the mean the rank that needs most needs more than the mean."""
        return self.own_max_ns / self.own_mean_ns - 1 if self.own_mean_ns else 0.0


@dataclass(frozen=True)
class JobFacts:
    """A job. Only sound ranks are in the figures; ``broken`` and ``missing`` ones are named."""

    name: str
    world_size: int | None  # as the traces say; None where they do not
    ranks: tuple[RankFacts, ...]  # all that were found, in order of rank
    missing: tuple[int, ...]
    broken: tuple[RankFacts, ...]
    steps: tuple[JobStep, ...]
    incomplete_steps: tuple[int, ...]  # numbers that not all sound ranks recorded
    unlike_kernels: tuple[int, ...]  # ranks that launch other kernels than most ranks do

    @property
    def sound(self) -> tuple[RankFacts, ...]:
        """The ranks that can be compared."""
        return tuple(rank for rank in self.ranks if rank.broken is None and rank.steps)

    @property
    def on_gpu(self) -> bool:
        """Whether any rank did work on a GPU."""
        return any(rank.on_gpu for rank in self.sound)

    @property
    def comm_share(self) -> float | None:
        """The part of all ranks' step time in which collectives run."""
        return _part(sum(step.comm_ns for step in self.steps), self.steps)

    @property
    def exposed_share(self) -> float | None:
        """The part of all ranks' step time in which only collectives run."""
        return _part(sum(step.exposed_ns for step in self.steps), self.steps)

    @property
    def waiting_share(self) -> float | None:
        """The part of all ranks' step time spent in collectives until a later rank comes."""
        return _part(sum(step.waiting_ns for step in self.steps), self.steps)

    @property
    def imbalance(self) -> float | None:
        """The mean of the steps' imbalance; ``None`` for fewer than two ranks."""
        told = [step.imbalance for step in self.steps if len(step.ranks) > 1]
        return sum(told) / len(told) if told else None

    @property
    def median_step_ns(self) -> float | None:
        """The median of the steps' durations, each that of its slowest rank."""
        return middle([step.duration_ns for step in self.steps]) if self.steps else None


def job_facts(group: Group | Sequence[RankFacts], name: str = "") -> JobFacts:
    """The facts of a job's ranks, whatever their order."""
    members = group.ranks if isinstance(group, Group) else tuple(group)
    name = group.name if isinstance(group, Group) else name
    ranks = tuple(sorted(members, key=lambda one: (one.rank is None, one.rank or 0, one.path)))
    sizes = [one.world_size for one in ranks if one.world_size]
    present = {one.rank for one in ranks}
    highest = max((rank for rank in present if rank is not None), default=-1)
    world = max(sizes) if sizes else None
    sound = [one for one in ranks if one.broken is None and one.steps]
    by_number: dict[int, dict[int, RankStep]] = defaultdict(dict)
    for one in sound:
        for step in one.steps:
            by_number[step.number].setdefault(one.rank or 0, step)
    steps = [_step(number, by_number[number]) for number in sorted(by_number)]
    return JobFacts(
        name=name,
        world_size=world,
        ranks=ranks,
        missing=tuple(r for r in range(world or highest + 1) if r not in present),
        broken=tuple(one for one in ranks if one.broken is not None or not one.steps),
        steps=tuple(steps),
        incomplete_steps=tuple(step.number for step in steps if len(step.ranks) < len(sound)),
        unlike_kernels=tuple(_unlike(sound)),
    )


def _part(ns: int, steps: Iterable[JobStep]) -> float | None:
    total = sum(step.total_ns for step in steps)
    return ns / total if total else None


def _step(number: int, mine: Mapping[int, RankStep]) -> JobStep:
    steps = list(mine.values())
    own = [step.own_ns for step in steps]
    shortest = min(step.exposed_ns for step in steps)
    return JobStep(
        number=number,
        ranks=tuple(mine),
        duration_ns=max(step.duration_ns for step in steps),
        own_median_ns=middle(own),
        own_max_ns=max(own),
        own_mean_ns=sum(own) / len(own),
        comm_ns=sum(step.comm_ns for step in steps),
        exposed_ns=sum(step.exposed_ns for step in steps),
        waiting_ns=sum(step.exposed_ns - shortest for step in steps),
        total_ns=sum(step.duration_ns for step in steps),
        slow=straggler(number, mine),
    )


def _unlike(sound: Sequence[RankFacts]) -> list[int]:
    """The ranks whose kernels, by name and count, are not those of most ranks."""
    counts: dict[frozenset[tuple[str, int]], list[int]] = {}
    for one in sound:
        if one.on_gpu:
            launched = frozenset((kernel.name, kernel.times) for kernel in one.kernels)
            counts.setdefault(launched, []).append(one.rank or 0)
    if len(counts) < 2:
        return []
    usual = max(counts.values(), key=lambda ranks: (len(ranks), -ranks[0]))
    return sorted(rank for ranks in counts.values() if ranks is not usual for rank in ranks)
