"""Which interval lies in which: the innermost enclosing interval of each, without a stack."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Ints

Indexes = Ints


def enclosing(
    row: Indexes,
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    tolerance_ns: int = 0,
) -> Indexes:
    """For each interval the innermost one of the same row that encloses it, -1 if none, ``[n]``.

    A encloses B when B starts within A, ``[start, end)``, and ends no later than ``tolerance_ns``
    after it; of two equal intervals the one that comes first encloses the other. An interval that
    only crosses another is not its parent and does not hide the ones around it: step marks outlive
    the Python frames in which they are opened.
    """
    order = _outer_first(row, start_ns, duration_ns)
    starts, rows = start_ns[order], row[order]
    ends = starts + duration_ns[order]
    # In this order the parent is the nearest earlier interval of the row that is still open at the
    # start and ends no earlier. `before` holds a candidate for each interval; all between the two
    # end too early. A candidate that does so too hands on its own, so that the strides double.
    before = np.arange(-1, len(row) - 1, dtype=np.int64)
    searching = np.arange(len(row), dtype=np.int64)
    while len(searching):
        candidate = before[searching]
        outside = (candidate < 0) | (rows[candidate] != rows[searching])
        before[searching[outside]] = -1
        searching, candidate = searching[~outside], candidate[~outside]
        early = ends[candidate] + tolerance_ns < ends[searching]
        early |= ends[candidate] <= starts[searching]
        searching, candidate = searching[early], candidate[early]
        before[searching] = before[candidate]
    parent = np.full(len(row), -1, dtype=np.int64)
    found = before >= 0
    parent[order[found]] = order[before[found]]
    return parent


def _outer_first(
    row: Indexes, start_ns: NDArray[np.int64], duration_ns: NDArray[np.int64]
) -> Indexes:
    """The order by row, then start, then longest first, then as given."""
    order: Indexes = np.lexsort((start_ns, row))
    starts, rows = start_ns[order], row[order]
    if ((starts[1:] == starts[:-1]) & (rows[1:] == rows[:-1])).any():
        order = np.lexsort((-duration_ns, start_ns, row))
    return order


def nearest(parent: Indexes, wanted: NDArray[np.bool_]) -> Indexes:
    """For each event the nearest of its ancestors that is wanted, -1 if none, ``[n]``."""
    up: Indexes = parent.copy()
    climbing = np.flatnonzero((up >= 0) & ~wanted[up])
    while len(climbing):
        # A neighbour's answer so far is either final or on the same way up.
        up[climbing] = up[up[climbing]]
        reached = up[climbing]
        climbing = climbing[(reached >= 0) & ~wanted[reached]]
    return up
