"""Findings about the recording itself: what bends the figures, and what a viewer will not show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trace_util.cautions import is_of_incomplete, unsound
from trace_util.findings.finding import Finding, count, ns, rows_of, text
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.scene import Scene
from trace_util.gaps import PROFILER_OVERHEADS, Cause
from trace_util.launches import unplaced_work
from trace_util.links import Step
from trace_util.tally import distinct
from trace_util.wholeness import has_several_lists, has_two_texts, is_cut_off, is_damaged, left_out

# Reasoned: less of the window changes no figure at the digits that are shown.
VISIBLE = 0.01


def recording(scene: Scene) -> Iterator[Finding]:
    """What the file lacks, lost kernels, wide steps, profiler's rows, overlaps, hidden events."""
    yield from not_whole(scene)
    yield from gpu_activity_missing(scene)
    yield from kernels_lost(scene)
    yield from work_without_launch(scene)
    yield from wide_steps(scene)
    yield from profiler_rows(scene)
    yield from hidden_overlaps(scene)
    yield from overlapping_durations(scene)
    yield from past_the_recording(scene)
    yield from steps_hidden_by_stacks(scene)


def not_whole(scene: Scene) -> Iterator[Finding]:
    """The end of the file is missing, it is damaged, or events of it could not be used."""
    if is_cut_off(scene.trace):
        yield Finding(
            "file-cut-off",
            FindingKind.ARTEFACT,
            "the end of the file is missing: all figures are those of what is there",
            (),
            "any",
            "copy the file again, or record again and let the export finish",
        )
    if is_of_incomplete(scene.trace.header.other):
        yield Finding(
            "made-of-a-broken-file",
            FindingKind.ARTEFACT,
            "a copy of a file that was cut off or damaged: all figures are those of what was there",
            (),
            "any",
            "record again and let the export finish",
        )
    if has_two_texts(scene.trace):
        yield Finding(
            "text-breaks-off",
            FindingKind.ARTEFACT,
            "the text breaks off and goes on in the middle of the file: it is damaged, or two "
            "writers had one path, and the figures are of neither",
            (),
            "any",
            "give each rank and each run its own path, and record again",
        )
    if has_several_lists(scene.trace):
        yield Finding(
            "several-lists-of-events",
            FindingKind.ARTEFACT,
            "traceEvents stands more than once in the file: the figures are of all its events",
            (),
            "any",
            "give each rank and each run its own path, and record again",
        )
    if is_damaged(scene.trace):
        yield Finding(
            "file-damaged",
            FindingKind.ARTEFACT,
            "the gzip data is damaged: names and times may be wrong",
            (),
            "any",
            "copy the file again",
        )
    told = is_cut_off(scene.trace) or is_damaged(scene.trace) or has_two_texts(scene.trace)
    what = "" if told else unsound(scene.trace.repairs, scene.trace.skipped)
    if what:
        yield Finding(
            "not-sound-json",
            FindingKind.ARTEFACT,
            "the file is not sound JSON ({what}): read all the same, but Perfetto will refuse it",
            (text("what", what),),
            "any",
        )
    found = left_out(scene.trace)
    if found:
        yield Finding(
            "events-left-out",
            FindingKind.ARTEFACT,
            "{events:event is/events are} left out of the figures: {reasons}",
            (count("events", sum(found.values())), text("reasons", ", ".join(found))),
            "any",
        )


def gpu_activity_missing(scene: Scene) -> Iterator[Finding]:
    """Launches without any GPU work."""
    if scene.facts.gpu_activity != "missing":
        return
    yield Finding(
        "gpu-activity-missing",
        FindingKind.ARTEFACT,
        "{launches:kernel launch was/kernel launches were} recorded and not one kernel",
        (count("launches", scene.facts.launch_count),),
        "any: a launch always leaves a kernel in a whole recording",
        "record with ProfilerActivity.CUDA, without another profiler attached, and with permission "
        "to profile (containers, WSL2)",
        rows_of(np.flatnonzero(scene.links.launches_kernels)),
    )


def kernels_lost(scene: Scene) -> Iterator[Finding]:
    """Launches whose work is missing from a trace that has other GPU work."""
    facts = scene.facts
    if not facts.lost_launches:
        return
    steps = ", ".join(step.name for step in facts.steps if step.lost_kernels)
    kept_out = "" if scene.all_steps_lost_kernels else ", kept out of the figures"
    where = f" ({{steps}}{kept_out})" if steps else ""
    yield Finding(
        "kernels-lost",
        FindingKind.ARTEFACT,
        "{lost:launch has/launches have} no kernel in the trace"
        + where
        + ": the GPU figures are too low",
        (count("lost", facts.lost_launches), text("steps", steps)),
        "any",
        "synchronise before the profiler stops, or record fewer steps",
    )


def work_without_launch(scene: Scene) -> Iterator[Finding]:
    """GPU work of which the trace does not say which step launched it."""
    rows = unplaced_work(scene.trace, scene.links)
    if not len(rows) or not scene.facts.steps:
        return
    yield Finding(
        "work-without-launch",
        FindingKind.ARTEFACT,
        "{events:GPU event names/GPU events name} no launch, and so no step: what a step takes on "
        "the GPU is not known",
        (count("events", len(rows)),),
        "any that began after the first work of a known launch",
        "",
        rows_of(rows),
    )


# No advice to warm up: on the recorded GPUs a warm run's first step was as wide as a cold one's.
FIRST_STEP = "look at the later steps: the profiler's first is wide even after a warm-up"


def wide_steps(scene: Scene) -> Iterator[Finding]:
    """Steps far longer than the median one, most often the first."""
    wide = [step for step in scene.facts.steps if step.wide]
    if not wide:
        return
    others = scene.facts.median_step_ns
    first = wide[0].index == scene.facts.steps[0].index
    yield Finding(
        "wide-first-step" if first else "wide-step",
        FindingKind.ARTEFACT,
        "{step} takes {wide}, the median step {median}; it is kept out of the figures here",
        (text("step", wide[0].name), ns("wide", wide[0].duration_ns), ns("median", others)),
        "over twice the median, from 3 steps on: reasoned",
        FIRST_STEP
        if first
        else "look at what that step alone does: a recompilation, an allocation, a data wait",
        rows_of([step.index for step in wide]),
    )


def profiler_rows(scene: Scene) -> Iterator[Finding]:
    """What the profiler itself costs: its own rows, and its closing flush.

    The idle time before a wide first step is that step's finding.
    """
    facts, gaps, names = scene.facts, scene.facts.gaps, scene.trace.names
    own = [row for row in facts.overheads if row.name in PROFILER_OVERHEADS]
    spent = sum(row.total_ns for row in own)
    mine = gaps.cause == Cause.PROFILER
    for step in scene.links.steps:
        mine &= gaps.evidence != step.index
    idle = int(gaps.duration_ns[mine].sum())
    if not facts.window_ns or max(spent, idle) < VISIBLE * facts.window_ns:
        return
    rows = distinct(gaps.evidence[mine & (gaps.evidence >= 0)])
    called = {names[int(scene.trace.events.name[row])] for row in rows}
    called |= {row.name for row in own if row.total_ns >= VISIBLE * facts.window_ns}
    yield Finding(
        "profiler-artefacts",
        FindingKind.ARTEFACT,
        "the profiler's own work ({names}) takes {rows}, and {idle} of the window the GPU is idle "
        "for it: not the model's cost",
        (text("names", ", ".join(sorted(called))), ns("rows", spent), ns("idle", idle)),
        "from 1 % of the window on: reasoned",
        rows=rows_of(rows),
    )


def hidden_overlaps(scene: Scene) -> Iterator[Finding]:
    """GPU events that overlap on one stream and that the Perfetto UI drops or moves."""
    facts = scene.facts
    if not facts.hidden_in_perfetto:
        return
    overlaps = sum(device.same_stream_overlaps for device in facts.devices)
    yield Finding(
        "same-stream-overlaps",
        FindingKind.ARTEFACT,
        "{overlaps:GPU event begins/GPU events begin} before an earlier one on their stream has "
        "ended; the Perfetto UI drops or moves {hidden} of them, and adding durations up counts "
        "{twice} twice",
        (
            count("overlaps", overlaps),
            count("hidden", facts.hidden_in_perfetto),
            ns("twice", sum(device.overcount_ns for device in facts.devices)),
        ),
        "any",
        "take busy times from here (they are unions), not from sums over the table",
    )


def overlapping_durations(scene: Scene) -> Iterator[Finding]:
    """Durations on one stream that lie within each other, so that their sum is too large."""
    facts = scene.facts
    twice = sum(device.overcount_ns for device in facts.devices)
    wrong = [kernel.name for kernel in facts.kernels if kernel.exceeds_span]
    if not (wrong or (twice and not facts.hidden_in_perfetto)):
        return
    longer = ", those of {kernels} to more than from the first kernel to the last" if wrong else ""
    yield Finding(
        "durations-overlap",
        FindingKind.ARTEFACT,
        "durations on one stream overlap: adding them up counts {twice} twice" + longer,
        (ns("twice", twice), text("kernels", ", ".join(wrong))),
        "any",
        "take busy times from here (they are unions), not from sums over the table",
    )


def past_the_recording(scene: Scene) -> Iterator[Finding]:
    """GPU work of the last step that ends after the recording did."""
    end = scene.trace.header.record_end_ns
    steps = scene.facts.steps
    last = steps[-1].last_gpu_end_ns if steps else None
    if end is None or last is None or last <= end:
        return
    yield Finding(
        "work-past-the-recording",
        FindingKind.ARTEFACT,
        "GPU work of {step} runs {past} past the end of the recording, and may be cut",
        (text("step", steps[-1].name), ns("past", last - end)),
        "any",
        "synchronise before the profiler stops",
    )


def steps_hidden_by_stacks(scene: Scene) -> Iterator[Finding]:
    """Step marks that begin inside a Python frame and outlive it: with_stack does that."""
    crossed = [step for step in scene.links.steps if _outlives_a_frame(scene, step)]
    if not crossed:
        return
    yield Finding(
        "steps-hidden-by-stacks",
        FindingKind.ARTEFACT,
        "the marks of {steps} begin inside a Python frame and outlive it, so the Perfetto UI drops "
        "or moves them; the figures here have them",
        (text("steps", ", ".join(step.name for step in crossed)),),
        "any",
        "record with with_stack=False to see the steps in the UI",
        rows_of([step.index for step in crossed]),
    )


def _outlives_a_frame(scene: Scene, step: Step) -> bool:
    """Whether the mark begins in a Python frame of its thread that ends before the mark does."""
    events, (order, ends) = scene.trace.events, scene.frames_by_end
    first, last = np.searchsorted(ends, [step.start_ns + 1, step.end_ns])
    frames = order[first:last]
    mine = (events.thread[frames] == events.thread[step.index]) & (
        events.process[frames] == events.process[step.index]
    )
    return bool((mine & (events.start_ns[frames] <= step.start_ns)).any())
