"""What a trace says, as data: what bounds the run, where time goes, which kernels, what is odd."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trace_util.devices import Device, gpu_name
from trace_util.events import Trace, require_trace
from trace_util.facts import Facts
from trace_util.findings.bias import bias
from trace_util.findings.compiled import compiled
from trace_util.findings.finding import Finding, Kind, Value, count, ns, share
from trace_util.findings.launching import launching, metadata_only
from trace_util.findings.network import network
from trace_util.findings.products import products
from trace_util.findings.recording import recording
from trace_util.findings.scene import Scene, scene_of
from trace_util.findings.waiting import waiting
from trace_util.gaps import Cause
from trace_util.kernel_groups import KernelGroup, kernel_groups
from trace_util.links import Links
from trace_util.regime import Regime, regime
from trace_util.roofline import KernelRate
from trace_util.steps import step_ranks
from trace_util.work import NO_SHAPES

SUBJECTS: tuple[Callable[[Scene], Iterable[Finding]], ...] = (
    recording,
    launching,
    waiting,
    network,
    products,
    bias,
    compiled,
    metadata_only,
)


@dataclass(frozen=True)
class Explanation:
    """What a trace says. ``regime.name`` is ``None`` where the GPU was not recorded."""

    path: str
    gpu: str | None
    device: Device | None  # peaks; None for an unknown GPU
    regime: Regime
    evidence: tuple[Value, ...]  # the figures behind the regime, named as the summary names them
    window: tuple[Value, ...]  # where the window goes on the busiest device; adds up to its length
    kernels: tuple[KernelRate, ...]  # by name, op and shapes, most time first
    roofline: str  # why there are no shares of a peak, "" where there are
    findings: tuple[Finding, ...]  # costs first, then artefacts, then notes
    facts: Facts
    step_ranks: tuple[str, ...] = ()  # whose step each one is, in a merged job; else empty
    groups: tuple[KernelGroup, ...] = ()  # the kernels by what they are called in words


def explanation(
    trace: Trace, links: Links | None = None, facts: Facts | None = None
) -> Explanation:
    """The explanation of a trace; links and facts are worked out unless they are handed in.

    Raises:
        UsageError: ``trace`` is none, but a path, say.
    """
    require_trace(trace, "explanation")
    scene = scene_of(trace, links, facts)
    found = [finding for subject in SUBJECTS for finding in subject(scene)]
    order = list(Kind)
    return Explanation(
        path=trace.path,
        gpu=scene.facts.gpu or gpu_name(trace.header),
        device=scene.device,
        regime=regime(scene),
        evidence=_evidence(scene),
        window=_window(scene),
        kernels=scene.rates,
        roofline=_no_roofline(scene),
        findings=tuple(sorted(found, key=lambda finding: order.index(finding.kind))),
        facts=scene.facts,
        step_ranks=step_ranks(scene.trace, scene.facts.steps),
        groups=kernel_groups(trace, scene.rates),
    )


def _evidence(scene: Scene) -> tuple[Value, ...]:
    """The figures that the regime is judged by; steps that are wide or lost kernels left out."""
    facts = scene.facts
    told = facts.unprofiled_step
    launches = scene.launches_per_step
    return (
        ns("unprofiled_step", told.median_ns if told else None),
        ns("unprofiled_step_min", told.min_ns if told else None),
        ns("unprofiled_step_max", told.max_ns if told else None),
        count("unprofiled_steps", told.count if told else None),
        ns("step_mark", facts.median_step_ns),
        ns("step_gpu_busy", scene.step_gpu_ns),
        share("step_gpu_busy_share", scene.unprofiled_share),  # over 1: waits, or unlike clocks
        ns("step_gpu_work", scene.step_work_ns),  # without collectives
        ns("window", facts.window_ns),
        share("gpu_busy_share", facts.busy_share),
        count("launches_per_step", None if launches is None else round(launches)),
    )


_CAUSES = {
    Cause.OVERHEAD: "not_launched",
    Cause.SYNCHRONISE: "synchronise",
    Cause.PROFILER: "profiler",
    Cause.UNKNOWN: "unknown",
}


def _window(scene: Scene) -> tuple[Value, ...]:
    """The window of the busiest device: busy, and its gaps by cause."""
    facts, gaps = scene.facts, scene.facts.gaps
    if not facts.devices or not facts.window_ns:
        return ()
    mine = gaps.device == scene.busiest
    parts = [ns("busy", facts.devices[scene.busiest].window_busy_ns)]
    for cause, name in _CAUSES.items():
        spent = int(gaps.duration_ns[mine & (gaps.cause == cause)].sum())
        if spent:
            parts.append(ns(name, spent))
    return tuple(parts)


def _no_roofline(scene: Scene) -> str:
    if not scene.rates:
        return "no kernels"
    if all(rate.work.reason for rate in scene.rates):
        reasons = {rate.work.reason for rate in scene.rates}
        return NO_SHAPES if NO_SHAPES in reasons else scene.rates[0].work.reason
    if scene.device is None:
        return "unknown GPU: no peaks to compare with"
    return ""
