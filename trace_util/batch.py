"""Events that were checked one by one, taken in together: that is several times as fast."""

from __future__ import annotations

from typing import Final

import msgspec

from trace_util.another_trace import refuse_another_trace
from trace_util.intake import Intake
from trace_util.text_window import CHUNK_BYTES

BROKEN: Final = "broken events"

_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Batch:
    """Events of a stretch of text, in their order, on their way into an intake."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._texts: list[bytes] = []  # lists of events, without their brackets
        self._size = 0  # of all texts
        self._count = 0  # of the events in them
        self._gaps: list[int] = []  # before which of them one was left out

    def hold(self, text: bytes | memoryview) -> None:
        """Keep a JSON list of events.

        Raises ``msgspec.DecodeError`` where the text is malformed, and has then changed nothing.
        """
        count = len(_ITEMS.decode(text))
        refuse_another_trace(text)
        if not count:
            return
        self._texts.append(bytes(text[1:-1]))
        self._size += len(text)
        self._count += count
        if self._size > CHUNK_BYTES:
            self.flush()

    def leave_out(self, reason: str) -> None:
        """Count an event that cannot be read."""
        self._intake.skipped[reason] += 1
        self._gaps.append(self._count)

    def flush(self) -> None:
        """Hand all of it on."""
        text, gaps = b"[" + b",".join(self._texts) + b"]", self._gaps
        self._texts, self._size, self._count, self._gaps = [], 0, 0, []
        try:
            self._intake.add(text, gaps)
        except (msgspec.DecodeError, RecursionError):
            self._one_by_one(text, gaps)

    def _one_by_one(self, text: bytes, gaps: list[int]) -> None:
        """As some of it is refused after all."""
        at = 0
        for position, item in enumerate(_ITEMS.decode(text)):
            before = at
            while at < len(gaps) and gaps[at] <= position:
                at += 1
            try:
                self._intake.add(b"[" + bytes(item) + b"]", [0] * (at - before))
            except (msgspec.DecodeError, RecursionError):
                self._intake.skipped[BROKEN] += 1
                self._intake.add(b"[]", [0] * (at - before + 1))
        self._intake.add(b"[]", [0] * (len(gaps) - at))
