"""A job as JSON: the same facts, exact, in microseconds."""

from __future__ import annotations

from typing import Any

from trace_util.job.facts import JobFacts, JobStep
from trace_util.job.findings import job_findings
from trace_util.job.rank import RankFacts, RankStep
from trace_util.job.spending import Spent
from trace_util.report.summary_json import us
from trace_util.report.values import filled, value_json


def job_json(job: JobFacts) -> dict[str, Any]:
    """The facts of a job, of its steps and of its ranks; ``null`` is what cannot be known."""
    return {
        "name": job.name,
        "world_size": job.world_size,
        "ranks_found": len(job.ranks),
        "missing_ranks": list(job.missing),
        "broken": [
            {"rank": one.rank, "file": one.path, "reason": one.broken} for one in job.broken
        ],
        "median_step_us": us(job.median_step_ns),
        "communication_share": job.comm_share,
        "exposed_share": job.exposed_share,
        "waiting_share": job.waiting_share,
        "imbalance": job.imbalance,
        "unlike_kernels": list(job.unlike_kernels),
        "incomplete_steps": list(job.incomplete_steps),
        "steps": [_step(step) for step in job.steps],
        "ranks": [rank_json(one) for one in job.ranks],
    }


def job_explanation_json(job: JobFacts) -> dict[str, Any]:
    """The facts of a job with its findings."""
    findings = [
        {
            "id": one.id,
            "kind": one.kind.value,
            "claim": filled(one.claim, one.values),
            "evidence": [value_json(value) for value in one.values],
            "threshold": one.threshold,
            "next_step": one.next_step or None,
        }
        for one in job_findings(job)
    ]
    return {**job_json(job), "findings": findings}


def rank_json(one: RankFacts) -> dict[str, Any]:
    """The facts of one rank."""
    return {
        "rank": one.rank,
        "file": one.path,
        "size_bytes": one.size_bytes,
        "gpu": one.gpu,
        "gpu_recorded": one.on_gpu,
        "events_total": one.events,
        "window_us": us(one.window_ns),
        "broken": one.broken,
        "steps": [_rank_step(step) for step in one.steps],
    }


def _rank_step(step: RankStep) -> dict[str, Any]:
    return {
        "number": _number(step.number),
        "mark_us": us(step.mark_ns),
        "duration_us": us(step.duration_ns),
        "own_us": us(step.own_ns),
        "work_us": us(step.work_ns),
        "communication_us": us(step.comm_ns),
        "exposed_us": us(step.exposed_ns),
        "idle_us": us(step.idle_ns),
        "collectives": step.collectives,
        "kernels": step.kernels,
        "launches": step.launches,
        "spent": [_spent(one) for one in step.spent],
        "cpu_spent": [_spent(one) for one in step.host],
    }


def _spent(one: Spent) -> dict[str, Any]:
    return {"name": one.name, "count": one.times, "total_us": us(one.total_ns)}


def _step(step: JobStep) -> dict[str, Any]:
    slow = step.slow
    return {
        "number": _number(step.number),
        "ranks": len(step.ranks),
        "duration_us": us(step.duration_ns),
        "own_median_us": us(step.own_median_ns),
        "own_max_us": us(step.own_max_ns),
        "communication_us": us(step.comm_ns),
        "exposed_us": us(step.exposed_ns),
        "waiting_us": us(step.waiting_ns),
        "exposed_share": step.exposed_ns / step.total_ns if step.total_ns else None,
        "imbalance": step.imbalance,
        "slow_rank": None
        if slow is None
        else {
            "rank": slow.rank,
            "excess_us": us(round(slow.excess_ns)),
            "why": slow.kind,
            "why_us": us(slow.kind_ns),
            "others_us": us(round(slow.kind_others_ns)),
            "cause": slow.cause.name if slow.cause else None,
            "cause_us": us(slow.cause.ns) if slow.cause else None,
            "cause_others_us": us(round(slow.cause.others_ns)) if slow.cause else None,
        },
    }


def _number(number: int) -> int | None:
    return number if number >= 0 else None
