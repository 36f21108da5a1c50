"""Fused kernels for the gated MLP, `down(activation(gate(x)) * up(x))`, written in Triton."""

from __future__ import annotations

try:
    import triton as _triton  # noqa: F401
except ImportError as error:  # PyTorch's CUDA builds for Linux bring it; the others do not
    raise ImportError(
        "fused_mlp needs Triton, which is not installed: `pip install triton` (Linux only)"
    ) from error

from fused_mlp.gated_gemm import gated_linear
from fused_mlp.geglu import geglu
from fused_mlp.mlp import FusedMLP, Plan

__all__ = ["FusedMLP", "Plan", "gated_linear", "geglu"]
