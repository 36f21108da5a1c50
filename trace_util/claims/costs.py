"""What a compiled step costs beside the eager one, on the CPU and without the profiler."""

from __future__ import annotations

from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, differs, holds, unseen
from trace_util.evidence import Evidence
from trace_util.ranges import Range, distinction
from trace_util.reading import Reading
from trace_util.runs import run_differences

# Below this share of the unprofiled step the GPU waits for the CPU most of the time.
HALF = 0.5


def unlike(scene: Scene) -> str | None:
    """Why the two runs must not be compared, ``None`` when they may."""
    if scene.eager is None or scene.compiled is None:
        return None
    found = run_differences(scene.eager.run, scene.compiled.run)
    return f"the runs are unlike: {'; '.join(found)}" if found else None


def dearer_on_the_cpu(scene: Scene) -> Ruling:
    """Whether the compiled step takes the CPU longer.

    Judged from the steps without the profiler where the GPU waits for the CPU in both runs, since
    their time is then the CPU's; otherwise from the profiled steps after the first.
    """
    assert scene.eager is not None and scene.compiled is not None
    if reason := unlike(scene):
        return unseen(reason)
    if "none" in (scene.eager.facts.gpu_activity, scene.compiled.facts.gpu_activity):
        return unseen("the run was on the CPU, where a step's CPU time holds its arithmetic too")
    eager, compiled = scene.eager.dispatch(), scene.compiled.dispatch()
    if eager is None or compiled is None:
        return unseen("the steps have no annotation to take the CPU's time from")
    seen = [
        Evidence("CPU time of an eager step, median after the first", eager.median_ns, "ns"),
        Evidence("of a compiled step", compiled.median_ns, "ns"),
    ]
    for reading, what in ((scene.eager, "eager"), (scene.compiled, "compiled")):
        if (alone := reading.unprofiled()) is not None:
            seen.append(Evidence(f"{what} step without the profiler", alone.median_ns, "ns"))
    if (alone := _waiting_steps(scene.eager)) and (other := _waiting_steps(scene.compiled)):
        eager, compiled = alone, other
    found = distinction(eager, compiled)
    if not found.differs:
        return unseen(f"not distinguishable: {found.reason}", *seen)
    if compiled.median_ns > eager.median_ns:
        return holds(*seen)
    return contradicted("the compiled step is cheaper for the CPU", *seen)


def _waiting_steps(reading: Reading) -> Range | None:
    """The unprofiled steps of a run whose GPU mostly waits; ``None`` where it does not."""
    alone, gpu = reading.unprofiled(), reading.gpu_step()
    if alone is None or gpu is None or gpu.median_ns >= HALF * alone.median_ns:
        return None
    return alone


def faster_without_profiler(scene: Scene) -> Ruling:
    """Whether the compiled step is faster when no profiler watches, and what it is with one."""
    assert scene.eager is not None and scene.compiled is not None
    if reason := unlike(scene):
        return unseen(reason)
    if reason := scene.eager.no_gpu or scene.compiled.no_gpu:
        return unseen(reason)
    eager, compiled = scene.eager.unprofiled(), scene.compiled.unprofiled()
    if eager is None or compiled is None:
        return unseen("the unprofiled time of a step was not recorded in both traces")
    seen = [
        Evidence("eager step without the profiler, median", eager.median_ns, "ns"),
        Evidence("compiled step without the profiler, median", compiled.median_ns, "ns"),
        Evidence("GPU busy, of the window, eager", scene.eager.facts.busy_share, "share"),
        Evidence("GPU busy, of the window, compiled", scene.compiled.facts.busy_share, "share"),
    ]
    found = distinction(eager, compiled)
    if not found.differs:
        return unseen(f"not distinguishable without the profiler: {found.reason}", *seen)
    if compiled.median_ns < eager.median_ns:
        return holds(*seen)
    gpu = scene.compiled.gpu_step()
    if gpu is not None and gpu.median_ns < HALF * compiled.median_ns:
        return differs(
            "this run is overhead-bound: what the compiler saves on the GPU is not waited for, "
            "and its own work on the CPU is added",
            *seen,
        )
    return contradicted("the eager step is faster without the profiler", *seen)
