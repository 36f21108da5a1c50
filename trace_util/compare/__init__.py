"""Two or more traces of one workload: what stayed, what was fused, and whether it is faster.

Every run is compared with one of them, the baseline. What a step does is compared by kernel names
and by CPU rows, its time by what was measured without the profiler and besides by the trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trace_util.compare.matching import Fused, Matching, Replaced, Same, matched
from trace_util.compare.rows import RowChange, row_changes
from trace_util.compare.times import Times, times_of, unlike_clocks
from trace_util.compare.traffic import Kept, intermediates, moved_bytes
from trace_util.compare.uses import KernelUse, TransferUse, kernel_uses, transfer_uses
from trace_util.events import Trace, TraceError, require_trace
from trace_util.ranges import Distinction, distinction
from trace_util.reading import Reading, reading_of
from trace_util.runs import Run, run_differences, same_problem
from trace_util.steps import whole_steps
from trace_util.wholeness import why_incomplete

__all__ = [
    "Comparison",
    "ComparedRun",
    "Difference",
    "Fused",
    "FusedKernels",
    "Kept",
    "KernelUse",
    "Replaced",
    "RowChange",
    "Same",
    "Times",
    "TransferUse",
    "comparison",
]


@dataclass(frozen=True)
class ComparedRun:
    """One of the runs, with what it does in a step, or in the whole file."""

    path: str
    run: Run
    steps: int
    times: Times
    kernels: float | None
    launches: float
    transfers: tuple[TransferUse, ...]
    busy_share: float | None
    no_gpu: str | None  # why GPU work cannot be seen
    incomplete: tuple[str, ...]  # what the trace lacks, as warnings


@dataclass(frozen=True)
class FusedKernels:
    """A fusion with the tensors that it keeps on the chip."""

    match: Fused
    intermediates: tuple[Kept, ...]


@dataclass(frozen=True)
class Difference:
    """A run beside the baseline. ``before`` is the baseline, ``after`` the run."""

    index: int  # of the run
    unlike: tuple[str, ...]  # what differs besides the variant, as a warning
    kernels: Matching
    fused: tuple[FusedKernels, ...]
    split: tuple[FusedKernels, ...]
    rows: tuple[RowChange, ...]
    bytes_saved: int | None  # negative: more bytes are moved
    bytes_reason: str  # why they are not known
    unprofiled: Distinction
    cpu: Distinction  # profiled CPU time of a step
    gpu: Distinction  # GPU time of a step

    @property
    def step(self) -> Distinction:
        """The difference that counts: without the profiler where that was measured in both."""
        return self.cpu if self.unprofiled.differs is None else self.unprofiled


@dataclass(frozen=True)
class Comparison:
    """All runs, and each but the baseline beside it."""

    runs: tuple[ComparedRun, ...]
    baseline: int
    by_step: bool  # whether counts are those of a step; of the whole file where one has no steps
    differences: tuple[Difference, ...]


def comparison(traces: Sequence[Trace], baseline: int = 0) -> Comparison:
    """The traces, each compared with the one at ``baseline``.

    Raises:
        UsageError: a path in the place of a trace.
        TraceError: fewer than two traces, or no such baseline.
    """
    for one in [traces] if isinstance(traces, str | os.PathLike | Trace) else traces:
        require_trace(one, "comparison")
    if isinstance(traces, Trace) or len(traces) < 2:
        raise TraceError("compare: one trace has nothing to be compared with; give two or more")
    if not 0 <= baseline < len(traces):
        raise TraceError(f"compare: no trace {baseline} among {len(traces)} to be the baseline")
    readings = [reading_of(trace, trace.path) for trace in traces]
    base = readings[baseline]
    by_step = all(one.facts.steps for one in readings)
    return Comparison(
        tuple(_run(one, by_step) for one in readings),
        baseline,
        by_step,
        tuple(
            _difference(base, other, index, by_step)
            for index, other in enumerate(readings)
            if index != baseline
        ),
    )


def _run(own: Reading, by_step: bool) -> ComparedRun:
    steps = len(own.facts.steps)
    kernels = sum(use.count for use in kernel_uses(own, by_step))
    launches = float(own.facts.launch_count)
    if by_step:
        whole = whole_steps(own.facts.steps)
        launches = sum(own.facts.steps[index].launches for index in whole) / len(whole)
    return ComparedRun(
        path=own.trace.path,
        run=own.run,
        steps=steps,
        times=times_of(own, by_step),
        kernels=kernels if own.no_gpu is None else None,
        launches=launches,
        transfers=tuple(transfer_uses(own, by_step)),
        busy_share=None if own.no_gpu or own.facts.lost_launches else own.facts.busy_share,
        no_gpu=own.no_gpu,
        incomplete=tuple(_incomplete(own, by_step)),
    )


def _incomplete(own: Reading, by_step: bool) -> Iterator[str]:
    """What a trace lacks, and what became of it."""
    flaw = why_incomplete(own.trace)
    if flaw:
        yield f"{flaw}: all figures are those of what is there"
    lossy = [step.name for step in own.facts.steps if step.lost_kernels]
    if by_step and lossy:
        left = "each step" if len(lossy) == len(own.facts.steps) else ", ".join(lossy)
        done = "its GPU figures are too low" if left == "each step" else "left out of the figures"
        yield f"{left} lost kernels: {done}"
    elif own.facts.lost_launches:
        yield "launches lost their kernels: the GPU figures are too low"
    if by_step and own.unplaced:
        yield f"{own.unplaced}: the GPU figures of a step are too low"


def _vague(own: Reading) -> str:
    """Why what a step does on the GPU cannot be known, "" where it can."""
    steps = own.facts.steps
    all_lost = bool(steps) and all(step.lost_kernels for step in steps)
    return own.unplaced or ("each step of a run lost kernels" if all_lost else "")


def _difference(base: Reading, other: Reading, index: int, by_step: bool) -> Difference:
    unlike = _unlike(base, other)
    old, new = kernel_uses(base, by_step), kernel_uses(other, by_step)
    kernels = matched(old, new, alike=same_problem(base.run, other.run))
    fused = tuple(FusedKernels(one, intermediates(base, one) or ()) for one in kernels.fused)
    split = tuple(FusedKernels(one, intermediates(other, one) or ()) for one in kernels.split)
    saved, reason = _saved(base, other, fused, split, by_step)
    before, after = times_of(base, by_step), times_of(other, by_step)
    clocks = unlike_clocks(base, other) if by_step else ""
    flaw = why_incomplete(base.trace) or why_incomplete(other.trace)
    vague = flaw or (_vague(base) or _vague(other) if by_step else "")
    return Difference(
        index=index,
        unlike=unlike,
        kernels=kernels,
        fused=fused,
        split=split,
        rows=row_changes(base, other, by_step),
        bytes_saved=saved,
        bytes_reason=reason,
        unprofiled=Distinction(None, clocks)
        if clocks
        else distinction(before.unprofiled, after.unprofiled),
        cpu=Distinction(None, flaw) if flaw else distinction(before.cpu, after.cpu),
        gpu=Distinction(None, vague) if vague else distinction(before.gpu, after.gpu),
    )


def _unlike(base: Reading, other: Reading) -> tuple[str, ...]:
    found = list(run_differences(base.run, other.run))
    for one in (base, other):
        if one.no_gpu and not _on_cpu(base, other):
            found.append(f"{one.trace.path}: {one.no_gpu}")
    if bool(base.facts.steps) != bool(other.facts.steps):
        without = other if base.facts.steps else base
        found.append(f"{without.trace.path}: no step marks, so that whole files are counted")
    return tuple(dict.fromkeys(found))


def _on_cpu(base: Reading, other: Reading) -> bool:
    """Whether neither run launched anything on a GPU."""
    return base.facts.gpu_activity == other.facts.gpu_activity == "none"


def _saved(
    base: Reading,
    other: Reading,
    fused: tuple[FusedKernels, ...],
    split: tuple[FusedKernels, ...],
    by_step: bool,
) -> tuple[int | None, str]:
    """Bytes that fusions keep on the chip, less those that splits, copies and memsets add."""
    if _on_cpu(base, other):
        return None, "neither run used a GPU"
    flaw = why_incomplete(base.trace) or why_incomplete(other.trace)
    if by_step:
        flaw = flaw or _vague(base) or _vague(other)
    if flaw:
        return None, flaw
    if base.no_gpu or other.no_gpu:
        return None, "what the GPU did was not recorded in both"
    total = 0
    for sign, one in [*((1, one) for one in fused), *((-1, one) for one in split)]:
        sizes = [tensor.saved_bytes for tensor in one.intermediates]
        if not sizes or None in sizes:
            steps = (base if sign > 0 else other).facts.steps
            return None, "shapes were not recorded" if steps else "without steps it is not known"
        total += sign * sum(size for size in sizes if size is not None)
    before, after = (moved_bytes(transfer_uses(one, by_step)) for one in (base, other))
    if before is None or after is None:
        return None, "the sizes of copies were not recorded"
    return total - (after - before), ""
