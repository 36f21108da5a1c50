"""The claims of ``01_matmul.py``: ``torch.add(torch.matmul(x, w), b)``."""

from __future__ import annotations

from trace_util.claims.addmm import compiled_rows, one_addmm
from trace_util.claims.claim import Claim, every_step, lost_launches
from trace_util.claims.costs import dearer_on_the_cpu, unlike, waits_for_the_cpu
from trace_util.claims.known import known_reason
from trace_util.claims.queries import query_before_gemm
from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, differs, holds, unseen
from trace_util.evidence import Evidence
from trace_util.findings.scene import FULL
from trace_util.kernel_names import decode
from trace_util.reading import Reading

SMALL, LARGE = 64, 4096
# "A few percent": the published A100 run had 1 %, an H200 2 to 3 %.
FEW_PERCENT = 0.1
# A window that is dead beside the others: the published run had 228 us against 5.
DEAD = 2.0
# How far the clocks of CPU and GPU may lie apart in one trace; kernels are seen to begin up to some
# microseconds before the call that launched them.
CLOCKS_NS = 10_000


def _size(reading: Reading) -> int | None:
    told = reading.run.problem.get("size")
    if isinstance(told, int):
        return told
    return max((m for m, _, _ in reading.run.products), default=None)


def overhead_bound(scene: Scene) -> Ruling:
    """1.1: at size 64 the GPU is busy for a few percent of the window."""
    own, size = scene.own, _size(scene.own)
    if size is None or size > SMALL:
        return unseen(f"this run's size is {size or 'not recorded'}; --size {SMALL} shows it")
    share = own.facts.busy_share
    seen = (
        Evidence("GPU busy, of the window", share, "share"),
        Evidence("GPU busy", own.facts.window_busy_ns, "ns"),
        Evidence("window", own.facts.window_ns, "ns"),
    )
    if share is not None and share < FEW_PERCENT:
        return holds(*seen)
    return contradicted("the GPU is busy for more than a few percent of the window", *seen)


def compute_bound(scene: Scene) -> Ruling:
    """1.2: at size 4096 the kernels outlast the CPU's dispatch."""
    own, size = scene.own, _size(scene.own)
    if size is None or size < LARGE:
        return unseen(f"this run's size is {size or 'not recorded'}; --size {LARGE} shows it")
    gpu, cpu, alone = own.gpu_step(), own.dispatch(), own.unprofiled()
    if gpu is None:
        return unseen("every step lost kernels, so that its GPU time is not known")
    if cpu is None:
        return unseen("the steps have no annotation to take the CPU's time from")
    seen = [
        Evidence("GPU time of a step, median", gpu.median_ns, "ns"),
        Evidence("CPU time of a step, profiled, median after the first", cpu.median_ns, "ns"),
        Evidence("GPU busy, of the window", own.facts.busy_share, "share"),
    ]
    if alone:
        seen.append(Evidence("a step without the profiler, median", alone.median_ns, "ns"))
        if gpu.median_ns >= FULL * alone.median_ns:
            hidden = "judged without the profiler, which slows the CPU so that it hides this"
            return holds(*seen, note=hidden if gpu.median_ns < cpu.median_ns else "")
    if gpu.median_ns > cpu.median_ns:
        return holds(*seen)
    if alone is None and own.run.compiled:
        return unseen("the profiler slows the CPU, and the unprofiled time was not recorded", *seen)
    return contradicted("the CPU's dispatch outlasts the kernels", *seen)


def chain(scene: Scene) -> Ruling:
    """1.3: step > annotation > aten::matmul > aten::mm, then aten::add."""
    own = scene.own
    proof: list[int] = []
    for step in own.steps:
        name, outer = own.facts.steps[step].name, own.annotation(step)
        if outer is None:
            return contradicted(f"no annotation of the lesson in {name}")
        products = own.ops(step, "aten::mm")
        sums = own.ops(step, "aten::add")
        nested = [row for row in products if own.inside(row, "aten::matmul") is not None]
        if not nested or own.inside(nested[0], own.name(outer)) is None:
            return contradicted(
                f"no aten::mm within aten::matmul within {own.name(outer)} in {name}",
                own.proof("ops", own.ops(step)),
            )
        matmul = own.inside(nested[0], "aten::matmul")
        if not sums or own.inside(sums[0], own.name(outer)) is None:
            return contradicted(f"no aten::add within {own.name(outer)} in {name}")
        if own.start_ns(sums[0]) < own.start_ns(nested[0]):
            return contradicted(f"aten::add comes before the product in {name}")
        if not proof and matmul is not None:
            proof = [own.facts.steps[step].index, outer, matmul, nested[0], sums[0]]
    return holds(own.proof("the chain of the first step", proof), every_step(own, len(own.steps)))


def two_kernels(scene: Scene) -> Ruling:
    """1.4: eager launches one GEMM and one elementwise kernel a step."""
    own = scene.own
    split = False
    for step in own.steps:
        name, rows = own.facts.steps[step].name, own.kernels(step)
        found = [own.computed(row) for row in rows]
        proof = own.proof(f"kernels of {name}", rows)
        gemms = [one for one in found if one.is_gemm]
        sums = [one for one in found if one.ops == ("add",) and not one.is_gemm]
        split = split or any(one.is_split_k_sum for one in found)
        rest = len(found) - len(gemms) - len(sums) - sum(one.is_split_k_sum for one in found)
        if len(gemms) != 1 or len(sums) != 1 or rest:
            counted = f"{len(gemms)} GEMM, {len(sums)} add and {rest} other kernels in {name}"
            return contradicted(counted, *lost_launches(own, step), proof)
    proof = own.proof("kernels of the first step", own.kernels(0))
    if split:
        return differs("cuBLAS splits this product along K and adds up the parts", proof)
    memsets = [own.facts.steps[step].memsets for step in own.steps]
    return holds(proof, every_step(own, len(own.steps)), Evidence("memsets a step", max(memsets)))


def occupancy(scene: Scene) -> Ruling:
    """1.5: an occupancy query precedes the GEMM's launch and not the add's."""
    return query_before_gemm(scene, known_reason("1.5", scene.major))


def dead_window(scene: Scene) -> Ruling:
    """1.6: a cold first step has a dead window between its annotation and aten::matmul."""
    own = scene.own
    waits = _waits(own)
    if len(waits) < 2:
        return unseen("fewer than two steps have an annotation with aten::matmul in it")
    first, later = waits[0], waits[1:]
    seen = [
        Evidence("from the annotation to aten::matmul, first step", first, "ns"),
        Evidence("the same, longest of the later steps", max(later), "ns"),
    ]
    if own.run.warm is not False:
        told = "this run was warmed up" if own.run.warm else "whether it was warm is not recorded"
        return unseen(f"{told}; a run without --warmup shows it", *seen)
    warm = _waits(scene.warm) if scene.warm else []
    if len(warm) > 1:
        seen.append(Evidence("the warm run's first step", warm[0], "ns"))
        seen.append(Evidence("the longest of its later steps", max(warm[1:]), "ns"))
    if first <= max(later):
        return contradicted("the first step waits no longer than the later ones", *seen)
    if first < DEAD * max(later):
        told = f"the first step waits longer than the later ones, but not {DEAD:g} times as long"
        return contradicted(told, *seen)
    # Each run beside itself: one of the two may have been slower throughout.
    if len(warm) > 1 and first * max(warm[1:]) < DEAD * warm[0] * max(later):
        note = "so does the warm run's, beside its own later ones: the cold start is not the cause"
        return holds(*seen, note=note)
    return holds(*seen)


def _waits(own: Reading) -> list[int]:
    """From the start of each step's annotation to that of its aten::matmul, in ns."""
    waits = []
    for step in own.steps:
        outer, products = own.annotation(step), own.ops(step, "aten::matmul")
        if outer is not None and products:
            waits.append(own.start_ns(products[0]) - own.start_ns(outer))
    return waits


def dearer(scene: Scene) -> Ruling:
    """1.8: compile makes the CPU side of one small op dearer.

    Beyond the published size an op is small as long as the GPU waits for the CPU.
    """
    size = _size(scene.own)
    if unlike(scene) is None and (size is None or size > SMALL):
        pair = [one for one in (scene.eager, scene.compiled) if one is not None]
        if (size or 0) >= LARGE or any(waits_for_the_cpu(one) is False for one in pair):
            told = size or "not recorded"
            return unseen(f"this run's size is {told}, no small op; --size {SMALL} shows it")
    return dearer_on_the_cpu(scene)


def unequal_times(scene: Scene) -> Ruling:
    """1.10: identical kernels do not take identical time."""
    repeated = [one for one in scene.own.facts.kernels if one.count > 1]
    if not repeated:
        return unseen("no kernel ran twice")
    widest = max(repeated, key=lambda one: one.max_ns - one.min_ns)
    seen = (
        Evidence("kernel", decode(widest.name).short),
        Evidence("shortest", widest.min_ns, "ns"),
        Evidence("longest", widest.max_ns, "ns"),
        Evidence("runs of it", widest.count),
    )
    if widest.max_ns > widest.min_ns:
        return holds(*seen)
    return unseen(
        "all runs of each kernel took the same number of the timer's ticks; "
        f"--size {LARGE} runs long enough to tell them apart",
        *seen,
    )


def closing_flush(scene: Scene) -> Ruling:
    """1.11: the closing cudaDeviceSynchronize is the profiler's, and waits for the queued work."""
    own = scene.own
    flush = own.facts.flush_row
    if flush is None:
        if own.run.device == "cpu" or own.facts.gpu_activity == "none":
            return unseen("nothing was launched: the run was on the CPU")
        return contradicted("no synchronise stands behind the last step, outside of every op")
    end = own.start_ns(flush) + own.duration_ns(flush)
    last = max((step.last_gpu_end_ns or 0 for step in own.facts.steps), default=0)
    seen = (
        own.proof("the closing synchronise, in no step, op or annotation", [flush]),
        Evidence("GPU work still running when it began", max(0, last - own.start_ns(flush)), "ns"),
    )
    if end + CLOCKS_NS < last:
        return contradicted("it ends before the GPU's work does", *seen)
    return holds(*seen)


CLAIMS = (
    Claim("1.1", "size 64 is overhead-bound: the GPU is busy for a few percent of the window",
          overhead_bound, needs_ops=False, of_all_kernels=True),
    Claim("1.2", "size 4096 is compute-bound: the kernels outlast the CPU's dispatch",
          compute_bound, needs_ops=False),
    Claim("1.3", "the dispatch chain nests step > matmul_add > aten::matmul > aten::mm, "
          "then aten::add", chain, of="eager", needs_gpu=False),
    Claim("1.4", "eager launches one GEMM and one elementwise kernel a step",
          two_kernels, of="eager", of_all_kernels=True),
    Claim("1.5", "an occupancy query precedes the GEMM's launch and not the add's", occupancy),
    Claim("1.6", "the cold first step has a dead window between the annotation and aten::matmul",
          dead_window, of="eager"),
    Claim("1.7", "compiled, one aten::addmm replaces mm and add; the GPU still runs a Memcpy DtoD "
          "(the bias) and the GEMM", one_addmm, of="compile", of_all_kernels=True),
    Claim("1.8", "compile makes the CPU side of one small op dearer", dearer, of="both"),
    Claim("1.9", "compiled steps show the Dynamo cache lookup, the Torch-Compiled Region, the "
          "AOTDispatcher prologue and the compiled graph's call",
          compiled_rows, of="compile", needs_gpu=False, needs_ops=False),
    Claim("1.10", "identical kernels do not take identical time", unequal_times, needs_ops=False),
    Claim("1.11", "the closing cudaDeviceSynchronize is the profiler's flush and waits for the "
          "queued GPU work", closing_flush, needs_ops=False),
)  # fmt: skip
