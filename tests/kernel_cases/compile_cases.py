"""Compiles the kernels for GPUs that need not be there: Triton brings its own assembler."""

from __future__ import annotations

import re

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from fused_mlp import gated_gemm, hopper
from fused_mlp.packing import GROUP
from fused_mlp.tiles import (
    FEW_TOKENS,
    LARGE,
    LARGE_HOPPER,
    LARGE_SHARED_BYTES,
    MIDDLE,
    OLDER,
    OLDER_FEW_TOKENS,
)

A100, H100 = GPUTarget("cuda", 80, 32), GPUTarget("cuda", 90, 32)
NUMBERS = ("tokens", "columns", "dim", "programs", "hidden", "x_stride")


def _compiled(source, kernel, matrices, tiles, target, warps, **constants):
    constants |= {"ACTIVATION": "gelu_tanh", "G": GROUP, "BAND": tiles.band}
    constants |= {"M": tiles.m, "N": tiles.n, "K": tiles.k}
    signature = {
        name: matrices.get(name, "i32" if name in NUMBERS else "constexpr")
        for name in kernel.arg_names
    }
    sixteens = {  # whole multiples of 16, as the launcher would have found
        (i,): [["tt.divisibility", 16]]
        for i, kind in enumerate(signature.values())
        if kind == "i32" or kind.startswith("*")
    }
    return triton.compile(
        source(kernel, signature, constexprs=constants, attrs=sixteens),
        target=target,
        options={"num_warps": warps, "num_stages": tiles.stages},
    )


@pytest.fixture(scope="module")
def hopper_kernel():
    from triton.experimental.gluon._runtime import GluonASTSource

    gl = hopper.gl
    blocks = {
        "x": [LARGE_HOPPER.m // 2, LARGE_HOPPER.k],
        "packed": [LARGE_HOPPER.n, LARGE_HOPPER.k],
        "out": [LARGE_HOPPER.m // 2, LARGE_HOPPER.n // 2],
    }
    layouts = {n: gl.NVMMASharedLayout.get_default_for(b, gl.bfloat16) for n, b in blocks.items()}
    matrices = {n: f"tensordesc<bf16{block},{layouts[n]!r}>" for n, block in blocks.items()}
    kernel = hopper._geglu_gemm_hopper_kernel
    return _compiled(
        GluonASTSource, kernel, matrices, LARGE_HOPPER, H100, 4, STAGES=LARGE_HOPPER.stages
    )


def test_hopper_kernel_needs_the_shared_memory_that_the_launch_asks_for(hopper_kernel):
    assert hopper_kernel.metadata.shared == LARGE_SHARED_BYTES
    assert hopper_kernel.asm["ptx"].count("wgmma.mma_async") >= 4


def test_hopper_kernel_frees_another_stage_each_step(hopper_kernel):
    """Triton 3.6 once took the freed stage for constant: it then deadlocks from STAGES steps on."""
    ptx = hopper_kernel.asm["ptx"]
    blocks = [b for b in re.split(r"(?m)^\$L__BB", ptx) if "mma_async" in b]
    freed = [re.search(r"mbarrier\.arrive\.shared\S* _, \[(%r\d+)\]", block) for block in blocks]
    loops = [(block, match[1]) for block, match in zip(blocks, freed, strict=True) if match]
    assert len(loops) == 2, "one loop for each group of warps"
    for block, address in loops:
        assert re.search(rf"\sadd\.s32\s+{address},", block), "the address is not of this step"


@pytest.mark.parametrize("tiles", (LARGE, MIDDLE))
def test_descriptor_kernel_compiles_for_hopper(tiles):
    matrices = {
        "x": f"tensordesc<bf16[{tiles.m}, {tiles.k}]>",
        "packed": f"tensordesc<bf16[{tiles.n}, {tiles.k}]>",
        "out": f"tensordesc<bf16[{tiles.m}, {tiles.n // 2}]>",
    }
    kernel = gated_gemm._geglu_gemm_kernel
    compiled = _compiled(ASTSource, kernel, matrices, tiles, H100, tiles.warps, WIDEN=False)
    assert compiled.metadata.shared <= LARGE_SHARED_BYTES
    assert "wgmma" in compiled.asm["ptx"] and "cp.async.bulk" in compiled.asm["ptx"]


@pytest.mark.parametrize(
    ("tiles", "target", "most_bytes"),
    [
        (OLDER, A100, 64 << 10),
        (OLDER_FEW_TOKENS, A100, 64 << 10),
        (FEW_TOKENS, H100, LARGE_SHARED_BYTES),
    ],
)
def test_pointer_kernel_compiles_within_shared_memory(tiles, target, most_bytes):
    matrices = dict.fromkeys(("x", "packed", "out"), "*bf16")
    kernel = gated_gemm._geglu_gemm_pointer_kernel
    compiled = _compiled(ASTSource, kernel, matrices, tiles, target, tiles.warps, WIDEN=False)
    assert 0 < compiled.metadata.shared <= most_bytes
    assert "cp.async" in compiled.asm["ptx"], "loads are not overlapped with the products"
