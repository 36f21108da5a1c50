"""A comparison of jobs as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trace_util.job.comparison import JobComparison, JobDifference, KernelChange
from trace_util.job.findings import broken_words, numbers
from trace_util.kernel_names import decode
from trace_util.ranges import Distinction, Range
from trace_util.report.job_json import job_json
from trace_util.report.summary_json import us
from trace_util.report.text import PLAIN, Style, clean, name_column, number_column, table, wrapped
from trace_util.report.units import duration, share, unit_for

_LABEL = 10
_MOST_RANKS = 8


def job_comparison_text(found: JobComparison, style: Style = PLAIN) -> str:
    """The jobs, a table of a step of each, and each beside the baseline."""
    parts = ["\n".join(_jobs(found, style)), _table(found, style)]
    parts += ["\n".join(_difference(found, one, style)) for one in found.differences]
    return "\n\n".join(parts) + "\n"


def _letter(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else f"#{index + 1}"


def _jobs(found: JobComparison, style: Style) -> Iterator[str]:
    for index, job in enumerate(found.jobs):
        base = " (the baseline)" if index == found.baseline else ""
        yield style.bold(wrapped(f"job {clean(job.name)}{base}", style, 0, f"{_letter(index)}  "))
        for one in job.broken:
            yield style.warn(wrapped(broken_words(one), style, 3, "broken: "))
        if job.missing:
            yield style.warn(wrapped(f"missing: {numbers(job.missing)}", style, 3))


def _table(found: JobComparison, style: Style) -> str:
    columns = [
        name_column("a step of"),
        *map(number_column, ("ranks", "time (min to max)", "own", "work", "idle")),
        *map(number_column, ("collectives", "exposed", "waiting", "imbalance")),
    ]
    rows = []
    for index, job in enumerate(found.jobs):
        parts = found.shares[index]
        assert parts is not None
        own = found.own[index]
        rows.append(
            [
                _letter(index),
                str(len(job.sound)),
                _spread(found.steps[index]),
                "-" if own is None else duration(own.median_ns),
                duration(parts.work_ns),
                duration(parts.idle_ns),
                duration(parts.comm_ns),
                duration(parts.exposed_ns),
                share(job.waiting_share),
                "-" if job.imbalance is None else share(job.imbalance),
            ]
        )
    return table(columns, rows, style)


def _spread(time: Range | None) -> str:
    if time is None:
        return "-"
    unit = unit_for([time.median_ns])
    low, high = unit.number(time.min_ns), unit.number(time.max_ns)
    return f"{unit.number(time.median_ns)} ({low} to {high}) {unit.name}"


def _difference(found: JobComparison, one: JobDifference, style: Style) -> Iterator[str]:
    def line(label: str, text: str) -> str:
        return wrapped(text, style, 2, f"{label:<{_LABEL}}")

    yield style.bold(f"{_letter(one.index)} beside {_letter(found.baseline)}")
    if one.unlike:
        yield style.warn(line("warning", "unlike jobs: " + "; ".join(one.unlike)))
    yield line("step", _changed(one.step))
    yield line("own", _changed(one.own))
    if one.slower_ranks:
        shown = one.slower_ranks[:_MOST_RANKS]
        words = ", ".join(f"{rank} (+{duration(more)})" for rank, more in shown)
        left = len(one.slower_ranks) - len(shown)
        yield line("slower", f"ranks {words}" + (f" and {left} more" if left else ""))
    for kernel in one.kernels:
        yield line("kernel", _kernel(kernel))


def _changed(told: Distinction) -> str:
    if told.change is None:
        return f"not known: {told.reason}"
    if told.differs is False:
        return f"no difference beyond the spread ({told.reason})"
    word = "longer" if told.change > 0 else "shorter"
    return f"{share(abs(told.change))} {word} ({told.reason})"


def _kernel(one: KernelChange) -> str:
    return (
        f"{decode(one.name).short}: {one.before:g} -> {one.after:g} times, "
        f"{duration(one.before_ns)} -> {duration(one.after_ns)} a step of a rank"
    )


def job_comparison_json(found: JobComparison) -> dict[str, Any]:
    """The same facts, times in microseconds."""
    return {
        "baseline": found.baseline,
        "jobs": [job_json(job) for job in found.jobs],
        "differences": [
            {
                "job": one.index,
                "unlike": list(one.unlike),
                "step": one.step.__dict__,
                "own": one.own.__dict__,
                "slower_ranks": [
                    {"rank": rank, "more_us": us(round(more))} for rank, more in one.slower_ranks
                ],
                "kernels": [
                    {
                        "name": kernel.name,
                        "before": kernel.before,
                        "after": kernel.after,
                        "before_us": us(round(kernel.before_ns)),
                        "after_us": us(round(kernel.after_ns)),
                    }
                    for kernel in one.kernels
                ],
            }
            for one in found.differences
        ],
    }
