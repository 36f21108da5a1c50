"""Reads the list of events chunk by chunk.

The text is cut at an event border optimistically, and the decode proves the cut: a chunk that
starts at a true border and is a JSON list ends at one too. Where a chunk does not decode, it is
read event by event (:mod:`trace_util.salvage`).
"""

from __future__ import annotations

from collections.abc import Iterator

from trace_util.event_text import CLOSING, EventText, Outcome
from trace_util.intake import Intake
from trace_util.salvage import BORDER, STRETCH_BYTES, Salvage
from trace_util.text_window import CHUNK_BYTES, LARGEST_BYTES, Window

_TRIES = 8  # candidates for a cut, for each way of looking for them


class EventList:
    """The list of events, from behind its opening bracket to behind its closing one.

    ``follows_event`` says that the text starts behind an event, and not behind the bracket.
    """

    def __init__(self, window: Window, intake: Intake, follows_event: bool = False) -> None:
        self.window = window
        self._text = EventText(window, intake, follows_event)
        self._salvage = Salvage(self._text)

    def read(self) -> bool:
        """Take in all events; False where the text ends before the list does."""
        window = self.window
        if window.peek():
            self._short_list()
        while first := window.peek():
            self._text.note_commas(is_end=first == b"]")
            if first == b"]":
                window.at += 1
                return True
            self._chunk()
        return False

    def _short_list(self) -> None:
        """Take in a list that ends soon, so that thousands of them are not each looked for far."""
        window = self.window
        end = min(window.at + STRETCH_BYTES, len(window.data))
        if end < len(window.data) and window.data[window.at] != CLOSING:
            outcome = self._text.attempt(window.at, end)
            if outcome.kind in ("taken", "closed"):
                self._text.note_commas()
                self._settled(outcome, end)

    def _chunk(self) -> None:
        """Take in the events of about one chunk."""
        window = self.window
        available = len(window.data) - window.at
        if available < CHUNK_BYTES:
            window.grow(CHUNK_BYTES - available)
        while not window.ended:
            for end in self._cuts():
                outcome = self._text.attempt(window.at, end)
                if outcome.kind == "taken":
                    self._text.learn(end)
                if self._settled(outcome, end):
                    return
            size = len(window.data) - window.at
            if size > LARGEST_BYTES:
                return self._salvage.read(len(window.data))
            window.grow(size)
        end = len(window.data)
        if not self._settled(self._text.attempt(window.at, end), end):
            self._salvage.read(end)

    def _settled(self, outcome: Outcome, end: int) -> bool:
        """Act on what came of ``data[at:end]``; False where the cut was wrong."""
        if outcome.kind == "taken":
            self.window.at = end
        elif outcome.kind == "closed":
            self.window.at = outcome.at - 1
        elif outcome.kind == "broken":
            self._salvage.read(end)
        else:
            return False
        return True

    def _cuts(self) -> Iterator[int]:
        """Where to cut the window, behind an event: the best guess first."""
        data, start = self.window.data, self.window.at
        tried = set()
        for text in filter(None, (self._text.opening, self._text.separator)):
            end = len(data)
            for _ in range(_TRIES):
                end = data.rfind(text, start, end)
                if end < 0:
                    break
                if end not in tried:
                    tried.add(end)
                    yield end + 1
        for near in (max(start, len(data) - STRETCH_BYTES), start):
            for match in list(BORDER.finditer(data, near))[: -_TRIES - 1 : -1]:
                if match.start() not in tried:
                    tried.add(match.start())
                    yield match.end()
