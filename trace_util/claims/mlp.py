"""The claims of ``03_simple_mlp.py``: ``down(gelu(gate(x)) * up(x))`` without biases."""

from __future__ import annotations

from trace_util.claims.claim import Claim, every_step
from trace_util.claims.costs import faster_without_profiler, unlike
from trace_util.claims.gated import (
    GatedStep,
    described,
    gated_step,
    gemm_names,
    is_default_shape,
)
from trace_util.claims.known import TILES_SEEN, known_reason
from trace_util.claims.queries import query_before_gemm
from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, differs, holds, unseen
from trace_util.evidence import Evidence
from trace_util.reading import Reading
from trace_util.shapes import inputs
from trace_util.work import op_work

# What each aten::linear without a bias walks through, in order of start.
WALK = ("aten::t", "aten::transpose", "aten::as_strided", "aten::matmul", "aten::reshape",
        "aten::view", "aten::mm", "aten::_unsafe_view")  # fmt: skip
SPLIT_K = "cuBLAS splits a product with so few rows along K, and one more kernel adds up the parts"


def five_kernels(scene: Scene) -> Ruling:
    """3.1: 5 kernels a step: 3 GEMMs, the activation, the multiply."""
    own = scene.own
    for step in own.steps:
        found = gated_step(own, step)
        if (found.gemms, found.activations, found.products, found.fused) != (3, 1, 1, 0):
            return _miscounted(own, step, found)
        if found.others > found.split_k:
            return _miscounted(own, step, found)
    first = gated_step(own, 0)
    seen = (
        own.proof("kernels of the first step", own.kernels(0)),
        every_step(own, len(own.steps)),
        Evidence("memsets a step", own.facts.steps[0].memsets),
    )
    return differs(SPLIT_K, *seen) if first.split_k else holds(*seen)


def _miscounted(own: Reading, step: int, found: GatedStep) -> Ruling:
    name, lost = own.facts.steps[step].name, own.facts.steps[step].lost_kernels
    told = f"; {lost} of its launches have none" if lost else ""
    proof = own.proof(f"kernels of {name}", own.kernels(step))
    return contradicted(f"{described(found)} in {name}{told}", proof)


def nine_ops(scene: Scene) -> Ruling:
    """3.2: each linear walks through the same ops, and only aten::mm reaches the GPU."""
    own = scene.own
    walks = 0
    proof: list[int] = []
    for step in own.steps:
        for outer in own.ops(step, "aten::linear"):
            inner = [row for row in own.ops(step) if outer in own.above(row)]
            walk = tuple(own.name(row) for row in inner)
            if walk != WALK:
                shown = " > ".join(name.removeprefix("aten::") for name in walk) or "nothing"
                return contradicted(
                    f"an aten::linear of {own.facts.steps[step].name} walks through {shown}",
                    own.proof("ops", [outer, *inner]),
                )
            product = inner[WALK.index("aten::mm")]
            launches = own.launches_in(outer)
            stray = [call for call in launches if product not in own.above(call)]
            if stray or not launches:
                reason = "something but aten::mm launches" if stray else "aten::mm launches nothing"
                return contradicted(reason, own.proof("calls", stray or [product]))
            walks += 1
            proof = proof or [outer, *inner]
    if not walks:
        return contradicted("the steps have no aten::linear")
    return holds(Evidence("linears that walk so", walks), own.proof("the first", proof))


def shared_tile(scene: Scene) -> Ruling:
    """3.3: gate and up share one kernel, down has another tile, for the same FLOPs."""
    own = scene.own
    for step in own.steps:
        rows = [row for row in own.kernels(step) if own.computed(row).is_gemm]
        name = own.facts.steps[step].name
        proof = own.proof(f"GEMMs of {name}", rows)
        if len(rows) != 3:
            return contradicted(f"{len(rows)} GEMMs in {name}", proof)
        tiles = [own.computed(row).name.tile for row in rows]
        if None in tiles:
            return unseen("the names of the GEMMs do not say their tiles", proof)
        same, other = own.name(rows[0]) == own.name(rows[1]), tiles[2] != tiles[0]
        if not (same and other):
            return _other_tiles(scene, proof, Evidence("tiles", _spelled(tiles)))
    rows = [row for row in own.kernels(0) if own.computed(row).is_gemm]
    flops = [_flops(own, row) for row in rows]
    seen = [
        own.proof("GEMMs of the first step", rows),
        Evidence("tiles", _spelled([own.computed(row).name.tile for row in rows])),
    ]
    if None not in flops:
        seen.append(Evidence("GFLOP of each", _spelled([f"{f / 1e9:.1f}" for f in flops if f])))
        if len(set(flops)) > 1:
            return contradicted("the three GEMMs do not have the same work", *seen)
    unknown = "" if None not in flops else "their work was not compared: no shapes were recorded"
    return holds(*seen, note=unknown)


def _flops(own: Reading, kernel: int) -> int | None:
    op = int(own.links.op[kernel])
    index = int(own.trace.events.shapes[op]) if op >= 0 else -1
    return op_work(own.name(op), own.trace.shapes[index]).flops if index >= 0 else None


def _spelled(parts: list[str | None]) -> str:
    return ", ".join(part or "?" for part in parts)


def _other_tiles(scene: Scene, *seen: Evidence) -> Ruling:
    if not is_default_shape(scene.own.run):
        return differs("cuBLAS chooses tiles by shape, and this is not the lesson's", *seen)
    if scene.major not in TILES_SEEN:
        return differs("cuBLAS chooses tiles by GPU, and this one chooses others", *seen)
    return contradicted("the tiles are others", *seen)


def occupancy(scene: Scene) -> Ruling:
    """3.4: GEMM launches are preceded by an occupancy query, pointwise ones are not."""
    return query_before_gemm(scene, known_reason("3.4", scene.major))


def four_kernels(scene: Scene) -> Ruling:
    """3.5: compiled, 4 kernels; activation, multiply and a reshape became one Triton kernel."""
    own = scene.own
    for step in own.steps:
        found = gated_step(own, step)
        if (found.gemms, found.fused, found.activations, found.products) != (3, 1, 0, 0):
            return _miscounted(own, step, found)
        if found.others > found.split_k:
            return _miscounted(own, step, found)
    row = next(row for row in own.kernels(0) if own.computed(row).activation)
    kernel = own.computed(row)
    seen = (
        own.proof("the fused kernel of the first step", [row]),
        Evidence("merged ops", ", ".join(kernel.ops)),
        every_step(own, len(own.steps)),
    )
    if not (kernel.name.family or "").startswith("Inductor"):
        return contradicted("the fused kernel is not one of Inductor's", *seen)
    if gated_step(own, 0).split_k:
        return differs(SPLIT_K, *seen)
    return holds(*seen)


def same_gemms(scene: Scene) -> Ruling:
    """3.6: the compiled GEMMs' names are those of eager."""
    assert scene.eager is not None and scene.compiled is not None
    return gemms_like_eager(scene, scene.compiled, "compiled")


def gemms_like_eager(scene: Scene, other: Reading, what: str) -> Ruling:
    """Whether the GEMMs of a run have the names of the eager one's, step by step."""
    assert scene.eager is not None
    if reason := scene.eager.no_gpu or other.no_gpu:
        return unseen(reason)
    before, after = gemm_names(scene.eager), gemm_names(other)
    seen = (
        Evidence("GEMMs of an eager step", ", ".join(before[0]) if before else None),
        Evidence(f"GEMMs of a {what} step", ", ".join(after[0]) if after else None),
    )
    if not before or not after:
        return unseen("the GEMMs were not recorded in both traces", *seen)
    if set(before) == set(after):
        return holds(*seen)
    mode = other.trace.header.run.get("flags", {}).get("compile_mode", "default")
    if str(mode).startswith("max-autotune"):
        return differs(f"compile_mode {mode} may take GEMMs of Inductor's own", *seen)
    return contradicted("the names are others", *seen)


def no_round_trip(scene: Scene) -> Ruling:
    """3.7: the intermediate between activation and multiply no longer goes through memory."""
    assert scene.eager is not None and scene.compiled is not None
    if reason := unlike(scene):
        return unseen(reason)
    if reason := scene.eager.no_gpu or scene.compiled.no_gpu:
        return unseen(reason)
    if scene.eager.facts.graph_launches or scene.compiled.facts.graph_launches:
        return unseen("a CUDA graph was replayed: shapes were not recorded")
    before, after = gated_step(scene.eager, 0), gated_step(scene.compiled, 0)
    if after.fused != 1 or before.activations != 1:
        return contradicted(
            f"eager has {described(before)}, compiled {described(after)}",
            scene.compiled.proof("compiled, first step", scene.compiled.kernels(0)),
        )
    row = next(row for row in scene.eager.kernels(0) if scene.eager.computed(row).activation)
    op = int(scene.eager.links.op[row])
    index = int(scene.eager.trace.events.shapes[op]) if op >= 0 else -1
    given = inputs(scene.eager.trace.shapes[index]) if index >= 0 else None
    if given is None or not given.tensors:
        return unseen("shapes were not recorded; --record_shapes shows it")
    tensor = given.tensors[0]
    fused = next(r for r in scene.compiled.kernels(0) if scene.compiled.computed(r).activation)
    return holds(
        Evidence("intermediate", f"{list(tensor.dims)} {tensor.dtype}"),
        Evidence("its size, written and read once each in eager", tensor.size_bytes, "bytes"),
        scene.eager.proof("eager writes it", [row]),
        scene.compiled.proof("compiled keeps it on the chip", [fused]),
    )


def faster(scene: Scene) -> Ruling:
    """3.8: without the profiler the compiled step is faster."""
    return faster_without_profiler(scene)


CLAIMS = (
    Claim("3.1", "5 kernels a step: 3 GEMMs, GELU, multiply",
          five_kernels, of="eager", needs_ops=False, of_all_kernels=True),
    Claim("3.2", "each linear walks linear > t > transpose > as_strided > matmul > reshape > view "
          "> mm > _unsafe_view; only mm reaches the GPU", nine_ops, of="eager"),
    Claim("3.3", "gate and up share one kernel, down has another tile, for the same work",
          shared_tile, needs_ops=False),
    Claim("3.4", "GEMM launches are preceded by an occupancy query, pointwise ones are not",
          occupancy),
    Claim("3.5", "compiled, 4 kernels; GELU, multiply and a reshape became one "
          "triton_poi_fused__unsafe_view_gelu_mul_0", four_kernels, of="compile", needs_ops=False,
          of_all_kernels=True),
    Claim("3.6", "compiled, the GEMMs' names are those of eager", same_gemms, of="both"),
    Claim("3.7", "compiled, the intermediate between GELU and multiply no longer makes a round "
          "trip through memory", no_round_trip, of="both"),
    Claim("3.8", "without the profiler the compiled step is faster; with it, the added CPU work "
          "can hide that", faster, of="both"),
)  # fmt: skip
