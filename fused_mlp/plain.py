"""GeGLU in PyTorch's own operations, for what Triton's kernels cannot do.

That is other devices, and forward-mode differentiation (dual numbers, `torch.func.jvp`), which a
kernel would drop without a word: it writes values, and no tangents beside them.
"""

from __future__ import annotations

import functools

import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad

TORCH = {
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "gelu": F.gelu,
    "silu": F.silu,
    "relu": F.relu,
}


def plain_geglu(gate: Tensor, up: Tensor, activation: str) -> Tensor:
    """`activation(gate) * up`, contiguous, rounded to the inputs' dtype in between too."""
    return (TORCH[activation](gate) * up).contiguous()


def has_tangent(*tensors: Tensor) -> bool:
    """Whether one of them is a dual number, to be differentiated forward."""
    # The level spares the many calls outside of any the two microseconds of looking.
    if getattr(forward_ad, "_current_level", 0) < 0:
        return False
    return any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)
