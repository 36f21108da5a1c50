"""What a bar is called, from the text that says most to the shortest one."""

from __future__ import annotations

import re

from trace_util.kernel_names import decode
from trace_util.naming.parts import KernelName
from trace_util.report.text import NO_NAME, clean

# Ops that move no data; in a fused kernel's list they say nothing about its work.
_METADATA = re.compile(r"^_|view|reshape|^permute$|^transpose$|^t$|^expand$|squeeze")
_COPY = re.compile(r"\b\w+to\w+\b")
MOST_LETTERS = 60


def kernel_labels(name: str) -> tuple[str, ...]:
    """Texts for a kernel, a copy or a memset, longest first."""
    decoded = decode(name)
    if decoded.role == "memcpy":
        return (_copy(name),)
    if decoded.role == "memset":
        return ("Memset",)
    if decoded.role == "gemm":
        return _gemm(decoded)
    work = merged_ops(decoded)
    if decoded.family == "Triton":  # written by hand: its author chose a name
        return _distinct(decoded.short, work)
    if work and decoded.family and decoded.family.startswith("Inductor"):
        return _distinct(f"{work} (Inductor)", work)
    return _distinct(work or decoded.short)


def merged_ops(decoded: KernelName) -> str:
    """The ops in a kernel that compute something: ``gelu + mul``; "" where the name tells none."""
    ops = [op for op in decoded.ops if not _METADATA.search(op)]
    return " + ".join(ops)


def host_labels(name: str, called: str | None = None) -> tuple[str, ...]:
    """Texts for an op, an annotation or a call, longest first; ``called`` is a short one."""
    # Inductor's annotation carries a hash of 50 letters that nobody reads.
    return _distinct(
        re.sub(r"(CompiledFxGraph) \S+", r"\1", name), called or name.removeprefix("aten::")
    )


def _gemm(decoded: KernelName) -> tuple[str, ...]:
    extra = "".join(f" + {part}" for part in decoded.epilogue)
    tile = f" {decoded.tile}" if decoded.tile else ""
    layout = f" {decoded.layout}" if decoded.layout else ""
    return _distinct(
        f"GEMM{tile}{layout}{extra}", f"GEMM{tile}{extra}", f"GEMM{extra}", f"GEMM{tile}", "GEMM"
    )


def _copy(name: str) -> str:
    found = _COPY.search(name)
    return f"Memcpy {found[0]}" if found else "Memcpy"


def _distinct(*texts: str) -> tuple[str, ...]:
    known = (clean(text)[:MOST_LETTERS] for text in texts if text.strip())
    return tuple(dict.fromkeys(known)) or (NO_NAME,)
