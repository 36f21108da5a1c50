"""Reads the list of events chunk by chunk.

The text is cut at an event border optimistically, and the decode proves the cut: a chunk that
starts at a true border and is a JSON list ends at one too. Where a chunk does not decode, it is
read event by event, mending what can be mended and counting the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from trace_util.another_trace import EVENTS
from trace_util.batch import BROKEN, Batch
from trace_util.intake import Intake
from trace_util.repair import (
    COMMAS,
    NO_COMMA,
    STRUCTURAL,
    has_doubled_keys,
    mended_characters,
    mended_event,
)
from trace_util.text_window import CHUNK_BYTES, LARGEST_BYTES, MENDED_BYTES, Window

LAST_EVENT: Final = "event cut off at the end of the file"
GIVEN_UP: Final = "bytes given up on, after too many broken events"

_TRIES = 8  # candidates for a cut, for each way of looking for them
_SALVAGE_BYTES = 1 << 16  # how far to go at a time behind a broken place
_MOST_BROKEN = 10_000  # broken events in a row after which the rest is given up

_BORDER = re.compile(rb"\}(?=\s*,\s*\{)")
_BORDER_OR_END = re.compile(rb"\}(?=\s*,\s*\{|[\s,]*\]\s*(?:,\s*\"|\}|$)|[\s,]*$)")
_SEPARATOR = re.compile(rb"\}\s*,\s*\{")
_FIRST_KEY = re.compile(rb'\s*"[^"\\]{1,64}"')
_EVENT_START = re.compile(rb'\{\s*"(?:ph|name|cat|pid|tid|ts|dur)"\s*:')
_LIST_END = re.compile(rb'\](?=\s*(?:,\s*"|\}|$))')
_OPENING, _CLOSING = b"{]"
_ERROR_AT = re.compile(r"\(byte (\d+)\)")


class _Outcome(NamedTuple):
    """What came of taking a stretch of text for whole events."""

    kind: str  # "taken", "closed" (so, and the list ends in it), "cut" (ends too early) or "broken"
    at: int = -1  # closed: behind the closing bracket; broken: at the first fault, -1 if unknown


class EventList:
    """The list of events, from behind its opening bracket to behind its closing one."""

    def __init__(self, window: Window, intake: Intake) -> None:
        self.window = window
        self.intake = intake
        self._separator = b""  # between two events, as learned from a cut that held
        self._opening = b""  # the same, up to the first key of the second event
        self._broken_in_a_row = 0
        self._batch = Batch(intake)
        self._add: Callable[[bytes | memoryview], None] = intake.add
        self._bare = (0, 0)  # a stretch without a border
        self._commas = 0  # of the window's, up to the last event
        self._wanted: int | None = 0  # commas before the next event; `None`: behind what was lost

    def read(self, follows_event: bool = False) -> bool:
        """Take in all events; False where the text ends before the list does.

        ``follows_event`` says that the text starts behind an event, and not behind the bracket.
        """
        window = self.window
        self._wanted, self._commas = int(follows_event), window.commas
        if window.peek():
            self._short_list()
        while first := window.peek():
            self._note_commas(is_end=first == b"]")
            if first == b"]":
                window.at += 1
                return True
            self._chunk()
        return False

    def _note_commas(self, is_end: bool = False) -> None:
        """Count the commas too many, or the one too few, before an event or the end of the list."""
        passed, self._commas = self.window.commas - self._commas, self.window.commas
        if self._wanted is not None:
            wanted = 0 if is_end else self._wanted
            self.intake.repairs[COMMAS] += max(passed - wanted, 0)
            self.intake.repairs[NO_COMMA] += max(wanted - passed, 0)
        self._wanted = 1

    def _short_list(self) -> None:
        """Take in a list that ends soon, so that thousands of them are not each looked for far."""
        window = self.window
        end = min(window.at + _SALVAGE_BYTES, len(window.data))
        if end < len(window.data) and window.data[window.at] != _CLOSING:
            outcome = self._attempt(window.at, end)
            if outcome.kind in ("taken", "closed"):
                self._note_commas()
                self._settled(outcome, end)

    def _chunk(self) -> None:
        """Take in the events of about one chunk."""
        window = self.window
        available = len(window.data) - window.at
        if available < CHUNK_BYTES:
            window.grow(CHUNK_BYTES - available)
        while not window.ended:
            for end in self._cuts():
                outcome = self._attempt(window.at, end)
                if outcome.kind == "taken":
                    self._learn(end)
                if self._settled(outcome, end):
                    return
            size = len(window.data) - window.at
            if size > LARGEST_BYTES:
                return self._salvage(len(window.data))
            window.grow(size)
        end = len(window.data)
        if not self._settled(self._attempt(window.at, end), end):
            self._salvage(end)

    def _settled(self, outcome: _Outcome, end: int) -> bool:
        """Act on what came of ``data[at:end]``; False where the cut was wrong."""
        if outcome.kind == "taken":
            self.window.at = end
        elif outcome.kind == "closed":
            self.window.at = outcome.at - 1
        elif outcome.kind == "broken":
            self._salvage(end)
        else:
            return False
        return True

    def _cuts(self) -> Iterator[int]:
        """Where to cut the window, behind an event: the best guess first."""
        data, start = self.window.data, self.window.at
        tried = set()
        for text in filter(None, (self._opening, self._separator)):
            end = len(data)
            for _ in range(_TRIES):
                end = data.rfind(text, start, end)
                if end < 0:
                    break
                if end not in tried:
                    tried.add(end)
                    yield end + 1
        for near in (max(start, len(data) - _SALVAGE_BYTES), start):
            for match in list(_BORDER.finditer(data, near))[: -_TRIES - 1 : -1]:
                if match.start() not in tried:
                    tried.add(match.start())
                    yield match.end()

    def _learn(self, end: int) -> None:
        data = self.window.data
        if self._opening and data.startswith(self._opening, end - 1):
            return
        separator = _SEPARATOR.match(data, end - 1)
        if separator:
            key = _FIRST_KEY.match(data, separator.end())
            self._separator = bytes(separator[0])
            self._opening = self._separator + (key[0] if key else b"")

    def _attempt(self, start: int, end: int) -> _Outcome:
        """Take ``data[start:end]`` for whole events."""
        data = self.window.data
        if start < 1 or end >= len(data):
            outcome = self._take(b"".join((b"[", memoryview(data)[start:end], b"]")))
        else:
            # In place: what stands before and behind events is a comma, a bracket or space.
            before, behind = data[start - 1], data[end]
            data[start - 1], data[end] = b"[]"
            outcome = self._take(memoryview(data)[start - 1 : end + 1])
            data[start - 1], data[end] = before, behind
        if outcome.kind == "closed":
            # The decoder tells what it found behind the list; the bracket is the last one before.
            bracket = data.rindex(b"]", start, start + outcome.at - 2)
            inner = self._attempt(start, bracket)
            return _Outcome("closed", bracket + 1) if inner.kind == "taken" else inner
        return outcome if outcome.at < 0 else outcome._replace(at=start + outcome.at - 1)

    def _take(self, text: bytes | memoryview) -> _Outcome:
        try:
            self._add(text)
        except RecursionError:
            return _Outcome("broken")
        except msgspec.DecodeError as error:
            message = str(error)
            at = _ERROR_AT.search(message)
            if "truncated" in message:
                return _Outcome("cut")
            if at is None:
                return _Outcome("broken")
            kind = "closed" if "trailing characters" in message else "broken"
            return _Outcome(kind, int(at[1]))
        self._broken_in_a_row = 0
        return _Outcome("taken")

    def _salvage(self, end: int) -> None:
        """Take in what can be read of ``data[at:end]``, up to there or to the end of the list."""
        window = self.window
        mended = mended_characters(bytes(window.data[window.at : end]), self.intake.repairs)
        end = window.replace(end, mended)
        self._add = self._batch.hold
        self._bare = (0, 0)
        reach, noted = end, window.at
        # The text is exchanged for what follows where it is given up.
        while (
            window.skip_filling() < end <= len(window.data) and window.data[window.at] != _CLOSING
        ):
            if window.at != noted:
                self._note_commas()
                noted = window.at
            if reach:
                reach = 2 * reach if self._stretch(end, reach) else 0
            else:  # as long as every event is broken there is no use in trying more than one
                reach = _SALVAGE_BYTES if self._one_event(end) else 0
        self._batch.flush()
        self._add = self.intake.add

    def _stretch(self, end: int, reach: int) -> bool:
        """Take in about ``reach`` bytes, or what lies before the first fault; False for nothing."""
        window = self.window
        start = window.at
        stop = end if start + reach >= end else self._border(start, start + reach) or end
        outcome = self._attempt(start, stop)
        if outcome.kind in ("broken", "cut"):
            # All that lies before the fault, or before the last border if there is none.
            fault = outcome.at if outcome.at > start else stop
            stop = self._border(start, fault)
            outcome = self._attempt(start, stop) if stop else outcome
            if outcome.kind in ("broken", "cut"):
                return self._events_before(fault, end)
        if outcome.kind == "taken":
            self._learn(stop)
        return self._settled(outcome, stop)

    def _events_before(self, fault: int, end: int) -> bool:
        """Take in the events at the window's start if a fault lies behind them, and not in them."""
        window = self.window
        behind = window.data.rfind(b"}", window.at, fault) + 1
        if not behind or self._attempt(window.at, behind).kind != "taken":
            return False
        window.at = behind
        if window.skip_filling() < end and window.data[window.at] not in b"{]":
            text, junk = window.data, window.at
            found = _EVENT_START.search(text, junk, end) or _LIST_END.search(text, junk, end)
            self._drop(found.start() if found else end)
        return True

    def _border(self, start: int, before: int) -> int:
        """The end of the last event in ``data[start:before]`` behind which another starts; or 0."""
        data = self.window.data
        if self._separator:
            found = data.rfind(self._separator, start, before)
            if found >= 0:
                return found + 1
        if self._bare[0] <= start and before <= self._bare[1]:
            return 0
        found = max((match.end() for match in _BORDER.finditer(data, start, before)), default=0)
        if not found:
            self._bare = (start, before)
        return found

    def _one_event(self, end: int) -> bool:
        """Take in the event at the window's start as it is (True), or mended; or drop it."""
        window = self.window
        start = window.at
        for attempt in (self._attempt, self._mended_attempt):
            for stop in self._ends(start, end):
                outcome = attempt(start, stop)
                if outcome.kind == "taken":
                    self._learn(stop)
                    window.at = stop
                    return attempt == self._attempt
                if attempt == self._attempt:
                    if outcome.kind == "closed":
                        return self._settled(outcome, stop)
                    if outcome.at > start and self._events_before(outcome.at, end):
                        return True
                if outcome.kind != "cut":
                    break  # the fault lies before this end, so a later one changes nothing
        self._drop(next(self._ends(start, end)))
        return False

    def _ends(self, start: int, end: int) -> Iterator[int]:
        """Where the event that starts at ``start`` may end: at one of the next few borders."""
        at = start
        for _ in range(4):
            border = _BORDER_OR_END.search(self.window.data, at, end)
            if border is None:
                yield end
                return
            at = border.end()
            yield at

    def _mended_attempt(self, start: int, end: int) -> _Outcome:
        if end - start > MENDED_BYTES:
            return _Outcome("broken")
        repairs: Counter[str] = Counter()
        text = mended_event(bytes(self.window.data[start:end]), repairs)
        if not STRUCTURAL.isdisjoint(repairs) and has_doubled_keys(text):
            return _Outcome("broken")
        outcome = self._take(b"[" + text + b"]")
        if outcome.kind == "taken":
            self.intake.repairs += repairs
        return outcome

    def _drop(self, end: int) -> None:
        """Leave out the event at the window's start, up to where another list of events starts."""
        window = self.window
        another = EVENTS.search(window.data, window.at, end)
        self._wanted = None
        end = another.end() if another else end
        if window.data[window.at] != _OPENING:
            event = _EVENT_START.search(window.data, window.at, end)
            end = event.start() if event else end
        at_end = window.ended and end == len(window.data)
        self._batch.leave_out(LAST_EVENT if at_end else BROKEN)
        window.at = end
        self._broken_in_a_row += 1
        if self._broken_in_a_row >= _MOST_BROKEN:
            self.intake.skipped[GIVEN_UP] += window.discard()
