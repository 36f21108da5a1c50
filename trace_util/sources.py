"""Where traces come from: a file or standard input, as blocks of JSON text.

Compression is told by content, never by name: gzip bytes under a ``.json`` name and plain JSON
under ``.json.gz`` are both common.
"""

from __future__ import annotations

import codecs
import errno
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

from trace_util.events import TraceError

STDIN = "-"
BLOCK_BYTES = 1 << 20
PROGRESS_BYTES = 50_000_000  # files from this size on show a progress bar

CUT_OFF = "gzip stream cut off"
DAMAGED = "damaged gzip data"

_GZIP = b"\x1f\x8b"
_UTF8_MARK = codecs.BOM_UTF8
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Source:
    """One trace to read: its size where known, and its text in blocks.

    ``notes`` counts what was odd about the bytes (as against the JSON in them).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.notes: Counter[str] = Counter()
        self.bytes_read = 0
        self._inflaters: Any = None  # chosen when the first gzip data are seen
        if self.path == STDIN:
            self.size_bytes: int | None = None
        elif os.path.isdir(self.path):
            raise TraceError(f"{self.path}: a folder, not a trace; name one of its files")
        else:
            try:
                self.size_bytes = os.stat(self.path).st_size or None
            except OSError as error:
                raise TraceError(f"{self.path}: {error.strerror or error}") from error

    def is_plain(self) -> bool:
        """Whether this is a file of JSON text, which can be read from any position."""
        if self.size_bytes is None or not os.path.isfile(self.path):
            return False
        return not self.stretch_start().startswith((_GZIP, _UTF8_MARK, *_UTF16_MARKS))

    def stretch_start(self, start: int = 0, size: int = 4096) -> bytes:
        """The first bytes of a stretch of a plain file."""
        return b"".join(self.stretch(start, start + size))

    def stretch(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes of a plain file from ``start`` to ``end``, in blocks."""
        with self._open() as file:
            file.seek(start)
            yield from self._raw(file, end - start)

    def blocks(self) -> Iterator[bytes]:
        """The text, inflated and in UTF-8, in blocks of about ``BLOCK_BYTES``."""
        given = 0
        try:
            for block in self._blocks():
                given += len(block)
                yield block
        except _Unsound:
            # Damaged gzip data, which only zlib reads up to the very byte: from the start with it.
            self._inflaters = zlib
            self.bytes_read = 0
            for block in self._blocks():
                if len(block) > given:
                    yield block[given:]
                given = max(given - len(block), 0)

    def _blocks(self) -> Iterator[bytes]:
        try:
            with self._open() as file:
                yield from self._text(self._raw(file))
        except OSError as error:
            raise TraceError(f"{self.path}: {error.strerror or error}") from error

    def _open(self) -> BinaryIO:
        if self.path == STDIN:
            return standard_input()
        return open(self.path, "rb", buffering=0)

    def _raw(self, file: BinaryIO, limit: int | None = None) -> Iterator[bytes]:
        bar = _progress_bar(self.size_bytes if limit is None else limit)
        left = sys.maxsize if limit is None else limit
        try:
            while block := file.read(min(BLOCK_BYTES, left)):
                self.bytes_read += len(block)
                left -= len(block)
                if bar is not None:
                    bar.update(len(block))
                yield block
        finally:
            if bar is not None:
                bar.close()

    def _text(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        first = next(blocks, b"")
        while 0 < len(first) < 4 and (more := next(blocks, b"")):
            first += more
        blocks = _with_first(first, blocks)
        if first.startswith(_GZIP):
            if self._inflaters is None:
                is_file = self.size_bytes is not None and os.path.isfile(self.path)
                self._inflaters = _fastest_inflaters() if is_file else zlib
            return self._text(_Inflation(blocks, self.notes, self._inflaters).blocks())
        if first.startswith(_UTF16_MARKS):
            self.notes["UTF-16 text"] += 1
            return _utf8_of_utf16(blocks)
        if first.startswith(_UTF8_MARK):
            self.notes["byte order mark"] += 1
            next(blocks)
            return _with_first(first[len(_UTF8_MARK) :], blocks)
        return blocks


def standard_input() -> BinaryIO:
    """What comes through standard input, unbuffered.

    Raises:
        OSError: it is closed.
    """
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)


def _with_first(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from blocks


def _utf8_of_utf16(blocks: Iterator[bytes]) -> Iterator[bytes]:
    for text in codecs.iterdecode(blocks, "utf-16", errors="replace"):
        yield text.encode("utf-8", "replace")


class _Inflation:
    """Gzip bytes to text: all members, as far as they are sound."""

    def __init__(self, blocks: Iterator[bytes], notes: Counter[str], inflaters: Any) -> None:
        self._blocks = blocks
        self._notes = notes
        self._inflaters = inflaters
        self._sound = True

    def blocks(self) -> Iterator[bytes]:
        inflater: Any = None
        for block in self._blocks:
            while block:
                if inflater is None:
                    if not block.startswith(_GZIP[: len(block)]):
                        # Padding or something else behind the last member: `gzip` ignores it too.
                        self._notes["bytes after the gzip stream"] += len(block)
                        return
                    inflater = self._inflaters.decompressobj(wbits=31)
                yield from self._inflated(inflater, block)
                if not self._sound:
                    return
                block = inflater.unused_data
                if inflater.eof:
                    inflater = None
        if inflater is not None:
            yield inflater.flush()
            self._notes[CUT_OFF] += 1

    def _inflated(self, inflater: Any, block: bytes) -> Iterator[bytes]:
        while block and not inflater.eof:
            before = inflater.copy() if self._inflaters is zlib else None
            try:
                yield inflater.decompress(block, BLOCK_BYTES)
            except self._inflaters.error as error:
                if before is None:
                    raise _Unsound from error
                self._sound = False
                self._notes[DAMAGED] += 1
                yield _up_to_damage(before, block)
                return
            block = inflater.unconsumed_tail


class _Unsound(Exception):
    """The gzip data are damaged somewhere in the last call."""


def _fastest_inflaters() -> Any:
    """``isal_zlib`` (two to three times as fast, the extra ``fast``) where installed, else zlib."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


def _up_to_damage(inflater: Any, block: bytes) -> bytes:
    """What can be inflated before the damage, in small steps: a call that fails gives nothing."""
    text = b""
    at = 0
    for step in (4096, 64, 1):
        try:
            while at < len(block):
                before = inflater.copy()
                text += inflater.decompress(block[at : at + step])
                at += step
        except zlib.error:
            inflater = before
    return text


def _progress_bar(size_bytes: int | None) -> Any:
    if size_bytes is None or size_bytes < PROGRESS_BYTES or not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    return tqdm(total=size_bytes, unit="B", unit_scale=True, desc="reading", leave=False)
