"""Columns of which few rows say anything: they cost those rows only, and -1 is read elsewhere.

For summaries of large traces. Of the events of a training step a third at most are calls or work of
a GPU; the others have neither device nor stream nor correlation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from trace_util.blocks import BLOCK, rows_where
from trace_util.columns import Array, Column

# Written out from this share of rows with a value on: a position takes as much as a value.
_DENSE_SHARE = 0.4
_LEAST_ROWS = 4096  # before that many rows the share says little


class LookedUp(NDArrayOperatorsMixin):
    """A column ``[n]`` of integers that is not written out; -1 stands for nothing.

    Looking rows up costs no more than they do. To NumPy it is an array like any, for as long as
    one call takes.
    """

    dtype: np.dtype[Any]

    def __init__(self, length: int) -> None:
        self._length = length
        self.shape = (length,)

    def _look_up(self, rows: Array) -> Array:
        """The values of some rows, as a new array."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self._length

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        column: Array = self[:]
        return column if dtype is None else column.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        written = [np.asarray(one) if isinstance(one, LookedUp) else one for one in inputs]
        return getattr(ufunc, method)(*written, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __getitem__(self, where: Any) -> Any:
        rows: Array
        if isinstance(where, slice):
            rows = np.arange(*where.indices(self._length), dtype=np.int32)
        else:
            rows = np.asarray(where)
        if rows.dtype == bool:
            rows = rows_where(rows)
        elif rows.ndim == 0:
            return self[rows.reshape(1)][0]
        found = np.empty(len(rows), dtype=self.dtype)
        for start in range(0, len(rows), BLOCK):
            found[start : start + BLOCK] = self._look_up(rows[start : start + BLOCK])
        return found


class Sparse(LookedUp):
    """A column of which only some rows, rising, have values."""

    def __init__(self, length: int, rows: Array, values: Array) -> None:
        super().__init__(length)
        self._rows, self._values = rows, values
        self.dtype = values.dtype

    def _look_up(self, rows: Array) -> Array:
        found = np.full(len(rows), -1, dtype=self.dtype)
        if len(self._rows):
            at = np.searchsorted(self._rows, rows.astype(self._rows.dtype, copy=False))
            np.minimum(at, len(self._rows) - 1, out=at)
            known = self._rows[at] == rows
            found[known] = self._values[at[known]]
        return found

    def max(self, initial: int = -1) -> int:
        """The largest value, or ``initial``."""
        return max(initial, int(self._values.max(initial=-1)))


class SparseColumn:
    """A :class:`~trace_util.columns.Column` of which few rows have a value; it turns into an
    ordinary one where many have."""

    def __init__(self) -> None:
        self._length = 0
        self._rows, self._values = Column(np.int32), Column()
        self._dense: Column | None = None

    def __len__(self) -> int:
        return self._length if self._dense is None else len(self._dense)

    def fill(self, count: int) -> None:
        """Append ``count`` rows without a value (-1)."""
        if self._dense is not None:
            self._dense.fill(count)
        else:
            self._length += count

    def scatter(self, count: int, where: Array, values: Array) -> None:
        """Append ``count`` rows of -1, except at the positions ``where``."""
        if self._dense is not None:
            return self._dense.scatter(count, where, values)
        told = values != -1
        if told.any():
            self._rows.extend(where[told] + self._length)
            self._values.extend(values[told])
        self._length += count
        if len(self._rows) > _DENSE_SHARE * self._length and self._length > _LEAST_ROWS:
            self._dense = self._written_out()

    def _written_out(self) -> Column:
        column = Column()
        column.extend(np.asarray(self._sparse()))
        self._rows, self._values = Column(np.int32), Column()
        return column

    def _sparse(self) -> Sparse:
        rows, values = self._rows.array(), self._values.array()
        return Sparse(self._length, rows, values)

    def state(self) -> tuple[Any, ...]:
        """All of it, to be handed to :meth:`append` in another process."""
        if self._dense is not None:
            return (self._dense.state(),)
        return self._length, self._rows.state(), self._values.state()

    def append(self, state: tuple[Any, ...], indices: Array | None, plus: int) -> None:
        """Append another column's rows."""
        other = SparseColumn()
        if len(state) == 1:
            other._dense = Column()
            other._dense.append(state[0], None, 0)
        else:
            other._length = state[0]
            other._rows.append(state[1], None, 0)
            other._values.append(state[2], None, 0)
        if self._dense is None and other._dense is None:
            self.scatter(other._length, other._rows.array(), other._values.array())
            return
        if self._dense is None:
            self._dense = self._written_out()
        self._dense.extend(np.asarray(other.array()))

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows where the mask ``[n]`` is false."""
        if self._dense is not None:
            return self._dense.keep(mask)
        rows, values = self._rows.array(), self._values.array()
        kept = mask[rows]
        moved = np.cumsum(mask, dtype=np.int32)[rows[kept]] - 1
        self._rows, self._values = Column(np.int32), Column()
        self._rows.extend(moved)
        self._values.extend(values[kept])
        self._length = int(mask.sum())

    def array(self) -> Any:
        """The column ``[n]``, sharing memory."""
        return self._sparse() if self._dense is None else self._dense.array()
