"""Names of Triton kernels: those that Inductor writes, and those that people wrote.

Inductor's are ``triton_<kind>_fused_<ops>_<number>``, the ops sorted and joined by ``_``
(torch/_inductor/utils.py, get_fused_kernel_name; torch/_inductor/codegen/triton.py; torch 2.15).
"""

from __future__ import annotations

import re

from trace_util.naming.cpp import clipped
from trace_util.naming.fused_ops import OPS
from trace_util.naming.parts import KernelName

# The first three letters of the heuristics' names in torch/_inductor/wrapper_benchmark.py
# -> (family, role).
_KINDS = {
    "poi": ("Inductor pointwise", "elementwise"),
    "red": ("Inductor reduction", "reduction"),
    "per": ("Inductor persistent reduction", "reduction"),
    "spl": ("Inductor split scan", "scan"),
    "tem": ("Inductor template", None),
    "for": ("Inductor foreach", "foreach"),
    "unk": ("Inductor", None),
}
_INDUCTOR = re.compile(r"^triton_([a-z]{3})_(?:fused_)?(.*)$")
# Triton 2 put each argument's specialisation behind the name: `_fwd_kernel_0d1d2d3de4c`.
_SPECIALISED = re.compile(r"^([A-Za-z_]\w*?)_(0(?=[0-9dce]*d)[0-9dce]+)$")

# Hand-written kernels, known from their sources (Liger: liger_kernel/ops of liger-kernel 0.8)
# -> (library, role, ops).
_KNOWN: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "_geglu_forward_kernel": ("fused_mlp", "elementwise", ("gelu", "mul")),
    "_geglu_backward_kernel": ("fused_mlp", "elementwise", ("gelu_backward", "mul")),
    "_geglu_gemm_kernel": ("fused_mlp", "gemm", ("mm", "gelu", "mul")),
    "_geglu_gemm_pointer_kernel": ("fused_mlp", "gemm", ("mm", "gelu", "mul")),
    "_geglu_gemm_hopper_kernel": ("fused_mlp", "gemm", ("mm", "gelu", "mul")),
    "_geglu_tanh_forward_kernel": ("Liger", "elementwise", ("gelu", "mul")),
    "_geglu_tanh_backward_kernel": ("Liger", "elementwise", ("gelu_backward", "mul")),
    "_swiglu_forward_kernel": ("Liger", "elementwise", ("silu", "mul")),
    "_swiglu_backward_kernel": ("Liger", "elementwise", ("silu_backward", "mul")),
    "_rms_norm_forward_kernel": ("Liger", "normalization", ("rms_norm",)),
    "_rms_norm_backward_kernel": ("Liger", "normalization", ("rms_norm_backward",)),
    "_layer_norm_forward_kernel": ("Liger", "normalization", ("native_layer_norm",)),
    "liger_cross_entropy_kernel": ("Liger", "loss", ("cross_entropy_loss",)),
    "_layer_norm_backward_kernel": ("Liger", "normalization", ("native_layer_norm_backward",)),
    "fused_moe_kernel": ("Triton", "gemm", ()),  # vLLM's, and those taken from it
    "attn_fwd": ("Triton", "attention", ()),  # AOTriton's, which PyTorch ships for ROCm
}


def merged_ops(text: str) -> tuple[str, ...]:
    """The ops of ``_unsafe_view_gelu_mul``: known ops with underscores first, the longest wins.

    Two underscores in a row mean that the next op begins with one.
    """
    words, ops, position = text.split("_"), [], 0
    while position < len(words):
        for size in range(min(12, len(words) - position), 0, -1):
            candidate = "_".join(words[position : position + size])
            if size == 1 or candidate in OPS:
                break
        position += size
        if candidate:
            ops.append(candidate)
    return tuple(ops)


def triton(name: str) -> KernelName | None:
    """A Triton kernel: Inductor's, one with Triton's own suffix, or one whose source is known."""
    match = _INDUCTOR.match(name)
    if match and match.group(1) in _KINDS:
        family, role = _KINDS[match.group(1)]
        ops = merged_ops(re.sub(r"(?:^|_)\d[0-9a-z]*$", "", match.group(2)))
        if match.group(1) == "tem":
            role = "attention" if "flex_attention" in ops else "gemm" if _has_gemm(ops) else None
        return KernelName(
            raw=name, short=clipped(name), family=family, library="Inductor", role=role,
            ops=ops,
        )  # fmt: skip
    specialised = _SPECIALISED.match(name)
    bare = specialised.group(1) if specialised else name
    if bare in _KNOWN:
        library, role, ops = _KNOWN[bare]
        return KernelName(
            raw=name, short=clipped(bare), family="Triton", library=library, role=role, ops=ops
        )
    if specialised:
        return KernelName(raw=name, short=clipped(bare), family="Triton", library="Triton")
    return None


def _has_gemm(ops: tuple[str, ...]) -> bool:
    return any(op in ("mm", "bmm", "addmm", "baddbmm", "_scaled_mm", "_grouped_mm") for op in ops)
