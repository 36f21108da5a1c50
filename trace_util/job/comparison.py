"""Two or more jobs of one workload: whether a step's time differs, and where the time went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trace_util.events import TraceError
from trace_util.job.facts import JobFacts
from trace_util.job.straggler import FELT
from trace_util.ranges import Distinction, Range, distinction, range_of

MOST_KERNELS = 8


@dataclass(frozen=True)
class Shares:
    """The mean of a step of a rank, nanoseconds."""

    work_ns: float
    idle_ns: float
    comm_ns: float
    exposed_ns: float


@dataclass(frozen=True)
class KernelChange:
    """A kernel's launches and time in a step of a rank, mean over all of both jobs."""

    name: str
    before: float
    after: float
    before_ns: float
    after_ns: float


@dataclass(frozen=True)
class JobDifference:
    """A job beside the baseline."""

    index: int
    unlike: tuple[str, ...]
    step: Distinction  # of the steps' times, each that of its slowest rank
    own: Distinction  # of what the ranks need themselves
    kernels: tuple[KernelChange, ...]  # that changed most
    slower_ranks: tuple[tuple[int, float], ...]  # rank, ns that it needs more a step, in each step


@dataclass(frozen=True)
class JobComparison:
    """All jobs, and each but the baseline beside it."""

    jobs: tuple[JobFacts, ...]
    baseline: int
    steps: tuple[Range | None, ...]
    own: tuple[Range | None, ...]
    shares: tuple[Shares | None, ...]
    differences: tuple[JobDifference, ...]


def job_comparison(jobs: Sequence[JobFacts], baseline: int = 0) -> JobComparison:
    """The jobs, each compared with the one at ``baseline``.

    Raises:
        TraceError: fewer than two jobs, or one without a step that could be compared.
    """
    if len(jobs) < 2:
        raise TraceError("compare: one job has nothing to be compared with; give two or more")
    for job in jobs:
        if not job.steps:
            raise TraceError(f"{job.name}: no rank of it has anything that could be compared")
    steps = [range_of([step.duration_ns for step in job.steps]) for job in jobs]
    own = [range_of([step.own_ns for one in job.sound for step in one.steps]) for job in jobs]
    return JobComparison(
        tuple(jobs),
        baseline,
        tuple(steps),
        tuple(own),
        tuple(map(_shares, jobs)),
        tuple(
            JobDifference(
                index=index,
                unlike=_unlike(jobs[baseline], job),
                step=distinction(steps[baseline], steps[index]),
                own=distinction(own[baseline], own[index]),
                kernels=_kernels(jobs[baseline], job),
                slower_ranks=_slower(jobs[baseline], job),
            )
            for index, job in enumerate(jobs)
            if index != baseline
        ),
    )


def _shares(job: JobFacts) -> Shares:
    steps = [step for one in job.sound for step in one.steps]

    def mean(values: list[int]) -> float:
        return sum(values) / len(values)

    return Shares(
        mean([step.work_ns for step in steps]),
        mean([step.idle_ns for step in steps]),
        mean([step.comm_ns for step in steps]),
        mean([step.exposed_ns for step in steps]),
    )


def _unlike(base: JobFacts, other: JobFacts) -> tuple[str, ...]:
    def told(name: str, one: object, two: object) -> list[str]:
        return [f"{name}: {one} and {two}"] if one != two else []

    def gpus(job: JobFacts) -> str:
        return ", ".join(sorted({one.gpu or "none" for one in job.sound}))

    return tuple(
        [
            *told("ranks", len(base.sound), len(other.sound)),
            *told("world size", base.world_size, other.world_size),
            *told("GPU", gpus(base), gpus(other)),
            *told("steps", len(base.steps), len(other.steps)),
        ]
    )


def _kernels(base: JobFacts, other: JobFacts) -> tuple[KernelChange, ...]:
    before, after = _by_kernel(base), _by_kernel(other)
    none = (0.0, 0.0)
    changes = [
        KernelChange(
            name,
            before.get(name, none)[0],
            after.get(name, none)[0],
            before.get(name, none)[1],
            after.get(name, none)[1],
        )
        for name in dict.fromkeys([*before, *after])
    ]
    changes = [one for one in changes if one.before_ns != one.after_ns]
    changes.sort(key=lambda one: -abs(one.after_ns - one.before_ns))
    return tuple(changes[:MOST_KERNELS])


def _by_kernel(job: JobFacts) -> dict[str, tuple[float, float]]:
    """Name of a kernel -> its launches and its nanoseconds in a step of a rank."""
    steps = sum(len(one.steps) for one in job.sound)
    counts: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for one in job.sound:
        for kernel in one.kernels:
            counts[kernel.name] += kernel.times
            total[kernel.name] += kernel.total_ns
    return {name: (counts[name] / steps, total[name] / steps) for name in counts}


def _slower(base: JobFacts, other: JobFacts) -> tuple[tuple[int, float], ...]:
    """The ranks of both that need more themselves in every step that both recorded, by number."""
    before = {one.rank: {s.number: s for s in one.steps} for one in base.sound}
    found = []
    for one in other.sound:
        was = before.get(one.rank, {})
        pairs = [(step, was[step.number]) for step in one.steps if step.number in was]
        more = [step.own_ns - old.own_ns for step, old in pairs]
        felt = all(n > FELT * old.duration_ns for n, (_, old) in zip(more, pairs, strict=True))
        if len(more) > 1 and felt and one.rank is not None:
            found.append((one.rank, sum(more) / len(more)))
    return tuple(sorted(found, key=lambda each: -each[1]))
