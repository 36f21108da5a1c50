"""How wide a text is, and what of it fits: without a font, and the same on every machine.

Widths are the advances of DejaVu Sans, the widest face in the stack that the figures ask for, in
thousandths of the size; what fits in it fits in Arial, Helvetica, Roboto or Segoe UI too.
"""

from __future__ import annotations

from collections.abc import Sequence

# The printable characters of ASCII, from the blank on.
_ADVANCE = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
_OTHERS = {"µ": 636, "·": 318, "–": 500, "→": 838, "×": 838, "≥": 838}
_WIDEST = 1000  # the ellipsis, and any character that is not listed
_BOLD = 1.16

FEWEST_LETTERS = 4  # of a cut name; fewer tell nothing


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text set in ``size``, in the unit of ``size``."""
    thousandths = sum(
        _ADVANCE[ord(char) - 32] if " " <= char <= "~" else _OTHERS.get(char, _WIDEST)
        for char in text
    )
    return thousandths / 1000 * size * (_BOLD if bold else 1)


def fitting(candidates: Sequence[str], width: float, size: float) -> str:
    """The first of the texts that fits; else the start of the last one; "" where too little does.

    Candidates go from the one that says most to the shortest.
    """
    for text in candidates:
        if text_width(text, size) <= width:
            return text
    return _cut(candidates[-1], width, size) if candidates else ""


def _cut(text: str, width: float, size: float) -> str:
    room = width - text_width("…", size)
    for count, char in enumerate(text):
        room -= text_width(char, size)
        if room < 0:
            return text[:count].rstrip() + "…" if count >= FEWEST_LETTERS else ""
    return text


def wrapped(words: Sequence[str], width: float, size: float) -> list[str]:
    """Words set in lines no wider than ``width``; a word that is too long has a line of its own."""
    lines: list[str] = []
    for word in words:
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
