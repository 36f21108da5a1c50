"""A lesson's claims against a trace, as a list with the evidence folded in."""

from __future__ import annotations

from trace_util.claims import Check, ClaimCheck
from trace_util.report.check import DIFFER, HOLD
from trace_util.report.evidence import evidence_texts
from trace_util.report.html.markup import Html, element, joined
from trace_util.report.html.tables import Cell, row_header, table, text_cell
from trace_util.report.units import counted


def claims(found: Check) -> Html | None:
    """The claims of the trace's lesson; ``None`` where it has none."""
    if not found.claims:
        return None
    verdicts = [claim.verdict for claim in found.claims]
    counts = (
        f"Of {counted(len(verdicts), 'claim')}, {counted(verdicts.count('holds'), *HOLD)}, "
        f"{counted(verdicts.count('differs'), *DIFFER)} on this GPU, and "
        f"{verdicts.count('unseen')} cannot be seen in this trace."
    )
    titles = ("claim", "says", "verdict", "because, and the evidence")
    caption = f"The claims of lesson {found.lesson}"
    rows = [_row(claim) for claim in found.claims]
    return joined(
        element("h3", "Claims"), element("p", counts), table(caption, titles, rows, kind="claims")
    )


def _row(claim: ClaimCheck) -> list[Cell]:
    word = "contradicted" if claim.contradicted else claim.verdict
    verdict = element("span", word, class_=claim.verdict)
    return [
        row_header(claim.id),
        text_cell(claim.text),
        text_cell(verdict),
        text_cell(_because(claim)),
    ]


def _because(claim: ClaimCheck) -> Html:
    reason = element("p", claim.reason) if claim.reason else None
    texts = evidence_texts(claim.evidence)
    if not texts:
        return joined(reason)
    items = element("ul", *(element("li", text) for text in texts))
    return joined(reason, element("details", element("summary", "evidence"), items))
