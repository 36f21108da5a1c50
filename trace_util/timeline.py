"""Intervals on one clock: unions, gaps, overlaps and covered time, all in int64 nanoseconds.

An interval is half open, ``[start, end)``; one without length covers nothing. Every function takes
columns and returns columns, in ``O(n log n)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Ints

Nanoseconds = NDArray[np.int64]
Indexes = Ints


class Union(NamedTuple):
    """Disjoint intervals in order, ``[u]``, and which of the given ones open and close them."""

    start_ns: Nanoseconds
    end_ns: Nanoseconds
    first: Indexes  # into the columns that the union was made of
    last: Indexes

    @property
    def length_ns(self) -> int:
        """The time that the union covers."""
        return int((self.end_ns - self.start_ns).sum())


def union(start_ns: Nanoseconds, end_ns: Nanoseconds) -> Union:
    """The union of intervals; those that touch become one, those without length none."""
    order = np.argsort(start_ns, kind="stable")
    if not (end_ns > start_ns).all():
        order = order[end_ns[order] > start_ns[order]]
    if not len(order):
        nothing = np.zeros(0, dtype=np.int64)
        return Union(nothing, nothing, nothing, nothing)
    starts, reach = start_ns[order], end_ns[order]
    np.maximum.accumulate(reach, out=reach)
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = starts[1:] > reach[:-1]
    at = np.flatnonzero(opens)
    until = np.append(at[1:], len(order)) - 1
    # The closing interval is the first one that reaches the union's end.
    last = np.searchsorted(reach, reach[until], side="left")
    return Union(starts[at], reach[until], order[at], order[last])


def union_ns(start_ns: Nanoseconds, end_ns: Nanoseconds) -> int:
    """The length of the union of intervals."""
    return union(start_ns, end_ns).length_ns


def clip(
    start_ns: Nanoseconds, end_ns: Nanoseconds, low_ns: int, high_ns: int
) -> tuple[Nanoseconds, Nanoseconds]:
    """The parts of intervals inside ``[low, high)``; those outside lose their length."""
    starts = np.clip(start_ns, low_ns, high_ns)
    return starts, np.maximum(np.clip(end_ns, low_ns, high_ns), starts)


def covered_ns(busy: Union, low_ns: Nanoseconds, high_ns: Nanoseconds) -> Nanoseconds:
    """For each ``[low, high)`` the time of it that a union covers, ``[k]``."""
    if not len(busy.start_ns):
        return np.zeros(len(low_ns), dtype=np.int64)
    before = np.concatenate(([0], np.cumsum(busy.end_ns - busy.start_ns)))

    def until(at: Nanoseconds) -> Nanoseconds:
        index = np.searchsorted(busy.start_ns, at, side="right")
        inside = np.where(index > 0, at - busy.end_ns[index - 1], 0)
        return before[index] + np.minimum(inside, 0)

    return until(np.maximum(high_ns, low_ns)) - until(low_ns)


def at_least(start_ns: Nanoseconds, end_ns: Nanoseconds, depth: int) -> int:
    """The time during which at least ``depth`` of the intervals are open at once."""
    # With both sorted, the n-th time that so many are open begins no earlier than start n + depth
    # - 1, lasts no longer than until end n, and ends before the next such time does.
    count = max(len(start_ns) - depth + 1, 0)
    ends = np.sort(end_ns)[:count]
    starts = np.sort(start_ns)[depth - 1 :]
    starts[1:] = np.maximum(starts[1:], ends[:-1])
    return int(np.maximum(ends - starts, 0).sum())
