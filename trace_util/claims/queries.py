"""Which launches follow an occupancy query: how cuBLAS chose its launch, seen from outside."""

from __future__ import annotations

from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, differs, holds, unseen
from trace_util.evidence import Evidence
from trace_util.reading import Reading


def query_before_gemm(scene: Scene, known: str | None) -> Ruling:
    """Whether a query stands before each GEMM's launch, inside the op that launches it, and before
    no other kernel's. ``known`` is the reason for which there may be none on this GPU."""
    own = scene.own
    gemms, others = _launched(own)
    if not gemms:
        return unseen("no GEMM was launched one by one")
    queried = [pair for pair in gemms if _queries(own, pair[1])]
    wrong = [pair for pair in others if _queries(own, pair[1])]
    seen = (
        Evidence("GEMM launches after a query", f"{len(queried)} of {len(gemms)}"),
        Evidence("other launches after a query", f"{len(wrong)} of {len(others)}"),
        own.proof("launches of the first step", [call for _, call in (*gemms, *others)][:4]),
    )
    if wrong:
        return contradicted("a query stands before a kernel that is no GEMM", *seen)
    if len(queried) == len(gemms):
        return holds(*seen, own.proof("query", _queries(own, gemms[0][1])))
    if known and not queried and all(_is_nvjet(own, *pair) for pair in gemms):
        return differs(known, *seen)
    return contradicted("GEMMs were launched without a query", *seen)


Launched = list[tuple[int, int]]


def _launched(own: Reading) -> tuple[Launched, Launched]:
    """Kernel and launching call of the GEMMs, and of the other kernels, of all steps."""
    gemms: Launched = []
    others: Launched = []
    for step in own.steps:
        for row in own.kernels(step):
            call, kernel = int(own.links.launch[row]), own.computed(row)
            if call >= 0 and not kernel.is_split_k_sum:
                (gemms if kernel.is_gemm else others).append((row, call))
    return gemms, others


def _queries(own: Reading, call: int) -> list[int]:
    """The queries that come before a launch within the op that makes it."""
    op, start = int(own.links.op[call]), own.start_ns(call)
    step = int(own.links.step[call])
    return [
        row
        for row in own.queries(step)
        if op >= 0 and int(own.links.op[row]) == op and own.start_ns(row) < start
    ]


def _is_nvjet(own: Reading, kernel: int, call: int) -> bool:
    return own.computed(kernel).name.family == "nvjet" and own.name(call) == "cuLaunchKernelEx"
