"""What proves a statement about a trace: numbers with their units, and events to be found again."""

from __future__ import annotations

from typing import NamedTuple

Value = int | float | str | None


class EventRow(NamedTuple):
    """An event that proves something, so that a reader can find it in the file."""

    name: str
    start_ns: int  # on the file's own clock
    since_first_ns: int  # since the first event of the trace, as viewers count
    duration_ns: int
    row: int  # position in the file's list of events
    trace: str  # "" for the trace that is checked, else the path of the one beside it


class Evidence(NamedTuple):
    """A number with its unit, or events, or both. ``unit`` is "ns", "share", "bytes" or ""."""

    what: str
    value: Value = None
    unit: str = ""
    events: tuple[EventRow, ...] = ()
