"""Measured times with their spread, and whether two of them differ by more than it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median as middle

# From this many samples on each side, half of the one below all of the other is no accident: of
# equal times it happens once in 4,600 comparisons (C(30, 10) / C(40, 20)), of 100 far less often.
MANY = 20
# Ranges of equal times that do not touch come about by chance, of three samples beside three in one
# comparison of ten. Where that happens more often than this, they do not tell anything.
SIGNIFICANT = 1 / 20


@dataclass(frozen=True)
class Range:
    """A time measured ``count`` times, in nanoseconds."""

    median_ns: float
    min_ns: float
    max_ns: float
    count: int


@dataclass(frozen=True)
class Distinction:
    """Whether two times differ by more than their spread; ``None``: it cannot be said."""

    differs: bool | None
    reason: str
    change: float | None = None  # of the second relative to the first, -0.1 is a tenth less


def range_of(values_ns: Sequence[float]) -> Range | None:
    """The range of measured values, ``None`` without any."""
    if not values_ns:
        return None
    return Range(float(middle(values_ns)), min(values_ns), max(values_ns), len(values_ns))


def distinction(a: Range | None, b: Range | None) -> Distinction:
    """Whether ``b`` differs from ``a``.

    It does when the ranges do not touch and there are samples enough that this is no accident. With
    ``MANY`` samples on either side it does also when the faster one's median lies below all of the
    slower one's samples: a single late sample in a hundred stretches a range and says nothing.
    """
    if a is None or b is None:
        return Distinction(None, "not measured in both")
    fewest = min(a.count, b.count)
    change = b.median_ns / a.median_ns - 1 if a.median_ns else None
    if fewest < 2:
        return Distinction(None, f"a single sample has no spread, n={fewest}", change)
    fast, slow = sorted((a, b), key=lambda one: one.median_ns)
    if fast.max_ns < slow.min_ns:
        odds = comb(a.count + b.count, a.count) // 2  # orders of the samples to one that parts them
        if odds * SIGNIFICANT < 1:
            return Distinction(None, f"too few samples to tell, n={fewest}", change)
        return Distinction(True, f"ranges do not overlap, n={fewest}", change)
    if fewest >= MANY and fast.median_ns < slow.min_ns:
        reason = f"the faster one's median is below all samples of the slower one, n={fewest}"
        return Distinction(True, reason, change)
    return Distinction(False, f"ranges overlap, n={fewest}", change)
