"""ATen ops that only describe the same memory anew, whatever their arguments are.

`reshape`, `contiguous`, `flatten` and `to` are none: they copy where they must. Source: the list of
view ops at https://docs.pytorch.org/docs/stable/tensor_view.html, and the names under which
dispatch records them (`_unsafe_view`, `alias`, `_reshape_alias`: native_functions.yaml, torch 2.9).
"""

from __future__ import annotations

_NAMES = (
     "_reshape_alias", "_unsafe_view", "adjoint", "alias", "as_strided", "chunk", "detach",
     "detach_", "diagonal", "expand", "expand_as", "hsplit", "imag", "lift_fresh", "matrix_H",
     "mH", "mT", "movedim", "narrow", "numpy_T", "permute", "real", "select", "slice", "split",
     "split_with_sizes", "squeeze", "squeeze_", "swapaxes", "swapdims", "t", "t_",
     "tensor_split", "transpose", "transpose_", "unbind", "unflatten", "unfold", "unsqueeze",
     "unsqueeze_", "view", "view_as", "view_as_complex", "view_as_real", "vsplit",
)  # fmt: skip
VIEW_OPS = frozenset(f"aten::{name}" for name in _NAMES)
