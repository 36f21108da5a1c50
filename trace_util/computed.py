"""What a kernel computes: which ops, and whether it is a matrix product."""

from __future__ import annotations

from typing import NamedTuple

from trace_util.events import Trace
from trace_util.kernel_names import decode
from trace_util.links import Links
from trace_util.naming.parts import KernelName

# Ops that are matrix products -> what they compute.
GEMM_OPS = {
    "mm": ("mm",),
    "bmm": ("bmm",),
    "addmm": ("mm", "add"),
    "baddbmm": ("bmm", "add"),
    "_addmm_activation": ("mm", "add", "gelu"),
}
# An activation under the names of its op, of its ATen kernel and of its spelling in Inductor.
ACTIVATIONS = {
    "gelu": "gelu",
    "silu": "silu",
    "relu": "relu",
    "relu_": "relu",
    "clamp_min": "relu",
    "launch_clamp_scalar": "relu",
}


class Computed(NamedTuple):
    """What one kernel computes, as far as its name and the op that launched it say."""

    ops: tuple[str, ...]  # "mm", "add", "gelu", …; empty: neither says it
    is_gemm: bool
    is_split_k_sum: bool  # adds up the parts of a product that was split along K
    name: KernelName
    op: str | None  # the op that launched it, as the trace spells it

    @property
    def activation(self) -> str | None:
        """The activation among the ops."""
        return next((ACTIVATIONS[op] for op in self.ops if op in ACTIVATIONS), None)


def computed(trace: Trace, links: Links, row: int) -> Computed:
    """What the kernel at ``row`` computes."""
    name = decode(trace.name_of(row))
    op_row = int(links.op[row])
    op = trace.name_of(op_row) if op_row >= 0 else None
    bare = op.removeprefix("aten::") if op and op.startswith("aten::") else ""
    split_k = name.family == "cuBLAS split-K sum"
    is_gemm = name.role == "gemm" or (not name.is_known and bare in GEMM_OPS)
    if split_k:
        ops: tuple[str, ...] = ()
    elif name.ops:
        ops = _with_activation(trace, name)
    elif is_gemm:
        ops = GEMM_OPS.get(bare) or _by_epilogue(name)
    else:
        ops = (bare,) if bare and bare not in GEMM_OPS else ()
    return Computed(ops, is_gemm, split_k, name, op)


def _with_activation(trace: Trace, name: KernelName) -> tuple[str, ...]:
    """The ops of a name; our own kernels are named after GeGLU whatever their activation is."""
    flags = trace.header.run.get("flags")
    told = flags.get("activation") if isinstance(flags, dict) else None
    if name.library != "fused_mlp" or not isinstance(told, str):
        return name.ops
    return tuple(told.removesuffix("_tanh") if op == "gelu" else op for op in name.ops)


def _by_epilogue(name: KernelName) -> tuple[str, ...]:
    added = {"bias": "add", "badd": "add", "gelu": "gelu", "relu": "relu"}
    # `relu` in the names of older kernels says what they can do, not what they did.
    trusted = [e for e in name.epilogue if e != "relu" or name.family == "nvjet"]
    return ("mm", *dict.fromkeys(added[e] for e in trusted if e in added))
