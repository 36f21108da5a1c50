"""The claims of ``02_linear.py``: ``nn.Linear`` with a bias."""

from __future__ import annotations

from trace_util.claims.claim import Claim, every_step
from trace_util.claims.costs import dearer_on_the_cpu, unlike
from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, holds, unseen
from trace_util.events import Kind
from trace_util.evidence import Evidence
from trace_util.reading import Reading

METADATA = ("aten::t", "aten::transpose", "aten::as_strided")


def transpose_first(scene: Scene) -> Ruling:
    """2.1: aten::t precedes aten::addmm under aten::linear."""
    own = scene.own
    proof: list[int] = []
    for step in own.steps:
        name = own.facts.steps[step].name
        turned = [row for row in own.ops(step, "aten::t") if own.inside(row, "aten::linear")]
        products = [row for row in own.ops(step, "aten::addmm") if own.inside(row, "aten::linear")]
        if not turned or not products:
            if own.facts.gpu_activity == "none":
                return unseen("on this CPU aten::linear takes another way: " + _ops(own, step))
            missing = "aten::addmm" if turned else "aten::t"
            return contradicted(f"no {missing} under aten::linear in {name}: {_ops(own, step)}")
        if own.start_ns(turned[0]) > own.start_ns(products[0]):
            return contradicted(f"aten::t comes after aten::addmm in {name}")
        proof = proof or [turned[0], products[0]]
    return holds(own.proof("first step", proof), every_step(own, len(own.steps)))


def _ops(own: Reading, step: int) -> str:
    return ", ".join(dict.fromkeys(own.name(row) for row in own.ops(step)))


def metadata_only(scene: Scene) -> Ruling:
    """2.2: aten::t, aten::transpose and aten::as_strided launch nothing."""
    own = scene.own
    if not own.facts.launches:
        return unseen("no launch was recorded, beneath whatever op")
    found = [op for op in own.facts.ops if op.name in METADATA]
    seen = [Evidence(f"launches beneath {op.count} {op.name}", op.launches) for op in found]
    missing = [name for name in METADATA if all(op.name != name for op in found)]
    if missing:
        return contradicted(f"the trace has no {', '.join(missing)}", *seen)
    launching = [op.name for op in found if not op.metadata_only]
    if launching:
        return contradicted(f"launched from within: {', '.join(launching)}", *seen)
    return holds(*seen)


def bias_in_the_epilogue(scene: Scene) -> Ruling:
    """2.3: no aten::add; the bias is the GEMM's epilogue; one kernel a step."""
    own = scene.own
    for step in own.steps:
        name, kernels = own.facts.steps[step].name, own.kernels(step)
        if added := own.ops(step, "aten::add", "aten::add_"):
            return contradicted(f"aten::add in {name}", own.proof("ops", added))
        proof = own.proof(f"GPU work of {name}", own.in_step(step, Kind.KERNEL, Kind.MEMCPY))
        if len(kernels) != 1:
            lost = own.facts.steps[step].lost_kernels
            told = f"; {lost} of its launches have none" if lost else ""
            return contradicted(f"{len(kernels)} kernels in {name}{told}", proof)
        if own.in_step(step, Kind.MEMCPY):
            return contradicted(f"a copy beside the kernel in {name}", proof)
        if not own.computed(kernels[0]).is_gemm:
            return contradicted(f"the kernel of {name} is no GEMM", proof)
    gemms = [own.computed(own.kernels(step)[0]).name for step in own.steps]
    silent = [one for one in gemms if one.family == "nvjet" and "bias" not in one.epilogue]
    proof = own.proof("kernel of the first step", own.kernels(0))
    if silent:
        return contradicted("the nvjet kernel's name does not say bias", proof)
    says = all("bias" in one.epilogue for one in gemms)
    note = "the kernel's name says so" if says else ""
    return holds(proof, every_step(own, len(own.steps)), note=note)


def same_kernel(scene: Scene) -> Ruling:
    """2.4: compiled, the very same kernel; aten::t is gone; nothing to fuse."""
    assert scene.eager is not None and scene.compiled is not None
    if reason := unlike(scene) or scene.compiled.left_out:
        return unseen(reason)
    before, after = _names(scene.eager), _names(scene.compiled)
    if not before or not after:
        return unseen("what the GPU did was not recorded in both traces")
    turned = [row for step in scene.compiled.steps for row in scene.compiled.ops(step, "aten::t")]
    seen = (
        Evidence("kernel, eager", ", ".join(sorted(before))),
        Evidence("kernel, compiled", ", ".join(sorted(after))),
        Evidence("aten::t in the compiled run", len(turned)),
    )
    if before != after:
        return contradicted("the compiled run has another kernel", *seen)
    if turned:
        return contradicted("aten::t is still there", *seen, scene.compiled.proof("op", turned))
    return holds(*seen)


def _names(reading: Reading) -> set[str]:
    return {kernel.name for kernel in reading.facts.kernels}


def layout_in_the_name(scene: Scene) -> Ruling:
    """2.5: the layout stands in the kernel's name: the weight is read transposed."""
    own = scene.own
    rows = [row for step in own.steps for row in own.kernels(step)]
    gemms = [row for row in rows if own.computed(row).is_gemm]
    if not gemms:
        return unseen("the trace has no GEMM whose name is known")
    names = [own.computed(row).name for row in gemms]
    unknown = [name.raw for name in names if not name.is_known]
    if unknown:
        return unseen(f"{unknown[0]} follows no naming scheme that is known here")
    seen = [own.proof("kernel", gemms[:1]), Evidence("layout", names[0].layout)]
    # cuBLAS counts columns first: T for the weight as stored, N for the input.
    wrong = [name for name in names if not (name.layout or "").lower().startswith("tn")]
    if not wrong:
        return holds(*seen)
    if wrong[0].layout is None:
        return contradicted("the kernel's name says no layout", *seen)
    return contradicted(f"the layout is {wrong[0].layout}: the weight is not transposed", *seen)


def dearer(scene: Scene) -> Ruling:
    """2.6: compile costs CPU time here."""
    return dearer_on_the_cpu(scene)


CLAIMS = (
    Claim("2.1", "aten::t precedes aten::addmm under aten::linear",
          transpose_first, of="eager", needs_gpu=False),
    Claim("2.2", "aten::t, aten::transpose and aten::as_strided launch nothing: metadata only",
          metadata_only, of="eager"),
    Claim("2.3", "no aten::add: the bias is the GEMM's epilogue; one kernel a step",
          bias_in_the_epilogue, of_all_kernels=True),
    Claim("2.4", "compiled, the very same kernel; aten::t is gone; nothing to fuse",
          same_kernel, of="both"),
    Claim("2.5", "the layout stands in the kernel's name", layout_in_the_name, needs_ops=False),
    Claim("2.6", "compile costs CPU time here", dearer, of="both"),
)  # fmt: skip
