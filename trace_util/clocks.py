"""How far the clocks of ranks are apart, from the ends of the collectives they share.

No rank leaves an all-reduce before the last one has entered it, and all leave it within
microseconds. So the difference between two ranks' ends of the same collective is that between their
clocks. The k-th collective of a step on one rank is taken for the k-th on another, where both have
the same ones in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from trace_util.events import Trace
from trace_util.job.collectives import TOGETHER, collectives
from trace_util.links import Links
from trace_util.tally import middle


class End(NamedTuple):
    """The end of a collective on one rank, on that rank's wall clock."""

    step: int  # its number; -1 where the trace has no step marks
    name: str  # "allreduce", whatever the library calls it
    end_ns: int


class Shift(NamedTuple):
    """How far a rank's clock is behind the reference's, and how well collectives agree on it."""

    measured_ns: int
    matched: int  # collectives; none: nothing is known
    spread_ns: int  # between the two that agree least

    @property
    def shift_ns(self) -> int:
        """What to add to the rank's times: nothing, if what was measured may be all spread."""
        return self.measured_ns if abs(self.measured_ns) > self.spread_ns else 0


def collective_ends(trace: Trace, links: Links) -> tuple[End, ...]:
    """The ends of the collectives that end together on all ranks, in order of time."""
    events = trace.events
    base = trace.header.base_time_ns or 0
    found = []
    for row in collectives(trace).tolist():
        known = TOGETHER.search(trace.name_of(row))
        if known is None:
            continue
        step = int(links.step[row])
        number = links.steps[step].number if step >= 0 else -1
        end = int(events.start_ns[row]) + int(events.duration_ns[row]) + base
        found.append(End(number, known.group().replace("_", "").lower(), end))
    return tuple(sorted(found, key=lambda one: one.end_ns))


def clock_shift(reference: Sequence[End], rank: Sequence[End]) -> Shift:
    """The shift that brings a rank's clock to that of the reference."""
    theirs, mine = _by_step(reference), _by_step(rank)
    apart = [
        one.end_ns - other.end_ns
        for step, ends in theirs.items()
        if [each.name for each in ends] == [each.name for each in mine.get(step, ())]
        for one, other in zip(ends, mine[step], strict=True)
    ]
    if not apart:
        return Shift(0, 0, 0)
    return Shift(round(middle(apart)), len(apart), max(apart) - min(apart))


def _by_step(ends: Sequence[End]) -> dict[int, list[End]]:
    found: dict[int, list[End]] = defaultdict(list)
    for one in ends:
        found[one.step].append(one)
    return found
