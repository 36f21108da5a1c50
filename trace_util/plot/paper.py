"""A figure in the making: what is on it so far, how far down it reaches, and its measures in px."""

from __future__ import annotations

from dataclasses import dataclass, field

from trace_util.gaps import Cause
from trace_util.plot.lanes import Panel
from trace_util.plot.lettering import fitting, wrapped
from trace_util.plot.roles import Role
from trace_util.plot.scale import Axis
from trace_util.plot.scene import Label, Shape

MARGIN = 18.0
GUTTER = 108.0  # for the names of the lanes
STEP_HEIGHT = 17.0
HOST_ROW = 18.0
GPU_ROW = 24.0
ARROW_ROOM = 34.0
CALLOUT_LINE = 14.0
CALLOUT_LINES = 3
LANE_SPACE = 8.0
SMALLEST = 1.4  # px; a narrower bar could not be seen

TEXT, SMALL, TITLE = 10.5, 10.0, 14.0
PAD = 4.0


@dataclass(frozen=True)
class Heading:
    """What is written over a panel."""

    title: str
    lines: tuple[str, ...]
    is_shown: bool = True  # the title; it names the figure in any case


@dataclass
class Paper:
    """A scene in the making."""

    axis: Axis
    width: float
    y: float = MARGIN
    back: list[Shape] = field(default_factory=list)
    arrows: list[Shape] = field(default_factory=list)
    front: list[Shape] = field(default_factory=list)
    roles: set[Role] = field(default_factory=set)
    causes: set[Cause] = field(default_factory=set)
    faded: bool = False

    @property
    def left(self) -> float:
        """Where time begins."""
        return MARGIN + GUTTER

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.width - MARGIN


def plot_width(width: float) -> float:
    """The px that a figure of this width has for time."""
    return width - 2 * MARGIN - GUTTER


def write_text(paper: Paper, text: str) -> None:
    """Put a text below what is there, in as many lines as it takes."""
    for line in wrapped(text.split(" "), paper.width - 2 * MARGIN, TEXT):
        paper.y += 16
        line = fitting([line], paper.width - 2 * MARGIN, TEXT)
        paper.front.append(Label(MARGIN, paper.y, line, TEXT, "muted", role="note"))


def x_of(paper: Paper, panel: Panel, at_ns: int) -> float:
    """The place of a time on a panel; its edge for times outside."""
    inside = min(max(at_ns, panel.start_ns), panel.end_ns)
    return paper.axis.x(inside - panel.start_ns)
