"""Findings about launching: the GPU waits, a graph would pay, kernels shorter than their launch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trace_util.calls import Call
from trace_util.events import Kind
from trace_util.findings.finding import Finding, count, ns, rows_of, share, text
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.idle import INPUT, idle_cause
from trace_util.findings.scene import FULL, FULL_LEAVES, HALF, SEEN_HIDDEN, Scene
from trace_util.tally import spread

# Reasoned: a graph saves the CPU's work for all launches of a step but one.
FEWEST_LAUNCHES = 2
# Reasoned: fewer are no pattern; a step of a large model has hundreds.
FEWEST_TINY = 20


def launching(scene: Scene) -> Iterator[Finding]:
    """The GPU waits for the CPU, CUDA graphs are absent, kernels are tiny."""
    yield from gpu_waits(scene)
    yield from graphs_absent(scene)
    yield from tiny_kernels(scene)


def gpu_waits(scene: Scene) -> Iterator[Finding]:
    """Part of each unprofiled step in which the GPU has nothing to do."""
    step = scene.step_ns
    part = None if step is None or scene.step_gpu_ns is None else scene.step_gpu_ns / step
    if step is None or part is None or part >= (FULL if scene.is_unprofiled else 1 - FULL):
        return
    launches = _whole(scene.launches_per_step)
    if not launches or not scene.step_gpu_ns or scene.cpu_runs_ahead:
        return
    if not scene.is_unprofiled and not scene.idle_is_explained:
        return  # launches are missing from the trace, and with them the work of the steps
    if idle_cause(scene) == INPUT:
        return  # the data loader's finding
    told = scene.facts.unprofiled_step
    fastest = told.min_ns if told else None
    values = (
        ns("idle", step - scene.step_gpu_ns),
        ns("step", step),
        share("part", 1 - part),
        count("launches", launches),
        ns("each", step / launches),
        ns("fastest", fastest),
    )
    yield Finding(
        "overhead-bound" if part < HALF else "gpu-waits",
        FindingKind.COST,
        ("at least " if scene.has_collectives else "")
        + "{idle} of each {step} step ({part}) the GPU has nothing to do: "
        "{launches:launch/launches} a step, {each} of the step for each"
        + (
            "; the fastest, {fastest}, leaves no such time: the CPU's speed varies"
            if scene.fills_the_fastest_step
            else ""
        ),
        values,
        f"over 10 % of the unprofiled step (measured: full steps leave at most {FULL_LEAVES:.0%}), "
        "or over 90 % of a profiled one (measured: profiling makes the GPU's share up to "
        f"{SEEN_HIDDEN:g} times smaller)",
        "launch less often and more at once: a larger batch" + _other_means(scene),
    )


def _other_means(scene: Scene) -> str:
    """The means of launching less that the run does not use yet."""
    is_compiled = any(name.startswith("Torch-Compiled Region") for name in scene.trace.names)
    means = [
        *([] if is_compiled or scene.facts.graph_launches else ["torch.compile"]),
        *([] if scene.facts.graph_launches else ["CUDA graphs"]),
    ]
    return "".join(f", {one}" for one in means)


def graphs_absent(scene: Scene) -> Iterator[Finding]:
    """Every step launches the same kernels, one call each, while the GPU waits."""
    facts, launches = scene.facts, scene.launches_per_step
    part = scene.unprofiled_share if scene.is_unprofiled else scene.busy_share
    waits = part is not None and part < (FULL if scene.is_unprofiled else 1 - FULL)
    if (
        facts.graph_launches
        or not waits
        or scene.cpu_runs_ahead
        or (launches or 0) < FEWEST_LAUNCHES
    ):
        return
    rows = _same_kernels(scene)
    if rows is None:
        return
    yield Finding(
        "cuda-graph-absent",
        FindingKind.COST,
        "every step launches the same {launches:kernel/kernels} in the same order, one call each",
        (count("launches", _whole(launches)),),
        "the GPU idle over 10 % of an unprofiled step (90 % of a profiled window), from 2 launches "
        "on: reasoned; on an H200 a graph took 16.5 µs where eager took 102 (the MLP at batch 1)",
        'replay them as one graph: torch.compile(mode="reduce-overhead") or torch.cuda.graph',
        rows,
    )


def _same_kernels(scene: Scene) -> tuple[int, ...] | None:
    """The launches of the first sound step, if all sound steps run the same kernels in order."""
    if len(scene.sound_steps) < 2:
        return None
    events, links = scene.trace.events, scene.links
    found: list[list[int]] = []
    numbers = {step.index: i for i, step in enumerate(links.steps)}
    kernels = scene.kernel_rows[np.argsort(events.start_ns[scene.kernel_rows], kind="stable")]
    for step in scene.sound_steps:
        mine = kernels[links.step[kernels] == numbers[step.index]]
        found.append(events.name[mine].tolist())
    if not found[0] or any(names != found[0] for names in found[1:]):
        return None
    first = links.launch[kernels[links.step[kernels] == numbers[scene.sound_steps[0].index]]]
    return rows_of(first[first >= 0])


def tiny_kernels(scene: Scene) -> Iterator[Finding]:
    """More than half of the kernels run for less time than the call that launches them takes."""
    events, links = scene.trace.events, scene.links
    rows = scene.kernel_rows
    rows = rows[links.launch[rows] >= 0]
    calls = links.launch[rows]
    rows = rows[links.call[calls] != Call.GRAPH]
    calls = links.launch[rows]
    if not len(rows) or (scene.launches_per_step or len(rows)) < FEWEST_TINY:
        return
    each = spread(events.duration_ns[calls])
    tiny = rows[events.duration_ns[rows] < each.median_ns] if each else rows[:0]
    if each is None or len(tiny) * 2 <= len(rows):
        return
    yield Finding(
        "tiny-kernels",
        FindingKind.COST,
        "{tiny} of {kernels:kernel/kernels} run for less than the {call} of a launch call "
        "(the median): launching them takes longer than running them",
        (count("tiny", len(tiny)), count("kernels", len(rows)), ns("call", each.median_ns)),
        "over half of the kernels, from 20 launches a step on: measured on this trace's launches",
        "fuse them: torch.compile, foreach or fused optimizers, a larger batch",
        rows_of(tiny),
    )


def metadata_only(scene: Scene) -> Iterator[Finding]:
    """Ops that launch nothing, such as views, which only describe the same memory anew."""
    events = scene.trace.events
    ops = [op for op in scene.facts.ops if op.name.startswith("aten::")]
    views = [op for op in ops if op.metadata_only]
    own = sum(op.self_ns for op in ops)
    spent = sum(op.self_ns for op in views)
    if not views or not scene.has_launches or spent < METADATA_SHARE * own:
        return
    names = {op.name for op in views}
    is_view = np.array([name in names for name in scene.trace.names], dtype=bool)
    rows = np.flatnonzero(is_view[events.name] & events.is_kind(Kind.CPU_OP))
    yield Finding(
        "metadata-only-ops",
        FindingKind.NOTE,
        "{ops:op/ops} ({names}) launch nothing on the GPU: metadata, or work of the CPU, in {cpu}",
        (
            count("ops", sum(op.count for op in views)),
            text("names", ", ".join(op.name for op in views[:4]) + (", …" if views[4:] else "")),
            ns("cpu", spent),
        ),
        "from 5 % of the ops' own CPU time on: reasoned, less is lost in the noise",
        rows=rows_of(rows),
    )


METADATA_SHARE = 0.05


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)
