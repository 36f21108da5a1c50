"""Intervals: sums that one can do in one's head, and a count of single nanoseconds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_util.timeline import at_least, clip, common, covered_ns, union, union_ns, unions_ns

Pairs = list[tuple[int, int]]

intervals = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda one: (one[0], one[0] + one[1])),
    max_size=12,
)


def columns(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def covered(pairs: Pairs) -> list[int]:
    """How many intervals cover each nanosecond, counted one by one."""
    return [sum(start <= at < end for start, end in pairs) for at in range(100)]


@pytest.mark.parametrize(
    ("pairs", "disjoint"),
    [
        ([], []),
        ([(3, 3)], []),
        ([(1, 4), (4, 6)], [(1, 6)]),  # touching
        ([(5, 9), (1, 6)], [(1, 9)]),  # overlapping, out of order
        ([(1, 9), (2, 3), (8, 9)], [(1, 9)]),  # nested
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),  # apart
        ([(1, 2), (2, 2), (2, 3)], [(1, 3)]),  # one without length in between
    ],
)
def test_union_of_intervals(pairs: Pairs, disjoint: Pairs) -> None:
    found = union(*columns(pairs))
    assert list(zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True)) == disjoint
    assert found.length_ns == sum(end - start for start, end in disjoint)


def test_union_names_what_opens_and_closes_it() -> None:
    found = union(*columns([(20, 22), (5, 9), (1, 6), (2, 9)]))
    assert found.first.tolist() == [2, 0]
    assert found.last.tolist() == [3, 0]  # of the two that reach 9 the one that starts first


@given(intervals)
def test_union_covers_what_any_interval_covers(pairs: Pairs) -> None:
    assert union_ns(*columns(pairs)) == sum(depth > 0 for depth in covered(pairs))


@given(intervals)
def test_union_is_opened_and_closed_by_its_own(pairs: Pairs) -> None:
    starts, ends = columns(pairs)
    found = union(starts, ends)
    assert starts[found.first].tolist() == found.start_ns.tolist()
    assert ends[found.last].tolist() == found.end_ns.tolist()


@given(intervals, st.integers(1, 4))
def test_depth_is_the_time_with_so_many_open(pairs: Pairs, depth: int) -> None:
    assert at_least(*columns(pairs), depth) == sum(d >= depth for d in covered(pairs))


@given(intervals, intervals)
def test_covered_time_of_each_stretch(pairs: Pairs, stretches: Pairs) -> None:
    found = covered_ns(union(*columns(pairs)), *columns(stretches))
    depth = covered(pairs)
    assert found.tolist() == [sum(d > 0 for d in depth[low:high]) for low, high in stretches]


@given(intervals, intervals)
def test_common_parts_are_those_that_both_cover(one: Pairs, other: Pairs) -> None:
    first, second = union(*columns(one)), union(*columns(other))
    parts = list(zip(*common(first.start_ns, first.end_ns, second), strict=True))
    both = [min(a, b, 1) for a, b in zip(covered(one), covered(other), strict=True)]
    assert covered(parts) == both  # once each


@given(intervals, st.integers(0, 80), st.integers(0, 30))
def test_clipped_intervals_lie_inside(pairs: Pairs, low: int, length: int) -> None:
    clipped = clip(*columns(pairs), low, low + length)
    inside = covered(pairs)[low : low + length]
    assert union_ns(*clipped) == sum(d > 0 for d in inside)
    assert (clipped[0] >= low).all() and (clipped[1] <= low + length).all()
    assert (clipped[1] >= clipped[0]).all()


@pytest.mark.parametrize("unit", (1, 10**17), ids=("moved apart", "too long to be moved apart"))
def test_unions_of_groups_are_those_of_each(unit):
    random = Random(3)
    for _ in range(200):
        groups = [
            [(at, at + random.randrange(9)) for at in random.choices(range(12), k=length)]
            for length in random.choices((0, 1, 2, 7), k=random.randrange(1, 9))
        ]
        start, end = columns([pair for group in groups for pair in group])
        borders = np.cumsum([0, *map(len, groups)])
        found = unions_ns(start * unit, end * unit, borders)
        assert found.tolist() == [union_ns(*columns(group)) * unit for group in groups]
