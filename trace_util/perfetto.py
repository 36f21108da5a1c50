"""Links to the Perfetto UI that open on the finding: the address, the view, the pins, the notes.

Only texts are made here; nothing is fetched or served. Sources, all from google/perfetto:
``docs/visualization/deep-linking-to-perfetto-ui.md`` (the parameters),
``docs/visualization/commands-automation-reference.md`` (the commands that are promised to stay) and
``ui/src/core/router.ts`` (what stands behind ``#!`` is parsed as a URL of its own and its query as
form data, so that a value with ``#``, ``&``, ``?``, ``%`` or ``+`` in it is cut unless quoted).
"""

from __future__ import annotations

import json
import re
from typing import TypedDict
from urllib.parse import quote, urlsplit

from trace_util.events import UsageError
from trace_util.focus import Focus, Note

PUBLIC_UI = "https://ui.perfetto.dev"
NOTES_TRACK = "trace-util: what to look at"


class Command(TypedDict):
    """One startup command of the UI; every argument is a text (the UI drops the list otherwise)."""

    id: str
    args: list[str]


def quoted_path(path: str) -> str:
    """``path`` with each of its segments percent-encoded, for the end of a URL.

    >>> quoted_path("a b/run #1 50%?.json")
    'a%20b/run%20%231%2050%25%3F.json'
    """
    return "/".join(quote(segment, safe="") for segment in path.split("/"))


def public_link(url: str, focus: Focus | None = None, *, ui: str = PUBLIC_UI) -> str:
    """The address at which the Perfetto UI fetches ``url`` and opens it on ``focus``.

    ``url`` is the file's own address, already quoted once (:func:`quoted_path`); here it is quoted
    once more, as the value of a parameter.

    Raises:
        UsageError: ``url`` is one that the UI cannot fetch.
    """
    _refuse_unfetchable(url)
    return f"{ui}/#!/?{_query({'url': url, **view_parameters(focus)})}"


def view_parameters(focus: Focus | None) -> dict[str, str]:
    """The parameters that open a trace on ``focus``, not yet quoted.

    ``startupCommands`` exists since v52 of the UI; older ones ignore it.
    """
    if focus is None:
        return {}
    commands = startup_commands(focus)
    parameters = {}
    if focus.window_end_ns > focus.window_start_ns:
        parameters["visStart"] = str(focus.window_start_ns)
        parameters["visEnd"] = str(focus.window_end_ns)
    if commands:
        parameters["startupCommands"] = json.dumps(
            commands, separators=(",", ":"), ensure_ascii=False
        )
    return parameters


def view_fragment(focus: Focus | None, page: str = "/") -> str:
    """The fragment of a UI address that waits for a trace by message and opens it on ``focus``."""
    query = _query(view_parameters(focus))
    return f"#!{page}?{query}" if query else f"#!{page}"


def startup_commands(focus: Focus) -> list[Command]:
    """What the UI is to do once the trace is open: draw the notes, pin and expand tracks.

    The notes come twice. As slices on a track of their own they show how long the evidence lasts,
    in every UI since v52. As flags on the axis (without the details, for the link's sake) they need
    ``AddNoteAtTimestamp``, which v52 does not have yet: it skips the command with a line in the
    browser's console.
    """
    commands: list[Command] = []
    if focus.notes:
        commands.append(
            {
                "id": "dev.perfetto.AddDebugSliceTrack",
                "args": [_notes_query(focus.notes), NOTES_TRACK],
            }
        )
    for pattern in focus.pinned:
        commands.append({"id": "dev.perfetto.PinTracksByRegex", "args": [pattern]})
    for pattern in focus.expanded:
        commands.append({"id": "dev.perfetto.ExpandTracksByRegex", "args": [pattern]})
    for note in focus.notes:
        args = [str(note.start_ns), note.text]
        commands.append({"id": "dev.perfetto.AddNoteAtTimestamp", "args": args})
    return commands


def _notes_query(notes: tuple[Note, ...]) -> str:
    """The SQL whose rows are the notes (``ts``, ``dur``, ``name``)."""
    rows = ",".join(
        "({},{},'{}')".format(note.start_ns, note.duration_ns, note.label.replace("'", "''"))
        for note in notes
    )
    return f"WITH n(ts,dur,name) AS (VALUES{rows}) SELECT*FROM n"


def _query(parameters: dict[str, str]) -> str:
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())


def _refuse_unfetchable(url: str) -> None:
    """Raise for an address that the UI would fail on, most often without a word.

    Since January 2026 the UI's service worker answers 403 for any external address with a query;
    its content security policy lets plain http through to 127.0.0.1 alone.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url}: not an address ({error}); give the file's https URL") from None
    local = parts.scheme == "http" and parts.hostname == "127.0.0.1"
    if not (parts.scheme == "https" or local) or not parts.hostname:
        raise UsageError(f"{url}: Perfetto fetches https addresses only; give the file's https URL")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"https://…@{parts.hostname}: a browser does not fetch an address with a login in it; "
            "give the file's address without it"
        )
    if "?" in url or "#" in url:
        raise UsageError(
            f"{url}: Perfetto refuses a file address with '?' or '#' in it; "
            "leave the query out, and write a '?' or '#' of the name as %3F or %23"
        )
    if quote(url, safe="%/:@[]!$&'()*+,;=-._~") != url or re.search("%(?![0-9A-Fa-f]{2})", url):
        raise UsageError(
            f"{url}: not quoted; write each character that a URL does not allow as %XX (a space "
            "as %20, a % as %25)"
        )
