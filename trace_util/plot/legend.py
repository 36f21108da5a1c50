"""What the colours and patterns of a figure stand for; only those that it has."""

from __future__ import annotations

from trace_util.plot.lettering import fitting, text_width
from trace_util.plot.paper import MARGIN, SMALL, Paper
from trace_util.plot.roles import IDLE_MEANING, MEANING
from trace_util.plot.scene import Box, Label


def write_legend(paper: Paper) -> None:
    """Put the legend below what is there."""
    entries = [(role.name.lower(), MEANING[role], False) for role in sorted(paper.roles)]
    if paper.faded:
        entries.append(("gemm", "work of another step", True))
    entries += [
        (f"idle_{cause.name.lower()}", f"GPU idle: {IDLE_MEANING[cause]}", False)
        for cause in sorted(paper.causes)
    ]
    x = MARGIN
    paper.y += 4
    for paint, text, faded in entries:
        width = 18 + text_width(text, SMALL) + 16
        if x + width > paper.right and x > MARGIN:
            x, paper.y = MARGIN, paper.y + 17
        outline = "op" if paint == "metadata_op" else ""
        paper.front.append(Box(x, paper.y - 9, 12, 11, paint, "", faded, 2, outline))
        text = fitting([text], paper.right - x - 18, SMALL)
        paper.front.append(Label(x + 18, paper.y, text, SMALL, "ink", role="legend"))
        x += width
    paper.y += 4
