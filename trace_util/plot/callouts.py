"""Places for texts that do not fit on their bars: below them, on lines of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trace_util.plot.lettering import text_width

# Where not all have room: what is lighter, as a part of the heaviest, tells too little. Reasoned.
TELLING = 0.05


class Wish(NamedTuple):
    """A text for a bar whose middle is at ``x``; candidates from longest to shortest."""

    x: float
    candidates: tuple[str, ...]
    weight: float = 0.0  # of two that have no room together, the heavier one is written


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
    """The texts that there is room for between ``left`` and ``right``, the heaviest first.

    No two of them meet, and no leader from a bar to its text crosses a text.
    """
    room = size, left, right, lines
    done = _from_right(wishes, *room)
    if len(done) < len(wishes):
        ranked = sorted(wishes, key=lambda wish: (-wish.weight, -wish.x))
        first = _most_together(ranked, *room)
        done = _from_right(ranked[:first], *room)
        least = TELLING * ranked[0].weight
        _add(done, [wish for wish in ranked[first:] if wish.weight >= least], *room)
    return tuple(sorted(done, key=lambda place: place.x))


def _most_together(
    ranked: Sequence[Wish], size: float, left: float, right: float, lines: int
) -> int:
    """How many of the heaviest have room together."""
    for count in range(1, len(ranked) + 1):
        if len(_from_right(ranked[:count], size, left, right, lines)) < count:
            return count - 1
    return len(ranked)


def _from_right(
    wishes: Sequence[Wish], size: float, left: float, right: float, lines: int
) -> list[Placed]:
    """As many as there is room for when they are put down from right to left."""
    done: list[Placed] = []
    _add(done, sorted(wishes, key=lambda wish: -wish.x), size, left, right, lines)
    return done


def _add(
    done: list[Placed], wishes: Sequence[Wish], size: float, left: float, right: float, lines: int
) -> None:
    for wish in wishes:
        place = _first_free(wish, done, size, left, right, lines)
        if place is not None:
            done.append(place)


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
