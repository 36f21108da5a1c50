"""A job of many ranks as text: ranks, steps, what is lost, and which traces are not sound."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from trace_util.findings.finding import Finding
from trace_util.job.facts import JobFacts, JobStep
from trace_util.job.findings import broken_words, job_findings, numbers
from trace_util.job.rank import RankFacts
from trace_util.job.straggler import IDLE
from trace_util.kernel_names import decode
from trace_util.report.gpu_words import gpu_words
from trace_util.report.text import PLAIN, Style, clean, name_column, number_column, table, wrapped
from trace_util.report.units import counted, duration, share, unit_for
from trace_util.report.values import filled

_LABEL = 15


def job_summary(job: JobFacts, style: Style = PLAIN, most: int = 10) -> str:
    """Figures of the whole, a table of ranks, a table of steps; at most ``most`` rows of each."""
    parts = ["\n".join(_head(job, style)), _ranks(job, style, most), _steps(job, style, most)]
    parts.append("\n".join(_unsound(job, style)))
    return "\n\n".join(part for part in parts if part) + "\n"


def job_explanation(job: JobFacts, style: Style = PLAIN) -> str:
    """Figures of the whole, and the findings with what to do next."""
    found = job_findings(job)
    lines = [f"findings: {len(found) or 'none'}"]
    for finding in found:
        label = f"{finding.kind.value:<10}"
        lines.append(wrapped(_claim(finding), style, 2, label))
        if finding.next_step:
            lines.append(wrapped(f"next: {finding.next_step}", style, 2, " " * 10))
    return "\n".join(_head(job, style)) + "\n\n" + "\n".join(lines) + "\n"


def _claim(finding: Finding) -> str:
    values = [
        value._replace(amount=_kernel(value.amount)) if value.name == "cause" else value
        for value in finding.values
    ]
    return filled(finding.claim, values)


def _kernel(name: float | int | str | None) -> str:
    return decode(str(name)).short


def _head(job: JobFacts, style: Style) -> Iterator[str]:
    def line(label: str, text: str) -> str:
        return wrapped(text, style, 2, f"{label:<{_LABEL}}")

    world = len(job.missing) + len({one.rank for one in job.ranks})
    yield style.bold(f"job {clean(job.name)}")
    kinds = sorted({gpu_words(one.gpu, one.on_gpu) for one in job.sound if one.on_gpu})
    where = ", ".join(kinds) or _without_gpu_work(job)
    yield line("ranks", f"{len(job.sound)} sound of {world}, {where}")
    if job.missing:
        yield style.warn(line("missing", numbers(job.missing)))
    if job.broken:
        yield style.warn(line("broken", counted(len(job.broken), "trace") + ", named below"))
    if not job.steps:
        return
    told = unit_for([step.duration_ns for step in job.steps])
    low, high = (f(step.duration_ns for step in job.steps) for f in (min, max))
    what = counted(len(job.steps), "step") if job.steps[0].number >= 0 else "no step marks"
    yield line(
        "step",
        f"{duration(job.median_step_ns)} median of {what} "
        f"(min {told.number(low)}, max {told.number(high)} {told.name}), each of its slowest rank",
    )
    yield line(
        "communication",
        f"{share(job.comm_share)} of the ranks' step time; {share(job.exposed_share)} exposed, "
        f"{share(job.waiting_share)} waiting for a later rank",
    )
    if job.imbalance is not None:
        yield line(
            "imbalance", f"{share(job.imbalance)} over the mean rank's own time, mean of the steps"
        )


def _without_gpu_work(job: JobFacts) -> str:
    launched = any(one.gpu or any(step.launches for step in one.steps) for one in job.sound)
    return "no GPU work recorded" if launched else "no GPU"


def _ranks(job: JobFacts, style: Style, most: int) -> str:
    ranks = list(job.sound)
    if not ranks:
        return ""
    left = len(ranks) - most
    if left > 0:
        ranks = sorted(sorted(ranks, key=_own)[-most:], key=lambda one: one.rank or 0)
    rows = [_rank_row(one, job.on_gpu) for one in ranks]
    columns = [
        number_column("rank"),
        *map(number_column, ("steps", "step", "own", "work", "idle", "collectives", "exposed")),
        *map(number_column, (*(("kernels",) if job.on_gpu else ()), "late in")),
    ]
    slow = {one.rank: 0 for one in ranks}
    for step in job.steps:
        if step.slow is not None and step.slow.rank in slow:
            slow[step.slow.rank] += 1
    cells = [[*row, str(slow[one.rank])] for row, one in zip(rows, ranks, strict=True)]
    text = "ranks, mean of a step; own: without what only waits or communicates\n" + table(
        columns, cells, style
    )
    return text + (f"\n  and {counted(left, 'faster rank')}, all with --json" if left > 0 else "")


def _own(one: RankFacts) -> float:
    return mean(step.own_ns for step in one.steps)


def _rank_row(one: RankFacts, on_gpu: bool) -> list[str]:
    def average(name: str) -> str:
        return duration(mean(getattr(step, name) for step in one.steps))

    return [
        "?" if one.rank is None else str(one.rank),
        str(len(one.steps)),
        *map(average, ("duration_ns", "own_ns", "work_ns", "idle_ns", "comm_ns", "exposed_ns")),
        *([f"{mean(step.kernels for step in one.steps):,.0f}"] if on_gpu else []),
    ]


def _steps(job: JobFacts, style: Style, most: int) -> str:
    steps = [step for step in job.steps if step.number >= 0]
    if not steps:
        return ""
    left = len(steps) - most
    if left > 0:
        costly = sorted(steps, key=lambda step: step.slow.excess_ns if step.slow else 0)[-most:]
        steps = sorted(costly, key=lambda step: step.number)
    columns = [
        number_column("step"),
        *map(number_column, ("time", "own median", "own max", "exposed")),
        name_column("late rank, and what takes it longer than the others"),
    ]
    text = "steps, on all ranks\n" + table(columns, [_step_row(step) for step in steps], style)
    return text + (f"\n  and {counted(left, 'step')} with less delay" if left > 0 else "")


def _step_row(step: JobStep) -> list[str]:
    return [
        f"#{step.number}",
        duration(step.duration_ns),
        duration(step.own_median_ns),
        duration(step.own_max_ns),
        share(step.exposed_ns / step.total_ns if step.total_ns else None),
        _slow_words(step),
    ]


def _slow_words(step: JobStep) -> str:
    slow = step.slow
    if slow is None:
        return "-"
    what = "idle" if slow.kind == IDLE else "work"
    words = f"{slow.rank}, +{duration(slow.excess_ns)}: {what}"
    if slow.cause is not None:
        words += f", {_kernel(slow.cause.name)}"
    return words


def _unsound(job: JobFacts, style: Style) -> Iterator[str]:
    for one in job.broken:
        yield wrapped(broken_words(one), style, 2, "broken: ")
