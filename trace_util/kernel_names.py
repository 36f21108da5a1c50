"""A GPU kernel's name -> what it says: family, library, dtype, tile, layout, epilogue, merged ops.

Names are the one description of a kernel that every trace has. They follow the schemes of whoever
wrote the kernel; ``trace_util.naming`` has one module a maker. A name that follows no known scheme
keeps ``family=None`` and is only shortened: nothing is guessed from words in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from trace_util.naming import aten, attention, cublas, cutlass, others, tensile, triton
from trace_util.naming.cpp import callee, clipped, identifier, mangled_head, normal, qualified
from trace_util.naming.parts import KernelName

__all__ = ["KernelName", "decode"]

# In this order: an attention kernel may be a CUTLASS template too.
_SCHEMES: tuple[Callable[[str], KernelName | None], ...] = (
    others.transfer,
    cublas.nvjet,
    triton.triton,
    tensile.tensile,
    tensile.tensorrt_llm,
    cublas.blas,
    cutlass.xmma,
    others.collective,
    attention.attention,
    aten.aten,
    cutlass.cutlass,
    cublas.templates,
    cutlass.templates,
    others.by_place,
)


@lru_cache(maxsize=8192)
def decode(name: str) -> KernelName:
    """What a kernel's name says; unknown names have ``family`` ``None`` and a shortened form."""
    text = normal(name)
    for scheme in _SCHEMES:
        found = scheme(text)
        if found is not None:
            return replace(found, raw=name)
    return KernelName(raw=name, short=_shortened(text))


def _shortened(text: str) -> str:
    """An unknown name without namespaces' templates and parameters, at most one table cell wide."""
    if text.startswith("_Z"):
        return clipped(mangled_head(text) or text)
    path = qualified(text) if "(" in text or "<" in text else text
    if len(path) > 56:
        path = identifier(callee(text)) or path
    return clipped(path or text)
