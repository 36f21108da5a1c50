"""What the GPU's time goes to: arithmetic, memory traffic, collectives, copies, or not known."""

from __future__ import annotations

from collections import Counter

from trace_util.findings.scene import Scene
from trace_util.kernel_names import decode
from trace_util.roofline import KernelRate

# Kernels that do a handful of FLOPs on each number they move. The GPUs of the table do 9.6 to 848
# FLOPs (fp32 to fp8) in the time that moves a byte, so these are bound by memory on all of them.
MOVERS = (
    "elementwise", "reduction", "softmax", "normalization", "copy", "pooling", "dropout", "index",
    "loss", "interpolation", "foreach", "scan", "memset", "quantization",
)  # fmt: skip


def time_by_bound(scene: Scene) -> Counter[str]:
    """GPU time in ns by its bound: ``compute``, ``memory``, ``network``, ``copies``, ``unknown``.

    Without recorded shapes a kernel is counted by its role where that settles it.
    """
    found: Counter[str] = Counter()
    for rate in scene.rates:
        found[_bound(rate)] += rate.total_ns
    for copy in scene.facts.copies:
        found["memory" if copy.kind == "DtoD" else "copies"] += copy.total_ns
    found["memory"] += sum(one.total_ns for one in scene.facts.memsets)
    return +found


def _bound(rate: KernelRate) -> str:
    role = decode(rate.name).role
    if role == "communication":
        return "network"
    if role in MOVERS:
        return "memory"
    return rate.bound or "unknown"


def why_unknown(scene: Scene) -> str:
    """The commonest reason, by time, for kernels without a bound."""
    reasons: Counter[str] = Counter()
    for rate in scene.rates:
        if _bound(rate) == "unknown":
            known = rate.work.flops is not None or rate.work.size_bytes is not None
            reasons["unknown GPU" if known else rate.work.reason] += rate.total_ns
    return reasons.most_common(1)[0][0] if reasons else ""
