"""What a trace is about, in a few words and with a place to look first: one reading of the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trace_util.events import Trace, TraceError
from trace_util.explain import Explanation, explanation
from trace_util.facts import trace_facts
from trace_util.focus import Focus
from trace_util.highlights import focus_on
from trace_util.links import link
from trace_util.reader import read_trace
from trace_util.report.oddities import repairs_warning
from trace_util.report.values import filled
from trace_util.report.versions import versions

# What a reader of a list needs to tell runs apart; the others are in the trace.
_VERSIONS = ("torch", "triton", "cuda", "driver", "cuda_runtime", "hip_runtime")


@dataclass(frozen=True)
class Glimpse:
    """Texts are empty, and others are ``None``, where the trace does not say."""

    lesson: str = ""
    gpu: str = ""
    versions: str = ""
    verdict: str = ""
    focus: Focus | None = None
    warning: str | None = None  # why the Perfetto UI may not open it


def glimpse(path: Path) -> Glimpse:
    """What the trace at ``path`` is about; nothing of one that the reader refuses."""
    try:
        trace = read_trace(path)
    except TraceError:  # Perfetto may open it all the same
        return Glimpse()
    links = link(trace)
    facts = trace_facts(trace, links)
    found = explanation(trace, links, facts)
    return Glimpse(
        lesson=_lesson(trace),
        gpu=found.gpu or "",
        versions=_versions(trace),
        verdict=_verdict(found),
        focus=focus_on(trace, links, facts),
        warning=repairs_warning(trace),
    )


def _lesson(trace: Trace) -> str:
    run = trace.header.run
    return " ".join(str(run[key]) for key in ("lesson", "variant", "tag") if run.get(key))


def _versions(trace: Trace) -> str:
    known = versions(trace)
    return ", ".join(f"{what} {known[what]}" for what in _VERSIONS if what in known)


def _verdict(found: Explanation) -> str:
    """What bounds the run, with the numbers that say so."""
    reason = filled(found.regime.reason, found.regime.values)
    return f"{found.regime.name}: {reason}" if found.regime.name else reason
