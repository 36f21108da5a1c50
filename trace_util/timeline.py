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
    order = _in_order(start_ns, end_ns)
    if not len(order):
        nothing = np.zeros(0, dtype=np.int64)
        return Union(nothing, nothing, nothing, nothing)
    starts, reach = start_ns[order], _reach(end_ns, order)
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = starts[1:] > reach[:-1]
    starts, first = starts[opens], order[opens]
    ends = reach[_closes(opens)]
    # The closing interval is the first one that reaches the union's end.
    last = np.searchsorted(reach, ends, side="left").astype(np.int32)
    return Union(starts, ends, first, order[last])


def _in_order(start_ns: Nanoseconds, end_ns: Nanoseconds) -> Indexes:
    """The order by start, those without length left out; 32 bits are enough for any trace."""
    order = np.argsort(start_ns, kind="stable").astype(np.int32)
    has_length = end_ns > start_ns
    return order if has_length.all() else order[has_length[order]]


def _reach(end_ns: Nanoseconds, order: Indexes) -> Nanoseconds:
    """The latest end so far, in order."""
    reach = end_ns[order]
    return np.maximum.accumulate(reach, out=reach)


def merged(start_ns: Nanoseconds, end_ns: Nanoseconds) -> tuple[Nanoseconds, Nanoseconds]:
    """The start and the end of each interval of a union."""
    order = _in_order(start_ns, end_ns)
    if not len(order):
        return start_ns[:0], end_ns[:0]
    starts, reach = start_ns[order], _reach(end_ns, order)
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = starts[1:] > reach[:-1]
    return starts[opens], reach[_closes(opens)]


def _closes(opens: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """One closes where the next one opens, and the last one at the end."""
    return np.append(opens[1:], True)


def union_ns(start_ns: Nanoseconds, end_ns: Nanoseconds) -> int:
    """The length of the union of intervals."""
    order = _in_order(start_ns, end_ns)
    if not len(order):
        return 0
    starts, reach = start_ns[order], _reach(end_ns, order)
    gaps = starts[1:] - reach[:-1]
    return int(reach[-1] - starts[0] - np.maximum(gaps, 0, out=gaps).sum())


def unions_ns(start_ns: Nanoseconds, end_ns: Nanoseconds, borders: Indexes) -> Nanoseconds:
    """The length of the union of each group of intervals, ``[k]`` for ``borders`` ``[k + 1]``.

    Group ``i`` is ``borders[i]`` to ``borders[i + 1]``.
    """
    count = len(borders) - 1
    if not len(start_ns):
        return np.zeros(count, dtype=np.int64)
    low = int(start_ns.min())
    span = max(int(end_ns.max()), int(start_ns.max())) - low + 1
    if span * count > np.iinfo(np.int64).max:
        pairs = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
        each = [union_ns(start_ns[a:b], end_ns[a:b]) for a, b in pairs]
        return np.array(each, dtype=np.int64)
    # Each group is moved behind the one before, so that one pass in order serves all of them.
    group = np.repeat(np.arange(count, dtype=np.int64), np.diff(borders))
    moved = group * span - low
    starts, ends = start_ns + moved, end_ns + moved
    order = _in_order(starts, ends)
    starts, ends, group = starts[order], ends[order], group[order]
    reached = np.concatenate((starts[:1], np.maximum.accumulate(ends)[:-1]))
    more = np.maximum(ends - np.maximum(starts, reached), 0)
    upto = np.concatenate(([0], np.cumsum(more)))
    lengths: Nanoseconds = np.diff(upto[np.searchsorted(group, np.arange(count + 1))])
    return lengths


def clip(
    start_ns: Nanoseconds,
    end_ns: Nanoseconds,
    low_ns: int | Nanoseconds,
    high_ns: int | Nanoseconds,
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


def common(
    start_ns: Nanoseconds, end_ns: Nanoseconds, others: Union
) -> tuple[Nanoseconds, Nanoseconds]:
    """The parts of intervals, in order and disjoint, that a union covers."""
    if not len(start_ns) or not len(others.start_ns):
        return start_ns[:0], end_ns[:0]
    edges = np.sort(np.concatenate((start_ns, end_ns, others.start_ns, others.end_ns)))
    low, high = edges[:-1], edges[1:]
    kept = low < high
    for starts, ends in ((start_ns, end_ns), (others.start_ns, others.end_ns)):
        index = np.searchsorted(starts, low, side="right") - 1
        kept &= (index >= 0) & (ends[index] > low)
    return low[kept], high[kept]


def at_least(start_ns: Nanoseconds, end_ns: Nanoseconds, depth: int) -> int:
    """The time during which at least ``depth`` of the intervals are open at once."""
    # With both sorted, the n-th time that so many are open begins no earlier than start n + depth
    # - 1, lasts no longer than until end n, and ends before the next such time does.
    count = max(len(start_ns) - depth + 1, 0)
    ends = np.sort(end_ns)[:count]
    starts = np.sort(start_ns)[depth - 1 :]
    starts[1:] = np.maximum(starts[1:], ends[:-1])
    return int(np.maximum(ends - starts, 0).sum())
