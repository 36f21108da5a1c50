"""Names of cuBLAS kernels: nvjet, the GPU-named GEMMs, matrix-vector products, split-K sums.

NVIDIA documents none of these schemes. What is read here was checked on traces whose shapes and
dtypes are known; a token with an unsure meaning is left alone.
"""

from __future__ import annotations

import re
from typing import Any

from trace_util.naming.cpp import arguments, clipped, identifier, qualified
from trace_util.naming.parts import (
    BLAS,
    DTYPES,
    INSTRUCTIONS,
    LAYOUT,
    TILE,
    KernelName,
    details,
    dtype_of,
    tiling,
)

# Letters of nvjet's dtype code and of BLAS; e.g. `tst` reads bf16, sums in fp32, writes bf16.
# q: traces of fp8 e4m3 GEMMs read `qqtst`. Other letters are not known here.
_NVJET = {"t": "bf16", "h": "fp16", "s": "fp32", "q": "fp8 e4m3"}
_GPU_NAMES = "maxwell|pascal|volta|turing|ampere|hopper|ada|blackwell"

_BLAS_NAME = re.compile(
    rf"(?:cudnn_(?:infer_|train_)?)?({_GPU_NAMES})_(?:(fp16|bf16|int8|tf32)_)?"
    r"(gc|[shdicz])(\d*)(gemm|cudnn)_"
)


def nvjet(name: str) -> KernelName | None:
    """A cuBLAS GEMM for Hopper or Blackwell, ``nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT``.

    Tile, K x stages and cluster follow the dtype code. ``bz`` came with plain products, ``badd``
    where the same trace copies the bias into the output first, ``bias`` where nn.Linear's bias is
    added as the epilogue. The last letters are the layouts of A, B and the output.
    """
    head, *tokens = name.split("_")
    if head != "nvjet" or len(tokens) < 2:
        return None
    architecture = tokens.pop(0) if re.fullmatch(r"sm\d+[af]?", tokens[0]) else None
    code = tokens.pop(0)
    fields: dict[str, Any] = {}
    if 3 <= len(code) <= 5:
        fields["dtype"] = _NVJET.get(code[0])
        fields["accumulate"], fields["output"] = _NVJET.get(code[-2]), _NVJET.get(code[-1])
    pairs = [token for token in tokens if TILE.match(token)]
    if "mma" in tokens[:1]:  # sm_120: 64x64x128_3_32x32x128, the tile with K, stages, warp tile
        fields.update(tiling(pairs[0] if pairs else None))
        fields["stages"] = next((int(t) for t in tokens if t.isdigit()), None)
        warp_tile = pairs[1] if len(pairs) > 1 else None
    else:
        tile, k_by_stages, fields["cluster"] = (*pairs[:3], None, None, None)[:3]
        fields.update(tiling(tile, k_by_stages))
        warp_tile = None
    last = tokens[-1] if tokens else ""
    return KernelName(
        raw=name, short=clipped(name), family="nvjet", library="cuBLAS", role="gemm",
        layout=last if re.fullmatch(r"[NT]{3,4}", last) else None,
        epilogue=tuple(t for t in tokens if t in ("bias", "badd", "relu", "gelu")),
        tensor_cores=True if fields.get("dtype") in ("bf16", "fp16", "fp8 e4m3") else None,
        architecture_tag=architecture,
        details=details(
            dtype_code=code,
            warp_tile=warp_tile,
            thread_blocks_per_instruction="2" if "2cta" in tokens else None,
            cooperation=next((t for t in tokens if t.startswith("coop")), None),
            split_K="yes" if "splitK" in tokens else None,
        ),
        **fields,
    )  # fmt: skip


def blas(name: str) -> KernelName | None:
    """A hand-written cuBLAS or cuDNN kernel, ``ampere_bf16_s16816gemm_bf16_128x128_…_tn``.

    A letter and digits before ``gemm`` are the dtype of the sums and the Tensor Core instruction;
    no digits, no Tensor Cores. ``relu`` names a kernel that *can* clamp: plain bias runs it too.
    """
    match = _BLAS_NAME.match(name)
    if match is None:
        return None
    architecture, declared, letter, digits, what = match.groups()
    tokens = name[match.end() :].split("_")
    output = DTYPES.get(tokens[0])
    tile = next((t for t in tokens if TILE.match(t)), None)
    slices = re.search(r"stages_(\d+x\d+)", name)
    sums = "complex64" if letter == "gc" else BLAS.get(letter)
    role = "convolution" if what == "cudnn" else "gemm"
    library = "cuDNN" if name.startswith("cudnn_") or what == "cudnn" else "cuBLAS"
    half = output if output in ("fp16", "bf16") else "fp16" if letter == "h" else None
    undeclared = half if digits else sums
    return KernelName(
        raw=name, short=clipped(name), family=f"{library} {role}",
        library=library, role=role, dtype=declared or undeclared,
        accumulate=sums, output=output,
        **tiling(tile, slices.group(1) if slices else None),
        layout=next((t for t in reversed(tokens) if LAYOUT.match(t)), None),
        epilogue=tuple(t for t in tokens if t in ("relu", "bias", "gelu")),
        tensor_cores=bool(digits), architecture_tag=architecture,
        details=details(
            instruction=INSTRUCTIONS.get(digits),
            slices=next((t.removeprefix("sliced") for t in tokens if t.startswith("sliced")), None),
            split_K="yes" if "splitK" in tokens else None,
            algorithm="winograd" if "winograd" in tokens else None,
        ),
    )  # fmt: skip


# Kernels by their C++ identifier: what they are, and whether a template argument is their dtype.
_VECTOR = ("gemv2T_kernel_val", "gemv2N_kernel", "gemvNSP_kernel", "gemv2T_kernel", "gemvn_kernel")
_SMALL = ("gemmk1_kernel", "gemmSN_TN_kernel", "gemmSN_NN_kernel", "gemm_kernel1x1_core")


def templates(name: str) -> KernelName | None:
    """A cuBLAS template: a matrix-vector product, a GEMM with K = 1, the sum after split K."""
    path, last = qualified(name), identifier(name)
    if last in _VECTOR or "gemvx::kernel" in path:
        family, role = "cuBLAS gemv", "gemm"
    elif last in _SMALL:
        family, role = "cuBLAS small gemm", "gemm"
    elif last in ("splitKreduce_kernel", "splitKreduce_kernel_v1"):
        family, role = "cuBLAS split-K sum", "reduction"
    elif path.startswith("epilogue::impl::globalKernel") or "cublasLt::epilogue" in path:
        family, role = "cuBLAS epilogue", "elementwise"
    else:
        return None
    spelled = [d for a in arguments(name) if (d := dtype_of(a)) and d not in ("int32", "bool")]
    # gemmk1_kernel<float, …, cublasGemvTensorStridedBatched<__half const>, …>: sums, then inputs.
    tensors = re.findall(r"cublasGemvTensor\w*<([\w:]+) const>", name)
    dtype = dtype_of(tensors[0]) if tensors else spelled[0] if spelled else None
    sums = None
    if family == "cuBLAS split-K sum":
        dtype, sums = None, spelled[0] if spelled else None
    return KernelName(
        raw=name, short=clipped(f"{path}<{dtype}>" if dtype else path), family=family,
        library="cuBLAS", role=role, dtype=dtype, accumulate=sums,
        tensor_cores=False if role == "gemm" else None,
    )  # fmt: skip
