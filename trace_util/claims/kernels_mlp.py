"""The claims of ``03_kernels_mlp.py``: the MLP with a hand-written fused kernel."""

from __future__ import annotations

from trace_util.claims.claim import Claim, every_step
from trace_util.claims.gated import described, gated_step, gemm_names
from trace_util.claims.mlp import SPLIT_K, gemms_like_eager
from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, differs, holds, unseen
from trace_util.events import Kind
from trace_util.evidence import Evidence
from trace_util.ranges import Range, distinction, range_of
from trace_util.reading import Reading
from trace_util.runs import COMPILED_ROWS, run_differences

BESIDE = "the {} run of 03_simple_mlp is needed to compare with; --against names its trace"
IN_THE_GEMM = "this kernel puts the activation into the GEMM of gate and up: 2 kernels are left"
# Relative rounding of one result (half the distance to the next number), IEEE 754 and bfloat16.
ROUNDING = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp32": 2.0**-24}
# Gate and up, the activation, the product and the output are each rounded to the dtype.
ROUNDINGS = 4
# fp32 products may run in TF32, and sums of thousands of terms round at each.
SUMS = {"fp32": 2.0**-11 / ROUNDING["fp32"]}


def _fused(own: Reading, step: int) -> list[int]:
    """The kernels of a step that hold an activation and a multiply."""
    found = [(row, own.computed(row)) for row in own.kernels(step)]
    return [row for row, kernel in found if kernel.activation and "mul" in kernel.ops]


def four_kernels(scene: Scene) -> Ruling:
    """4.1: 4 kernels: 3 GEMMs and the fused one."""
    own = scene.own
    for step in own.steps:
        name, found = own.facts.steps[step].name, gated_step(own, step)
        proof = own.proof(f"kernels of {name}", own.kernels(step))
        expected = (1, 1) if own.run.variant == "fused" else (3, 1)
        stray = found.activations + found.products + found.others - found.split_k
        if (found.gemms, found.fused) != expected or stray:
            lost = own.facts.steps[step].lost_kernels
            told = f"; {lost} of its launches have none" if lost else ""
            return contradicted(f"{described(found)} in {name}{told}", proof)
    rows = _fused(own, 0)
    seen = (
        own.proof("the fused kernel of the first step", rows),
        own.proof("kernels of the first step", own.kernels(0)),
        every_step(own, len(own.steps)),
    )
    if not all(own.computed(row).name.family == "Triton" for row in rows):
        return contradicted("the fused kernel is none that was written by hand", *seen)
    if own.run.variant == "fused":
        return differs(IN_THE_GEMM, *seen)
    if gated_step(own, 0).split_k:
        return differs(SPLIT_K, *seen)
    return holds(*seen)


def no_compiler(scene: Scene) -> Ruling:
    """4.2: no Dynamo, guard or prologue rows."""
    own = scene.own
    if not own.facts.ops:
        return unseen("no op was recorded, of the compiler's or any other")
    found = [
        row
        for step in own.steps
        for row in own.in_step(step, Kind.CPU_OP, Kind.USER_ANNOTATION)
        if COMPILED_ROWS.search(own.name(row))
    ]
    if found:
        return contradicted("the steps have rows of torch.compile", own.proof("rows", found))
    return holds(Evidence("rows of Dynamo, AOTDispatcher and Inductor", 0))


def same_gemms(scene: Scene) -> Ruling:
    """4.3: the GEMMs' names are those of eager."""
    if scene.eager is None:
        return unseen(BESIDE.format("eager"))
    if found := _unlike(scene, scene.eager):
        return unseen(found)
    if scene.own.run.variant != "fused":
        return gemms_like_eager(scene, scene.own, "hand-written")
    before, after = gemm_names(scene.eager), gemm_names(scene.own)
    if not before or not after:
        return unseen("the GEMMs were not recorded in both traces")
    # The gated GEMM is a kernel of its own; the one of down is left, and comes last.
    last = Evidence("down, eager", before[0][-1]), Evidence("down, here", after[0][-1])
    if before[0][-1] != after[0][-1]:
        return contradicted("the GEMM of down has another name", *last)
    return differs("gate and up are no GEMM of cuBLAS here; down's name is that of eager", *last)


def _unlike(scene: Scene, other: Reading) -> str | None:
    found = run_differences(other.run, scene.own.run)
    if found:
        return f"the runs are unlike: {'; '.join(found)}"
    return other.no_gpu or other.unplaced or None


def any_shape(scene: Scene) -> Ruling:
    """4.4: one launch configuration serves any shape; Inductor's is specialised to one.

    A trace shows the price: the specialised kernel is no slower. That another shape runs with the
    same configuration takes another run.
    """
    own, compiled = scene.own, scene.compiled
    if compiled is None:
        return unseen(BESIDE.format("compiled"))
    if found := _unlike(scene, compiled):
        return unseen(found)
    if own.run.variant == "fused":
        return unseen("this kernel holds a GEMM too; --kernel triton or liger shows it")
    ours, theirs = _times(own), _times(compiled)
    if ours is None or theirs is None:
        return unseen("the fused kernel was not recorded in both traces")
    seen = (
        Evidence("hand-written kernel, median", ours.median_ns, "ns"),
        Evidence("Inductor's kernel, median", theirs.median_ns, "ns"),
        own.proof(f"hand-written: {_launch(own)}", _fused(own, 0)),
        compiled.proof(f"Inductor's: {_launch(compiled)}", _fused(compiled, 0)),
    )
    beside = distinction(theirs, ours)
    if theirs.median_ns <= ours.median_ns or beside.differs is False:
        return holds(*seen)
    if beside.differs is None:
        return unseen(f"not distinguishable: {beside.reason}", *seen)
    return differs(
        "Inductor tunes its kernel by timing a few configurations when it compiles, and the one "
        "that it took in this run is slower than the one that was written by hand",
        *seen,
    )


def _times(own: Reading) -> Range | None:
    rows = [row for step in own.steps for row in _fused(own, step)]
    return range_of([own.duration_ns(row) for row in rows])


def _launch(own: Reading) -> str:
    """Grid and block of the fused kernel."""
    rows = _fused(own, 0)
    index = int(own.trace.events.launch[rows[0]]) if rows else -1
    if index < 0 or not (launch := own.trace.launches[index]).grid or not launch.block:
        return "launch not recorded"
    grid, block = ("x".join(map(str, size)) for size in (launch.grid, launch.block))
    return f"grid {grid}, block {block}"


def close_enough(scene: Scene) -> Ruling:
    """4.5: the output agrees with float64, and so with eager, within a stated tolerance."""
    own = scene.own
    told = own.trace.header.run
    if told.get("output_finite") is False:
        return contradicted("the output holds NaN or infinity, and float64's does not",
                            Evidence("output finite", "no"))  # fmt: skip
    error = told.get("relative_error")
    dtype = str(own.run.problem.get("dtype") or own.run.dtype)
    if not isinstance(error, float) or dtype not in ROUNDING:
        return unseen("no error against float64 was recorded: not measured, or of no finite output")
    tolerance = ROUNDINGS * ROUNDING[dtype] * SUMS.get(dtype, 1)
    seen = [
        Evidence("relative error against float64", error),
        Evidence(f"tolerance: {ROUNDINGS} roundings to {dtype}", tolerance),
    ]
    eager = scene.eager.trace.header.run.get("relative_error") if scene.eager else None
    if isinstance(eager, float):
        seen.append(Evidence("eager's relative error", eager))
    if error <= tolerance:
        return holds(*seen)
    return contradicted("the error is larger than the tolerance", *seen)


CLAIMS = (
    Claim("4.1", "4 kernels: 3 GEMMs and the fused one", four_kernels, needs_ops=False,
          of_all_kernels=True),
    Claim("4.2", "no Dynamo, guard or prologue rows", no_compiler, needs_gpu=False),
    Claim("4.3", "the GEMMs' names are those of eager", same_gemms, needs_ops=False),
    Claim("4.4", "one launch configuration serves any shape; Inductor's kernel is specialised to "
          "one, and no slower for it", any_shape, needs_ops=False),
    Claim("4.5", "the output agrees with eager's within a stated tolerance",
          close_enough, needs_gpu=False, needs_ops=False),
)  # fmt: skip
