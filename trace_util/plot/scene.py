"""A finished figure, before a format is chosen: boxes, texts and lines in px, painted by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trace_util.plot.lettering import text_width


class Bounds(NamedTuple):
    """A rectangle that something takes, px, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Bounds) -> bool:
        """Whether the two share more than an edge."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True)
class Box:
    """A filled rectangle; ``title`` is what a pointer resting on it is told."""

    x: float
    y: float
    width: float
    height: float
    paint: str
    title: str = ""
    faded: bool = False
    radius: float = 0.0
    outline: str = ""  # the paint of a line of 1 px inside its edge


@dataclass(frozen=True)
class Label:
    """One line of text, ``y`` its baseline; ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    paint: str
    anchor: str = "start"
    bold: bool = False
    role: str = ""  # what it names: title, lane, bar, step, idle, tick, legend, note

    @property
    def bounds(self) -> Bounds:
        """The room that the text takes in the widest face."""
        width = text_width(self.text, self.size, bold=self.bold)
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return Bounds(left, self.y - 0.78 * self.size, left + width, self.y + 0.24 * self.size)


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    paint: str
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True)
class Curve:
    """A launch arrow: leaves downwards, arrives downwards, with a head."""

    x1: float
    y1: float
    x2: float
    y2: float
    paint: str


Shape = Box | Label | Line | Curve


@dataclass(frozen=True)
class Scene:
    """A figure: its size, its shapes from back to front, and the same in words."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    description: str

    @property
    def labels(self) -> tuple[Label, ...]:
        """Its texts."""
        return tuple(shape for shape in self.shapes if isinstance(shape, Label))
