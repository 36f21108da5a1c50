"""A kernel in a few words, out of its decoded name: ``bf16 GEMM 256x128 (nvjet)``."""

from __future__ import annotations

from trace_util.naming.parts import KernelName

_ROLES = {
    "gemm": "GEMM", "convolution": "convolution", "attention": "attention", "softmax": "softmax",
    "reduction": "reduction", "normalization": "normalization", "communication": "collective",
    "copy": "copy", "elementwise": "elementwise",
}  # fmt: skip
# Ops that compute nothing, which Inductor's names mention all the same.
_VIEWS = (
    "_unsafe_view", "view", "reshape", "permute", "transpose", "t", "expand", "squeeze",
    "unsqueeze", "as_strided", "slice", "select",
)  # fmt: skip


def kernel_words(name: KernelName) -> str:
    """What the kernel is, then in brackets the scheme of its name; unknown ones by short name."""
    if not name.is_known:
        return name.short
    if name.role in ("memcpy", "memset"):
        return name.short
    ops = [op for op in name.ops if op not in _VIEWS] or list(name.ops)
    what = " + ".join(ops) if ops and name.role != "gemm" else _ROLES.get(name.role or "")
    words = [word for word in (name.dtype, what or name.short) if word]
    text = " ".join(words)
    if name.tile:
        text += f" {name.tile}"
    # A kernel named relu can clamp; whether it does is not in its name.
    if epilogue := [one for one in name.epilogue if one != "relu"]:
        text += " with " + " + ".join(epilogue)
    if name.tensor_cores is False:
        text += ", no Tensor Cores"
    # With its ops named, who made the kernel is enough; else the scheme says what it is.
    family = str(name.family)
    scheme = name.library if name.ops or family.endswith(str(name.role)) else family
    return f"{text} ({scheme})"
