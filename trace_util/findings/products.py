"""Findings about GEMMs and convolutions: no Tensor Cores, odd sizes, copies before them, bf16."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trace_util.devices import is_amd, nvidia_capabilities
from trace_util.events import Kind
from trace_util.findings.finding import Finding, count, ns, rows_of, share, text
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.scene import Scene
from trace_util.naming.parts import KernelName
from trace_util.shapes import Inputs, inputs
from trace_util.tally import distinct

# Reasoned: below a twentieth of the kernels' time no change of them is felt.
FELT = 0.05
# Reasoned: a copy costs as much as it takes, so a smaller part is worth a word.
COPIES_FELT = 0.01
# A thread loads 16 bytes at once, if the row starts at a multiple of that.
# https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication
ALIGNED = {"bf16": 8, "fp16": 8, "tf32": 4, "fp32": 4, "int8": 16, "fp8 e4m3": 16, "fp8 e5m2": 16}
_GEMM_OPS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm")
# Matrix-vector and outer products have nothing to feed a Tensor Core with: they wait for memory.
_VECTORS = ("cuBLAS gemv", "cuBLAS small gemm")
# Two switches: torch.set_float32_matmul_precision is about matrix products alone, cuDNN has its own
# (https://docs.pytorch.org/docs/stable/backends.html; both spellings of it seen in torch 2.15).
_TF32_PRODUCTS = 'torch.set_float32_matmul_precision("high") lets fp32 products use tf32'
_TF32_CONVOLUTIONS = (
    "torch.backends.cudnn.allow_tf32 = True, the default, lets cuDNN's convolutions use tf32 "
    '(newer: torch.backends.cudnn.conv.fp32_precision = "tf32")'
)
_CHOSEN_BY_CUDNN = (
    "other convolutions here use tf32, so that cuDNN may: torch.backends.cudnn.benchmark = True "
    "makes it try what is fastest"
)
_MAKING_CONTIGUOUS = ("aten::clone", "aten::contiguous", "aten::reshape")
_AROUND = ("aten::matmul", "aten::linear", "aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm")


def products(scene: Scene) -> Iterator[Finding]:
    """What keeps matrix products from the Tensor Cores, or adds to them."""
    yield from no_tensor_cores(scene)
    yield from odd_sizes(scene)
    yield from layout_copies(scene)
    yield from emulated_bf16(scene)


def no_tensor_cores(scene: Scene) -> Iterator[Finding]:
    """GEMMs and convolutions on the ordinary cores: fp32 without tf32, most often."""
    slow = [
        index
        for index, name in scene.kernel_names.items()
        if name.tensor_cores is False and name.family not in _VECTORS
    ]
    rows = _rows_named(scene, slow)
    part = _part(scene, rows)
    if not len(rows) or part < FELT:
        return
    names = [scene.kernel_names[index] for index in slow]
    dtypes = ", ".join(sorted({name.dtype for name in names if name.dtype}))
    yield Finding(
        "no-tensor-cores",
        FindingKind.COST,
        "{part} of the kernels' time goes to GEMMs or convolutions that cannot use Tensor Cores: "
        "{kernels:kernel/kernels}, {dtypes}, such as {name}",
        (
            count("kernels", len(rows)),
            text("dtypes", dtypes or "dtype not in the name"),
            text("name", scene.kernel_names[int(scene.trace.events.name[rows[0]])].short),
            share("part", part),
        ),
        "from 5 % of the kernels' time on: reasoned; told by the kernels' names",
        _how_to_use_them(scene, names),
        rows_of(rows),
    )


def _how_to_use_them(scene: Scene, slow: list[KernelName]) -> str:
    fp32 = [name for name in slow if name.dtype == "fp32"]
    if not fp32:
        return "sizes that are multiples of 8 (16 bits) or 16 (8 bits) let the library use them"
    if is_amd(scene.trace.header):
        return "torch.autocast uses 16 bits, for which this GPU has matrix cores"
    major = _compute_major(scene)
    if major is not None and major < 8:
        return "this GPU has no tf32: torch.autocast with fp16 uses its Tensor Cores"
    roles = {name.role for name in fp32}
    steps = [_TF32_PRODUCTS] if roles - {"convolution"} else []
    if "convolution" in roles:
        steps.append(_CHOSEN_BY_CUDNN if _has_tf32_convolutions(scene) else _TF32_CONVOLUTIONS)
    return "; ".join([*steps, "torch.autocast uses 16 bits"])


def _has_tf32_convolutions(scene: Scene) -> bool:
    names = scene.kernel_names.values()
    return any(name.role == "convolution" and name.dtype == "tf32" for name in names)


def odd_sizes(scene: Scene) -> Iterator[Finding]:
    """GEMMs whose rows do not start at multiples of 16 bytes, on NVIDIA GPUs."""
    if _compute_major(scene) is None:
        return
    events, links = scene.trace.events, scene.links
    rows = scene.kernel_rows
    ops = links.op[rows]
    is_gemm = np.array([name in _GEMM_OPS for name in scene.trace.names], dtype=bool)
    rows = rows[(ops >= 0) & is_gemm[events.name[ops]]]
    shapes = events.shapes[links.op[rows]]
    odd = [index for index in distinct(shapes[shapes >= 0]).tolist() if _odd(scene, index)]
    is_odd = np.zeros(len(scene.trace.shapes) + 1, dtype=bool)  # the last one for -1, no shapes
    is_odd[odd] = True
    rows = rows[is_odd[shapes]]
    part = _part(scene, rows)
    if not len(rows) or part < FELT:
        return
    yield Finding(
        "odd-gemm-sizes",
        FindingKind.COST,
        "{part} of the kernels' time goes to {kernels:GEMM/GEMMs} of sizes such as {dims}: rows "
        "that do not start at multiples of 16 bytes take slower loads",
        (
            count("kernels", len(rows)),
            share("part", part),
            text("dims", _dims(scene, odd[0])),
        ),
        "sizes no multiple of 8 (16 bits), 16 (8 bits) or 4 (32 bits): NVIDIA's guide to matrix "
        "multiplication; from 5 % of the kernels' time on: reasoned",
        "pad the odd size (a vocabulary, a number of classes) to the next multiple of 8, better 64",
        rows_of(rows),
    )


def _odd(scene: Scene, index: int) -> bool:
    given = inputs(scene.trace.shapes[index])
    if given is None:
        return False
    matrices = [t for t in given.tensors if len(t.dims) >= 2]
    return any(
        size % ALIGNED.get(t.dtype or "", 1) and size > 1 for t in matrices for size in t.dims[-2:]
    ) and not _is_vector(given)


def _is_vector(given: Inputs) -> bool:
    """One row or one column: a matrix-vector product, which has other needs."""
    return any(1 in t.dims[-2:] for t in given.tensors if len(t.dims) >= 2)


def _dims(scene: Scene, index: int) -> str:
    given = inputs(scene.trace.shapes[index])
    matrices = [t.dims for t in given.tensors if len(t.dims) >= 2] if given else []
    return " x ".join("[" + ", ".join(map(str, dims)) + "]" for dims in matrices[:2])


def layout_copies(scene: Scene) -> Iterator[Finding]:
    """Copies inside a product: an operand whose layout no GEMM kernel takes is copied first."""
    events = scene.trace.events
    copiers = [i for i, name in scene.kernel_names.items() if name.role == "copy"]
    rows = _rows_named(scene, copiers)
    rows = rows[scene.within(rows, _AROUND, _MAKING_CONTIGUOUS)]
    part = _part(scene, rows)
    if not len(rows) or part < COPIES_FELT:
        return
    yield Finding(
        "layout-copies",
        FindingKind.COST,
        "{copies:copy/copies} inside matmul or linear, to bring an operand into another layout, "
        "take {spent}, {part} of the kernels' time",
        (
            count("copies", len(rows)),
            ns("spent", int(events.duration_ns[rows].sum())),
            share("part", part),
        ),
        "from 1 % of the kernels' time on: reasoned",
        "keep operands contiguous along one of their last two dimensions (look at the strides)",
        rows_of(rows),
    )


def emulated_bf16(scene: Scene) -> Iterator[Finding]:
    """bf16 on an NVIDIA GPU older than compute capability 8, which has no instructions for it."""
    major = _compute_major(scene)
    if major is None or major >= 8:
        return
    rows = _rows_named(scene, [i for i, n in scene.kernel_names.items() if n.dtype == "bf16"])
    if not len(rows):
        return
    yield Finding(
        "emulated-bf16",
        FindingKind.COST,
        "{kernels:kernel computes/kernels compute} in bf16, for which {gpu} has no instructions: "
        "it is emulated",
        (count("kernels", len(rows)), text("gpu", scene.facts.gpu or "this GPU")),
        "any bf16 kernel below compute capability 8.0: CUDA C++ Programming Guide, table of "
        "arithmetic instructions",
        "use fp16 on this GPU",
        rows_of(rows),
    )


def _compute_major(scene: Scene) -> int | None:
    """The major compute capability of NVIDIA's GPUs; ``None`` for others, or of several kinds."""
    majors = {major for major, _ in nvidia_capabilities(scene.trace.header)}
    return majors.pop() if len(majors) == 1 else None


def _rows_named(scene: Scene, names: list[int]) -> NDArray[np.int64]:
    return scene.named(scene.kernel_rows, names)


def _part(scene: Scene, rows: NDArray[np.int64]) -> float:
    """The part of all kernels' time that these take."""
    total = scene.facts.kernel_total_ns
    events = scene.trace.events
    kernels = rows[events.kind[rows] == Kind.KERNEL]
    return int(events.duration_ns[kernels].sum()) / total if total else 0.0
