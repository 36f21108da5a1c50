"""A scene as PNG, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trace_util.events import TraceError
from trace_util.plot.scene import Box, Curve, Label, Line, Scene
from trace_util.plot.theme import STRIPES, THEMES

_DOTS_PER_INCH = 96.0  # a px of the scene, as CSS has it
SHARPNESS = 2.0  # dots for each px
_HATCH = {"idle_overhead": "////", "idle_synchronise": "---", "idle_profiler": "\\\\\\\\",
          "idle_unknown": "|||"}  # fmt: skip


def write_png(scene: Scene, path: Path, theme: str = "light") -> None:
    """Write the scene.

    Raises:
        TraceError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise TraceError(
            f"{path}: a PNG is drawn by matplotlib, which is not installed; "
            "pip install 'torch-profiling-lessons[plot]', or write an .svg, which needs nothing"
        ) from None
    with matplotlib.rc_context({"font.family": ["DejaVu Sans"], "hatch.linewidth": 0.8}):
        figure = drawn(scene, THEMES[theme])
        # Neither the date nor the version of matplotlib: the same scene, the same bytes.
        figure.savefig(path, format="png", dpi=_DOTS_PER_INCH * SHARPNESS,
                       metadata={"Software": "trace-util"})  # fmt: skip


def drawn(scene: Scene, paints: Mapping[str, str]) -> Any:
    """The scene as a matplotlib figure."""
    from matplotlib.figure import Figure

    size = scene.width / _DOTS_PER_INCH, scene.height / _DOTS_PER_INCH
    figure = Figure(figsize=size, facecolor=paints["paper"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, scene.width), ylim=(scene.height, 0))
    axes.axis("off")
    for depth, shape in enumerate(scene.shapes):
        if isinstance(shape, Box):
            artist = _box(axes, shape, paints)
        elif isinstance(shape, Label):
            artist = _label(axes, shape, paints)
        elif isinstance(shape, Line):
            artist = _line(axes, shape, paints)
        else:
            artist = _curve(axes, shape, paints)
        # In the scene's order, whatever matplotlib thinks of lines and patches.
        artist.set_zorder(depth)
    return figure


def _box(axes: Any, box: Box, paints: Mapping[str, str]) -> Any:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    look: dict[str, Any] = {"linewidth": 0, "facecolor": paints[box.paint]}
    if box.outline:
        look.update(linewidth=0.7, edgecolor=paints[box.outline])
    if box.faded:
        look["alpha"] = 0.38
    if box.paint in STRIPES:
        look["edgecolor"] = paints[box.paint.replace("idle", "hatch")]
        look["hatch"] = _HATCH[box.paint]
    if box.radius:
        style = f"round,pad=0,rounding_size={box.radius}"
        patch: Any = FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=style, **look)
    else:
        patch = Rectangle((box.x, box.y), box.width, box.height, **look)
    return axes.add_patch(patch)


def _label(axes: Any, label: Label, paints: Mapping[str, str]) -> Any:
    return axes.text(
        label.x,
        label.y,
        # Two dollars would begin mathematics.
        label.text.replace("$", r"\$"),
        fontsize=label.size * 72 / _DOTS_PER_INCH,
        color=paints[label.paint],
        ha={"start": "left", "middle": "center", "end": "right"}[label.anchor],
        va="baseline",
        fontweight="bold" if label.bold else "normal",
        gid=label.role,
    )


def _line(axes: Any, line: Line, paints: Mapping[str, str]) -> Any:
    (line_drawn,) = axes.plot(
        (line.x1, line.x2),
        (line.y1, line.y2),
        color=paints[line.paint],
        linewidth=line.width * 72 / _DOTS_PER_INCH,
        linestyle="--" if line.dashed else "-",
        solid_capstyle="butt",
    )
    return line_drawn


def _curve(axes: Any, curve: Curve, paints: Mapping[str, str]) -> Any:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Outline

    bend = max((curve.y2 - curve.y1) * 0.55, 8.0)
    points = [
        (curve.x1, curve.y1),
        (curve.x1, curve.y1 + bend),
        (curve.x2, curve.y2 - bend),
        (curve.x2, curve.y2),
    ]
    outline = Outline(points, [Outline.MOVETO, *(Outline.CURVE4,) * 3])
    return axes.add_patch(
        FancyArrowPatch(
            path=outline,
            arrowstyle="-|>,head_length=3.2,head_width=1.6",
            color=paints[curve.paint],
            linewidth=0.8,
            shrinkA=0,
            shrinkB=0,
        )
    )
