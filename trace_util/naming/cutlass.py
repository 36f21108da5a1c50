"""Names of CUTLASS kernels, in whatever library they ship, and of the generated xmma kernels.

CUTLASS' scheme: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/profiler.md . xmma's is
undocumented; what is read here was checked on traces whose dtypes are known.
"""

from __future__ import annotations

import re
from typing import Any

from trace_util.naming.cpp import callee, clipped, mangled_head, mangled_identifiers
from trace_util.naming.parts import (
    BLAS,
    DTYPES,
    INSTRUCTIONS,
    LAYOUT,
    TILE,
    KernelName,
    details,
    tiling,
)

# Lower case throughout: in a mangled name the next letter is an upper-case one.
_CUTLASS = re.compile(
    r"cutlass(?:3x)?_(?:(?:sm)?\d+_)?(?:wmma_)?(?:tensorop|simt)_[a-z0-9_]*"
    r"(?:gemm|fprop|dgrad|wgrad)[a-z0-9_]*"
)
_MMA = re.compile(r"^([shdi])(\d*)(?:x(\d+)x(\d+))?(gemm|fprop|dgrad|wgrad|conv\w*)$")
_CONVOLUTIONS = {"fprop": "forward", "dgrad": "data gradient", "wgrad": "weight gradient"}


def cutlass(name: str) -> KernelName | None:
    """A kernel of CUTLASS' instance library, ``cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_…``.

    It often stands inside ``cutlass::Kernel2<…>``; cuBLAS and cuDNN ship such kernels as well.
    CUTLASS 3 spells A, B, accumulator, C and D dtypes, tile, cluster, stages (0: chosen by size).
    """
    match = _CUTLASS.search(name)
    if match is None:
        return None
    inner = match.group()
    tokens = inner.split("_")
    is_3x = tokens[0] == "cutlass3x"
    mma = next((m for t in tokens if (m := _MMA.match(t))), None)
    pairs = [t for t in tokens if TILE.match(t)]
    declared = [DTYPES[t] for t in tokens if t in DTYPES]
    fields: dict[str, Any] = {}
    if is_3x:
        fields.update(tiling(pairs[0] if pairs else None))
        fields["cluster"] = pairs[1] if len(pairs) > 1 else None
        after = tokens.index(pairs[-1]) + 1 if pairs else len(tokens)
        depth = tokens[after] if after < len(tokens) else ""
        fields["stages"] = int(depth) if depth.isdigit() and depth != "0" else None
        if len(declared) >= 5:
            fields["dtype"], fields["accumulate"], fields["output"] = (
                declared[0], declared[2], declared[4],
            )  # fmt: skip
    else:
        fields.update(tiling(*(*pairs[:2], None, None)[:2]))
    is_simt = "simt" in tokens
    if "dtype" not in fields:
        letter = mma.group(1) if mma else ""
        # An fp32 GEMM on Tensor Cores without a declared dtype multiplies in tf32.
        bare = BLAS.get(letter) if is_simt or letter in ("h", "d") else "tf32"
        fields["dtype"] = declared[0] if declared else bare
        fields["accumulate"] = BLAS.get(letter)
        fields["output"] = declared[-1] if len(declared) > 1 else None
    what = mma.group(5) if mma else "gemm"
    number = next((t for t in tokens[1:3] if re.fullmatch(r"(sm)?\d{2,3}", t)), None)
    alignment = re.search(r"_align(\d+)", inner)
    return KernelName(
        raw=name, short=clipped(inner), family="cutlass", library=_home(name),
        role="gemm" if what.endswith("gemm") else "convolution",
        layout=next((t for t in tokens if LAYOUT.match(t) or t in ("nhwc", "nchw")), None),
        epilogue=tuple(t for t in tokens if t in ("relu", "bias", "gelu")),
        tensor_cores=False if is_simt else ("tensorop" in tokens or None),
        architecture_tag=f"sm{number.removeprefix('sm')}" if number else None,
        details=details(
            instruction=_instruction(mma) if mma and not is_simt else None,
            alignment=alignment.group(1) if alignment else None,
            direction=_CONVOLUTIONS.get(what),
            schedule=next((t for t in tokens if t in ("pingpong", "cooperative")), None),
        ),
        **fields,
    )  # fmt: skip


def _instruction(mma: re.Match[str]) -> str | None:
    if mma.group(3):
        return f"{mma.group(2)}x{mma.group(3)}x{mma.group(4)}"
    return INSTRUCTIONS.get(mma.group(2))


def _home(name: str) -> str:
    """The library that a wrapped CUTLASS kernel was shipped in, so far as the name says."""
    return "cuDNN" if "cudnn" in name else "CUTLASS"


def xmma(name: str) -> KernelName | None:
    """A generated cuBLAS or cuDNN kernel, ``sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize…``.

    The first dtype is what is multiplied, the last one that of the sums; ``ffma`` marks CUDA cores.
    """
    match = re.match(r"(sm\d+)_xmma_([a-z]+)_", name)
    if match is None:
        return None
    architecture, what = match.groups()
    types = re.search(r"_((?:[a-z]+\d+){2})_((?:[a-z]+\d+){2})_([a-z]+\d+)_", name)
    spelled = re.findall(r"(?:tf|bf|[fisu])\d+|e\dm\d", "_".join(types.groups())) if types else []
    dtypes = [DTYPES.get(t) for t in spelled]
    tile, stages = re.search(r"_tilesize(\d+x\d+x\d+)", name), re.search(r"_stage(\d+)", name)
    cluster = re.search(r"_cga(\d+x\d+x\d+)", name) or re.search(r"_cluster(\d+x\d+x\d+)", name)
    tensor = re.search(r"_tensor(\d+x\d+x\d+)|_(warpgroupsize)|_(ffma|dfma|simt)", name)
    if what == "gemm":
        layout = re.search(r"_([nt]{2}_[nt])_", name)
    else:
        layout = re.search(r"_(n(?:hw|chw)[a-z]+_n[a-z]+)_tilesize", name)
    return KernelName(
        raw=name, short=clipped(name), family="xmma",
        library="cuBLAS" if "cublas" in name else "cuDNN" if "cudnn" in name else None,
        role="gemm" if what == "gemm" else "convolution",
        dtype="tf32" if "tf32" in dtypes else dtypes[0] if dtypes else None,
        accumulate=dtypes[-1] if dtypes else None,
        **tiling(tile.group(1) if tile else None), stages=int(stages.group(1)) if stages else None,
        cluster=cluster.group(1) if cluster else None,
        layout=layout.group(1) if layout else None,
        tensor_cores=tensor.group(3) is None if tensor else None, architecture_tag=architecture,
        details=details(
            instruction=tensor.group(1) if tensor else None,
            direction=_CONVOLUTIONS.get(what),
            split_K="yes" if "split_k" in name else None,
        ),
    )  # fmt: skip


def templates(name: str) -> KernelName | None:
    """A CUTLASS template that spells its parts as C++ types, demangled or mangled.

    ``cutlass::device_kernel<…GemmUniversal<…>>`` and ``_ZN19cutlass_cudnn_train6KernelI…``; names
    this long are never demangled by the profiler.
    """
    is_mangled = name.startswith("_Z")
    head = mangled_head(name) if is_mangled else callee(name)
    if not re.match(r"(?:\w+ )?cutlass\w*::|flash::.*cutlass", head):
        return None
    words = mangled_identifiers(name) if is_mangled else re.findall(r"[A-Za-z_]\w*", name)
    shape = re.search(
        r"GemmShapeILi(\d+)ELi(\d+)ELi(\d+)" if is_mangled else r"GemmShape<(\d+), (\d+), (\d+)>",
        name,
    )
    convolution = next((w for w in words if "Conv" in w), None)
    role = "convolution" if convolution else "gemm" if any("Gemm" in w for w in words) else None
    if any("ReduceSplitK" in w for w in words):
        role, shape = "reduction", None
    dtypes = [DTYPES[w] for w in words if w in DTYPES and DTYPES[w] not in ("int32", "bool")]
    kind = next((w for w in words if w.startswith(("Implicit", "GemmUni", "Gemm", "Reduce"))), None)
    return KernelName(
        raw=name, short=clipped(f"{callee(head).split('<')[0]}<{kind or '…'}>"),
        family="cutlass template", library=_home(head), role=role,
        dtype=dtypes[0] if dtypes else None,
        **tiling("x".join(shape.groups()) if shape else None),
        tensor_cores=True if any("TensorOp" in w for w in words) else None,
        details=details(
            direction=next((d for w, d in _CONVOLUTIONS.items()
                            if convolution and w in convolution.lower()), None),
        ),
    )  # fmt: skip
