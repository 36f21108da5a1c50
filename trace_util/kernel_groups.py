"""Kernels that read the same in a few words, together: of any full name, op and shapes.

A few shapes of known rates stand apart, since their rates tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_util.blocks import rows_where
from trace_util.events import Kind, Trace
from trace_util.kernel_names import decode
from trace_util.kernel_words import kernel_words
from trace_util.roofline import KernelRate
from trace_util.tally import tally

MOST_APART = 3  # shapes of one kernel that stand apart; more would hide how much it takes in all


@dataclass(frozen=True)
class KernelGroup:
    """All kernels that the same words stand for, and their rates by name, op and shapes."""

    words: str
    count: int
    total_ns: int
    median_ns: float
    rates: tuple[KernelRate, ...]  # most total time first

    @property
    def flops_per_s(self) -> float | None:
        """Achieved over all of them where their work is arithmetic; ``None`` where not all say."""
        known = [one.flops_per_s for one in self.rates]
        if len(known) == 1 or None in known:
            return known[0] if len(known) == 1 else None
        return sum((one.work.flops or 0) * one.count for one in self.rates) / self.total_ns * 1e9

    @property
    def bytes_per_s(self) -> float | None:
        """Achieved over all of them; ``None`` where not all say how much they move."""
        known = [one.bytes_per_s for one in self.rates]
        if len(known) == 1 or None in known:
            return known[0] if len(known) == 1 else None
        moved = sum((one.work.size_bytes or 0) * one.count for one in self.rates)
        return moved / self.total_ns * 1e9

    @property
    def bound(self) -> str | None:
        """Which peak all of them come nearer to; ``None`` where they differ."""
        bounds = {one.bound for one in self.rates}
        return bounds.pop() if len(bounds) == 1 else None

    @property
    def compute_share(self) -> float | None:
        """The part of the dense peak FLOP/s, 0 to 1, where they have one peak."""
        return _share(self.flops_per_s, {one.peak_flops_per_s for one in self.rates})

    @property
    def memory_share(self) -> float | None:
        """The part of the peak memory bandwidth, over 1 where a cache took part."""
        return _share(self.bytes_per_s, {one.peak_bytes_per_s for one in self.rates})

    @property
    def may_be_cached(self) -> bool:
        """Whether part of what any of them moves is, or may be, between it and the cache alone."""
        return any(one.may_be_cached for one in self.rates)

    @property
    def is_lower_bound(self) -> bool:
        """Whether any of them moves at least so much."""
        return any(one.work.is_lower_bound for one in self.rates)


def kernel_groups(trace: Trace, rates: tuple[KernelRate, ...]) -> tuple[KernelGroup, ...]:
    """The kernels by the words for them, most total time first."""
    words: dict[str, list[KernelRate]] = {}
    for one in rates:
        words.setdefault(kernel_words(decode(one.name)), []).append(one)
    group = {one.name: i for i, mine in enumerate(words.values()) for one in mine}
    of_name = np.array([group.get(name, -1) for name in trace.names], dtype=np.int64)
    rows = rows_where(trace.events.is_kind(Kind.KERNEL))
    found = tally(of_name[trace.events.name[rows]], trace.events.duration_ns[rows])
    texts, members = list(words), list(words.values())
    made: list[KernelGroup] = []
    for i, key in enumerate(found.key.tolist()):
        if _stand_apart(members[key]):
            made += [
                KernelGroup(texts[key], one.count, one.total_ns, one.median_ns, (one,))
                for one in members[key]
            ]
            continue
        count, total_ns, _, median_ns, _ = found.numbers(i)
        made.append(KernelGroup(texts[key], count, total_ns, median_ns, tuple(members[key])))
    return tuple(sorted(made, key=lambda one: -one.total_ns))


def _stand_apart(rates: list[KernelRate]) -> bool:
    known = all(one.flops_per_s is not None or one.bytes_per_s is not None for one in rates)
    return known and len(rates) <= MOST_APART and len({one.name for one in rates}) == 1


def _share(rate: float | None, peaks: set[float | None]) -> float | None:
    peak = peaks.pop() if len(peaks) == 1 else None
    return None if rate is None or not peak else rate / peak
