"""Panels -> a scene: where each bar, arrow, text and line of a figure goes."""

from __future__ import annotations

from collections.abc import Sequence

from trace_util.plot.callouts import Wish, placed
from trace_util.plot.lanes import Lane, Panel
from trace_util.plot.legend import write_legend
from trace_util.plot.lettering import fitting, text_width
from trace_util.plot.paper import (
    ARROW_ROOM,
    CALLOUT_LINE,
    CALLOUT_LINES,
    GPU_ROW,
    GUTTER,
    HOST_ROW,
    LANE_SPACE,
    MARGIN,
    PAD,
    SMALL,
    SMALLEST,
    STEP_HEIGHT,
    TEXT,
    TITLE,
    Heading,
    Paper,
    plot_width,
    write_text,
    x_of,
)  # fmt: skip
from trace_util.plot.roles import IDLE_MEANING, Role
from trace_util.plot.scale import Axis
from trace_util.plot.scene import Box, Curve, Label, Line, Scene
from trace_util.plot.theme import INK_ON
from trace_util.report.units import duration


def scene_of(
    panels: Sequence[Panel], headings: Sequence[Heading], width: float, footer: str = ""
) -> Scene:
    """The figure of some panels below each other, on one scale."""
    longest = max(panel.end_ns - panel.start_ns for panel in panels)
    paper = Paper(Axis(longest, MARGIN + GUTTER, plot_width(width)), width)
    for panel, heading in zip(panels, headings, strict=True):
        _panel(paper, panel, heading)
    write_legend(paper)
    _footer(paper, footer)
    return Scene(
        width,
        round(paper.y + MARGIN - 6),
        (*paper.back, *paper.arrows, *paper.front),
        "; ".join(heading.title for heading in headings),
        " ".join(
            _in_words(panel, heading) for panel, heading in zip(panels, headings, strict=True)
        ),
    )


def _panel(paper: Paper, panel: Panel, heading: Heading) -> None:
    _heading(paper, heading)
    top = paper.y
    _marks(paper, panel)
    places: list[float] = []  # the top of every lane
    for at, lane in enumerate(panel.lanes):
        first_gpu = lane.is_gpu and (at == 0 or not panel.lanes[at - 1].is_gpu)
        paper.y += ARROW_ROOM if first_gpu and at and panel.arrows else LANE_SPACE
        places.append(paper.y)
        _lane(paper, panel, lane)
    _idle(paper, panel, places)
    _arrows(paper, panel, places)
    _axis(paper, panel, top)
    for note in panel.notes:
        write_text(paper, note)
    paper.y += 16


def _heading(paper: Paper, heading: Heading) -> None:
    if heading.is_shown:
        paper.y += TITLE
        title = fitting([heading.title], paper.width - 2 * MARGIN, TITLE * 1.16)
        paper.front.append(Label(MARGIN, paper.y, title, TITLE, "ink", bold=True, role="title"))
    for text in heading.lines:
        write_text(paper, text)
    paper.y += 12


def _marks(paper: Paper, panel: Panel) -> None:
    """The recorded steps: a band with the name and the time that each takes on the CPU."""
    if not panel.marks:
        return
    y = paper.y
    paper.front.append(_lane_name("steps", y + STEP_HEIGHT / 2))
    for mark in panel.marks:
        x1, x2 = x_of(paper, panel, mark.start_ns), x_of(paper, panel, mark.end_ns)
        length = duration(mark.end_ns - mark.start_ns)
        paper.back.append(
            Box(x1, y, max(x2 - x1 - 1, SMALLEST), STEP_HEIGHT, "step", f"{mark.name}, {length}")
        )
        texts = (f"{mark.name} · {length} on the CPU", f"{mark.name} · {length}", mark.name)
        text = fitting((*texts, f"#{mark.number}"), x2 - x1 - 2 * PAD, TEXT)
        if text:
            at = (x1 + x2) / 2, y + STEP_HEIGHT / 2 + TEXT * 0.36
            paper.front.append(Label(*at, text, TEXT, "ink", "middle", role="step"))
    paper.y += STEP_HEIGHT


def _lane_name(text: str, middle: float) -> Label:
    candidates = (text, text.removeprefix("GPU ").removeprefix("CPU "))
    text = fitting(candidates, GUTTER - 10, TEXT * 1.16)
    return Label(MARGIN, middle + TEXT * 0.36, text, TEXT, "ink", bold=True, role="lane")


def _lane(paper: Paper, panel: Panel, lane: Lane) -> None:
    row = GPU_ROW if lane.is_gpu else HOST_ROW
    top, height = paper.y, row * lane.depth
    end = x_of(paper, panel, panel.end_ns)
    paper.back.append(Box(paper.left, top, end - paper.left, height, "lane"))
    paper.front.append(_lane_name(lane.title, top + min(height, row) / 2))
    wishes = []
    for bar in lane.bars:
        x1, x2 = x_of(paper, panel, bar.start_ns), x_of(paper, panel, bar.end_ns)
        x1 = max(min(x1, end - SMALLEST), paper.left)
        width = max(x2 - x1, SMALLEST)
        inset = 2.0 if lane.is_gpu else 0.5
        y = top + bar.depth * row + inset
        # A hair of paper between neighbours, as far as there is room for it.
        drawn = max(width - 0.6, SMALLEST)
        paint = bar.role.name.lower()
        paper.roles.add(bar.role)
        paper.faded |= bar.faded and lane.is_gpu
        paper.front.append(
            Box(
                x1,
                y,
                drawn,
                row - 2 * inset,
                paint,
                bar.title,
                bar.faded,
                min(2.0, drawn / 3),
                "op" if bar.role == Role.METADATA_OP else "",
            )
        )
        text = fitting(bar.labels, drawn - 2 * PAD, SMALL)
        if lane.is_gpu and text not in bar.labels:
            wishes.append((bar, Wish(x1 + drawn / 2, bar.labels, bar.end_ns - bar.start_ns)))
        elif text:
            ink = INK_ON[paint] if not bar.faded else "ink"
            at = x1 + PAD, y + (row - 2 * inset) / 2 + SMALL * 0.36
            paper.front.append(Label(*at, text, SMALL, ink, role="bar"))
    paper.y += height
    _callouts(paper, [wish for bar, wish in wishes if bar.labels], top + height)


def _callouts(paper: Paper, wishes: list[Wish], bottom: float) -> None:
    """The names that did not fit on their bars, below the lane, each with a leader."""
    found = placed(wishes, SMALL, paper.left, paper.right, CALLOUT_LINES)
    for place in found:
        baseline = bottom + 3 + (place.line + 1) * CALLOUT_LINE - 3
        paper.front.append(Line(place.x, bottom - 2, place.x, baseline - SMALL, "muted", 0.8))
        paper.front.append(Label(place.left, baseline, place.text, SMALL, "ink", role="bar"))
    if found:
        paper.y += 3 + CALLOUT_LINE * (1 + max(place.line for place in found))


def _idle(paper: Paper, panel: Panel, places: list[float]) -> None:
    for idle in panel.idle:
        x1, x2 = x_of(paper, panel, idle.start_ns), x_of(paper, panel, idle.end_ns)
        if x2 - x1 < SMALLEST:
            continue
        paper.causes.add(idle.cause)
        length = duration(idle.end_ns - idle.start_ns)
        for at in idle.lanes:
            height = GPU_ROW * panel.lanes[at].depth
            title = f"{length} without GPU work: {IDLE_MEANING[idle.cause]}"
            paint = f"idle_{idle.cause.name.lower()}"
            paper.back.append(Box(x1, places[at], x2 - x1, height, paint, title))
        # One device may have several lanes; the time is said once.
        texts = (f"idle {length}", length)
        text = fitting(texts, x2 - x1 - 2 * PAD, SMALL)
        if text in texts:
            at = idle.lanes[0]
            y = places[at] + GPU_ROW / 2 + SMALL * 0.36
            if not _covered(panel, at, idle.start_ns, idle.end_ns):
                paper.front.append(
                    Label((x1 + x2) / 2, y, text, SMALL, "ink", "middle", role="idle")
                )


def _covered(panel: Panel, lane: int, start_ns: int, end_ns: int) -> bool:
    """Whether a bar is drawn into an idle stretch: a very short one, drawn wider than it is."""
    return any(
        bar.start_ns < end_ns and bar.end_ns > start_ns and bar.depth == 0
        for bar in panel.lanes[lane].bars
    )


def _arrows(paper: Paper, panel: Panel, places: list[float]) -> None:
    for arrow in panel.arrows:
        y1 = places[arrow.from_lane] + (arrow.from_depth + 1) * HOST_ROW - 0.5
        y2 = places[arrow.to_lane] + arrow.to_depth * GPU_ROW + 1.5
        x1, x2 = x_of(paper, panel, arrow.from_ns), x_of(paper, panel, arrow.to_ns)
        paper.arrows.append(Curve(x1, y1, x2 + SMALLEST / 2, y2, "arrow"))


def _axis(paper: Paper, panel: Panel, top: float) -> None:
    paper.y += 8
    length = panel.end_ns - panel.start_ns
    bottom = paper.y
    end = paper.axis.x(length)
    paper.front.append(Line(paper.left, bottom, end, bottom, "rule"))
    unit = paper.axis.unit
    last = -1e9
    for at_ns, text in paper.axis.ticks(length):
        x = paper.axis.x(at_ns)
        # Behind the bars, and only as high as the lanes.
        paper.back.insert(0, Line(x, top, x, bottom, "grid"))
        paper.front.append(Line(x, bottom, x, bottom + 4, "rule"))
        half = text_width(text, SMALL) / 2
        if x - half > last:
            paper.front.append(Label(x, bottom + 15, text, SMALL, "muted", "middle", role="tick"))
            last = x + half + 6
    paper.y += 32
    text = fitting([f"{unit} since {panel.since}", unit], end - paper.left, SMALL)
    paper.front.append(
        Label((paper.left + end) / 2, paper.y, text, SMALL, "muted", "middle", role="tick")
    )


def _footer(paper: Paper, text: str) -> None:
    if text:
        paper.y += 2
        write_text(paper, text)
    paper.y += 4


def _in_words(panel: Panel, heading: Heading) -> str:
    """The panel for somebody who cannot see it."""
    steps = ", ".join(
        f"{mark.name} {duration(mark.end_ns - mark.start_ns)}" for mark in panel.marks[:6]
    )
    lanes = ", ".join(f"{lane.title} ({len(lane.bars)} bars)" for lane in panel.lanes)
    return f"{heading.title}: {' '.join(heading.lines)} Steps: {steps or 'none'}. Lanes: {lanes}."
