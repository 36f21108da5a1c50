"""Tells of a whole trace among the events of another: a second writer went on where one stopped."""

from __future__ import annotations

import re
from typing import Final

import msgspec

EVENTS: Final = re.compile(rb'"traceEvents"\s*:\s*\[')

_KEY: Final = b'"traceEvents"'
PHASE: Final = re.compile(rb'"ph"\s*:')
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def refuse_another_trace(text: bytes | memoryview) -> None:
    """Return if the items of a JSON list of events are no traces themselves.

    Raises:
        msgspec.DecodeError: one is; the message tells the byte behind the start of it.
    """
    data = bytes(text)
    if data.rfind(_KEY) < 0:  # as nearly always; much faster than a search from the left
        return
    for found in EVENTS.finditer(data):
        start = _item_of_member(data, found.start())
        if start is not None and not PHASE.search(data, start, found.start()):
            raise msgspec.DecodeError(f"another trace among the events (byte {start + 1})")


def _item_of_member(data: bytes, at: int) -> int | None:
    """Where the item of the list starts of which ``at`` is a member; ``None`` if it is deeper."""
    opened: list[int] = []
    for token in _TOKEN.finditer(data, 0, at):
        if token[0] in (b"{", b"["):
            opened.append(token.start())
        elif token[0] in (b"}", b"]") and opened:
            opened.pop()
    return opened[1] if len(opened) == 2 else None
