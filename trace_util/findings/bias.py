"""Findings about biases: added in the GEMM's epilogue, or copied into its output before it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Kind
from trace_util.findings.finding import Finding, count, ns, rows_of, share, size, text
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.scene import Scene
from trace_util.shapes import inputs
from trace_util.tally import distinct

_ADDING = ("aten::addmm", "aten::baddbmm")
# aten/src/ATen/native/cuda/Blas.cpp of PyTorch: addmm copies what it adds into its output and lets
# the GEMM add to that, unless the output is the very tensor that is added (`addmm_`), or that is a
# contiguous vector of one value a column, beta is 1, and the build and the GPU have cuBLASLt (or
# hipBLASLt) for it. cuBLASLt itself could add a matrix that lies elsewhere: D = alpha AB + beta C.
_VECTOR = (
    "a vector, as nn.Linear's bias is, needs no copy where PyTorch calls cuBLASLt (hipBLASLt on "
    "AMD), which adds it in the GEMM's epilogue: newer versions do, for a contiguous one and beta=1"
)
_MATRIX = (
    "PyTorch lets the GEMM add to its own output, and so copies the matrix there: c.addmm_(a, b) "
    "needs no copy where c may be overwritten, nor does a vector where all rows are the same"
)


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
    at = direct | (is_copy & scene.are_named(outer, adding))
    copies = rows[at]
    if not len(copies):
        return
    told = events.size_bytes[copies]
    moved = int(told[told > 0].sum()) if (told > 0).any() else None
    biases = _biases(scene, np.where(direct, ops, outer)[at])
    shape = " ({shape})" if len(biases) == 1 else ""
    spent = int(events.duration_ns[copies].sum())
    busy = scene.facts.gpu_busy_ns
    yield Finding(
        "bias-copied-first",
        FindingKind.COST,
        f"{{copies:copy puts/copies put}} the bias{shape} into the output before the GEMM adds to "
        f"it: {'{moved}, ' if moved else ''}{{spent}}, {{part}} of the GPU's busy time",
        (
            count("copies", len(copies)),
            text("shape", ", ".join(sorted(map(_spelled, biases))) or None),
            size("moved", moved),
            ns("spent", spent),
            share("part", spent / busy if busy else None),
        ),
        "any copy beneath aten::addmm or aten::baddbmm",
        _next_step(biases),
        rows_of(copies),
    )


def _biases(scene: Scene, ops: NDArray[np.int64]) -> set[tuple[int, ...]]:
    """The distinct sizes of what these ops add, their first argument; none without shapes."""
    shapes = scene.trace.events.shapes[ops]
    given = [inputs(scene.trace.shapes[index]) for index in distinct(shapes[shapes >= 0]).tolist()]
    added = [one.tensor(0) for one in given if one]
    return {tensor.dims for tensor in added if tensor}


def _spelled(dims: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"


def _next_step(biases: set[tuple[int, ...]]) -> str:
    """What spares the copies of biases of these sizes."""
    vectors = any(len(dims) < 2 for dims in biases)
    matrices = any(len(dims) >= 2 for dims in biases)
    if vectors and not matrices:
        return _VECTOR
    if matrices and not vectors:
        return _MATRIX
    return f"{_VECTOR}; of a matrix: {_MATRIX}"


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
