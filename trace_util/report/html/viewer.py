"""Ways into Perfetto: a link where the file is online, a button where the page carries it."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

from trace_util.content import require_rereadable
from trace_util.events import TraceError
from trace_util.focus import Focus, Note
from trace_util.highlights import focus_on
from trace_util.perfetto import PUBLIC_UI, public_link, view_fragment
from trace_util.report.html.markup import Child, Html, element, joined, plain
from trace_util.report.html.subject import Subject
from trace_util.report.text import clean, shell_path

# A page is at most 2 MB; base64 makes four bytes of three.
MOST_CARRIED_BYTES = 900_000
AIR = 4  # what is shown around a piece of evidence, in its own lengths on each side

CONSENT = (
    "A button opens ui.perfetto.dev and hands it the file that this page carries, from window to "
    "window: nothing is uploaded. Perfetto asks first whether you trust the page."
)

# Perfetto's protocol (docs/visualization/deep-linking-to-perfetto-ui.md): PING until PONG, then the
# file. The bytes go from this window to that one and nowhere else.
SCRIPT = """
for (const button of document.querySelectorAll("button[data-open]")) {
  button.addEventListener("click", () => {
    const text = atob(document.getElementById(button.dataset.open).textContent.trim());
    const buffer = Uint8Array.from(text, c => c.charCodeAt(0)).buffer;
    const ui = window.open(button.dataset.ui);
    const said = document.getElementById(button.dataset.says);
    if (!ui) { said.textContent = "The browser blocked the window; allow pop-ups here."; return; }
    const origin = new URL(button.dataset.ui).origin;
    const ask = setInterval(() => ui.postMessage("PING", origin), 200);
    const giveUp = setTimeout(() => {
      clearInterval(ask); said.textContent = "Perfetto did not answer within a minute.";
    }, 60000);
    window.addEventListener("message", function hear(event) {
      if (event.data !== "PONG" || event.source !== ui) return;
      clearInterval(ask); clearTimeout(giveUp); window.removeEventListener("message", hear);
      ui.postMessage({perfetto: {buffer, title: button.dataset.title,
        fileName: button.dataset.title}}, origin);
      said.textContent = "Handed over.";
    });
  });
}
"""


def carried(subject: Subject) -> Html:
    """The file itself, as text for :data:`SCRIPT`.

    Raises:
        TraceError: it is too large for a page, or can no longer be read.
    """
    path = Path(subject.trace.path)
    require_rereadable(path)
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= MOST_CARRIED_BYTES else b""
    except OSError as error:
        raise TraceError(f"{path}: --embed: {error.strerror}; name a file") from None
    if not content:
        raise TraceError(
            f"{path}: --embed: {size:,} bytes are more than the {MOST_CARRIED_BYTES:,} that a page "
            "carries; gzip or slim the trace, or leave --embed out"
        )
    text = base64.b64encode(content).decode("ascii")
    return Html(f'<script type="text/plain" id="{subject.id}-file">{plain(text)}</script>')


def viewer(subject: Subject, *, embedded: bool) -> Html:
    """How to open the trace in Perfetto, as a whole and on each piece of evidence."""
    focus = focus_on(subject.trace, subject.links, subject.facts)
    parts: list[Child] = [element("h3", "Open in Perfetto")]
    if embedded or subject.url:
        notes = focus.notes if focus else ()
        items = [_way(subject, focus, "the recorded steps", embedded)]
        items += [_way(subject, _closer(focus, n), n.label, embedded) for n in notes if focus]
        parts.append(element("ul", *(element("li", item) for item in items), class_="ways"))
        if embedded:
            parts.append(element("p", CONSENT, class_="note"))
        parts.append(element("p", id=f"{subject.id}-says", role="status", class_="note"))
    command = f"trace-util open {shell_path(Path(subject.trace.path).name)}"
    text = "On the machine that has the file, without an upload: "
    parts.append(element("p", text, element("code", command)))
    return joined(*parts)


def _way(subject: Subject, focus: Focus | None, text: str, embedded: bool) -> Html:
    name = clean(Path(subject.trace.path).name)
    if not embedded:
        link = public_link(subject.url or "", focus.without_names() if focus else None)
        return element("a", text, href=link, rel="noreferrer")
    ui = f"{PUBLIC_UI}/" + view_fragment(focus.without_names() if focus else None)
    return element(
        "button",
        text,
        type="button",
        class_="small",
        data_open=f"{subject.id}-file",
        data_says=f"{subject.id}-says",
        data_title=name,
        data_ui=ui,
    )


def _closer(focus: Focus | None, note: Note) -> Focus | None:
    """The same view, on one piece of evidence with some air around it."""
    if focus is None:
        return None
    air = AIR * max(note.duration_ns, 1_000)
    return replace(
        focus,
        window_start_ns=max(focus.window_start_ns, note.start_ns - air),
        window_end_ns=min(focus.window_end_ns, note.start_ns + note.duration_ns + air),
    )
