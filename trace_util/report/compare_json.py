"""A comparison as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trace_util.compare import ComparedRun, Comparison, Difference, FusedKernels, KernelUse
from trace_util.ranges import Distinction, Range
from trace_util.report.summary_json import us


def compare_json(found: Comparison) -> dict[str, Any]:
    """The comparison; times in µs, ``null`` where a trace cannot say.

    Counts and bytes are those of a step, or of the whole file where ``by_step`` is false.

    ``run`` is an index into ``runs``. ``bytes_saved`` and ``distinguishable`` have an entry for
    each run, ``null`` for the baseline.
    """
    beside = {one.index: one for one in found.differences}
    everyone = range(len(found.runs))
    return {
        "baseline": found.baseline,
        "by_step": found.by_step,
        "runs": [_run_json(run) for run in found.runs],
        "per_step": [_per_step_json(run) for run in found.runs],
        "kernels": {
            "same": [entry for one in found.differences for entry in _same_json(one)],
            "replaced": [entry for one in found.differences for entry in _replaced_json(one)],
            "fused": [e for one in found.differences for e in _fused_json(one, one.fused)],
            "split": [e for one in found.differences for e in _fused_json(one, one.split)],
            "only_in": [
                entry
                for one in found.differences
                for entry in (
                    *_only_json(one, found.baseline, one.kernels.only_before),
                    *_only_json(one, one.index, one.kernels.only_after),
                )
            ],
        },
        "ops": [
            {
                "run": one.index,
                "name": row.name,
                "before": row.before,
                "after": row.after,
                "of_compiler": row.of_compiler,
            }
            for one in found.differences
            for row in one.rows
        ],
        "bytes_saved": [beside[i].bytes_saved if i in beside else None for i in everyone],
        "distinguishable": [_distinct_json(beside[i]) if i in beside else None for i in everyone],
        "warnings": [
            {"run": i, "unlike": unlike, "incomplete": list(run.incomplete)}
            for i, run in enumerate(found.runs)
            if (unlike := list(beside[i].unlike) if i in beside else []) or run.incomplete
        ],
    }


def _run_json(run: ComparedRun) -> dict[str, Any]:
    told = run.run
    return {
        "file": run.path,
        "lesson": told.lesson,
        "variant": told.variant,
        "merged_ranks": told.ranks,
        "gpu": told.gpu,
        "dtype": told.problem.get("dtype") or told.dtype,
        "problem": told.problem,
        "versions": told.versions,
        "steps": run.steps,
    }


def _range_json(time: Range | None) -> dict[str, Any] | None:
    if time is None:
        return None
    return {
        "median_us": us(time.median_ns),
        "min_us": us(time.min_ns),
        "max_us": us(time.max_ns),
        "count": time.count,
    }


def _per_step_json(run: ComparedRun) -> dict[str, Any]:
    def counts(memset: bool) -> float | None:
        if run.no_gpu:
            return None
        return sum(use.count for use in run.transfers if use.is_memset is memset)

    return {
        "unprofiled": _range_json(run.times.unprofiled),
        "clock": run.times.clock,
        "after_profiler": run.times.after_profiler,
        "cpu": _range_json(run.times.cpu),
        "gpu": _range_json(run.times.gpu),
        "kernels": run.kernels,
        "launches": run.launches,
        "copies": counts(False),
        "memsets": counts(True),
        "gpu_busy_share": run.busy_share,
    }


def _use_json(use: KernelUse) -> dict[str, Any]:
    return {
        "name": use.name,
        "count": use.count,
        "time": _range_json(use.time),
        "ops": list(use.computed.ops),
    }


def _same_json(one: Difference) -> Iterator[dict[str, Any]]:
    for pair in one.kernels.same:
        yield {
            "run": one.index,
            "name": pair.before.name,
            "before": _use_json(pair.before),
            "after": _use_json(pair.after),
        }


def _replaced_json(one: Difference) -> Iterator[dict[str, Any]]:
    for pair in one.kernels.replaced:
        yield {
            "run": one.index,
            "before": _use_json(pair.before),
            "after": _use_json(pair.after),
            "changed": list(pair.changed),
        }


def _fused_json(one: Difference, found: Sequence[FusedKernels]) -> Iterator[dict[str, Any]]:
    for fused in found:
        yield {
            "run": one.index,
            "ops": list(fused.match.ops),
            "parts": [_use_json(use) for use in fused.match.parts],
            "whole": _use_json(fused.match.whole),
            "told_by": fused.match.told_by,
            "intermediates": [
                {
                    "dims": list(kept.tensor.dims),
                    "dtype": kept.tensor.dtype,
                    "bytes": kept.tensor.size_bytes,
                    "count": kept.count,
                    "written_by": kept.tensor.written_by,
                    "read_by": kept.tensor.read_by,
                    "bytes_saved": kept.saved_bytes,
                }
                for kept in fused.intermediates
            ],
        }


def _only_json(one: Difference, index: int, uses: Sequence[KernelUse]) -> Iterator[dict[str, Any]]:
    for use in uses:
        yield {"run": one.index, "only_in": index, **_use_json(use)}


def _distinct_json(one: Difference) -> dict[str, Any]:
    def told(found: Distinction) -> dict[str, Any]:
        return {"differs": found.differs, "change": found.change, "reason": found.reason}

    return {
        "step": one.step.differs,
        "unprofiled": told(one.unprofiled),
        "cpu": told(one.cpu),
        "gpu": told(one.gpu),
    }
