"""A decoded kernel name as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from trace_util.naming.parts import KernelName
from trace_util.report.text import clean

_LABEL = 14  # columns of the labels
_WIDTH = 100  # a name up to here is shown whole
_EPILOGUES = {
    "bias": "bias (added in the GEMM's last phase: no kernel of its own)",
    "badd": "badd (adds what the output holds already, such as a bias copied there)",
    "relu": "relu (the kernel can clamp at zero; whether it does is decided at run time)",
}
_ENTRY = "kernel entry"
_NOT_TOLD = "the algorithm, protocol and reduction that ran are not in the name"
UNKNOWN = "unknown: follows no naming scheme that is known here"


def decoded_text(names: Sequence[KernelName]) -> str:
    """One block a name: the shortened name, and below it what stands in it, line by line."""
    return "\n\n".join(_block(name) for name in names) + "\n"


def decoded_json(names: Sequence[KernelName]) -> str:
    """The fields of :class:`KernelName` for each name, a JSON list."""
    text = json.dumps([name.as_json() for name in names], indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()  # bytes that are no text, as \\udcff


def _block(name: KernelName) -> str:
    title = clean(name.raw if len(name.raw) <= _WIDTH else name.short)
    rows = label_rows(name)
    width = max(_LABEL, *(len(label) + 2 for label, _ in rows))
    return "\n".join([title, *(f"  {label:<{width}}{text}" for label, text in rows)])


def label_rows(name: KernelName) -> list[tuple[str, str]]:
    """What stands in a name, as labels and texts; what it is silent about is left out."""
    if not name.is_known:
        return [("family", UNKNOWN)]
    rows = [
        ("family", _family(name)),
        ("computes", ", ".join(name.ops)),
        ("functor", name.functor),
        ("dtypes", _dtypes(name)),
        ("tile", _tile(name)),
        ("layout", name.layout),
        ("epilogue", ", ".join(_EPILOGUES.get(e, e) for e in name.epilogue)),
        ("Tensor Cores", {True: "yes", False: "no", None: None}[name.tensor_cores]),
        ("built for", f"{name.architecture_tag} (not necessarily the GPU that ran it)"
         if name.architecture_tag else None),
        *((label, f"{text} ({_NOT_TOLD})" if label == _ENTRY else text)
          for label, text in name.details),
    ]  # fmt: skip
    return [(label, text) for label, text in rows if text]


def _family(name: KernelName) -> str:
    extra = [part for part in (name.library, name.role) if part and part not in str(name.family)]
    return f"{name.family} ({', '.join(extra)})" if extra else str(name.family)


def _dtypes(name: KernelName) -> str:
    parts = ((name.dtype, "in"), (name.accumulate, "sums"), (name.output, "out"))
    return ", ".join(f"{dtype} {what}" for dtype, what in parts if dtype)


def _tile(name: KernelName) -> str:
    parts = [name.tile or ""]
    if name.tile_k:
        parts.append(f"{name.tile_k} of K a stage")
    if name.stages:
        parts.append(f"{name.stages} stages" if name.stages > 1 else "1 stage")
    if name.cluster:
        parts.append(f"cluster {name.cluster}")
    return ", ".join(part for part in parts if part)
