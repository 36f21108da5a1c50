"""Names of AMD's Tensile GEMMs (rocBLAS, hipBLASLt) and of TensorRT-LLM's batched GEMMs.

Tensile's scheme: https://github.com/ROCm/rocm-libraries/tree/develop/shared/tensile . That of
TensorRT-LLM's is undocumented; dtypes as spelled, output first.
"""

from __future__ import annotations

import re

from trace_util.naming.cpp import clipped
from trace_util.naming.parts import KernelName, details, dtype_of, tiling

_LETTERS = {"S": "fp32", "D": "fp64", "H": "fp16", "B": "bf16", "C": "complex64", "Z": "complex128"}
_TENSILE = re.compile(r"Cijk_A(ilk|lik)_B(ljk|jlk)_([A-Z0-9]+)_")
_BMM = re.compile(r"(?:bmm|gemm)_([A-Za-z0-9]+)_([A-Za-z0-9]+)_(Fp32|Fp16)_")


def tensile(name: str) -> KernelName | None:
    """``Cijk_Alik_Bljk_BBS_BH_…_MT256x192x64_MI16x16x1_…_ISA942``: C[i,j,k] sums over l.

    ``Ailk`` has i first, which is a plain column-major A; ``Alik`` is transposed. Three dtype
    letters are input, output and sums; one is all three. MT is the tile, MI the matrix instruction
    (absent: no matrix cores). ``Bias`` means that the kernel can add one, not that it does.
    """
    match = _TENSILE.match(name)
    if match is None:
        return None
    a, b, letters = match.groups()
    codes = [_LETTERS.get(letter) for letter in letters if letter in _LETTERS]
    three = codes if len(letters) == len(codes) == 3 else None
    one = codes[0] if letters in ("SB", "HB", "DB", "CB", "ZB") else None
    tile = re.search(r"_MT(\d+x\d+x\d+)_", name)
    instruction = re.search(r"_MI(\d+x\d+x\d+(?:x\d+)?)_", name)
    architecture = re.search(r"_ISA([0-9a-f]+)(?:_|$)", name)
    short = f"Cijk_A{a}_B{b}_{letters}" + (f"_MT{tile.group(1)}" if tile else "")
    return KernelName(
        raw=name, short=clipped(short), family="Tensile", library="rocBLAS or hipBLASLt",
        role="gemm", dtype=three[0] if three else one, output=three[1] if three else one,
        accumulate=three[2] if three else one,
        layout=("n" if a == "ilk" else "t") + ("n" if b == "ljk" else "t"),
        tensor_cores=instruction is not None, **tiling(tile.group(1) if tile else None),
        architecture_tag=f"gfx{architecture.group(1)}" if architecture else None,
        details=details(instruction=instruction.group(1) if instruction else None),
    )  # fmt: skip


def tensorrt_llm(name: str) -> KernelName | None:
    """``bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_…_sm100f``: output, A and B, sums, tile."""
    match = _BMM.match(name)
    if match is None:
        return None
    output, operands, sums = match.groups()
    tile, stages = re.search(r"_t(\d+x\d+x\d+)", name), re.search(r"_s(\d+)_", name)
    cluster, architecture = (
        re.search(r"_cga(\d+x\d+x\d+)_", name),
        re.search(r"_(sm\d+[af]?)$", name),
    )
    layout = re.search(r"_(TN|NT|NN|TT)_", name)
    return KernelName(
        raw=name, short=clipped(name), family="TensorRT-LLM gemm", library="TensorRT-LLM",
        role="gemm", output=dtype_of(output), accumulate=sums.lower(),
        **tiling(tile.group(1) if tile else None), stages=int(stages.group(1)) if stages else None,
        cluster=cluster.group(1) if cluster else None,
        layout=layout.group(1) if layout else None, tensor_cores=True,
        epilogue=tuple(t for t in ("swiGlu", "geGlu", "relu2") if f"_{t}_" in name),
        architecture_tag=architecture.group(1) if architecture else None,
        details=details(operands=operands),
    )  # fmt: skip
