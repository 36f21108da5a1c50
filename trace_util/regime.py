"""What bounds a run, and which numbers say so: the CPU's launches, arithmetic, memory, network."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from trace_util.findings.finding import Value, count, ns, share, text
from trace_util.findings.scene import Scene
from trace_util.kernel_names import decode
from trace_util.roofline import KernelRate
from trace_util.wholeness import is_cut_off, left_out

OVERHEAD, COMPUTE, MEMORY = "overhead-bound", "compute-bound", "memory-bound"
NETWORK, COPIES = "communication-bound", "copy-bound"
KERNELS = "kernel-bound"  # by work on the GPU, which the trace does not let one tell apart
UNDECIDED = "undecided"

# Reasoned: below one half the GPU waits longer than it works, so that a faster launch can save more
# than any faster kernel could.
HALF = 0.5
# Measured on an H200, torch 2.11 (the traces of traces/recorded): the GPU's share of the profiled
# window is 1.2 to 4.4 times smaller than its share of the unprofiled step, most so for short steps.
# What is below 1/10 with the profiler is below one half without it as well.
INFLATION = 5.0
SURE = HALF / INFLATION

# Kernels that do a handful of FLOPs on each number they move. The GPUs of the table do 20 to 400
# FLOPs (fp32 to fp8) in the time that moves a byte, so these are bound by memory on all of them.
MOVERS = (
    "elementwise", "reduction", "softmax", "normalization", "copy", "pooling", "dropout", "index",
    "loss", "interpolation", "foreach", "scan", "memset", "quantization",
)  # fmt: skip


@dataclass(frozen=True)
class Regime:
    """``name`` is ``None`` where nothing can be said. ``reason`` is a template over ``values``."""

    name: str | None
    reason: str
    values: tuple[Value, ...]
    threshold: str = ""


def regime(scene: Scene) -> Regime:
    """What bounds the run, judged from the step time without the profiler where it was recorded."""
    return _nothing_recorded(scene) or _too_low(scene) or _overhead(scene) or _kernels(scene)


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


def _overhead(scene: Scene) -> Regime | None:
    facts = scene.facts
    told, measured = facts.unprofiled_step, scene.unprofiled_share
    if told is not None and measured is not None:
        if measured >= HALF:
            return None
        return Regime(
            OVERHEAD,
            "the GPU works {gpu} of each {step} step ({part}) and waits for the CPU the rest of it",
            (ns("gpu", scene.step_gpu_ns), ns("step", told.median_ns), share("part", measured)),
            "below 50 % of the unprofiled step: reasoned",
        )
    part = scene.busy_share
    if part is None or part >= HALF:
        return None
    values = (
        *_window(scene),
        share("unknown", scene.unknown_idle_share),
    )
    busy = _busy(scene)
    if not scene.idle_is_explained:
        return Regime(
            UNDECIDED,
            busy + ", and idle {unknown} of it for reasons that the trace does not show: the "
            "launches of its kernels were not recorded",
            values,
            "over half of the idle time without a launch that ends it",
        )
    if part < SURE:
        return Regime(
            OVERHEAD,
            busy + "; even 5 times that, the most that profiling was seen to hide, would leave it "
            "idle for more than half of the time",
            values,
            "below 10 % of the profiled window: profiling was seen to lower it up to 4.4 times",
        )
    return Regime(
        UNDECIDED,
        busy + ", but profiling slows the CPU: without the step's time outside the profiler one "
        "cannot tell whether the CPU or the GPU bounds the run",
        values,
        "10 to 50 % of the profiled window: profiling was seen to lower it up to 4.4 times",
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


def time_by_bound(scene: Scene) -> Counter[str]:
    """GPU time in ns by its bound: ``compute``, ``memory``, ``network``, ``copies``, ``unknown``.

    Without recorded shapes a kernel is counted by its role where that settles it.
    """
    found: Counter[str] = Counter()
    for rate in scene.rates:
        found[_bound(rate)] += rate.total_ns
    for copy in scene.facts.copies:
        found["memory" if copy.kind == "DtoD" else "copies"] += copy.total_ns
    found["memory"] += sum(one.total_ns for one in scene.facts.memsets)
    return +found


def _bound(rate: KernelRate) -> str:
    role = decode(rate.name).role
    if role == "communication":
        return "network"
    if role in MOVERS:
        return "memory"
    return rate.bound or "unknown"


_NAMES = {
    "compute": (COMPUTE, "kernels whose arithmetic takes longer than their memory traffic"),
    "memory": (MEMORY, "kernels and copies that wait for the GPU's memory"),
    "network": (NETWORK, "collectives between GPUs, waits for later ranks included"),
    "copies": (COPIES, "copies between the host and the GPU"),
    "unknown": (KERNELS, "kernels whose FLOPs and bytes the trace does not tell ({why})"),
}


def _kernels(scene: Scene) -> Regime:
    """What most of the GPU's time goes to, and how full it is."""
    times = time_by_bound(scene)
    total = sum(times.values())
    if not total:
        return Regime(None, "no GPU event has a duration", ())
    most, spent = times.most_common(1)[0]
    name, what = _NAMES[most]
    values = [share("most", spent / total), text("why", _why_unknown(scene))]
    told = scene.facts.unprofiled_step
    if told is not None and scene.unprofiled_share is not None:
        # The time of the step is another run's than that of the GPU's work, which may be longer.
        full = "the GPU works all the time ({gpu} of work a step; a step takes {step})"
        part = "the GPU works {gpu} of each {step} step ({part})"
        busy = full if scene.unprofiled_share >= 1 else part
        values += [
            ns("gpu", scene.step_gpu_ns),
            ns("step", told.median_ns),
            share("part", scene.unprofiled_share),
        ]
    else:
        busy = _busy(scene)
        values += _window(scene)
    return Regime(
        name,
        busy + ", {most} of its time in " + what,
        tuple(values),
        "the largest part of the GPU's time; a kernel counts where its share of the peak is higher",
    )


def _why_unknown(scene: Scene) -> str:
    """The commonest reason, by time, for kernels without a bound."""
    reasons: Counter[str] = Counter()
    for rate in scene.rates:
        if _bound(rate) == "unknown":
            known = rate.work.flops is not None or rate.work.size_bytes is not None
            reasons["unknown GPU" if known else rate.work.reason] += rate.total_ns
    return reasons.most_common(1)[0][0] if reasons else ""
