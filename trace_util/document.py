"""Walks the text of a trace file: top-level keys, the list of events, and more keys behind it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from trace_util.another_trace import EVENTS, PHASE
from trace_util.event_list import EventList
from trace_util.intake import Intake
from trace_util.repair import mended_characters, mended_event
from trace_util.text_window import CHUNK_BYTES, LARGEST_BYTES, MENDED_BYTES, Window

EVENTS_KEY: Final = "traceEvents"
CUT_OFF: Final = "end of the file missing"
AFTER_END: Final = "bytes after the end of the trace"
DUPLICATES: Final = "duplicate header keys"
FURTHER_LISTS: Final = "further values of traceEvents"
HEADER: Final = "unreadable header values"
JUNK: Final = "unreadable header text"

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+(?=[\s,\]}])")


class Document:
    """One trace file being read into an intake; ``header`` holds its other top-level keys."""

    def __init__(self, blocks: Iterator[bytes], intake: Intake) -> None:
        self.window = Window(blocks)
        self.intake = intake
        self.header: dict[str, Any] = {}
        self.lists: list[int] = []  # how many events each list of them holds
        self.is_closed = False  # the last of them
        self.has_two_texts = False  # events behind the end, or where the text has broken off
        self.conflicts: dict[str, None] = {}  # header keys that stand twice, with unlike values
        self.top = b""  # the byte that the text opens with
        self.start = b""  # how the text starts, to tell what it is where it is no trace

    def read(self) -> None:
        """Read all of it."""
        window = self.window
        self.top = window.peek()
        self.start = bytes(window.data[window.at : window.at + 4096])
        if self.top == b"[":
            window.at += 1
            self._events()
        elif self.top == b"{":
            window.at += 1
            self._object()
        elif self._find_events():
            self._events()
            self._object()
        self._rest()

    def resume(self, top: bytes) -> None:
        """Read on from between two events, in a text that opens with ``top``."""
        self.top = top
        self._events(follows_event=True)
        if top == b"{" and self.is_closed:
            self._object()
        self._rest()

    def _object(self) -> None:
        """The keys of the top-level object, up to its end."""
        window = self.window
        is_first = not self.lists and not self.header
        commas = window.commas
        while first := window.peek():
            if first == b"}":
                window.at += 1
                return
            self.intake.repairs[JUNK] += not (is_first or window.commas > commas)
            is_first = False
            key = self._value() if first == b'"' else None
            if not isinstance(key, str) or window.peek() != b":":
                if not self._find_events():
                    break
                self.has_two_texts |= bool(self.lists)
                self._events()
                commas = window.commas
                continue
            window.at += 1
            if window.peek() == b"[" and key == EVENTS_KEY:
                window.at += 1
                self._another_list()
                self._events()
            elif window.peek() != b"}":
                self._header_value(key)
            commas = window.commas
        self.intake.repairs[CUT_OFF] = 1

    def _another_list(self) -> None:
        """Note it where ``traceEvents`` stands again: with a list, as here, or with no list."""
        if EVENTS_KEY in self.header:
            del self.header[EVENTS_KEY]
            self.lists.append(0)
        self.intake.repairs[FURTHER_LISTS] += bool(self.lists)

    def _header_value(self, key: str) -> None:
        """Keep a value of the header: the last of two, unless it is unreadable."""
        value = self._value()
        if key == EVENTS_KEY and self.lists:
            self.intake.repairs[FURTHER_LISTS] += 1
            self.lists.append(0)
            return
        if key in self.header:
            self.intake.repairs[DUPLICATES] += 1
            if value is not _UNREADABLE and value != self.header[key]:
                self.conflicts[key] = None
        if value is not _UNREADABLE:
            self.header[key] = value
        else:
            self.header.setdefault(key, None)

    def _value(self) -> Any:
        """The JSON value that starts here, read past; ``_UNREADABLE`` if it cannot be decoded."""
        window = self.window
        while (end := _value_end(window.data, window.at)) is None:
            size = len(window.data) - window.at
            if size > LARGEST_BYTES:
                self.intake.skipped[HEADER] += 1
                return self._passed_over(len(window.data))
            if not window.grow(max(size, CHUNK_BYTES)):
                return self._passed_over(len(window.data))
        text = bytes(window.data[window.at : end])
        value = self._decoded(text)
        if value is _UNREADABLE:
            self.intake.skipped[HEADER] += 1
            return self._passed_over(max(end, window.at + 1))
        window.at = end
        return value

    def _passed_over(self, end: int) -> Any:
        """Move on to ``end``, but never past a list of events: a quote too many hides its start."""
        events = EVENTS.search(self.window.data, self.window.at, end)
        self.window.at = events.start() if events else end
        return _UNREADABLE

    def _decoded(self, text: bytes) -> Any:
        for mend in (None, mended_characters, mended_event):
            repairs: Counter[str] = Counter()
            if mend is not None:
                if len(text) > MENDED_BYTES or EVENTS.search(text):
                    break
                text = mend(text, repairs)
            try:
                value = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                continue
            finally:
                self.intake.repairs += repairs
            return value
        return _UNREADABLE

    def _find_events(self) -> bool:
        """Skip to the inside of the next list of events, over text that makes no sense."""
        window = self.window
        self.intake.repairs[JUNK] += 1
        window.at = max(window.at - 1, 0)  # its quote may have closed a string that was left open
        passed = 0
        while True:
            match = EVENTS.search(window.data, window.at)
            end = match.start() if match else max(window.at, len(window.data) - 64)
            if self.lists and PHASE.search(window.data, window.at, end + 64):
                self.has_two_texts = True
            passed += end - window.at
            window.at = match.end() if match else end
            if match:
                return True
            if not window.grow(CHUNK_BYTES):
                passed += len(window.data) - window.at
                window.at = len(window.data)
                self.intake.skipped[AFTER_END] += passed if self.lists else 0
                return False

    def _events(self, *, follows_event: bool = False) -> None:
        before = self.intake.rows
        self.is_closed = EventList(self.window, self.intake, follows_event).read()
        self.lists.append(self.intake.rows - before)
        if not self.is_closed:
            self.intake.repairs[CUT_OFF] = 1

    def _rest(self) -> None:
        """Count what follows the end of the trace: nothing, usually."""
        window = self.window
        if window.peek() and not self.lists and self._find_events():
            self._events()
            self._object()
        if window.peek():
            behind = window.data[window.at :]
            self.has_two_texts = b'"ph"' in behind or b'"name"' in behind
            self.intake.skipped[AFTER_END] += window.discard()


_UNREADABLE: Final = object()


def _value_end(data: bytearray, at: int) -> int | None:
    """Where the JSON value that starts at ``at`` ends; ``None`` if not within ``data``."""
    first = bytes(data[at : at + 1])
    if first == b'"':
        match = _STRING.match(data, at)
        return match.end() if match else None
    if first not in (b"{", b"["):
        match = _SCALAR.match(data, at)
        return match.end() if match else None
    depth = 0
    for match in _TOKEN.finditer(data, at):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if not depth:
                return match.end()
        elif token == b'"':  # a string that does not end here
            return None
    return None
