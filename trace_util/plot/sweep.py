"""A sweep over sizes as a figure: time a step above, achieved rate below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trace_util.events import TraceError
from trace_util.report.sweep import flops_per_s

# Colours that stay apart for colour-blind readers: Okabe and Ito, "Color Universal Design" (2008).
STEP, PROFILED, BUSY, PEAK = "#0072B2", "#E69F00", "#009E73", "#666666"


def draw_sweep(result: dict[str, Any], path: Path) -> None:
    """Write the figure of a sweep's result as SVG or PNG, by the ending of ``path``.

    Raises:
        TraceError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise TraceError(
            f"{path}: figures need matplotlib; pip install 'torch-profiling-lessons[plot]'"
        ) from None
    from matplotlib.figure import Figure

    # The same result gives the same bytes: no date, no random ids.
    with matplotlib.rc_context({"svg.hashsalt": "sweep", "font.size": 10}):
        figure = Figure(figsize=(8, 6.4), layout="constrained")
        times, rates = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_times(times, result)
        _draw_rates(rates, result)
        figure.supxlabel(_caption(result), fontsize=8, color=PEAK)
        svg = path.suffix == ".svg"
        figure.savefig(path, dpi=160, metadata={"Date": None} if svg else {"Software": None})


def _draw_times(axes: Any, result: dict[str, Any]) -> None:
    points = result["points"]
    values = [p["value"] for p in points]
    step = [p["unprofiled_step_us"] for p in points]
    axes.fill_between(
        values, [s["min"] for s in step], [s["max"] for s in step], color=STEP, alpha=0.15, lw=0
    )
    axes.plot(values, [s["median"] for s in step], "o-", color=STEP, label="step, not profiled")
    profiled = [p["profiled_step_us"] for p in points]
    axes.plot(values, profiled, "s--", color=PROFILED, label="step on the CPU, profiled")
    if all(p["gpu_busy_us"] is not None for p in points):
        axes.plot(values, [p["gpu_busy_us"] for p in points], "^-", color=BUSY, label="GPU busy")
    crossing = _crossing(points)
    if crossing is not None:
        axes.axvline(crossing, color=PEAK, lw=1, ls=":")
        where = axes.get_xaxis_transform()  # x in sizes, y as a part of the height
        axes.text(crossing, 0.02, " the GPU takes over", color=PEAK, fontsize=9, transform=where)
    axes.set(yscale="log", ylabel="µs a step")
    axes.set_xscale("log", base=2)
    axes.legend(frameon=False, loc="upper left")
    _plain(axes)


def _draw_rates(axes: Any, result: dict[str, Any]) -> None:
    points = result["points"]
    values = [p["value"] for p in points]
    rates = [flops_per_s(p) / 1e12 for p in points]
    axes.plot(values, rates, "o-", color=STEP)
    peak = points[0]["peak_flops_per_s"]
    if peak:
        axes.axhline(peak / 1e12, color=PEAK, lw=1)
        axes.annotate(
            f"peak {peak / 1e12:,.0f} ", (values[-1], peak / 1e12), ha="right", va="top", color=PEAK
        )
    axes.set(yscale="log", ylabel="TFLOP/s", xlabel=f"--{result['flag']}")
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.minorticks_off()
    _plain(axes)


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2, lw=0.6)


def _crossing(points: list[dict[str, Any]]) -> float | None:
    """Between the last overhead-bound size and the next; ``None`` where there is no such place."""
    bound = [p["regime"] == "overhead-bound" for p in points]
    if True not in bound or bound[-1]:
        return None
    last = len(bound) - 1 - bound[::-1].index(True)
    return float((points[last]["value"] * points[last + 1]["value"]) ** 0.5)


def _caption(result: dict[str, Any]) -> str:
    run = result["run_facts"]
    where = run["gpu"] or "CPU"
    return f"{run['command']}   {where}, torch {run['versions']['torch']}"
