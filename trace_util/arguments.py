"""Values of arguments as integers, whatever a trace wrote in their place."""

from __future__ import annotations

from struct import error as PackError
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray


def integers(values: list[Any]) -> NDArray[np.int64]:
    """The values as integers; -1 for whatever is none."""
    try:
        return np.frombuffer(bytearray(pack(f"{len(values)}q", *values)), dtype=np.int64)
    except PackError:
        return np.array([_integer(value) for value in values], dtype=np.int64)


def _integer(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
    return number if abs(number) < 2**63 else -1


def number_in(value: Any) -> int:
    """The number of a row: itself, or the one in a text such as ``"stream 7 "``; -1 for none."""
    if isinstance(value, str):
        digits = value.split()[-1:]
        return _integer(digits[0]) if digits and digits[0].isdigit() else -1
    return _integer(value)
