"""Rows of a mask, some at a time, so that what is made of them stays small whatever the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 16  # events that are looked at at a time


def in_blocks(wanted: NDArray[np.bool_]) -> Iterator[NDArray[np.int32]]:
    """The wanted rows in rising order, those of so many events at a time."""
    for first in range(0, len(wanted), BLOCK):
        rows = np.flatnonzero(wanted[first : first + BLOCK]).astype(np.int32)
        rows += first
        yield rows


def rows_where(
    wanted: NDArray[np.bool_],
    test: Callable[[NDArray[np.int32]], NDArray[np.bool_]] | None = None,
) -> NDArray[np.int32]:
    """The wanted rows that pass the test, in rising order."""
    found = [rows if test is None else rows[test(rows)] for rows in in_blocks(wanted)]
    return np.concatenate([np.zeros(0, dtype=np.int32), *found])
