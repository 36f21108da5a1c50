"""The part of a trace's text that is in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

CHUNK_BYTES: Final = 1 << 20  # read and decoded at a time
LARGEST_BYTES: Final = 64 << 20  # no event, and no value of the header, is longer than this
MENDED_BYTES: Final = 4 << 20  # nor is a broken one that is worth mending: that takes 1 s a MB

_FILLING = re.compile(rb"[ \t\r\n,]*")


class Window:
    """The part of the text that is in memory: ``data[at:]`` is still to be read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self.data = bytearray()
        self.at = 0
        self.ended = False
        self.commas = 0  # passed over, in all
        self.text_bytes = 0  # of the whole text, so far

    def grow(self, least: int) -> bool:
        """Read on by about ``least`` bytes; False when there was nothing more."""
        # One byte in front, so that a chunk can always be put in brackets where it lies.
        parts: list[bytes | memoryview] = [b" ", memoryview(self.data)[self.at :]]
        got = 0
        while got < least:
            block = next(self._blocks, None)
            if block is None:
                self.ended = True
                break
            parts.append(block)
            got += len(block)
        if got:
            self.data, self.at = bytearray().join(parts), 1
            self.text_bytes += got
        return got > 0

    def peek(self) -> bytes:
        """The next byte that is neither space nor comma; empty at the end."""
        while True:
            at = self.skip_filling()
            if at < len(self.data):
                return bytes(self.data[self.at : self.at + 1])
            if not self.grow(CHUNK_BYTES):
                return b""

    def skip_filling(self) -> int:
        """Move on over space and commas, as far as they are in memory; returns the position."""
        match = _FILLING.match(self.data, self.at)
        assert match is not None
        self.commas += match[0].count(b",")
        self.at = match.end()
        return self.at

    def replace(self, end: int, text: bytes) -> int:
        """Put ``text`` in the place of ``data[at:end]``; returns where it ends."""
        self.data = bytearray().join((b" ", text, memoryview(self.data)[end:]))
        self.at = 1
        return 1 + len(text)

    def discard(self) -> int:
        """Read to the end without keeping anything; returns how many bytes that was."""
        count = len(self.data) - self.at
        self.at = len(self.data)
        while self.grow(CHUNK_BYTES):
            count += len(self.data)
            self.at = len(self.data)
        return count
