"""What a compiled step costs beside the eager one, on the CPU and without the profiler."""

from __future__ import annotations

from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, differs, holds, unseen
from trace_util.evidence import Evidence
from trace_util.ranges import Distinction, distinction
from trace_util.reading import Reading
from trace_util.runs import run_differences

# Below this share of the unprofiled step the GPU waits for the CPU most of the time.
HALF = 0.5

_UNPROFILED_DECIDES = (
    "the time without the profiler, which is the CPU's where the GPU waits for it, as in both runs"
)
_GPU_BOUND = "without the profiler the GPU's work sets the time, not the CPU's"
_NOT_RECORDED = "the time without the profiler was not recorded in both runs"


def unlike(scene: Scene) -> str | None:
    """Why the two runs must not be compared, ``None`` when they may."""
    if scene.eager is None or scene.compiled is None:
        return None
    found = run_differences(scene.eager.run, scene.compiled.run)
    return f"the runs are unlike: {'; '.join(found)}" if found else None


def dearer_on_the_cpu(scene: Scene) -> Ruling:
    """Whether the compiled step takes the CPU longer.

    Judged from the steps without the profiler where the GPU waits for the CPU in both runs, since
    their time is then the CPU's; otherwise from the profiled steps after the first. The evidence
    says which, and a note where the other figure says the opposite.
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
        Evidence(
            "CPU time of an eager step, profiled, median after the first", eager.median_ns, "ns"
        ),
        Evidence("of a compiled step", compiled.median_ns, "ns"),
    ]
    bare = scene.eager.unprofiled(), scene.compiled.unprofiled()
    for alone, what in zip(bare, ("eager", "compiled"), strict=True):
        if alone is not None:
            seen.append(Evidence(f"{what} step without the profiler", alone.median_ns, "ns"))
    profiled = distinction(eager, compiled)
    if waits_for_the_cpu(scene.eager) and waits_for_the_cpu(scene.compiled):
        seen.append(Evidence("decided by", _UNPROFILED_DECIDES))
        other = "the profiled medians say the opposite; they hold the profiler's own cost"
        return _dearer(distinction(*bare), profiled, other, seen)
    why = _GPU_BOUND if all(bare) else _NOT_RECORDED
    seen.append(Evidence("decided by", f"the profiled time, since {why}"))
    other = "the medians without the profiler say the opposite; they hold the GPU's work"
    return _dearer(profiled, distinction(*bare), other, seen)


def _dearer(found: Distinction, other: Distinction, note: str, seen: list[Evidence]) -> Ruling:
    """The ruling of the figure that decides; ``note`` where the other one says the opposite."""
    if not found.differs or found.change is None:
        return unseen(f"not distinguishable: {found.reason}", *seen)
    opposed = (other.change or 0) * found.change < 0
    if opposed and not other.differs:
        note += f" ({other.reason})"
    if found.change > 0:
        return holds(*seen, note=note if opposed else "")
    told = "the compiled step is cheaper for the CPU"
    return contradicted(f"{told}; {note}" if opposed else told, *seen)


def waits_for_the_cpu(reading: Reading) -> bool | None:
    """Whether the GPU is idle for most of a step without the profiler; ``None``: not recorded."""
    alone, gpu = reading.unprofiled(), reading.gpu_step()
    if alone is None or gpu is None:
        return None
    return gpu.median_ns < HALF * alone.median_ns


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
