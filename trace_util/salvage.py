"""Reads a stretch of broken text event by event: mends what can be mended and counts the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from trace_util.another_trace import EVENTS
from trace_util.batch import BROKEN, Batch
from trace_util.event_text import CLOSING, EventText, Outcome
from trace_util.repair import STRUCTURAL, has_doubled_keys, mended_characters, mended_event
from trace_util.text_window import MENDED_BYTES

LAST_EVENT: Final = "event cut off at the end of the file"
GIVEN_UP: Final = "bytes given up on, after too many broken events"
STRETCH_BYTES: Final = 1 << 16  # how far to go at a time behind a broken place

_MOST_BROKEN = 10_000  # broken events in a row after which the rest is given up

BORDER: Final = re.compile(rb"\}(?=\s*,\s*\{)")
_BORDER_OR_END = re.compile(rb"\}(?=\s*,\s*\{|[\s,]*\]\s*(?:,\s*\"|\}|$)|[\s,]*$)")
_EVENT_START = re.compile(rb'\{\s*"(?:ph|name|cat|pid|tid|ts|dur)"\s*:')
_LIST_END = re.compile(rb'\](?=\s*(?:,\s*"|\}|$))')
_OPENING = ord("{")


class Salvage:
    """What can be had of text in which some event is broken."""

    def __init__(self, text: EventText) -> None:
        self.text = text
        self.window = text.window
        self.intake = text.intake
        self._batch = Batch(text.intake)
        self._bare = (0, 0)  # a stretch without a border

    def read(self, end: int) -> None:
        """Take in what can be read of ``data[at:end]``, up to there or to the end of the list."""
        window = self.window
        mended = mended_characters(bytes(window.data[window.at : end]), self.intake.repairs)
        end = window.replace(end, mended)
        self.text.add = self._batch.hold
        self._bare = (0, 0)
        reach, noted = end, window.at
        # The text is exchanged for what follows where it is given up.
        while window.skip_filling() < end <= len(window.data) and window.data[window.at] != CLOSING:
            if window.at != noted:
                self.text.note_commas()
                noted = window.at
            if reach:
                reach = 2 * reach if self._stretch(end, reach) else 0
            else:  # as long as every event is broken there is no use in trying more than one
                reach = STRETCH_BYTES if self._one_event(end) else 0
        self._batch.flush()
        self.text.add = self.intake.add

    def _stretch(self, end: int, reach: int) -> bool:
        """Take in about ``reach`` bytes, or what lies before the first fault; False for nothing."""
        window = self.window
        start = window.at
        stop = end if start + reach >= end else self._border(start, start + reach) or end
        outcome = self.text.attempt(start, stop)
        if outcome.kind in ("broken", "cut"):
            # All that lies before the fault, or before the last border if there is none.
            fault = outcome.at if outcome.at > start else stop
            stop = self._border(start, fault)
            outcome = self.text.attempt(start, stop) if stop else outcome
            if outcome.kind in ("broken", "cut"):
                return self._events_before(fault, end)
        if outcome.kind == "taken":
            self.text.learn(stop)
        window.at = stop if outcome.kind == "taken" else outcome.at - 1
        return True

    def _events_before(self, fault: int, end: int) -> bool:
        """Take in the events at the window's start if a fault lies behind them, and not in them."""
        window = self.window
        behind = window.data.rfind(b"}", window.at, fault) + 1
        if not behind or self.text.attempt(window.at, behind).kind != "taken":
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
        if self.text.separator:
            found = data.rfind(self.text.separator, start, before)
            if found >= 0:
                return found + 1
        if self._bare[0] <= start and before <= self._bare[1]:
            return 0
        found = max((match.end() for match in BORDER.finditer(data, start, before)), default=0)
        if not found:
            self._bare = (start, before)
        return found

    def _one_event(self, end: int) -> bool:
        """Take in the event at the window's start as it is (True), or mended; or drop it."""
        window = self.window
        start = window.at
        for attempt in (self.text.attempt, self._mended_attempt):
            for stop in self._ends(start, end):
                outcome = attempt(start, stop)
                if outcome.kind == "taken":
                    self.text.learn(stop)
                    window.at = stop
                    return attempt == self.text.attempt
                if attempt == self.text.attempt:
                    if outcome.kind == "closed":
                        window.at = outcome.at - 1
                        return True
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

    def _mended_attempt(self, start: int, end: int) -> Outcome:
        if end - start > MENDED_BYTES:
            return Outcome("broken")
        repairs: Counter[str] = Counter()
        text = mended_event(bytes(self.window.data[start:end]), repairs)
        if not STRUCTURAL.isdisjoint(repairs) and has_doubled_keys(text):
            return Outcome("broken")
        outcome = self.text.take(b"[" + text + b"]")
        if outcome.kind == "taken":
            self.intake.repairs += repairs
        return outcome

    def _drop(self, end: int) -> None:
        """Leave out the event at the window's start, up to where another list of events starts."""
        window = self.window
        another = EVENTS.search(window.data, window.at, end)
        self.text.wanted_commas = None
        end = another.end() if another else end
        if window.data[window.at] != _OPENING:
            event = _EVENT_START.search(window.data, window.at, end)
            end = event.start() if event else end
        at_end = window.ended and end == len(window.data)
        self._batch.leave_out(LAST_EVENT if at_end else BROKEN)
        window.at = end
        self.text.broken_in_a_row += 1
        if self.text.broken_in_a_row >= _MOST_BROKEN:
            self.intake.skipped[GIVEN_UP] += window.discard()
