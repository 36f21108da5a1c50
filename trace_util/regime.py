"""What bounds a run, and which numbers say so: launches, input, arithmetic or memory."""

from __future__ import annotations

from dataclasses import dataclass

from trace_util.bounds import time_by_bound, why_unknown
from trace_util.findings.finding import Value, count, ns, share, text
from trace_util.findings.idle import INPUT as FOR_INPUT
from trace_util.findings.idle import SYNCHRONISE, idle_cause
from trace_util.findings.scene import FULL, FULL_LEAVES, HALF, LONGEST, SEEN_HIDDEN, Scene
from trace_util.wholeness import is_cut_off, left_out

OVERHEAD, COMPUTE, MEMORY = "overhead-bound", "compute-bound", "memory-bound"
INPUT, COPIES = "input-bound", "copy-bound"
KERNELS = "kernel-bound"  # by work on the GPU, which the trace does not let one tell apart
UNDECIDED = "undecided"

# What the GPU is busy for may be so many times more without the profiler: a little more than was
# seen. A share of the profiled window below 1/16 is then below one half without it as well.
INFLATION = 8
SURE = HALF / INFLATION


@dataclass(frozen=True)
class Regime:
    """``name`` is ``None`` where nothing can be said. ``reason`` is a template over ``values``."""

    name: str | None
    reason: str
    values: tuple[Value, ...]
    threshold: str = ""


def regime(scene: Scene) -> Regime:
    """What bounds the run, judged from the step time without the profiler where it was recorded."""
    return (
        _nothing_recorded(scene)
        or _too_low(scene)
        or (_unprofiled(scene) if scene.unprofiled_share is not None else _profiled(scene))
        or _kernels(scene)
    )


def _nothing_recorded(scene: Scene) -> Regime | None:
    facts = scene.facts
    if facts.gpu_activity == "missing":
        return Regime(
            None,
            "GPU activity was not recorded: {launches:kernel launch/kernel launches}, and no "
            "kernel. Nothing can be said of the GPU" + _but(scene),
            (count("launches", facts.launch_count), *_told_of_file(scene)),
        )
    if facts.gpu_activity == "none":
        cpu = sum(op.self_ns for op in facts.ops)
        if not len(scene.trace.events) and (is_cut_off(scene.trace) or left_out(scene.trace)):
            return Regime(None, "nothing can be said: " + _flaws(scene), _told_of_file(scene))
        return Regime(
            None,
            "nothing was launched on a GPU: {ops:CPU op/CPU ops} in {cpu} of CPU time"
            + _but(scene),
            (
                count("ops", sum(op.count for op in facts.ops)),
                ns("cpu", cpu),
                *_told_of_file(scene),
            ),
        )
    if not facts.window_ns:
        return Regime(None, "no window: neither step marks nor ops with GPU work", ())
    return None


def _too_low(scene: Scene) -> Regime | None:
    if not scene.all_steps_lost_kernels:
        return None
    return Regime(
        UNDECIDED,
        "{lost:launch has/launches have} no kernel in the trace, one or more in every step: the "
        "GPU's share of a step is not known",
        (count("lost", scene.facts.lost_launches),),
        "kernels lost in every step",
    )


def _but(scene: Scene) -> str:
    """What is to be added where the file does not hold all that was recorded."""
    flaws = _flaws(scene)
    return f"; but {flaws}" if flaws else ""


def _flaws(scene: Scene) -> str:
    parts = []
    if is_cut_off(scene.trace):
        parts.append("the end of the file is missing")
    if left_out(scene.trace):
        parts.append("{left_out:event/events} could not be used ({reasons})")
    return ", and ".join(parts)


def _told_of_file(scene: Scene) -> tuple[Value, ...]:
    found = left_out(scene.trace)
    return (count("left_out", sum(found.values())), text("reasons", ", ".join(found)))


_BELOW = f"below 90 % of the unprofiled step (measured: full steps leave at most {FULL_LEAVES:.0%})"
_NEITHER = "neither that nor the CPU alone bounds the run: "
_WAITED = (
    "which sent or waited for a later rank: one rank does not tell which. Look at the job: give "
    "summary the traces of all its ranks"
)


def _unprofiled(scene: Scene) -> Regime | None:
    """Judged from the step's time without the profiler; ``None`` where the GPU fills it."""
    told, most = scene.facts.unprofiled_step, scene.unprofiled_share
    least = scene.unprofiled_work_share
    assert told is not None and most is not None and least is not None
    values = (
        ns("gpu", scene.step_gpu_ns),
        ns("step", told.median_ns),
        share("part", most),
        ns("fastest", told.min_ns),
    )
    if least > LONGEST:
        return Regime(
            UNDECIDED,
            "the GPU works {gpu} in a recorded step, which without the profiler takes {step} in "
            "all: they were not alike, and the GPU's share of a step is not known",
            values,
            "over 110 % of the unprofiled step (measured: full steps reach 104 %)",
        )
    if least >= FULL or scene.cpu_runs_ahead:
        return None
    if most >= FULL:
        return _one_rank(scene, told.median_ns)
    works = "the GPU works {gpu} of each {step} step ({part})"
    if scene.has_collectives:
        works = works.replace("works", "works at most", 1)
        works = works.replace("({part})", "({part}, waits in collectives included)")
    if scene.fills_the_fastest_step:
        why = ", but fills the fastest, {fastest}; " + _NEITHER + "the CPU's speed varies"
        return Regime(UNDECIDED, works + why, values, _BELOW)
    if scene.facts.graph_launches and most >= HALF:
        why = "; its kernels are replayed by graphs, and whether the rest passes on the CPU or on "
        why += "the GPU, between two replays, the trace does not tell"
        return Regime(UNDECIDED, works + why, values, _BELOW)
    cause = idle_cause(scene)
    if cause == SYNCHRONISE:
        why = "; " + _NEITHER + "the CPU waits for the GPU, and then the GPU for the CPU"
        return Regime(UNDECIDED, works + why, values, _BELOW)
    if cause == FOR_INPUT:
        why = ", and waits most of the rest while the CPU waits for the data loader"
        return Regime(INPUT, works + why, values, _BELOW)
    return Regime(OVERHEAD, works + " and waits for the CPU the rest of it", values, _BELOW)


def _one_rank(scene: Scene, step_ns: float) -> Regime:
    """What one rank of a job tells that spends long in collectives."""
    return Regime(
        UNDECIDED,
        "the GPU works {work} of each {step} step ({part}) besides its collectives, " + _WAITED,
        (
            ns("work", scene.step_work_ns),
            ns("step", step_ns),
            share("part", scene.unprofiled_work_share),
        ),
        "90 % of the unprofiled step is reached with collectives, and not without",
    )


def _profiled(scene: Scene) -> Regime | None:
    """Judged from the profiled window alone; ``None`` where the GPU fills it."""
    most, least = scene.busy_share, scene.work_share
    if most is None or least is None or least >= FULL:
        return None
    values = (
        *_window(scene),
        share("unknown", scene.unknown_idle_share),
        share("work", least),
    )
    busy = _busy(scene)
    if most >= FULL:
        return Regime(
            UNDECIDED,
            busy + ", but only {work} of it with other work than collectives, " + _WAITED,
            values,
            "90 % of the window is reached with collectives, and not without",
        )
    if not scene.idle_is_explained:
        return Regime(
            UNDECIDED,
            busy + ", and idle {unknown} of it for reasons that the trace does not show: the "
            "launches of its kernels were not recorded",
            values,
            "over half of the idle time without a launch that ends it",
        )
    if idle_cause(scene) == FOR_INPUT:
        return Regime(
            INPUT,
            busy + ", and idle most of the rest while the CPU waits for the data loader",
            values,
            "below 90 % of the profiled window; the largest part of the idle time",
        )
    hidden = f"profiling was seen to lower it up to {SEEN_HIDDEN:g} times"
    if most < SURE:
        return Regime(
            OVERHEAD,
            busy + f"; even {INFLATION} times that, more than profiling was seen to hide, would "
            "leave it idle for more than half of the time",
            values,
            f"below {SURE:.2%} of the profiled window: {hidden}",
        )
    return Regime(
        UNDECIDED,
        busy + ", but profiling slows the CPU: without the step's time outside the profiler one "
        "cannot tell whether the CPU or the GPU bounds the run",
        values,
        f"{SURE:.2%} to 90 % of the profiled window: {hidden}",
    )


def _busy(scene: Scene) -> str:
    """How busy the GPU is in the window, or in the steps of it that are kept in the figures."""
    if scene.all_steps_are_sound:
        return "the GPU is busy {gpu_busy_share} of the {window} window"
    return (
        "the GPU is busy {kept_busy_share} of the {kept} that the "
        "{kept_steps:kept step takes/kept steps take}"
    )


def _window(scene: Scene) -> tuple[Value, ...]:
    if scene.all_steps_are_sound:
        return (
            share("gpu_busy_share", scene.facts.busy_share),
            ns("window", scene.facts.window_ns),
        )
    return (
        share("kept_busy_share", scene.busy_share),
        ns("kept", scene.kept_ns),
        count("kept_steps", len(scene.sound_steps)),
    )


_NAMES = {
    "compute": (COMPUTE, "kernels whose arithmetic takes longer than their memory traffic"),
    "memory": (MEMORY, "kernels and copies that wait for the GPU's memory"),
    "copies": (COPIES, "copies between the host and the GPU"),
    "unknown": (KERNELS, "kernels whose FLOPs and bytes the trace does not tell ({why})"),
}


def _kernels(scene: Scene) -> Regime:
    """What most of the GPU's time besides collectives goes to, and how full it is."""
    times = time_by_bound(scene)
    times.pop("network", None)
    total = sum(times.values())
    if not total:
        return Regime(None, "no GPU event has a duration", ())
    most, spent = times.most_common(1)[0]
    name, what = _NAMES[most]
    values = [share("most", spent / total), text("why", why_unknown(scene))]
    told, part = scene.facts.unprofiled_step, scene.unprofiled_work_share
    if told is not None and part is not None:
        # The time of the step is another run's than that of the GPU's work, which may be longer.
        full = "the GPU works all the time ({gpu} of work a step; a step takes {step})"
        busy = full if part >= 1 else "the GPU works {gpu} of each {step} step ({part})"
        if part < FULL:
            busy = busy[:-1] + "; the CPU is through one in {cpu} even with the profiler)"
            values.append(ns("cpu", scene.cpu_step_ns))
        values += [
            ns("gpu", scene.step_work_ns),
            ns("step", told.median_ns),
            share("part", part),
        ]
    else:
        busy = _busy(scene)
        values += _window(scene)
    its = "that" if scene.has_collectives else "its"
    aside = " besides its collectives" if scene.has_collectives else ""
    return Regime(
        name,
        busy + aside + f", {{most}} of {its} time in " + what,
        tuple(values),
        "the largest part of the GPU's time; a kernel counts where its share of the peak is higher",
    )
