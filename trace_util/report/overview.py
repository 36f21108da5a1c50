"""Many traces in one table: a line each, and a line for each file that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace_util.events import Trace
from trace_util.facts import Facts
from trace_util.report.oddities import oddities
from trace_util.report.text import PLAIN, Style, name_column, number_column, share, table, unit_for


@dataclass(frozen=True)
class Overview:
    """What one line of the table says; ``None`` is what the trace cannot say."""

    file: str
    gpu: str | None
    events: int
    steps: int
    window_ns: int | None
    gpu_busy_ns: int | None  # inside the window
    busy_share: float | None
    kernels: int
    launches: int
    oddities: int


def overview(trace: Trace, facts: Facts) -> Overview:
    """The line of one trace."""
    return Overview(
        file=trace.path,
        gpu=facts.gpu,
        events=sum(trace.phases.values()),
        steps=len(facts.steps),
        window_ns=facts.window_ns,
        gpu_busy_ns=facts.window_busy_ns,
        busy_share=facts.busy_share,
        kernels=facts.kernel_count,
        launches=facts.launch_count,
        oddities=len(oddities(trace, facts)),
    )


def overview_text(lines: Sequence[Overview], style: Style = PLAIN) -> str:
    """The table of all traces."""
    window = unit_for([one.window_ns for one in lines])
    columns = [
        name_column("trace"),
        name_column("GPU"),
        *map(number_column, ("events", "steps", f"window {window.name}", "GPU busy")),
        *map(number_column, ("kernels", "launches", "to know")),
    ]
    rows = [
        (
            one.file,
            one.gpu or "-",
            f"{one.events:,}",
            str(one.steps),
            window.number(one.window_ns),
            "-" if one.busy_share is None else share(one.busy_share),
            f"{one.kernels:,}",
            f"{one.launches:,}",
            str(one.oddities),
        )
        for one in lines
    ]
    return table(columns, rows, style, indent=0) + "\n"
