"""What torch.compile makes of a product and a sum: one ``aten::addmm``, and rows of its own."""

from __future__ import annotations

import re

from trace_util.claims.claim import every_step, lost_launches
from trace_util.claims.known import known_reason
from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, holds, unseen
from trace_util.events import Kind
from trace_util.evidence import Evidence
from trace_util.naming.parts import KernelName
from trace_util.reading import Reading


def one_addmm(scene: Scene) -> Ruling:
    """1.7: compiled, one aten::addmm replaces mm and add; the GPU copies the bias, then a GEMM."""
    own = scene.own
    for step in own.steps:
        name = own.facts.steps[step].name
        ops = {op: own.ops(step, op) for op in ("aten::addmm", "aten::mm", "aten::add")}
        if len(ops["aten::addmm"]) != 1 or ops["aten::mm"] or ops["aten::add"]:
            counts = ", ".join(f"{len(rows)} {op}" for op, rows in ops.items())
            proof = own.proof("ops", [row for rows in ops.values() for row in rows])
            return contradicted(f"{counts} in {name}", proof)
        kernels = own.kernels(step)
        copies = [row for row in own.in_step(step, Kind.MEMCPY) if "DtoD" in own.name(row)]
        gemms = [row for row in kernels if own.computed(row).is_gemm]
        if len(copies) != 1 or len(gemms) != 1 or len(kernels) != 1:
            counts = f"{len(copies)} Memcpy DtoD, {len(gemms)} GEMM of {len(kernels)} kernels"
            proof = own.proof(f"GPU work of {name}", [*copies, *kernels])
            return contradicted(f"{counts} in {name}", *lost_launches(own, step), proof)
    proof = own.proof(
        "first step", [*own.ops(0, "aten::addmm"), *own.in_step(0, Kind.MEMCPY), *own.kernels(0)]
    )
    return _same_gemm(scene, proof, every_step(own, len(own.steps)))


def _same_gemm(scene: Scene, *seen: Evidence) -> Ruling:
    """Beside the eager run: the GEMM's name is the same, or differs by its epilogue alone."""
    eager = scene.eager
    if eager is None:
        return holds(*seen, note="the GEMM's name was not compared: no eager run beside this one")
    before, after = _gemm(eager), _gemm(scene.own)
    if before is None or after is None:
        return holds(*seen, note="the GEMM's name was not compared: not found in the eager run")
    names = (Evidence("GEMM, eager", before.raw), Evidence("GEMM, compiled", after.raw))
    if before.raw == after.raw:
        return holds(*seen, *names, note="the GEMM's name is that of eager")
    known = known_reason("1.7", scene.major)
    if known and _but_for_the_epilogue(before) == _but_for_the_epilogue(after):
        return holds(*seen, *names, note=known)
    return contradicted("the GEMM's name is not that of eager", *seen, *names)


def _gemm(reading: Reading) -> KernelName | None:
    rows = [row for step in reading.steps for row in reading.kernels(step)]
    return next((one.name for one in map(reading.computed, rows) if one.is_gemm), None)


def _but_for_the_epilogue(name: KernelName) -> str:
    return re.sub(r"_(?:bz|badd|bias)(?=_)", "", name.raw)


COMPILED_ROWS = (
    ("the Dynamo cache lookup", re.compile(r"^TorchDynamo Cache Lookup")),
    ("the Torch-Compiled Region", re.compile(r"^Torch-Compiled Region")),
    ("the AOTDispatcher prologue", re.compile(r"^AOTDispatcher Runtime Wrapper Prologue")),
    ("the compiled graph's call", re.compile(r"Call CompiledFxGraph")),
)


def compiled_rows(scene: Scene) -> Ruling:
    """1.9: compiled steps show the rows of Dynamo, AOTDispatcher and Inductor."""
    own = scene.own
    if own.left_out:
        return unseen(own.left_out)
    proof: list[int] = []
    for step in own.steps:
        rows = own.in_step(step, Kind.CPU_OP, Kind.USER_ANNOTATION)
        for what, pattern in COMPILED_ROWS:
            found = [row for row in rows if pattern.search(own.name(row))]
            if not found:
                return contradicted(f"{what} is missing in {own.facts.steps[step].name}")
            proof += found[:1] if step == 0 else []
    return holds(own.proof("first step", proof), every_step(own, len(own.steps)))
