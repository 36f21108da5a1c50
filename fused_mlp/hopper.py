"""The fused GEMM for Hopper GPUs, with its warps given different work (in Gluon, Triton's dialect).

`gated_gemm` lets the copy engine run ahead while the epilogue computes, but its tensor cores idle
meanwhile: all warps are in the same epilogue. Here one warp does nothing but start copies, and two
groups of four warps each own half of the tile's tokens. They meet only at barriers, one a stage, so
they drift apart by up to `STAGES` steps, and while one group is in its epilogue the other keeps the
tensor cores busy.
"""

from __future__ import annotations

import torch
from torch import Tensor
from triton import language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from fused_mlp.activations import activate, growth_exponent
from fused_mlp.launches import descriptor, launch
from fused_mlp.packing import GROUP
from fused_mlp.tiles import tile_at

# Triton 3.6 has the longer names, 3.9 the shorter ones alone.
copy_in = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
copy_out = tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global


EVERY_NAN = gl.constexpr(tl.PropagateNan.ALL)  # `maximum` otherwise takes the number of the two


@gluon.jit
def _copy_tiles(
    x, packed, xs, weights, full, empty, tokens, columns, dim, programs,
    BAND: gl.constexpr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    tiles_m = gl.cdiv(tokens, M)
    tiles_n = gl.cdiv(columns, N)
    stage = 0
    phase = 1  # a fresh barrier counts as having completed the phase before its first
    for index in range(gl.program_id(0), tiles_m * tiles_n, programs):
        m, n = tile_at(index, tiles_m, tiles_n, BAND)
        for k in range(gl.cdiv(dim, K)):
            ready = full.index(stage)
            mbarrier.wait(empty.index(stage), phase)
            mbarrier.expect(ready, (M + N) * K * 2)
            copy_in(x, [m * M, k * K], ready, xs.index(2 * stage))
            copy_in(x, [m * M + M // 2, k * K], ready, xs.index(2 * stage + 1))
            copy_in(packed, [n * N, k * K], ready, weights.index(stage))
            stage += 1
            if stage == STAGES:
                stage = 0
                phase ^= 1


@gluon.jit
def _of_one_plus_exp2(exponent):
    # 1 / (1 + 2^exponent), two at a time, for exponents up to 63. A multiprocessor finishes 16
    # exponentials or reciprocals a cycle and 128 products, so one reciprocal serves two elements:
    # 1/a is b/(ab). With two of the slow ones for each, the tensor cores waited for the activation.
    # `min` gives 2^63 for a NaN, which would else make its neighbour one too; x keeps it.
    return gl.inline_asm_elementwise(
        """{
        .reg .f32 a, b, r;
        ex2.approx.ftz.f32 a, $2;
        ex2.approx.ftz.f32 b, $3;
        add.f32 a, a, 0f3F800000;
        add.f32 b, b, 0f3F800000;
        min.f32 a, a, 0f5F000000;
        min.f32 b, b, 0f5F000000;
        mul.f32 r, a, b;
        rcp.approx.ftz.f32 r, r;
        mul.f32 $0, r, b;
        mul.f32 $1, r, a;
        }""",
        "=f,=f,f,f",
        [exponent],
        dtype=gl.float32,
        is_pure=True,
        pack=2,
    )


@gluon.jit
def _activated(x, ACTIVATION: gl.constexpr):
    # Below the bounds, where the exponent would pass 63, the result is some -1e-18 for every x.
    if ACTIVATION == "gelu_tanh":
        x = gl.maximum(x, -7.615, propagate_nan=EVERY_NAN)
        return x * _of_one_plus_exp2(growth_exponent(x))
    elif ACTIVATION == "silu":
        x = gl.maximum(x, -43.668, propagate_nan=EVERY_NAN)
        return x * _of_one_plus_exp2(x * -1.4426950408889634)  # log2(e)
    else:
        return activate(x, ACTIVATION)


@gluon.jit
def _multiply_tiles(
    out, results, xs, weights, full, empty, tokens, columns, dim, programs,
    HALF: gl.constexpr, ACTIVATION: gl.constexpr, G: gl.constexpr,
    BAND: gl.constexpr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    tiles_m = gl.cdiv(tokens, M)
    tiles_n = gl.cdiv(columns, N)
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    result = results.index(HALF)
    stage = 0
    phase = 0
    for index in range(gl.program_id(0), tiles_m * tiles_n, programs):
        m, n = tile_at(index, tiles_m, tiles_n, BAND)
        accumulator = gl.zeros((M // 2, N), gl.float32, layout)
        for k in range(gl.cdiv(dim, K)):
            mbarrier.wait(full.index(stage), phase)
            product = warpgroup_mma(
                xs.index(2 * stage + HALF), weights.index(stage).permute((1, 0)), accumulator,
                is_async=True,
            )  # fmt: skip
            accumulator = warpgroup_mma_wait(1, deps=(product,))  # all but this one are done,
            before = (stage + STAGES - 1) % STAGES  # so that the stage before is free
            mbarrier.arrive(empty.index(before), pred=k > 0)
            stage += 1
            if stage == STAGES:
                stage = 0
                phase ^= 1
        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))
        mbarrier.arrive(empty.index((stage + STAGES - 1) % STAGES))

        pairs = accumulator.reshape((M // 2, N // (2 * G), 2, G)).permute((0, 1, 3, 2))
        gate, up = gl.split(pairs)
        y = (_activated(gate, ACTIVATION) * up).to(out.dtype).reshape((M // 2, N // 2))
        tma.store_wait(0)  # the copy of the tile before has left `result`
        result.store(y)
        fence_async_shared()
        copy_out(out, [m * M + HALF * (M // 2), n * (N // 2)], result)
    tma.store_wait(0)


@gluon.jit
def _geglu_gemm_hopper_kernel(
    x, packed, out, tokens, columns, dim, programs,
    ACTIVATION: gl.constexpr, G: gl.constexpr,
    BAND: gl.constexpr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    xs = gl.allocate_shared_memory(x.dtype, [2 * STAGES, M // 2, K], x.layout)
    weights = gl.allocate_shared_memory(x.dtype, [STAGES, N, K], packed.layout)
    results = gl.allocate_shared_memory(x.dtype, [2, M // 2, N // 2], out.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=2)  # both groups have read it
    gl.warp_specialize(
        [
            (_multiply_tiles, (out, results, xs, weights, full, empty, tokens, columns, dim,
                               programs, 0, ACTIVATION, G, BAND, M, N, K, STAGES)),
            (_multiply_tiles, (out, results, xs, weights, full, empty, tokens, columns, dim,
                               programs, 1, ACTIVATION, G, BAND, M, N, K, STAGES)),
            (_copy_tiles, (x, packed, xs, weights, full, empty, tokens, columns, dim,
                           programs, BAND, M, N, K, STAGES)),
        ],
        [4, 1],  # warps; the first entry runs in the kernel's own four
        [232, 24],  # registers a thread
    )  # fmt: skip


def start(
    x: Tensor, packed: Tensor, out: Tensor, activation: str,
    programs: int, band: int, m: int, n: int, k: int, stages: int,
) -> None:  # fmt: skip
    """Launch over matrices that the copy engine can address; writes every element of `out`."""
    variant = (x.dtype, activation, x.shape, out.shape[1], programs, band, m, n, k, stages)
    launch(
        _geglu_gemm_hopper_kernel, programs, variant, x.device,
        descriptor(_described, x, (m // 2, k)),
        descriptor(_described, packed, (n, k)),
        descriptor(_described, out, (m // 2, n // 2)),
        x.shape[0], packed.shape[0], x.shape[1], programs,
        activation, GROUP, band, m, n, k, stages, num_warps=4,
    )  # fmt: skip


def _described(matrix: Tensor, block: list[int]) -> TensorDescriptor:
    dtype = gl.bfloat16 if matrix.dtype == torch.bfloat16 else gl.float16
    layout = gl.NVMMASharedLayout.get_default_for(block, dtype)
    return TensorDescriptor(matrix, matrix.shape, matrix.stride(), block, layout)
