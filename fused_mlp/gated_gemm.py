"""`activation(x @ gate.T) * (x @ up.T)` in one Triton kernel: a GEMM with GeGLU as its epilogue.

Unfused, the two projections write `[tokens, hidden]` each to device memory, and the activation
reads both and writes a third. Here a tile of both projections stands in the registers of one
program when its last product is done, so only the result is ever written.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from fused_mlp.activations import activate, checked_activation
from fused_mlp.packing import GROUP, packed_rows


@triton.jit
def _tile(index, tiles_m, tiles_n, BAND: tl.constexpr):
    # Row by row over BAND tiles of tokens at a time: programs that run together then share both
    # their rows of x and their rows of the weight in the L2 cache.
    band = index // (BAND * tiles_n) * BAND
    height = min(tiles_m - band, BAND)
    within = index % (BAND * tiles_n)
    return band + within % height, within // height


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
        m, n = _tile(index, tiles_m, tiles_n, BAND)
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
    m, n = _tile(tl.program_id(0), tl.cdiv(tokens, M), tl.cdiv(columns, N), BAND)
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


INTERPRETED = not isinstance(_geglu_gemm_kernel, triton.JITFunction)  # TRITON_INTERPRET=1


class Tiles(NamedTuple):
    """One launch configuration: `m` tokens by `n` packed rows a tile, `k` of the sum a step."""

    m: int
    n: int
    k: int
    band: int  # tiles of tokens that share the weight's rows in the L2 cache
    warps: int
    stages: int


HOPPER = Tiles(m=128, n=256, k=64, band=8, warps=8, stages=4)
HOPPER_SHARED_BYTES = 229_408  # that the compiled kernel asks for: four stages and one result tile
OLDER = Tiles(m=128, n=128, k=32, band=8, warps=8, stages=3)


def gated_linear(x: Tensor, packed: Tensor, hidden: int, activation: str = "gelu_tanh") -> Tensor:
    """`activation(x @ gate.T) * (x @ up.T)`, `[..., hidden]` in the dtype of `x`, sums in float32.

    `x` is `[..., dim]`, `packed` is `packing.pack(gate, up)`. No gradients: see `FusedMLP`.
    Raises `ValueError` for shapes or dtypes that do not match.
    """
    checked_activation(activation)
    if packed.shape != (packed_rows(hidden), x.shape[-1]) or packed.dtype != x.dtype:
        raise ValueError(
            f"gated_linear: x is {list(x.shape)} {x.dtype}, packed is {list(packed.shape)} "
            f"{packed.dtype}; for hidden={hidden} a packed weight of "
            f"{[packed_rows(hidden), x.shape[-1]]} {x.dtype} is needed"
        )
    rows = x.reshape(-1, x.shape[-1])
    rows = rows if rows.stride(-1) == 1 else rows.contiguous()
    out = torch.empty(rows.shape[0], hidden, dtype=x.dtype, device=x.device)
    if out.numel():
        launch = _by_descriptors if describable(rows, packed, out) else _by_pointers
        launch(rows, packed, out, activation)
    return out.view(*x.shape[:-1], hidden)


def describable(*matrices: Tensor) -> bool:
    """Whether the copy engine can address these, on a GPU that has one and room for the tiles."""
    aligned = all(
        m.dtype in (torch.bfloat16, torch.float16)
        and m.data_ptr() % 16 == 0
        and m.stride(0) * m.element_size() % 16 == 0
        and m.stride(1) == 1
        for m in matrices
    )
    return aligned and (INTERPRETED or _has_copy_engine(matrices[0].device.index))


@functools.cache
def _has_copy_engine(device: int | None) -> bool:
    gpu = torch.cuda.get_device_properties(device)
    shared_bytes = getattr(gpu, "shared_memory_per_block_optin", 0)
    return gpu.major >= 9 and shared_bytes >= HOPPER_SHARED_BYTES


def _by_descriptors(rows: Tensor, packed: Tensor, out: Tensor, activation: str) -> None:
    tiles = HOPPER
    count = triton.cdiv(rows.shape[0], tiles.m) * triton.cdiv(packed.shape[0], tiles.n)
    programs = min(count, _multiprocessors(rows.device.index))
    _geglu_gemm_kernel[(programs,)](
        TensorDescriptor(rows, rows.shape, rows.stride(), [tiles.m, tiles.k]),
        TensorDescriptor(packed, packed.shape, packed.stride(), [tiles.n, tiles.k]),
        TensorDescriptor(out, out.shape, out.stride(), [tiles.m, tiles.n // 2]),
        *out.shape[:1], packed.shape[0], packed.shape[1], programs,
        ACTIVATION=activation, G=GROUP, BAND=tiles.band, WIDEN=INTERPRETED,
        M=tiles.m, N=tiles.n, K=tiles.k, num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip


def _by_pointers(rows: Tensor, packed: Tensor, out: Tensor, activation: str) -> None:
    tiles = OLDER
    count = triton.cdiv(rows.shape[0], tiles.m) * triton.cdiv(packed.shape[0], tiles.n)
    _geglu_gemm_pointer_kernel[(count,)](
        rows, packed, out, *out.shape, packed.shape[1], rows.stride(0),
        ACTIVATION=activation, G=GROUP, BAND=tiles.band, WIDEN=INTERPRETED,
        M=tiles.m, N=tiles.n, K=tiles.k, num_warps=tiles.warps, num_stages=tiles.stages,
    )  # fmt: skip


@functools.cache
def _multiprocessors(device: int | None) -> int:
    return 1 if INTERPRETED else torch.cuda.get_device_properties(device).multi_processor_count
