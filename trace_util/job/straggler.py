"""The rank that keeps the others waiting in a step, and what it needs more time for than they do.

All ranks of a synchronised step take the same time: the others wait in a collective for the slow
one. So ranks are compared by what they need themselves, the step less the time in which they only
communicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trace_util.job.rank import RankStep
from trace_util.job.spending import Spent
from trace_util.tally import middle

# Reasoned: less than a twentieth of a step is not worth hunting for. Also, at least so many times
# the others' own spread (median absolute deviation), where there are enough of them to have one.
FELT = 0.05
SPREADS = 3
FEWEST_FOR_A_SPREAD = 3

WORK, IDLE = "work", "idle"


@dataclass(frozen=True)
class Cause:
    """Something that takes the slow rank longer than the others; nanoseconds."""

    name: str  # a kernel, an op, or spending.OUTSIDE
    times: int
    others_times: float  # median of the others
    ns: int
    others_ns: float


@dataclass(frozen=True)
class Straggler:
    """The slow rank of a step beside the median of the others."""

    step: int
    rank: int
    own_ns: int
    others_ns: float
    kind: str  # WORK: it computes longer; IDLE: its GPU, or the CPU, has nothing to do for longer
    kind_ns: int  # how long it does so
    kind_others_ns: float
    cause: Cause | None  # the name with the greatest excess, if any explains a tenth of it

    @property
    def excess_ns(self) -> float:
        """How much longer the rank takes than the median of the others."""
        return self.own_ns - self.others_ns


def straggler(number: int, steps: Mapping[int, RankStep]) -> Straggler | None:
    """The slow rank of a step, given the step of each rank; ``None`` where none stands out."""
    if len(steps) < 2:
        return None
    rank = max(steps, key=lambda one: steps[one].own_ns)
    slow = steps[rank]
    others = [step for one, step in steps.items() if one != rank]
    own = [step.own_ns for step in others]
    usual = middle(own)
    excess = slow.own_ns - usual
    if excess <= FELT * slow.duration_ns:
        return None
    if len(own) >= FEWEST_FOR_A_SPREAD:
        deviation = middle([abs(int(one - usual)) for one in own])
        if excess <= SPREADS * deviation:
            return None
    work = middle([step.work_ns for step in others])
    idle = middle([step.idle_ns for step in others])
    works = slow.work_ns - work >= slow.idle_ns - idle
    return Straggler(
        step=number,
        rank=rank,
        own_ns=slow.own_ns,
        others_ns=usual,
        kind=WORK if works else IDLE,
        kind_ns=slow.work_ns if works else slow.idle_ns,
        kind_others_ns=work if works else idle,
        cause=_cause(slow, others, excess, works),
    )


def _cause(slow: RankStep, others: list[RankStep], excess: float, works: bool) -> Cause | None:
    spent = slow.spent if works else slow.host
    found = [_beside(one, [step.spent if works else step.host for step in others]) for one in spent]
    best = max(found, key=lambda one: one.ns - one.others_ns, default=None)
    return best if best is not None and best.ns - best.others_ns >= excess / 10 else None


def _beside(one: Spent, others: list[tuple[Spent, ...]]) -> Cause:
    theirs = [next((o for o in spent if o.name == one.name), None) for spent in others]
    return Cause(
        name=one.name,
        times=one.times,
        others_times=middle([o.times if o else 0 for o in theirs]),
        ns=one.total_ns,
        others_ns=middle([o.total_ns if o else 0 for o in theirs]),
    )
