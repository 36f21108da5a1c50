"""Two or more traces beside each other: drawn on one scale, as a table, and what became of what."""

from __future__ import annotations

from collections.abc import Sequence

from trace_util.compare import Comparison, Difference, comparison
from trace_util.plot.figure import timeline
from trace_util.plot.lanes import View
from trace_util.report.compare import difference_lines, letter, run_table
from trace_util.report.html.markup import Html, element, joined
from trace_util.report.html.sections import CELL, WIDTH, figure
from trace_util.report.html.subject import Subject
from trace_util.report.html.tables import number_cell, row_header, table


def compared(subjects: Sequence[Subject]) -> Html | None:
    """The comparison of all traces of a page with the first; ``None`` where there is but one."""
    if len(subjects) < 2:
        return None
    found = comparison([subject.trace for subject in subjects])
    titles, rows = run_table(found)
    cells = [[row_header(first), *map(number_cell, rest)] for first, *rest in rows]
    base = f"what a step of each does; {letter(found.baseline)} is the baseline"
    return element(
        "section",
        element("h2", "Comparison", id="comparison-title"),
        _names(subjects),
        table(f"Times, counts and share: {base}", titles, cells),
        *(_difference(found, one) for one in found.differences),
        _drawn(subjects),
        id="comparison",
        aria_labelledby="comparison-title",
    )


def _names(subjects: Sequence[Subject]) -> Html:
    items = (
        element("li", f"{letter(i)}: ", element("a", subject.title, href=f"#{subject.id}"))
        for i, subject in enumerate(subjects)
    )
    return element("ul", *items, class_="ways")


def _difference(found: Comparison, one: Difference) -> Html:
    """What differs, a line a label; labels that repeat are said once."""
    lines: dict[str, list[str]] = {}
    for label, text in difference_lines(found, one):
        lines.setdefault(label, []).append(text)
    rows = (
        element("div", element("dt", label), *(element("dd", text) for text in texts))
        for label, texts in lines.items()
    )
    title = f"{letter(one.index)} beside {letter(found.baseline)}"
    return joined(element("h3", title), element("dl", *rows, class_="lines"))


def _drawn(subjects: Sequence[Subject]) -> Html | None:
    if not all(subject.facts.steps for subject in subjects):
        return None
    scene = timeline(
        [subject.trace for subject in subjects],
        View(last_step=True),
        width=WIDTH,
        cell=CELL,
        links=[subject.links for subject in subjects],
        facts=[subject.facts for subject in subjects],
    )
    caption = "One step of each, on one scale"
    return joined(element("h3", "Drawn beside each other"), figure(scene, "both-", caption))
