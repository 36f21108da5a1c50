"""What was run: lesson, variant, GPU, shapes and dtype; and in what two runs differ.

A lesson writes it into its trace. Of other traces it is worked out from their events, as far as
these say it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trace_util.devices import nvidia_capabilities
from trace_util.events import Kind, Trace
from trace_util.facts import Facts
from trace_util.kernel_names import decode
from trace_util.shapes import inputs

ANNOTATIONS = {
    "matmul_add": "01_matmul",
    "linear_fwd": "02_linear",
    "mlp_fwd": "03_simple_mlp",
    "kernels_mlp_fwd": "03_kernels_mlp",
    "parallel_mlp_fwd": "05_parallel_mlp",
}
# The lessons that run one workload in several ways; every other has its own.
_MLP = ("03_simple_mlp", "03_kernels_mlp", "05_parallel_mlp")
# Of the names of all ops of two eager runs, the part that is in both. Measured: 0.57 and more for
# runs of one workload, 0.46 and less for those of two, among the recorded and 14 public traces.
ALIKE_OPS = 0.5
HAND_WRITTEN = ("triton", "liger", "hub", "fused")
# Rows that torch.compile's run time leaves (torch/_dynamo, torch/_inductor; seen with 2.11, 2.15).
COMPILED_ROWS = re.compile(
    r"^TorchDynamo Cache Lookup|^Torch-Compiled Region|CompiledFxGraph|^AOTDispatcher"
    r"|^Pregraph bytecode"
)
# Flags that say what is computed, as people name them. The others say how, or what is recorded.
PROBLEM = ("size", "batch", "seq", "dim", "hidden", "in_dim", "out_dim", "dtype", "activation")


@dataclass(frozen=True)
class Run:
    """A run as far as its trace tells it; ``None`` where it does not."""

    lesson: str | None
    lesson_from: str  # "its run facts", "its annotation mlp_fwd" or ""
    variant: str | None  # "eager", "compile", or whose kernel: "triton", "liger", "hub", "fused"
    device: str | None  # "cuda" or "cpu"
    gpu: str | None
    capability: tuple[int, int] | None  # NVIDIA's compute capability; None: of another vendor
    warm: bool | None
    cuda_graph: bool
    problem: dict[str, Any] = field(default_factory=dict)
    products: tuple[tuple[int, int, int], ...] = ()  # distinct M, N, K of the matrix products
    dtype: str | None = None  # of the products, as recorded
    versions: dict[str, str] = field(default_factory=dict)
    ranks: int | None = None  # whose traces were merged into this one; None: it is of one process
    ops: frozenset[str] = frozenset()  # names; empty where a copy need not hold all
    stacks: bool | None = None  # whether Python's frames were recorded

    @property
    def compiled(self) -> bool:
        """Whether torch.compile made this run's code."""
        return self.variant == "compile"

    @property
    def on_gpu(self) -> bool:
        """Whether the run was on a GPU, named or not."""
        return self.gpu is not None or self.device not in (None, "cpu")

    @property
    def hand_written(self) -> bool:
        """Whether a kernel of the lesson was written by hand."""
        return self.variant in HAND_WRITTEN


def run_of(trace: Trace, facts: Facts) -> Run:
    """What was run, from the run facts where there are any and from the events otherwise."""
    ranks = _merged_ranks(trace)
    told = trace.header.run or _shared_facts(ranks)
    lesson, lesson_from = _lesson(told, facts, "its ranks' run facts" if ranks else "its run facts")
    flags = told.get("flags")
    products, dtype = _products(trace)
    versions = told.get("versions")
    whole = "slimmed" not in trace.header.other
    return Run(
        lesson=lesson,
        lesson_from=lesson_from,
        variant=_variant(told, trace, facts, lesson),
        device=_text(told.get("device")) or ("cuda" if facts.gpu_activity != "none" else None),
        gpu=_text(told.get("gpu")) or facts.gpu,
        capability=_capability(told, trace),
        warm=told.get("warm") if isinstance(told.get("warm"), bool) else None,
        cuda_graph=told.get("cuda_graph") is True or facts.graph_launches > 0,
        problem={k: flags[k] for k in PROBLEM if k in flags} if isinstance(flags, dict) else {},
        products=products,
        dtype=dtype,
        versions={k: str(v) for k, v in versions.items() if v}
        if isinstance(versions, dict)
        else {},
        ranks=len(ranks) or None,
        ops=frozenset(op.name for op in facts.ops) if whole else frozenset(),
        stacks=_has_stacks(trace) if whole else None,
    )


def _has_stacks(trace: Trace) -> bool:
    dropped = any(what.startswith("Python frames") for what in trace.skipped)
    return dropped or bool(trace.events.is_kind(Kind.PYTHON).any())


def _merged_ranks(trace: Trace) -> list[Any]:
    """What :mod:`trace_util.merge` wrote of each rank; nothing in a trace of one process."""
    merged = trace.header.other.get("merged")
    ranks = merged.get("ranks") if isinstance(merged, dict) else None
    return ranks if isinstance(ranks, list) else []


def _shared_facts(ranks: list[Any]) -> dict[str, Any]:
    """The run facts in which all ranks of a merged job agree."""
    told = [rank.get("run_facts") if isinstance(rank, dict) else None for rank in ranks]
    runs = [run for run in told if isinstance(run, dict)]
    if not runs or len(runs) < len(ranks):
        return {}
    return {
        name: value
        for name, value in runs[0].items()
        if all(name in run and run[name] == value for run in runs)
    }


def run_differences(a: Run, b: Run) -> tuple[str, ...]:
    """What was unlike in two runs besides the variant: ``GPU: NVIDIA H200 and NVIDIA A100``."""
    versions = [
        (f"{name} version", a.versions.get(name), b.versions.get(name))
        for name in ("torch", "cuda", "triton")
    ]
    return *_workloads(a, b), *_unlike(
        ("GPU", a.gpu, b.gpu),
        ("device", a.device, b.device),
        *_problems(a, b),
        *versions,
        ("CUDA graph", _yes(a.cuda_graph), _yes(b.cuda_graph)),
        ("warmed up", _yes(a.warm), _yes(b.warm)),
        ("ranks in the trace", a.ranks or 1, b.ranks or 1),
        ("Python stacks recorded", _yes(a.stacks), _yes(b.stacks)),
    )


def same_problem(a: Run, b: Run) -> bool:
    """Whether two runs compute the same, as far as their traces tell."""
    return not _workloads(a, b) and not _unlike(*_problems(a, b))


def _unlike(*pairs: tuple[str, Any, Any]) -> tuple[str, ...]:
    return tuple(
        f"{what}: {one} and {other}"
        for what, one, other in pairs
        if one is not None and other is not None and one != other
    )


def _workloads(a: Run, b: Run) -> tuple[str, ...]:
    """How two runs are of two workloads: by their lessons, else by the names of their ops."""
    if a.lesson and b.lesson:
        same = a.lesson == b.lesson or {a.lesson, b.lesson} <= set(_MLP)
        return () if same else (f"lesson: {a.lesson} and {b.lesson}",)
    eager = not any(one.compiled or one.hand_written for one in (a, b))
    both = len(a.ops & b.ops)
    if not (eager and a.ops and b.ops) or both >= ALIKE_OPS * len(a.ops | b.ops):
        return ()
    first, second = len(a.ops) - both, len(b.ops) - both
    return (f"ops: {both:,} names in both, {first:,} and {second:,} in one alone",)


def _problems(a: Run, b: Run) -> list[tuple[str, Any, Any]]:
    """Sizes, dtype and activation of two runs; where not both tell them, the matrix products."""
    shared = [key for key in PROBLEM if key in a.problem and key in b.problem]
    pairs = [(key.replace("_", " "), a.problem[key], b.problem[key]) for key in shared]
    if "dtype" not in shared:
        pairs.append(("dtype", a.dtype, b.dtype))
    if (set(a.problem) != set(b.problem) or not shared) and not _same_products(a, b):
        pairs.append(("matrix products", _spelled(a.products), _spelled(b.products)))
    return pairs


def _yes(told: bool | None) -> str | None:
    return None if told is None else "yes" if told else "no"


def _lesson(run: Mapping[str, Any], facts: Facts, source: str) -> tuple[str | None, str]:
    told = _text(run.get("lesson"))
    if told:
        return told, source
    for annotation in facts.annotations:
        lesson = ANNOTATIONS.get(annotation.name)
        if lesson == "03_simple_mlp" and _written_by_hand(facts):
            lesson = "03_kernels_mlp"
        if lesson:
            return lesson, f"its annotation {annotation.name}"
    return None, ""


def _variant(run: Mapping[str, Any], trace: Trace, facts: Facts, lesson: str | None) -> str | None:
    """The variant that is told or shown; of a lesson, eager where nothing shows another."""
    told = _text(run.get("variant"))
    if told:
        return told.removesuffix("_cuda_graph")
    if any(COMPILED_ROWS.search(name) for name in trace.names):
        return "compile"
    maker = _written_by_hand(facts)
    if maker:
        return {"Liger": "liger", "fused_mlp": "triton"}.get(maker, "hub")
    return "eager" if facts.ops and lesson else None


def _written_by_hand(facts: Facts) -> str | None:
    """Who wrote the Triton kernel of a gated activation, if there is one."""
    for kernel in facts.kernels:
        name = decode(kernel.name)
        if name.family == "Triton" and "mul" in name.ops:
            return name.library
    return None


def _capability(run: Mapping[str, Any], trace: Trace) -> tuple[int, int] | None:
    return next(iter(nvidia_capabilities(trace.header, run)), None)


_POSITIONS = {"aten::mm": (0, 1), "aten::addmm": (1, 2)}


def _products(trace: Trace) -> tuple[tuple[tuple[int, int, int], ...], str | None]:
    """The distinct M, N and K of ``aten::mm`` and ``aten::addmm``, and the dtype of the first."""
    events = trace.events
    found: dict[tuple[int, int, int], str | None] = {}
    for name, (left, right) in _POSITIONS.items():
        rows = np.flatnonzero(
            np.isin(events.name, [i for i, text in enumerate(trace.names) if text == name])
            & events.is_kind(Kind.CPU_OP)
            & (events.shapes >= 0)
        )
        for shape in np.unique(events.shapes[rows]).tolist():
            given = inputs(trace.shapes[shape])
            a, b = (given.tensor(left), given.tensor(right)) if given else (None, None)
            if a and b and len(a.dims) == len(b.dims) == 2:
                found[a.dims[0], b.dims[1], a.dims[1]] = a.dtype
    return tuple(sorted(found)), next(iter(found.values()), None)


def _same_products(a: Run, b: Run) -> bool:
    """Whether the one has all products of the other, which may have kernels of its own for some."""
    return set(a.products) <= set(b.products) or set(b.products) <= set(a.products)


def _spelled(products: tuple[tuple[int, int, int], ...]) -> str:
    return ", ".join("x".join(map(str, product)) for product in products)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
