"""Pointwise GeGLU, `activation(gate) * up`, as one Triton kernel each way.

Eager PyTorch runs two kernels here: the activation writes an intermediate as large as the output to
device memory, and the multiplication reads it back. In one kernel the intermediate stays in a
register, and only `gate`, `up` and the output cross the memory bus. One launch configuration serves
every shape, where a compiler's kernel is specialised to one.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from fused_mlp.activations import activate, checked_activation, slope
from fused_mlp.launches import aligned, checked, launch, row
from fused_mlp.plain import has_tangent, plain_geglu

BLOCK = 2048  # elements a program
WARPS = 8  # 8 elements a thread: one 16-byte load of bfloat16 from each input

DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


@triton.jit
def _geglu_forward_kernel(
    gate, up, out, size, columns, gate_stride, up_stride,
    ACTIVATION: tl.constexpr, FLAT: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < size
    row, column = (0, i) if FLAT else (i // columns, i % columns)
    g = tl.load(gate + row * gate_stride + column, mask=inside, other=0.0).to(WIDE)
    u = tl.load(up + row * up_stride + column, mask=inside, other=0.0).to(WIDE)
    tl.store(out + i, activate(g, ACTIVATION) * u, mask=inside)


@triton.jit
def _geglu_backward_kernel(
    gate, up, grad_out, grad_gate, grad_up, size, columns, gate_stride, up_stride,
    ACTIVATION: tl.constexpr, FLAT: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < size
    row, column = (0, i) if FLAT else (i // columns, i % columns)
    g = tl.load(gate + row * gate_stride + column, mask=inside, other=0.0).to(WIDE)
    u = tl.load(up + row * up_stride + column, mask=inside, other=0.0).to(WIDE)
    d = tl.load(grad_out + i, mask=inside, other=0.0).to(WIDE)
    tl.store(grad_gate + i, d * u * slope(g, ACTIVATION), mask=inside)
    tl.store(grad_up + i, d * activate(g, ACTIVATION), mask=inside)


def geglu(gate: Tensor, up: Tensor, activation: str = "gelu_tanh") -> Tensor:
    """`activation(gate) * up`, contiguous, in the inputs' dtype; computed in float32.

    `gate` and `up` share shape, dtype and device. They may be strided: halves of one wider tensor
    are read in place, anything stranger is first copied. Float64 is computed in float64.
    Forward-mode derivatives come from PyTorch's own operations instead.
    Raises `ValueError` for an unknown activation, for inputs that do not match, and for those of
    another kind than `DTYPES` on a GPU.
    """
    checked_activation(activation)
    if gate.shape != up.shape or gate.dtype != up.dtype or gate.device != up.device:
        raise ValueError(
            f"geglu: gate is {_described(gate)}, up is {_described(up)}: "
            "shape, dtype and device must be the same"
        )
    checked("geglu", gate, DTYPES)
    if has_tangent(gate, up):
        return plain_geglu(gate, up, activation)
    if torch.is_grad_enabled() and (gate.requires_grad or up.requires_grad):
        return _GeGLU.apply(gate, up, activation)
    return _forward(gate, up, activation)


def _forward(gate: Tensor, up: Tensor, activation: str) -> Tensor:
    with row("fused_mlp::geglu", gate, up):
        out = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
        _launch(_geglu_forward_kernel, gate, up, (out,), activation)
    return out


class _GeGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate: Tensor, up: Tensor, activation: str) -> Tensor:
        ctx.save_for_backward(gate, up)
        ctx.activation = activation
        return _forward(gate, up, activation)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_out: Tensor) -> tuple[Tensor, Tensor, None]:
        gate, up = ctx.saved_tensors
        grad_gate = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
        grad_up = torch.empty_like(grad_gate)
        results = (grad_out.contiguous(), grad_gate, grad_up)
        _launch(_geglu_backward_kernel, gate, up, results, ctx.activation)
        return grad_gate, grad_up, None


def _launch(kernel, gate: Tensor, up: Tensor, results: tuple[Tensor, ...], activation: str) -> None:
    size = gate.numel()
    if size == 0:
        return  # an empty grid is a launch error
    (gate, gate_stride), (up, up_stride) = _rows(gate), _rows(up)
    columns = gate.shape[-1] if gate.dim() else 1
    flat = gate_stride == columns and up_stride == columns
    wide = tl.float64 if gate.dtype == torch.float64 else tl.float32
    variant = (gate.dtype, activation, size, columns, gate_stride, up_stride)
    launch(
        kernel, -(-size // BLOCK), variant + aligned(gate, up, *results), gate.device,
        gate, up, *results, size, columns, gate_stride, up_stride, activation, flat, wide, BLOCK,
        num_warps=WARPS,
    )  # fmt: skip


def _rows(x: Tensor) -> tuple[Tensor, int]:
    """`x`, copied only if need be, and the step in elements from each row to the next."""
    columns = x.shape[-1] if x.dim() else 1
    if x.is_contiguous():
        return x, columns
    step = x.stride(-2) if x.dim() > 1 else 0
    wanted, steps = step, []
    for length in reversed(x.shape[:-1]):
        steps.append(wanted)
        wanted *= length
    if x.stride(-1) == 1 and step >= columns and tuple(reversed(steps)) == x.stride()[:-1]:
        return x, step
    return x.contiguous(), columns


def _described(x: Tensor) -> str:
    return f"{list(x.shape)} {x.dtype} on {x.device}"
