"""Tables that scroll by themselves, with a caption, and cells that carry their exact value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from trace_util.report.html.markup import Child, Html, element, joined
from trace_util.report.units import Unit


@dataclass(frozen=True)
class Cell:
    """A cell; ``exact`` is the number behind the text, in the unit of the JSON output."""

    content: Child
    exact: Decimal | int | float | None = None
    number: bool = False
    header: bool = False


def text_cell(content: Child) -> Cell:
    """A cell of words."""
    return Cell(content)


def row_header(content: Child) -> Cell:
    """The cell that names its row."""
    return Cell(content, header=True)


def count_cell(number: int | None) -> Cell:
    """A cell with a number of things."""
    return Cell("-" if number is None else f"{number:,}", number, number=True)


def time_cell(ns: float | None, unit: Unit) -> Cell:
    """A cell with a time in the unit of its column; exact in µs."""
    return Cell(unit.number(ns), None if ns is None else Decimal(str(ns)) / 1000, number=True)


def number_cell(text: str, exact: float | None = None) -> Cell:
    """A cell with a number that is written already."""
    return Cell(text, exact, number=True)


def table(
    caption: str,
    titles: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    note: str = "",
    kind: str | None = None,
) -> Html:
    """A table in a region that can be scrolled by keyboard; ``note`` stands below it."""
    numbers = [all(row[i].number for row in rows) and bool(rows) for i in range(len(titles))]
    head = joined(
        *(
            element("th", title, scope="col", class_="n" if number else None)
            for title, number in zip(titles, numbers, strict=True)
        )
    )
    body = joined(*(element("tr", *map(_cell, row)) for row in rows))
    inner = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", head)),
        element("tbody", body),
        class_=kind,
    )
    region = element("div", inner, class_="scroll", role="region", aria_label=caption, tabindex="0")
    return joined(region, element("p", note, class_="note") if note else None)


def _cell(cell: Cell) -> Html:
    exact = None if cell.exact is None else f"{cell.exact}"
    if cell.header:
        return element("th", cell.content, scope="row")
    return element("td", cell.content, class_="n" if cell.number else None, data_exact=exact)
