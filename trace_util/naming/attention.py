"""Names of attention kernels: FlashAttention 2 and 3, memory-efficient, cuDNN, TensorRT-LLM."""

from __future__ import annotations

import re

from trace_util.naming.cpp import callee, clipped, mangled_head, mangled_identifiers, qualified
from trace_util.naming.parts import KernelName, details, dtype_of, tiling

_FLASH = re.compile(r"(?<!\w)(?:flash_(?:fwd|bwd)_\w+|FlashAttn\w+|FlashAttention\w+)")
# PyTorch's instances of CUTLASS' fused attention: F forward, B backward.
_EFFICIENT = re.compile(
    r"fmha_cutlass([FB])_(f16|bf16|f32)_(?:aligned|notaligned)_(\d+x\d+)\w*_sm(\d+)"
)
_CUDNN = re.compile(
    r"cudnn_generated_(?:fort|op\w*)_native_sdpa_(sm\d+)_flash_(fprop|bprop)(?:_(wgmma))?_?(f16|bf16)?"
)
_TRTLLM = re.compile(r"fmhaSm(\d+[af]?)Kernel_Qkv([A-Za-z]+\d?m?\d?|Bfloat16|Fp16)O(\w+?)H(\d+)")


def attention(name: str) -> KernelName | None:
    """A fused attention kernel, or ``None`` for other names."""
    for maker in (_flash, _memory_efficient, _cudnn, _tensorrt_llm):
        if found := maker(name):
            return found
    return None


def _flash(name: str) -> KernelName | None:
    """FlashAttention: ``Flash_fwd_kernel_traits<head dim, block M, block N, warps, …, dtype>``.

    Version 3 and later spell no such traits, but the architecture: ``FlashAttnFwdSm90``.
    """
    is_mangled = name.startswith("_Z")
    words = mangled_identifiers(name) if is_mangled else re.findall(r"[A-Za-z_]\w*", name)
    match = _FLASH.search(mangled_head(name) if is_mangled else callee(name))
    if match is None:
        return None
    last = match.group()
    traits = re.search(
        r"Flash_\w+?_traitsILi(\d+)ELi(\d+)ELi(\d+)E"
        if is_mangled
        else r"Flash_\w+_traits<(\d+), ?(\d+), ?(\d+)",
        name,
    )
    head_dim, tile = (traits.group(1), "x".join(traits.groups()[1:])) if traits else (None, None)
    dtypes = [d for w in words if w.endswith("_t") and (d := dtype_of(w)) and "int" not in d]
    architecture = re.search(r"Sm(\d{2,3})", last)
    return KernelName(
        raw=name, short=clipped(last if is_mangled else _path(name, last)),
        family="FlashAttention", library="FlashAttention", role="attention",
        dtype=dtypes[0] if dtypes else None, tile=tile,
        tensor_cores=None if "ombine" in last else True,
        architecture_tag=f"sm{architecture.group(1)}" if architecture else None,
        details=details(
            direction="backward" if "bwd" in last.lower() else "forward",
            head_dim=head_dim,
            split_KV="yes" if "split" in last else None,
        ),
    )  # fmt: skip


def _path(name: str, last: str) -> str:
    path = qualified(name)
    return path if path.endswith(last) else last


def _memory_efficient(name: str) -> KernelName | None:
    """``fmha_cutlassF_bf16_aligned_64x128_rf_sm80``: queries x keys of a block."""
    match = _EFFICIENT.search(name)
    if match is None:
        return None
    direction, dtype, tile, architecture = match.groups()
    return KernelName(
        raw=name, short=clipped(match.group()), family="memory-efficient attention",
        library="CUTLASS", role="attention", dtype=dtype_of(dtype), **tiling(tile),
        architecture_tag=f"sm{architecture}",
        details=details(direction="forward" if direction == "F" else "backward"),
    )  # fmt: skip


def _cudnn(name: str) -> KernelName | None:
    match = _CUDNN.search(name)
    if match is None:
        return None
    architecture, direction, _, dtype = match.groups()
    shape = re.search(r"_(\d+x\d+x\d+)_(\d+x\d+x\d+)(?:_cga(\d+x\d+x\d+))?", name)
    # The dtype token is f16 for bf16 inputs as well (seen in traces of bf16 models): 16 bits wide.
    return KernelName(
        raw=name, short=clipped(name), family="cuDNN attention", library="cuDNN", role="attention",
        dtype="bf16" if dtype == "bf16" else None, cluster=shape.group(3) if shape else None,
        tile="x".join(shape.group(1).split("x")[:2]) if shape else None,
        tensor_cores=True if "mma" in name else None, architecture_tag=architecture,
        details=details(
            direction="forward" if direction == "fprop" else "backward",
            head_dim=shape.group(1).split("x")[2] if shape else None,
            operands="16 bits" if dtype == "f16" else None,
        ),
    )  # fmt: skip


def _tensorrt_llm(name: str) -> KernelName | None:
    """``fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal…``: dtypes, head size, mask, blocks."""
    match = _TRTLLM.match(name)
    if match is None:
        return None
    architecture, dtype, output, head_dim = match.groups()
    blocks = re.search(r"Q(\d+)Kv(\d+)", name)
    return KernelName(
        raw=name, short=clipped(name), family="TensorRT-LLM attention", library="TensorRT-LLM",
        role="attention", dtype=dtype_of(dtype), output=dtype_of(output),
        tile=f"{blocks.group(1)}x{blocks.group(2)}" if blocks else None,
        architecture_tag=f"sm{architecture}", details=details(head_dim=head_dim),
    )  # fmt: skip
