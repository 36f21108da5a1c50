"""Many traces in one table: a line each, and a line for each file that could not be read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from trace_util.events import Trace
from trace_util.facts import Facts
from trace_util.report.oddities import oddities
from trace_util.report.text import (
    PLAIN,
    Style,
    clean,
    name_column,
    number_column,
    path_column,
    table,
)
from trace_util.report.units import counted, duration, share


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
        oddities=len(oddities(trace, facts)),
    )


def overview_text(lines: Sequence[Overview], style: Style = PLAIN) -> str:
    """The table of all traces, called by what their paths do not share."""
    folder = _folder([one.file for one in lines])
    columns = [
        path_column("trace"),
        name_column("GPU"),
        *map(number_column, ("events", "steps", "window", "GPU busy")),
        *map(number_column, ("kernels", "to know")),
    ]
    rows = [
        (
            one.file[len(folder) :].removesuffix(".gz").removesuffix(".json"),
            (one.gpu or "-").removeprefix("NVIDIA "),
            f"{one.events:,}",
            str(one.steps),
            "-" if one.window_ns is None else duration(one.window_ns),
            "-" if one.busy_share is None else share(one.busy_share),
            f"{one.kernels:,}",
            str(one.oddities),
        )
        for one in lines
    ]
    title = counted(len(lines), "trace") + (f" in {clean(folder)}" if folder else "")
    return f"{style.bold(title)}\n{table(columns, rows, style, indent=0)}\n"


def _folder(files: Sequence[str]) -> str:
    """The folder that all files share, up to its last slash; empty where they share none."""
    shared = os.path.commonprefix([file[: file.rfind(os.sep) + 1] for file in files])
    return shared[: shared.rfind(os.sep) + 1] if shared.strip(os.sep) else ""
