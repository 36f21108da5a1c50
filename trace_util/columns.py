"""Growing numpy columns: rows go in chunk by chunk, :class:`trace_util.events.Events` comes out.

Memory follows the events kept: each column has the smallest integer type that fits so far, grows in
place, and costs nothing as long as no event has a value for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Table(dict[Any, int]):
    """Distinct values in order of appearance: ``table[value]`` is its index, and adds it if new.

    The value ``absent``, if given, stands for "nothing": its index is -1.
    """

    def __init__(self, absent: Any = None) -> None:
        super().__init__()
        self._absent = int(absent is not None)
        if absent is not None:
            self[absent] = -1

    def __missing__(self, value: Any) -> int:
        index = self[value] = len(self) - self._absent
        return index

    def listed(self) -> list[Any]:
        """The values by index."""
        return list(self)[self._absent :]


_DTYPES = tuple((np.iinfo(each).max, np.dtype(each)) for each in (np.int8, np.int16, np.int32))


def smallest_dtype(low: int, high: int) -> np.dtype[Any]:
    """The smallest signed integer type that holds both."""
    largest = max(high, -1 - low)
    for limit, dtype in _DTYPES:
        if largest <= limit:
            return dtype
    return np.dtype(np.int64)


_PIECE = 1 << 16


class Column:
    """One column of integers, appended to in chunks."""

    def __init__(self, dtype: Any = np.int8) -> None:
        self.dtype = np.dtype(dtype)
        # A bytearray grows by `realloc`, which moves pages and not bytes: no second copy, ever.
        self._bytes = bytearray()
        self._missing = 0  # leading rows without a value, not yet written out

    def __len__(self) -> int:
        return self._missing + len(self._bytes) // int(self.dtype.itemsize)

    def fill(self, count: int) -> None:
        """Append ``count`` rows without a value (-1)."""
        if not self._bytes:
            self._missing += count
        elif count:
            self._bytes += np.full(count, -1, dtype=self.dtype).data

    def extend(self, values: Array, high: int | None = None) -> None:
        """Append values (-1 to ``high``, where that is known), widening where they do not fit."""
        if not len(values):
            return
        if self.dtype != values.dtype:
            low = -1 if high is not None else int(values.min())
            self._widen(smallest_dtype(low, int(values.max()) if high is None else high))
            values = values.astype(self.dtype)
        if self._missing:
            self._bytes += np.full(self._missing, -1, dtype=self.dtype).data
            self._missing = 0
        self._bytes += values.data

    def scatter(self, count: int, where: Array, values: Array) -> None:
        """Append ``count`` rows of -1, except at the positions ``where``."""
        if not len(where) or (not self._bytes and int(values.max()) == int(values.min()) == -1):
            self.fill(count)
            return
        self._widen(smallest_dtype(int(values.min()), int(values.max())))
        column = np.full(count, -1, dtype=self.dtype)
        column[where] = values
        self.extend(column)

    def _widen(self, needed: np.dtype[Any]) -> None:
        if needed.itemsize <= self.dtype.itemsize:
            return
        if self._bytes:
            self._bytes = bytearray(np.frombuffer(self._bytes, self.dtype).astype(needed).data)
        self.dtype = needed

    def state(self) -> tuple[str, bytearray, int]:
        """All of it, to be handed to :meth:`append` in another process."""
        return self.dtype.str, self._bytes, self._missing

    def append(self, state: tuple[str, bytearray, int], indices: Array | None, plus: int) -> None:
        """Append another column's rows: looked up in ``indices``, or increased by ``plus``."""
        dtype, values_bytes, missing = state
        self.fill(missing)
        every = np.frombuffer(values_bytes, np.dtype(dtype))
        for start in range(0, len(every), _PIECE):  # so that widened values take little memory
            values = every[start : start + _PIECE]
            if indices is not None:
                values = indices[values]  # -1 looks up the last entry, which is -1
            elif plus:
                values = values + np.int64(plus)
            self.extend(values)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows where the mask ``[n]`` is false."""
        if self._missing:
            self._missing = int(mask.sum())
        else:
            self._bytes = bytearray(np.frombuffer(self._bytes, self.dtype)[mask].data)

    def array(self) -> Array:
        """The column ``[n]``, sharing memory; a column without any value takes none."""
        if self._missing:
            return np.broadcast_to(np.array(-1, dtype=np.int8), self._missing)
        array = np.frombuffer(self._bytes, self.dtype)
        array.flags.writeable = False
        return array
