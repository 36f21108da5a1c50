"""`activation(x @ gate.T) * (x @ up.T)` in one Triton kernel: a GEMM with GeGLU as its epilogue.

Unfused, the two projections write `[tokens, hidden]` each to device memory, and the activation
reads both and writes a third. Here a tile of both projections stands in the registers of one
program when its last product is done, so only the result is ever written.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from fused_mlp import launches
from fused_mlp.activations import activate, checked_activation
from fused_mlp.launches import aligned, checked, descriptor, row
from fused_mlp.packing import GROUP, packed_rows
from fused_mlp.plain import has_tangent
from fused_mlp.tiles import INTERPRETED, LARGE, Launch, Tiles, gpu_of, launch_for, tile_at

try:
    from fused_mlp import hopper
except (ImportError, AttributeError):  # Gluon is experimental: other versions lack these names
    hopper = None


DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@triton.jit
def _dot(a, b, accumulator, WIDEN: tl.constexpr):
    if WIDEN:  # Triton's interpreter holds a bfloat16 as its bits, and would multiply those
        a = a.to(tl.float32)
        b = b.to(tl.float32)
    return tl.dot(a, b.T, accumulator, input_precision="ieee")


@triton.jit
def _gated(
    accumulator, ACTIVATION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr
):
    # Columns come as G of gate, G of up, and so on (packing.py); the split moves no data.
    pairs = tl.permute(tl.reshape(accumulator, (M, N // (2 * G), 2, G)), (0, 1, 3, 2))
    gate, up = tl.split(pairs)
    return tl.reshape(activate(gate, ACTIVATION) * up, (M, N // 2))


@triton.jit
def _geglu_gemm_kernel(
    x, packed, out, tokens, columns, dim, programs,
    ACTIVATION: tl.constexpr, G: tl.constexpr, BAND: tl.constexpr, WIDEN: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """For Hopper and newer. `x`, `packed` and `out` are tensor descriptors: the copy engine moves
    whole tiles, fills with zeros beyond the edges and writes nothing there. Each program works
    through many tiles, and the two loops are flattened into one, so that the loads of the next
    tile are in flight while the epilogue of this one runs."""
    tiles_m = tl.cdiv(tokens, M)
    tiles_n = tl.cdiv(columns, N)
    for index in tl.range(tl.program_id(0), tiles_m * tiles_n, programs, flatten=True):
        m, n = tile_at(index, tiles_m, tiles_n, BAND)
        accumulator = tl.zeros((M, N), tl.float32)
        for k in range(tl.cdiv(dim, K)):
            a = x.load([m * M, k * K])
            b = packed.load([n * N, k * K])
            accumulator = _dot(a, b, accumulator, WIDEN)
        y = _gated(accumulator, ACTIVATION, M, N, G)
        out.store([m * M, n * (N // 2)], y.to(out.dtype))


@triton.jit
def _geglu_gemm_pointer_kernel(
    x, packed, out, tokens, hidden, dim, x_stride,
    ACTIVATION: tl.constexpr, G: tl.constexpr, BAND: tl.constexpr, WIDEN: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """For every GPU, and for rows that the copy engine cannot address. One tile a program."""
    columns = tl.cdiv(hidden, G) * G * 2
    m, n = tile_at(tl.program_id(0), tl.cdiv(tokens, M), tl.cdiv(columns, N), BAND)
    row = (m * M + tl.arange(0, M)).to(tl.int64)[:, None]
    column = (n * N + tl.arange(0, N)).to(tl.int64)[:, None]
    accumulator = tl.zeros((M, N), tl.float32)
    for k in range(0, dim, K):
        ks = k + tl.arange(0, K)[None, :]
        a = tl.load(x + row * x_stride + ks, mask=(row < tokens) & (ks < dim), other=0.0)
        b = tl.load(packed + column * dim + ks, mask=(column < columns) & (ks < dim), other=0.0)
        accumulator = _dot(a, b, accumulator, WIDEN)
    y = _gated(accumulator, ACTIVATION, M, N, G).to(out.dtype.element_ty)
    unit = n * (N // 2) + tl.arange(0, N // 2)[None, :]
    tl.store(out + row * hidden + unit, y, mask=(row < tokens) & (unit < hidden))


def gated_linear(
    x: Tensor,
    packed: Tensor,
    hidden: int,
    activation: str = "gelu_tanh",
    launch: Launch | None = None,
) -> Tensor:
    """`activation(x @ gate.T) * (x @ up.T)`, `[..., hidden]` in the dtype of `x`, sums in float32.

    `x` is `[..., dim]`, `packed` is `packing.pack(gate, up)`. It has no gradients, so it raises
    `RuntimeError` where autograd wants some, backward or forward; `FusedMLP` has them.
    Raises `ValueError` for shapes, dtypes or devices that do not match or that it is not for.
    """
    if torch.is_grad_enabled() and (x.requires_grad or packed.requires_grad):
        which = "x" if x.requires_grad else "packed"
        raise RuntimeError(
            f"gated_linear has no gradients and {which} requires them: call it under "
            "torch.no_grad(), or use FusedMLP, which differentiates"
        )
    if has_tangent(x, packed):
        raise RuntimeError("gated_linear has no forward-mode derivative: use FusedMLP, which has")
    checked_activation(activation)
    checked("gated_linear", x, DTYPES)
    dim = x.shape[-1] if x.dim() else 0
    matches = packed.dtype == x.dtype and packed.device == x.device and dim
    if not matches or packed.shape != (packed_rows(hidden), dim):
        raise ValueError(
            f"gated_linear: x is {list(x.shape)} {x.dtype} on {x.device}, packed is "
            f"{list(packed.shape)} {packed.dtype} on {packed.device}; for hidden={hidden} a packed "
            f"weight of {[packed_rows(hidden), dim or 'dim']} {x.dtype} on {x.device} is needed"
        )
    if torch.compiler.is_compiling() and launch is None:
        return _opaque_gated_linear(x, packed, hidden, activation)
    with row("fused_mlp::gated_linear", x, packed):
        rows = x.reshape(-1, dim)
        rows = rows if rows.stride(-1) == 1 else rows.contiguous()
        # The pointer kernel takes its rows to lie one behind the other, as `pack` lays them.
        packed = packed if packed.is_contiguous() else packed.contiguous()
        out = torch.empty(rows.shape[0], hidden, dtype=x.dtype, device=x.device)
        if out.numel():
            _start(rows, packed, out, activation, launch)
        return out.view(*x.shape[:-1], hidden)


def _start(
    rows: Tensor, packed: Tensor, out: Tensor, activation: str, launch: Launch | None
) -> None:
    gpu = gpu_of(rows.device.index)
    fits = all(map(_describable, (rows, packed, out)))
    launch = launch or launch_for(rows.shape[0], packed.shape[0], gpu, fits)
    if launch.kernel == "hopper" and hopper is None:
        launch = Launch("descriptor", LARGE)
    _LAUNCHERS[launch.kernel](rows, packed, out, activation, launch.tiles, gpu.multiprocessors)


@torch.library.custom_op("fused_mlp::gated_linear", mutates_args=())
def _opaque_gated_linear(x: Tensor, packed: Tensor, hidden: int, activation: str) -> Tensor:
    """The same as one operation of a compiled model, which cannot look into the launch."""
    return gated_linear(x, packed, hidden, activation)


@_opaque_gated_linear.register_fake
def _(x: Tensor, packed: Tensor, hidden: int, activation: str) -> Tensor:
    return x.new_empty(*x.shape[:-1], hidden)


def _describable(matrix: Tensor) -> bool:
    """Whether the copy engine can address it: 16-byte steps, and 16-bit elements for the tiles."""
    step, unit = matrix.stride()
    return (
        matrix.dtype in (torch.bfloat16, torch.float16)
        and unit == 1
        and step % 8 == 0
        and matrix.data_ptr() % 16 == 0
    )


def _count(rows: Tensor, packed: Tensor, tiles: Tiles) -> int:
    # Not `triton.cdiv`, which unwraps constants of kernels and takes the CPU several microseconds.
    return -(-rows.shape[0] // tiles.m) * -(-packed.shape[0] // tiles.n)


def _by_descriptors(
    rows: Tensor, packed: Tensor, out: Tensor, activation: str, tiles: Tiles, multiprocessors: int
) -> None:
    resident = 1 if tiles == LARGE else 2  # programs that a multiprocessor has room for
    programs = min(_count(rows, packed, tiles), multiprocessors * resident)
    launches.launch(
        _geglu_gemm_kernel, programs, (rows.dtype, activation, tiles, rows.shape, out.shape[1]),
        rows.device,
        descriptor(TensorDescriptor.from_tensor, rows, (tiles.m, tiles.k)),
        descriptor(TensorDescriptor.from_tensor, packed, (tiles.n, tiles.k)),
        descriptor(TensorDescriptor.from_tensor, out, (tiles.m, tiles.n // 2)),
        rows.shape[0], packed.shape[0], packed.shape[1], programs,
        activation, GROUP, tiles.band, INTERPRETED, tiles.m, tiles.n, tiles.k,
        num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip


def _by_pointers(
    rows: Tensor, packed: Tensor, out: Tensor, activation: str, tiles: Tiles, multiprocessors: int
) -> None:
    variant = (rows.dtype, activation, tiles, rows.shape, rows.stride(0), out.shape[1])
    launches.launch(
        _geglu_gemm_pointer_kernel, _count(rows, packed, tiles),
        variant + aligned(rows, packed, out), rows.device,
        rows, packed, out, *out.shape, packed.shape[1], rows.stride(0),
        activation, GROUP, tiles.band, INTERPRETED, tiles.m, tiles.n, tiles.k,
        num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip


def _by_warp_groups(
    rows: Tensor, packed: Tensor, out: Tensor, activation: str, tiles: Tiles, multiprocessors: int
) -> None:
    programs = min(_count(rows, packed, tiles), multiprocessors)
    hopper.start(rows, packed, out, activation, programs, tiles.band, *tiles[:3], tiles.stages)


_LAUNCHERS = {
    "hopper": _by_warp_groups,
    "descriptor": _by_descriptors,
    "pointer": _by_pointers,
}
