"""A trace of a page, read, linked and explained once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trace_util.events import Trace
from trace_util.explain import Explanation, explanation
from trace_util.facts import Facts, trace_facts
from trace_util.links import Links, link
from trace_util.report.text import clean


@dataclass(frozen=True)
class Subject:
    """One trace of the page and all that is said of it."""

    id: str  # of its part of the page
    trace: Trace
    links: Links
    facts: Facts
    explanation: Explanation
    url: str | None  # where the file is online, if it is

    @property
    def title(self) -> str:
        """What the trace is called on the page."""
        run = self.trace.header.run
        if isinstance(run.get("lesson"), str) and isinstance(run.get("tag"), str):
            return clean(f"{run['lesson']} · {run['tag']}")
        return clean(Path(self.trace.path).name)


def subject_of(trace: Trace, number: int, url: str | None = None) -> Subject:
    """The subject of a trace, the ``number``-th of its page."""
    links = link(trace)
    facts = trace_facts(trace, links)
    return Subject(f"t{number}", trace, links, facts, explanation(trace, links, facts), url)
