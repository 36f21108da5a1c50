"""The recorded inputs of an op: sizes, dtypes and plain values, out of the profiler's JSON texts.

``record_shapes=True`` writes three lists a call, one entry an argument: ``Input Dims`` (``[]`` for
what is no tensor, and for a tensor without dimensions), ``Input type`` (a C++ dtype for tensors,
``Scalar`` and the like for the rest) and ``Concrete Inputs`` (the values of the rest, as texts).
Lists of tensors have nested dims and no dtype. See torch/csrc/profiler/util.cpp of PyTorch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from trace_util.events import Shapes
from trace_util.naming.parts import dtype_of

ITEM_BYTES = {
    "fp64": 8, "int64": 8, "fp32": 4, "tf32": 4, "int32": 4, "bf16": 2, "fp16": 2,
    "fp8 e4m3": 1, "fp8 e5m2": 1, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
_TENSOR_TYPES = {
    "short": "int16", "unsigned char": "uint8", "signed char": "int8", "long int": "int64",
    "c10::complex<float>": "complex64",
}  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """One tensor argument."""

    dims: tuple[int, ...]
    dtype: str | None  # "bf16", …; None when it is spelled in an unknown way

    @property
    def elements(self) -> int:
        """How many numbers it holds; 1 without dimensions."""
        return prod(self.dims)

    @property
    def size_bytes(self) -> int | None:
        """Its size when every element is stored once; ``None`` for an unknown dtype."""
        item = ITEM_BYTES.get(self.dtype or "")
        return None if item is None else item * self.elements


@dataclass(frozen=True)
class Inputs:
    """The arguments of one call by position: a tensor, or else the value as text ("" unknown)."""

    arguments: tuple[Tensor | str, ...]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors among them, in order."""
        return tuple(a for a in self.arguments if isinstance(a, Tensor))

    def tensor(self, position: int) -> Tensor | None:
        """The tensor at a position; ``None`` when there is none."""
        if position >= len(self.arguments):
            return None
        found = self.arguments[position]
        return found if isinstance(found, Tensor) else None

    def text(self, position: int) -> str:
        """The plain value at a position as recorded, "" when there is none."""
        found = self.arguments[position] if position < len(self.arguments) else ""
        return found if isinstance(found, str) else ""

    def numbers(self, position: int) -> tuple[int, ...] | None:
        """The list of whole numbers at a position, such as strides or paddings."""
        try:
            found = json.loads(self.text(position).lower())
        except ValueError:
            return None
        values = found if isinstance(found, list) else [found]
        if all(type(value) is int for value in values):
            return tuple(values)
        return None


@lru_cache(maxsize=4096)
def inputs(shapes: Shapes) -> Inputs | None:
    """The arguments that were recorded; ``None`` when the texts are no such lists."""
    dims, types = _list(shapes.dims), _list(shapes.types)
    concrete = _list(shapes.concrete) or []
    if dims is None or types is None or len(types) != len(dims):
        return None
    values = [str(concrete[i]) if i < len(concrete) else "" for i in range(len(dims))]
    return Inputs(tuple(map(_argument, dims, types, values)))


def _argument(dims: Any, spelled: Any, value: str) -> Tensor | str:
    spelled = str(spelled)
    if spelled in ("", "Scalar", "ScalarList", "TensorList", "GenericList", "Device", "None"):
        return value
    if not isinstance(dims, list) or not all(type(size) is int for size in dims):
        return value
    return Tensor(tuple(dims), _TENSOR_TYPES.get(spelled) or dtype_of(spelled))


def _list(text: str) -> list[Any] | None:
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, list) else None
