"""The text of events in the window, of which stretches are taken for whole events and decoded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from trace_util.intake import Intake
from trace_util.repair import COMMAS, NO_COMMA
from trace_util.text_window import Window

CLOSING = ord("]")

_SEPARATOR = re.compile(rb"\}\s*,\s*\{")
_FIRST_KEY = re.compile(rb'\s*"[^"\\]{1,64}"')
_ERROR_AT = re.compile(r"\(byte (\d+)\)")


class Outcome(NamedTuple):
    """What came of taking a stretch of text for whole events."""

    kind: str  # "taken", "closed" (so, and the list ends in it), "cut" (ends too early) or "broken"
    at: int = -1  # closed: behind the closing bracket; broken: at the first fault, -1 if unknown


class EventText:
    """The text of one list of events, and what has been learned of it so far."""

    def __init__(self, window: Window, intake: Intake, follows_event: bool) -> None:
        self.window = window
        self.intake = intake
        self.add: Callable[[bytes | memoryview], None] = intake.add
        self.separator = b""  # between two events, as learned from a cut that held
        self.opening = b""  # the same, up to the first key of the second event
        self.broken_in_a_row = 0
        # Commas before the next event; `None` behind what was lost.
        self.wanted_commas: int | None = int(follows_event)
        self._commas = window.commas  # up to the last event

    def attempt(self, start: int, end: int) -> Outcome:
        """Take ``data[start:end]`` for whole events."""
        data = self.window.data
        if start < 1 or end >= len(data):
            outcome = self.take(b"".join((b"[", memoryview(data)[start:end], b"]")))
        else:
            # In place: what stands before and behind events is a comma, a bracket or space.
            before, behind = data[start - 1], data[end]
            data[start - 1], data[end] = b"[]"
            outcome = self.take(memoryview(data)[start - 1 : end + 1])
            data[start - 1], data[end] = before, behind
        if outcome.kind == "closed":
            # The decoder tells what it found behind the list; the bracket is the last one before.
            bracket = data.rindex(b"]", start, start + outcome.at - 2)
            inner = self.attempt(start, bracket)
            return Outcome("closed", bracket + 1) if inner.kind == "taken" else inner
        return outcome if outcome.at < 0 else outcome._replace(at=start + outcome.at - 1)

    def take(self, text: bytes | memoryview) -> Outcome:
        """Take a JSON list of events in."""
        try:
            self.add(text)
        except RecursionError:
            return Outcome("broken")
        except msgspec.DecodeError as error:
            message = str(error)
            at = _ERROR_AT.search(message)
            if "truncated" in message:
                return Outcome("cut")
            if at is None:
                return Outcome("broken")
            kind = "closed" if "trailing characters" in message else "broken"
            return Outcome(kind, int(at[1]))
        self.broken_in_a_row = 0
        return Outcome("taken")

    def learn(self, end: int) -> None:
        """How events are set apart, from a cut between two of them that held."""
        data = self.window.data
        if self.opening and data.startswith(self.opening, end - 1):
            return
        separator = _SEPARATOR.match(data, end - 1)
        if separator:
            key = _FIRST_KEY.match(data, separator.end())
            self.separator = bytes(separator[0])
            self.opening = self.separator + (key[0] if key else b"")

    def note_commas(self, is_end: bool = False) -> None:
        """Count the commas too many, or the one too few, before an event or the end of the list."""
        passed, self._commas = self.window.commas - self._commas, self.window.commas
        if self.wanted_commas is not None:
            wanted = 0 if is_end else self.wanted_commas
            self.intake.repairs[COMMAS] += max(passed - wanted, 0)
            self.intake.repairs[NO_COMMA] += max(wanted - passed, 0)
        self.wanted_commas = 1
