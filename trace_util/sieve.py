"""Copies a trace with only some of its events, each of them byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from trace_util import content
from trace_util.another_trace import refuse_another_trace
from trace_util.document import EVENTS_KEY, Document
from trace_util.intake import Intake
from trace_util.sources import Source
from trace_util.times import INVALID_NS, nanoseconds_of_texts

DROP, KEEP, LOOK = 0, 1, 2  # what is to be done with a row
_ROWS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Other(msgspec.Struct, gc=False, frozen=True):
    """What there is to know of a row that is no complete event."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    ts: msgspec.Raw = msgspec.Raw(b"")

    @property
    def start_ns(self) -> int | None:
        """When it happened, ``None`` where it does not say."""
        if not bytes(self.ts):
            return None
        found = int(nanoseconds_of_texts([bytes(self.ts)])[0])
        return None if found == INVALID_NS else found


_OTHER: Final = msgspec.json.Decoder(Other, strict=False)
Wanted = Callable[[Other], bool]


def _other(raw: msgspec.Raw) -> Other:
    """What a row says; nothing where it is of types that no row has, or no row at all."""
    try:
        return _OTHER.decode(raw)
    except msgspec.DecodeError:
        return Other()


class _Sieve(Intake):
    """Is given the events as an :class:`Intake` is, and writes down the text of the wanted ones."""

    def __init__(
        self, codes: NDArray[np.uint8], wanted: Wanted, write: Callable[[bytes], Any]
    ) -> None:
        super().__init__("summary")
        self._codes = codes
        self._is_wanted = wanted
        self._write = write
        self.kept = 0

    def add(self, text: bytes | memoryview, gaps: Sequence[int] = ()) -> None:
        """Write the wanted ones of a JSON list of events, with a comma before all but the first."""
        rows = _ROWS.decode(text)
        refuse_another_trace(text)
        codes = self._codes[self.numbers(len(rows), gaps)].tolist()
        self.rows += len(rows) + len(gaps)
        for raw, code in zip(rows, codes, strict=True):
            if code == KEEP or (code == LOOK and self._is_wanted(_other(raw))):
                self._write(b",\n" if self.kept else b"\n")
                self._write(bytes(raw))
                self.kept += 1


def sift(
    source: Path, target: Path, codes: NDArray[np.uint8], wanted: Wanted, note: dict[str, Any]
) -> int:
    """Copy the events whose row's code is ``KEEP``, or ``LOOK`` and ``wanted``; returns how many.

    The header goes behind the events, where the format allows it, with ``note`` added: whoever
    reads the copy should know that it is not all. A trace that is only a list has no header, and
    then carries no note.
    """
    with content.atomic_writer(target, level=9) as file:
        reading = Source(source)
        opened = bytearray()
        sieve = _Sieve(codes, wanted, lambda text: file.write(_opening(document, opened) + text))
        document = Document(reading.blocks(), sieve)
        document.read()
        is_list = document.top == b"["
        file.write(_opening(document, opened) + b"\n]")
        if not is_list:
            for key, value in {**document.header, **note}.items():
                file.write(b",\n" + msgspec.json.encode(key) + b": " + msgspec.json.encode(value))
            file.write(b"\n}")
        file.write(b"\n")
    return sieve.kept


def _opening(document: Document, done: bytearray) -> bytes:
    """What goes before the first event; nothing from the second call on."""
    if done:
        return b""
    done.append(1)
    return b"[" if document.top == b"[" else b'{"' + EVENTS_KEY.encode() + b'": ['
