"""Kernels in a roofline: arithmetic intensity against achieved FLOP/s, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trace_util.devices import Device
from trace_util.kernel_names import decode
from trace_util.plot.labels import kernel_labels
from trace_util.plot.lettering import fitting, text_width
from trace_util.plot.scene import Bounds, Box, Label, Line, Scene, Shape
from trace_util.report.text import shortened
from trace_util.roofline import KernelRate

LEFT, RIGHT, TOP, BOTTOM = 86.0, 24.0, 20.0, 52.0
HEIGHT = 340.0
RADIUS = 5.0
TEXT, SMALL = 10.5, 10.0
MOST_POINTS = 24
_PREFIXES = ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))


@dataclass(frozen=True)
class _Plane:
    """Powers of ten laid over a rectangle."""

    low_x: int
    high_x: int
    low_y: int
    high_y: int
    width: float

    def x(self, intensity: float) -> float:
        part = (math.log10(intensity) - self.low_x) / (self.high_x - self.low_x)
        return LEFT + part * (self.width - LEFT - RIGHT)

    def y(self, flops_per_s: float) -> float:
        part = (math.log10(flops_per_s) - self.low_y) / (self.high_y - self.low_y)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def drawable(rates: Sequence[KernelRate]) -> list[KernelRate]:
    """The kernels that have a place in the chart, most time first."""
    return [rate for rate in rates if rate.intensity and rate.flops_per_s][:MOST_POINTS]


def roofline_scene(rates: Sequence[KernelRate], device: Device, width: float) -> Scene | None:
    """The chart; ``None`` where no kernel has both FLOPs and bytes."""
    points = drawable(rates)
    if not points:
        return None
    peaks = _peaks(points, device)
    plane = _plane(points, peaks, device, width)
    roofs = list(_roofs(plane, peaks, device))
    taken = [shape.bounds for shape in roofs if isinstance(shape, Label)]
    shapes = (*_grid(plane), *roofs, *_points(plane, points, taken))
    words = "; ".join(_in_words(rate) for rate in points)
    return Scene(width, HEIGHT, shapes, f"Roofline of the {device.name}", words)


def _peaks(points: Sequence[KernelRate], device: Device) -> dict[str, float]:
    """The compute roofs that the kernels have, by the dtypes that share them."""
    found: dict[float, set[str]] = {}
    for rate in points:
        dtype = decode(rate.name).dtype or rate.work.dtype
        if rate.peak_flops_per_s and dtype:
            found.setdefault(rate.peak_flops_per_s, set()).add(dtype)
    if not found:
        found = {max(device.flops_per_s.values()): {"any dtype"}} if device.flops_per_s else {}
    return {", ".join(sorted(dtypes)): peak for peak, dtypes in found.items()}


def _plane(
    points: Sequence[KernelRate], peaks: dict[str, float], device: Device, width: float
) -> _Plane:
    intensities = [rate.intensity or 1.0 for rate in points]
    intensities += [peak / device.bytes_per_s for peak in peaks.values()]
    speeds = [rate.flops_per_s or 1.0 for rate in points] + list(peaks.values())
    return _Plane(
        math.floor(math.log10(min(intensities) * 0.8)),
        math.ceil(math.log10(max(intensities) * 1.6)),
        math.floor(math.log10(min(speeds) * 0.8)),
        math.ceil(math.log10(max(speeds) * 1.1)),
        width,
    )


def _grid(plane: _Plane) -> Iterator[Shape]:
    bottom, right = HEIGHT - BOTTOM, plane.width - RIGHT
    for power in range(plane.low_x, plane.high_x + 1):
        x = plane.x(10.0**power)
        yield Line(x, TOP, x, bottom, "grid")
        text = f"{10.0**power:,g}"
        yield Label(x, bottom + 15, text, SMALL, "muted", "middle", role="tick")
    for power in range(plane.low_y, plane.high_y + 1):
        y = plane.y(10.0**power)
        yield Line(LEFT, y, right, y, "grid")
        text = _speed(10.0**power)
        yield Label(LEFT - 8, y + 3.5, text, SMALL, "muted", "end", role="tick")
    yield Line(LEFT, bottom, right, bottom, "rule")
    text = "arithmetic intensity, FLOP for each byte of memory traffic"
    middle = (LEFT + right) / 2
    text = fitting([text, "FLOP per byte"], right - LEFT, SMALL)
    yield Label(middle, bottom + 36, text, SMALL, "muted", "middle", role="tick")


def _roofs(plane: _Plane, peaks: dict[str, float], device: Device) -> Iterator[Shape]:
    """The memory roof up to the highest compute roof, and each compute roof from there."""
    right = 10.0**plane.high_x
    ridge = max((peak / device.bytes_per_s for peak in peaks.values()), default=right)
    start = max(10.0**plane.low_x, 10.0**plane.low_y / device.bytes_per_s)
    yield _line(plane, start, start * device.bytes_per_s, ridge, ridge * device.bytes_per_s)
    for dtypes, peak in peaks.items():
        yield _line(plane, peak / device.bytes_per_s, peak, right, peak)
        yield Label(
            plane.width - RIGHT, plane.y(peak) - 6, f"{_speed(peak)} dense {dtypes}", SMALL,
            "muted", "end", role="roof",
        )  # fmt: skip
    text = f"{device.bytes_per_s / 1e12:.3g} TB/s of memory"
    x, y = plane.x(start), plane.y(start * device.bytes_per_s)
    # Beside the foot of the slope, above it: the kernels lie below.
    x = max(x, LEFT) + 6
    foot = min(y, HEIGHT - BOTTOM - 8)
    slope_at = plane.y(_at(plane, x + text_width(text, SMALL)) * device.bytes_per_s)
    yield Label(x, min(foot, slope_at) - 8, text, SMALL, "muted", role="roof")


def _at(plane: _Plane, x: float) -> float:
    """The intensity at a place."""
    part = (x - LEFT) / (plane.width - LEFT - RIGHT)
    return float(10.0 ** (plane.low_x + part * (plane.high_x - plane.low_x)))


def _line(plane: _Plane, x1: float, y1: float, x2: float, y2: float) -> Line:
    return Line(plane.x(x1), plane.y(y1), plane.x(x2), plane.y(y2), "ink", 1.4)


def _points(plane: _Plane, points: Sequence[KernelRate], taken: list[Bounds]) -> Iterator[Shape]:
    dots = []
    for rate in points:
        x, y = plane.x(rate.intensity or 1), plane.y(rate.flops_per_s or 1)
        paint = "gemm" if decode(rate.name).role in ("gemm", "convolution") else "kernel"
        title = _in_words(rate)
        dots.append((x, y, rate))
        taken.append(Bounds(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS))
        yield Box(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS, paint, title, radius=RADIUS)
    for x, y, rate in dots:
        label = _free_label(x, y, kernel_labels(rate.name), taken, plane.width)
        if label is not None:
            taken.append(label.bounds)
            yield label


def _free_label(
    x: float, y: float, texts: Sequence[str], taken: Sequence[Bounds], width: float
) -> Label | None:
    """The name beside its point where nothing else is: right, left, above or below."""
    gap = RADIUS + 4
    places = (
        (x + gap, y + 3.5, "start"), (x - gap, y + 3.5, "end"),
        (x, y - gap, "middle"), (x, y + gap + 8, "middle"),
        (x + gap, y + 16, "start"), (x + gap, y - 10, "start"),
        (x - gap, y + 16, "end"), (x - gap, y - 10, "end"),
    )  # fmt: skip
    for text in texts:
        for left, baseline, anchor in places:
            label = Label(left, baseline, text, SMALL, "ink", anchor, role="bar")
            bounds = label.bounds
            inside = bounds.left >= LEFT and bounds.right <= width - 4 and bounds.bottom < HEIGHT
            if inside and not any(bounds.meets(other) for other in taken):
                return label
    return None


def _in_words(rate: KernelRate) -> str:
    name = shortened(decode(rate.name).short, 80)
    return f"{name}: {rate.intensity:.3g} FLOP per byte, {_speed(rate.flops_per_s or 0)}"


def _speed(flops_per_s: float) -> str:
    for size, unit in _PREFIXES:
        if flops_per_s >= 0.9995 * size:
            return (
                f"{flops_per_s / size:.3g} {unit}"
                if flops_per_s < 999.5 * size
                else f"{flops_per_s / size:,.0f} {unit}"
            )
    return f"{flops_per_s:.3g} FLOP/s"
