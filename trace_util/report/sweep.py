"""A sweep over sizes as a table, and where one regime gives way to the next."""

from __future__ import annotations

from typing import Any

from trace_util.report import text
from trace_util.report.units import share

# What the whole table takes; a narrower one leaves out the range of the step's time.
WHOLE_WIDTH = 100


def table(result: dict[str, Any], style: text.Style = text.PLAIN) -> str:
    """One line a size: times a step, GPU busy time, achieved rate and what bounds it."""
    columns = [
        text.number_column(f"--{result['flag']}"),
        text.number_column("step µs"),
        text.number_column("profiled µs"),
        text.number_column("GPU busy µs"),
        text.number_column("kernels"),
        text.number_column("TFLOP/s"),
        text.number_column("of peak"),
        text.name_column("bound by"),
    ]
    rows = [_row(point) for point in result["points"]]
    if style.width >= WHOLE_WIDTH:
        columns[2:2] = [text.number_column("min"), text.number_column("max")]
    else:
        rows = [[*row[:2], *row[4:]] for row in rows]
    return text.table(columns, rows, style)


def _row(point: dict[str, Any]) -> list[str]:
    step = point["unprofiled_step_us"]
    rate = flops_per_s(point)
    peak = point["peak_flops_per_s"]
    return [
        f"{point['value']:,}",
        *(f"{step[key]:,.1f}" for key in ("median", "min", "max")),
        f"{point['profiled_step_us']:,.1f}",
        "-" if point["gpu_busy_us"] is None else f"{point['gpu_busy_us']:,.1f}",
        "-" if point["kernels"] is None else str(point["kernels"]),
        f"{rate / 1e12:,.3g}",
        share(rate / peak) if peak else "-",
        point["regime"].removesuffix("-bound"),
    ]


def flops_per_s(point: dict[str, Any]) -> float:
    """What a step achieves without the profiler, in FLOP/s."""
    return float(point["flops"] / (point["unprofiled_step_us"]["median"] * 1e-6))


def crossover(result: dict[str, Any]) -> str:
    """The sizes of each regime, in order, as one sentence."""
    points, flag = result["points"], result["flag"]
    if not any(point["kernels"] for point in points):
        return "no GPU activity: where the GPU would take over cannot be seen"
    runs: list[tuple[str, int, int]] = []
    for point in points:
        if runs and runs[-1][0] == point["regime"]:
            runs[-1] = (*runs[-1][:2], point["value"])
        else:
            runs.append((point["regime"], point["value"], point["value"]))
    parts = [
        f"{regime} at --{flag} {first}" + (f" to {last}" if last != first else "")
        for regime, first, last in runs
    ]
    return ", then ".join(parts)
