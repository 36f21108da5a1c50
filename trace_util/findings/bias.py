"""Findings about biases: added in the GEMM's epilogue, or copied into its output before it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trace_util.events import Kind
from trace_util.findings.finding import Finding, count, ns, rows_of, share, size, text
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.scene import Scene

_ADDING = ("aten::addmm", "aten::baddbmm")


def bias(scene: Scene) -> Iterator[Finding]:
    """How biases are added."""
    yield from bias_copy(scene)
    yield from bias_epilogue(scene)


def bias_copy(scene: Scene) -> Iterator[Finding]:
    """A device-to-device copy in ``addmm``: the bias is put where the GEMM adds its result."""
    events, links = scene.trace.events, scene.links
    adding = [i for i, name in enumerate(scene.trace.names) if name in _ADDING]
    transfers = np.flatnonzero(events.is_kind(Kind.MEMCPY))
    copiers = [i for i, name in scene.kernel_names.items() if name.role == "copy"]
    # ROCm copies a broadcast bias with a kernel, with or without a row for copy_.
    rows = np.sort(np.concatenate([transfers, scene.named(scene.kernel_rows, copiers)]))
    ops = links.op[rows]
    outer = np.where(ops >= 0, links.op[ops], -1)
    is_copy = scene.are_named(ops, _index(scene, "aten::copy_")) & (outer >= 0)
    direct = (ops >= 0) & scene.are_named(ops, adding)
    copies = rows[direct | (is_copy & scene.are_named(outer, adding))]
    told = events.size_bytes[copies]
    if not len(copies):
        return
    spent = int(events.duration_ns[copies].sum())
    busy = scene.facts.gpu_busy_ns
    yield Finding(
        "bias-copied-first",
        FindingKind.COST,
        "{copies:copy puts/copies put} the bias into the output before the GEMM adds to it: "
        "{moved}, {spent}, {part} of the GPU's busy time",
        (
            count("copies", len(copies)),
            size("moved", int(told[told > 0].sum()) if (told > 0).any() else None),
            ns("spent", spent),
            share("part", spent / busy if busy else None),
        ),
        "any copy beneath aten::addmm or aten::baddbmm",
        "a one-dimensional bias (nn.Linear) rides in the GEMM's epilogue; a whole matrix cannot",
        rows_of(copies),
    )


def _index(scene: Scene, name: str) -> list[int]:
    return [i for i, one in enumerate(scene.trace.names) if one == name]


def bias_epilogue(scene: Scene) -> Iterator[Finding]:
    """Kernels with the bias in their name's epilogue: it costs no kernel of its own."""
    names = {i: n for i, n in scene.kernel_names.items() if "bias" in n.epilogue}
    rows = scene.named(scene.kernel_rows, names)
    if not len(rows):
        return
    yield Finding(
        "bias-in-epilogue",
        FindingKind.NOTE,
        "{kernels:GEMM adds/GEMMs add} the bias in the epilogue ({name}): no kernel of its own",
        (
            count("kernels", len(rows)),
            text("name", names[int(scene.trace.events.name[rows[0]])].short),
        ),
        "any; told by the kernels' names",
        rows=rows_of(rows),
    )
