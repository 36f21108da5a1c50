"""Traces -> the whole page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from trace_util.claims import check
from trace_util.events import Trace, TraceError, UsageError
from trace_util.plot.svg import page_style
from trace_util.report.gpu_words import gpu_words
from trace_util.report.html import sections
from trace_util.report.html.checks import claims
from trace_util.report.html.comparing import compared
from trace_util.report.html.markup import Child, Html, element, joined, plain
from trace_util.report.html.roofline import roofline
from trace_util.report.html.subject import Subject, subject_of
from trace_util.report.html.viewer import SCRIPT, carried, viewer
from trace_util.report.text import clean
from trace_util.report.units import counted, size
from trace_util.report.versions import versions


def report_html(
    traces: Sequence[Trace], *, urls: Sequence[str] = (), embed: bool = False, title: str = ""
) -> str:
    """One page of some traces; ``urls`` are where their files are online, in the same order.

    With ``embed`` the page carries the files, and its buttons hand them to the Perfetto UI.

    Raises:
        TraceError: no trace, another number of addresses than traces, or a file that cannot be
            carried.
    """
    if not traces:
        raise TraceError("no trace to report on; name one")
    if urls and len(urls) != len(traces):
        raise UsageError(
            f"--url: {counted(len(urls), 'address', 'addresses')} for "
            f"{counted(len(traces), 'trace')}; give one for each, in the same order"
        )
    where: Sequence[str | None] = urls or [None] * len(traces)
    subjects = [
        subject_of(trace, number, url)
        for number, (trace, url) in enumerate(zip(traces, where, strict=True), 1)
    ]
    names = ", ".join(subject.title for subject in subjects)
    body = joined(
        element("a", "Skip to the report", href="#main", class_="skip"),
        _header(title or "Profile report", subjects),
        element("main", *_parts(subjects, embed), id="main"),
        _footer(),
        *([carried(subject) for subject in subjects] if embed else []),
        Html(f"<script>{SCRIPT}</script>") if embed else None,
    )
    return _document(f"{title or 'Profile report'}: {names}", body, embed)


def _document(title: str, body: Html, embed: bool) -> str:
    script = f"'sha256-{_digest(SCRIPT)}'" if embed else "'none'"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {script}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="generator", content="trace-util"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        Html(f"<style>{_style()}\n{page_style()}</style>"),
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@lru_cache(maxsize=1)
def _style() -> str:
    return Path(__file__).with_name("style.css").read_text(encoding="utf-8").strip()


def _header(title: str, subjects: Sequence[Subject]) -> Html:
    links = [element("a", subject.title, href=f"#{subject.id}") for subject in subjects]
    if len(subjects) > 1:
        links.insert(0, element("a", "Comparison", href="#comparison"))
    listed = element("ul", *(element("li", link) for link in links))
    nav = element("nav", listed, aria_label="Traces of this report")
    return element("header", element("h1", title), nav)


def _parts(subjects: Sequence[Subject], embed: bool) -> list[Child]:
    traces = [subject.trace for subject in subjects]
    return [compared(subjects), *(_part(subject, traces, embed) for subject in subjects)]


def _part(subject: Subject, traces: Sequence[Trace], embed: bool) -> Html:
    # A trace alone is held against the runs that lie beside it, as `trace-util check` does.
    others = [trace for trace in traces if trace is not subject.trace] or None
    return element(
        "section",
        element("h2", subject.title, id=f"{subject.id}-title"),
        _provenance(subject),
        sections.verdict(subject),
        sections.timelines(subject),
        sections.steps(subject),
        sections.kernels(subject),
        roofline(subject),
        sections.ops(subject),
        claims(check(subject.trace, against=others)),
        viewer(subject, embedded=embed),
        id=subject.id,
        aria_labelledby=f"{subject.id}-title",
    )


def _provenance(subject: Subject) -> Html:
    trace = subject.trace
    command = trace.header.run.get("command")
    named = [f"{name.replace('_', ' ')} {number}" for name, number in versions(trace).items()]
    file = f"{clean(Path(trace.path).name)}, {size(trace.size_bytes)}"
    events = counted(trace.phases.get("X", 0), "complete event")
    return element(
        "div",
        element("p", element("code", clean(command))) if isinstance(command, str) else None,
        element(
            "p",
            ", ".join([gpu_words(subject.facts.gpu, subject.facts.gpu_activity != "none"), *named]),
        ),
        element("p", f"{file}, {events}"),
        class_="from",
    )


def _footer() -> Html:
    from trace_util import __version__

    text = "Made by trace-util report "
    return element("footer", element("p", text, plain(__version__), ". This page fetches nothing."))
