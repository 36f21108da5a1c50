"""Whether a file that calls itself a trace is whole and has events, told while it passes by."""

from __future__ import annotations


class Survey:
    """Watches the pieces of a text (:func:`trace_util.json_strings.pieces`)."""

    def __init__(self) -> None:
        self._depth = 0
        self._last = b""
        self.has_events = False  # a member named "ph" was seen

    def feed(self, parts: list[bytes]) -> None:
        """Take note of one list of pieces."""
        outside = b"".join(parts[0::2])
        self._depth += outside.count(b"{") + outside.count(b"[")
        self._depth -= outside.count(b"}") + outside.count(b"]")
        self._last = (outside.rstrip() or self._last)[-1:]
        self.has_events = self.has_events or b'"ph"' in parts[1::2]

    @property
    def is_whole(self) -> bool:
        """Whether every bracket was closed, and nothing stands open at the end."""
        return self._depth == 0 and self._last in (b"}", b"]")
