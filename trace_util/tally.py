"""Durations grouped by name: count, total, smallest, median and largest of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trace_util.events import Ints


class Spread(Struct, frozen=True, gc=False):
    """How a number of durations lie, in nanoseconds; a median between two is not rounded."""

    count: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int


class Tally(Struct, frozen=True, gc=False):
    """Durations by key; every column is ``[k]``, keys in rising order."""

    key: NDArray[np.int64]
    count: NDArray[np.int64]
    total_ns: NDArray[np.int64]
    min_ns: NDArray[np.int64]
    median_ns: NDArray[np.float64]
    max_ns: NDArray[np.int64]

    def numbers(self, at: int) -> tuple[int, int, int, float, int]:
        """Count, total, min, median and max of the key at position ``at``."""
        return (
            int(self.count[at]),
            int(self.total_ns[at]),
            int(self.min_ns[at]),
            float(self.median_ns[at]),
            int(self.max_ns[at]),
        )

    def largest_first(self) -> list[int]:
        """The positions by total, largest first; equal totals by key."""
        return [int(i) for i in np.lexsort((self.key, -self.total_ns))]


def tally(key: Ints, duration_ns: NDArray[np.int64]) -> Tally:
    """Durations grouped by key."""
    order = np.lexsort((duration_ns, key))
    keys, durations = key[order].astype(np.int64), duration_ns[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else order
    count = np.diff(np.append(first, len(keys)))
    total = np.add.reduceat(durations, first) if len(keys) else durations
    low, high = durations[first + (count - 1) // 2], durations[first + count // 2]
    return Tally(
        keys[first],
        count,
        total,
        durations[first],
        # Half of the sum, but without the sum: it is exact below 2**53 ns, 104 days.
        low + (high - low) / 2,
        durations[first + count - 1] if len(keys) else durations,
    )


def spread(duration_ns: NDArray[np.int64]) -> Spread | None:
    """The numbers of all durations together, ``None`` without any."""
    if not len(duration_ns):
        return None
    return Spread(*tally(np.zeros(len(duration_ns), dtype=np.int64), duration_ns).numbers(0))


def distinct(values: Ints) -> NDArray[np.int64]:
    """The distinct values, in rising order; like :func:`middle` spares the import of `numpy.ma`."""
    ordered = np.sort(values).astype(np.int64)
    kept = np.ones(len(ordered), dtype=bool)
    kept[1:] = ordered[1:] != ordered[:-1]
    return ordered[kept]


def middle(values: Sequence[int]) -> float:
    """The median; NumPy's own would import `numpy.ma`, which takes longer than small traces do."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
