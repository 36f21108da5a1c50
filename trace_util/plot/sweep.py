"""A sweep over sizes as a figure: time a step above, achieved rate below, regimes on top."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trace_util.plot.lettering import fitting, text_width
from trace_util.plot.request import write_figure
from trace_util.plot.scene import Box, Label, Line, Scene, Shape
from trace_util.report.sweep import crossover, flops_per_s
from trace_util.report.text import clean

WIDTH = 960.0
LEFT, RIGHT, TOP = 76.0, 30.0, 72.0
BAND, TIMES, RATES, APART = 20.0, 260.0, 150.0, 34.0
TEXT, SMALL, TITLE = 10.5, 10.0, 14.0
RADIUS = 3.6

STEP, PROFILED, BUSY = "gemm", "launch", "kernel"
SERIES = (
    (STEP, "a step without the profiler, median; the bar is min to max"),
    (PROFILED, "the same on the CPU, with the profiler"),
    (BUSY, "GPU busy in a step"),
)
_REGIMES = {"overhead-bound": "idle_overhead"}


@dataclass(frozen=True)
class _Plot:
    """Values laid over a rectangle, both axes logarithmic."""

    low_x: float
    high_x: float
    low_y: int  # powers of ten
    high_y: int
    top: float
    height: float
    width: float

    def x(self, value: float) -> float:
        part = (math.log2(value) - self.low_x) / max(self.high_x - self.low_x, 1e-9)
        return round(LEFT + part * (self.width - LEFT - RIGHT), 2)

    def y(self, value: float) -> float:
        part = (math.log10(value) - self.low_y) / (self.high_y - self.low_y)
        return round(self.top + self.height * (1 - part), 2)

    @property
    def bottom(self) -> float:
        return self.top + self.height


def draw_sweep(result: dict[str, Any], path: Path) -> None:
    """Write the figure of a sweep's result as SVG or PNG, by the ending of ``path``.

    Raises:
        TraceError: a PNG without matplotlib, or a file that cannot be written.
    """
    write_figure(sweep_scene(result), path, "light")


def sweep_scene(result: dict[str, Any], width: float = WIDTH, footer: str = "") -> Scene:
    """The figure of a sweep's result."""
    points = result["points"]
    times = _plot(points, _all_times(points), TOP + BAND + 10, TIMES, width)
    rates = _plot(points, _all_rates(points), times.bottom + APART, RATES, width)
    run = result["run_facts"]
    flag = str(result["flag"])
    title = clean(f"{run.get('lesson', 'sweep')} · {run.get('variant', '')} · --{flag}")
    shapes: list[Shape] = [
        Label(18, 18 + TITLE, title, TITLE, "ink", bold=True, role="title"),
        Label(18, 52, clean(_origin(run)), TEXT, "muted", role="note"),
        *_regimes(points, times, rates),
        *_grid(times, "µs a step", points, named=False),
        *_grid(rates, "TFLOP/s", points, named=True),
        *_peak(points, rates),
    ]
    shapes += _range_bars(points, times)
    shapes += _series(times, points, [p["profiled_step_us"] for p in points], PROFILED, True)
    shapes += _series(times, points, [p["gpu_busy_us"] for p in points], BUSY, False)
    shapes += _series(times, points, [_median(p) for p in points], STEP, False)
    shapes += _series(rates, points, [flops_per_s(p) / 1e12 for p in points], STEP, False)
    y = rates.bottom + 36
    middle = (LEFT + width - RIGHT) / 2
    shapes.append(Label(middle, y, f"--{flag}", SMALL, "muted", "middle", role="tick"))
    y, legend = _legend(points, y + 24, width)
    shapes += legend
    if footer:
        y += 18
        shapes.append(Label(18, y, clean(footer), TEXT, "muted", role="note"))
    return Scene(width, round(y + 16), tuple(shapes), f"{title}, a sweep", crossover(result))


def _median(point: dict[str, Any]) -> float:
    return float(point["unprofiled_step_us"]["median"])


def _origin(run: dict[str, Any]) -> str:
    versions = run.get("versions") or {}
    torch = f"torch {versions['torch']}" if versions.get("torch") else ""
    parts = (run.get("command"), run.get("gpu") or "CPU", torch)
    return " · ".join(str(part) for part in parts if part)


def _all_times(points: Sequence[dict[str, Any]]) -> list[float]:
    found = [p["unprofiled_step_us"][key] for p in points for key in ("min", "median", "max")]
    found += [p[key] for p in points for key in ("profiled_step_us", "gpu_busy_us")]
    return [value for value in found if value]


def _all_rates(points: Sequence[dict[str, Any]]) -> list[float]:
    found = [flops_per_s(p) / 1e12 for p in points]
    return [*found, *(p["peak_flops_per_s"] / 1e12 for p in points if p["peak_flops_per_s"])]


def _plot(
    points: Sequence[dict[str, Any]], values: list[float], top: float, height: float, width: float
) -> _Plot:
    sizes = [math.log2(p["value"]) for p in points]
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values) * 1.5)), low + 1)
    # A little air, so that no point lies on the frame.
    return _Plot(min(sizes) - 0.3, max(sizes) + 0.3, low, high, top, height, width)


def _regimes(points: Sequence[dict[str, Any]], times: _Plot, rates: _Plot) -> Iterator[Shape]:
    """A band with the regimes in words; the sizes at which the GPU waits are striped below it."""
    runs: list[list[dict[str, Any]]] = []
    for point in points:
        if runs and runs[-1][-1]["regime"] == point["regime"]:
            runs[-1].append(point)
        else:
            runs.append([point])
    edges = [LEFT]
    for before, after in zip(runs, runs[1:], strict=False):
        edges.append(times.x((before[-1]["value"] * after[0]["value"]) ** 0.5))
    edges.append(times.width - RIGHT)
    for run, left, right in zip(runs, edges, edges[1:], strict=False):
        regime = clean(str(run[0]["regime"]))
        yield Box(left, TOP, right - left - 1, BAND, "step", regime)
        paint = _REGIMES.get(regime)
        for plot in (times, rates) if paint else ():
            yield Box(left, plot.top, right - left - 1, plot.height, paint or "", regime)
        text = fitting([regime], right - left - 10, TEXT)
        middle = (left + right) / 2
        yield Label(middle, TOP + BAND / 2 + 3.8, text, TEXT, "ink", "middle", role="step")


def _grid(
    plot: _Plot, what: str, points: Sequence[dict[str, Any]], *, named: bool
) -> Iterator[Shape]:
    right = plot.width - RIGHT
    for power in range(plot.low_y, plot.high_y + 1):
        y = plot.y(10.0**power)
        yield Line(LEFT, y, right, y, "rule" if power == plot.low_y else "grid")
        yield Label(LEFT - 8, y + 3.5, f"{10.0**power:,g}", SMALL, "muted", "end", role="tick")
    yield Label(LEFT + 6, plot.top + 13, what, SMALL, "ink", bold=True, role="lane")
    last = -1e9
    for point in points:
        x = plot.x(point["value"])
        yield Line(x, plot.top, x, plot.bottom, "grid")
        text = f"{point['value']:,}"
        half = text_width(text, SMALL) / 2
        if named and x - half > last + 4:
            yield Label(x, plot.bottom + 15, text, SMALL, "muted", "middle", role="tick")
            last = x + half


def _peak(points: Sequence[dict[str, Any]], rates: _Plot) -> Iterator[Shape]:
    peak = points[0]["peak_flops_per_s"]
    if not peak:
        return
    y = rates.y(peak / 1e12)
    yield Line(LEFT, y, rates.width - RIGHT, y, "ink", 1.2)
    text = f"peak {peak / 1e12:,.0f} TFLOP/s"
    yield Label(rates.width - RIGHT - 6, y - 5, text, SMALL, "muted", "end", role="roof")


def _range_bars(points: Sequence[dict[str, Any]], times: _Plot) -> Iterator[Shape]:
    for point in points:
        told, x = point["unprofiled_step_us"], times.x(point["value"])
        yield Line(x, times.y(told["min"]), x, times.y(told["max"]), STEP, 2.4)


def _series(
    plot: _Plot,
    points: Sequence[dict[str, Any]],
    values: Sequence[float | None],
    paint: str,
    dashed: bool,
) -> list[Shape]:
    places = [
        (plot.x(point["value"]), plot.y(value), f"{point['value']:,}: {value:,.4g}")
        for point, value in zip(points, values, strict=True)
        if value
    ]
    lines: list[Shape] = [
        Line(a[0], a[1], b[0], b[1], paint, 1.8, dashed)
        for a, b in zip(places, places[1:], strict=False)
    ]
    dots = [
        Box(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS, paint, title, radius=RADIUS)
        for x, y, title in places
    ]
    return [*lines, *dots]


def _legend(points: Sequence[dict[str, Any]], y: float, width: float) -> tuple[float, list[Shape]]:
    shapes: list[Shape] = []
    x = 18.0
    for paint, text in SERIES:
        if paint == BUSY and not any(p["gpu_busy_us"] for p in points):
            continue
        room = 20 + text_width(text, SMALL) + 16
        if x + room > width - 18 and x > 18:
            x, y = 18.0, y + 17
        shapes.append(Line(x, y - 3.5, x + 14, y - 3.5, paint, 1.8, paint == PROFILED))
        shapes.append(Box(x + 7 - RADIUS, y - 3.5 - RADIUS, 2 * RADIUS, 2 * RADIUS, paint,
                          radius=RADIUS))  # fmt: skip
        shapes.append(Label(x + 20, y, text, SMALL, "ink", role="legend"))
        x += room
    return y, shapes
