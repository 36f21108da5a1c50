"""The packed weight of the gate and up projections: one matrix whose rows alternate, 16 by 16.

One GEMM over it gives both projections, and every output tile holds the gate and the up values of
the same hidden units, so that the epilogue can multiply them without leaving the registers. Whole
groups of rows, rather than single ones in turn, for two reasons. A tensor core's result keeps 8
adjacent columns together in a few threads, so the products of a group lie as the outputs must, two
to a thread, and reach shared memory with wide stores (`stmatrix`) instead of 2-byte ones. And 16
elements of a pair are 32 bytes: whoever reads an unfused result in place reads whole sectors.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 16  # rows of gate, then as many of up


def packed_rows(hidden: int) -> int:
    """Rows of the packed weight: `2 * hidden`, with `hidden` rounded up to whole groups."""
    return 2 * -(-hidden // GROUP) * GROUP


def pack(gate: Tensor, up: Tensor) -> Tensor:
    """`gate` and `up`, both `[hidden, dim]`, as one `[packed_rows(hidden), dim]` with zero padding.

    Raises `ValueError` where the two do not match.
    """
    if gate.shape != up.shape or gate.dtype != up.dtype or gate.dim() != 2:
        raise ValueError(
            f"pack: gate is {list(gate.shape)} {gate.dtype}, up is {list(up.shape)} {up.dtype}: "
            "two matrices of the same shape and dtype are needed"
        )
    hidden, dim = gate.shape
    padding = (0, 0, 0, packed_rows(hidden) // 2 - hidden)
    pair = [torch.nn.functional.pad(w, padding).view(-1, GROUP, dim) for w in (gate, up)]
    return torch.stack(pair, dim=1).view(-1, dim)


def unpack(packed: Tensor, hidden: int) -> tuple[Tensor, Tensor]:
    """Copies of `(gate, up)`, both contiguous `[hidden, dim]`; gradients flow back to `packed`."""
    gate, up = packed.view(-1, 2, GROUP, packed.shape[-1]).unbind(dim=1)
    return _rows(gate, hidden), _rows(up, hidden)


def _rows(groups: Tensor, hidden: int) -> Tensor:
    rows = groups.flatten(0, 1)
    # A single group is flat already, so that this was no copy; and a part would keep the whole.
    return rows[:hidden].clone() if len(groups) == 1 or len(rows) > hidden else rows
