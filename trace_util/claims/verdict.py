"""What a claim comes to in one trace: verdict, reason, and the evidence as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trace_util.evidence import Evidence

Verdict = Literal["holds", "differs", "unseen"]


@dataclass(frozen=True)
class Ruling:
    """A verdict with its reasons. ``reason`` is "" only where the claim simply holds."""

    verdict: Verdict
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    explained: bool = True  # False: contradicted, and nothing known about this GPU says why


@dataclass(frozen=True)
class ClaimCheck:
    """A claim of a lesson and what it comes to here."""

    id: str
    text: str
    ruling: Ruling

    @property
    def verdict(self) -> Verdict:
        """ "holds", "differs" or "unseen"."""
        return self.ruling.verdict

    @property
    def reason(self) -> str:
        """Why it differs or cannot be seen, or what is to be known besides."""
        return self.ruling.reason

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The numbers and events that prove it."""
        return self.ruling.evidence

    @property
    def contradicted(self) -> bool:
        """Whether it differs without a known reason."""
        return self.verdict == "differs" and not self.ruling.explained


def holds(*evidence: Evidence, note: str = "") -> Ruling:
    """The claim is true of this trace."""
    return Ruling("holds", note, evidence)


def unseen(reason: str, *evidence: Evidence) -> Ruling:
    """This trace cannot show it."""
    return Ruling("unseen", reason, evidence)


def differs(reason: str, *evidence: Evidence) -> Ruling:
    """It is otherwise here, and it is known why."""
    return Ruling("differs", reason, evidence)


def contradicted(reason: str, *evidence: Evidence) -> Ruling:
    """It is otherwise here, and nothing that is known explains it."""
    return Ruling("differs", reason, evidence, explained=False)
