"""Places for texts that do not fit on their bars: below them, on lines of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trace_util.plot.lettering import text_width


class Wish(NamedTuple):
    """A text for a bar whose middle is at ``x``; candidates from longest to shortest."""

    x: float
    candidates: tuple[str, ...]


@dataclass(frozen=True)
class Placed:
    """A text on a line, 0 the nearest; it runs from ``left`` to ``right``, its bar is at ``x``."""

    x: float
    left: float
    right: float
    line: int
    text: str


def placed(
    wishes: Sequence[Wish], size: float, left: float, right: float, lines: int
) -> tuple[Placed, ...]:
    """As many of the texts as there is room for between ``left`` and ``right``, from right to left.

    No two of them meet, and no leader from a bar to its text crosses a text.
    """
    done: list[Placed] = []
    for wish in sorted(wishes, key=lambda wish: -wish.x):
        place = _first_free(wish, done, size, left, right, lines)
        if place is not None:
            done.append(place)
    return tuple(reversed(done))


def _first_free(
    wish: Wish, done: list[Placed], size: float, left: float, right: float, lines: int
) -> Placed | None:
    for text in wish.candidates:
        width = text_width(text, size)
        # The leader ends at the text's first letter or, where that has no room, at its last one.
        for start in (wish.x - 3, wish.x + 3 - width):
            for line in range(lines):
                place = Placed(wish.x, start, start + width, line, text)
                if start >= left and start + width <= right and _is_free(place, done):
                    return place
    return None


def _is_free(place: Placed, done: list[Placed]) -> bool:
    margin = 6.0
    for other in done:
        meets = place.left < other.right + margin and other.left < place.right + margin
        if other.line == place.line and meets:
            return False
        if other.line < place.line and other.left - margin < place.x < other.right + margin:
            return False
        if other.line > place.line and place.left - margin < other.x < place.right + margin:
            return False
    return True
