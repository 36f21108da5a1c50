"""Facts kept on disk while a job is worked out, so that an interrupted one resumes.

One line of JSON a trace, appended as it is done. A line stands for a file only while path, size and
time of change (or the storage's own hash) are those it was written for.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from trace_util import __version__
from trace_util.events import TraceError
from trace_util.gather.places import Place
from trace_util.job.rank import FORMAT, RankFacts

VERSION = f"{__version__}/{FORMAT}"


class _Line(msgspec.Struct):
    version: str
    path: str
    stamp: str
    facts: RankFacts


_DECODER = msgspec.json.Decoder(_Line)


class Store:
    """The facts of one file of facts. Broken ranks are not kept: they are tried again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._known: dict[tuple[str, str], RankFacts] = {}
        try:
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            lines = []
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror or error}; name another --facts") from None
        for text in lines:
            try:
                line = _DECODER.decode(text)
            except msgspec.DecodeError:
                continue  # the last line of an interrupted run, or another version's
            if line.version == VERSION:
                self._known[line.path, line.stamp] = line.facts
        if lines and not self._known and not any(b'"stamp"' in text for text in lines):
            raise TraceError(f"{path}: is there already and holds no facts; name another --facts")

    def known(self, place: Place) -> RankFacts | None:
        """The facts of a place as it is now, if it is known."""
        return self._known.get((key(place.path), place.stamp)) if place.stamp else None

    def add(self, place: Place, facts: RankFacts) -> None:
        """Keep the facts of a place, unless its name is no text: these are worked out anew."""
        if facts.broken or not place.stamp:
            return
        line = _Line(VERSION, key(place.path), place.stamp, facts)
        try:
            text = msgspec.json.encode(line)
        except UnicodeEncodeError:
            return
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - until closed
                if self._file.tell():
                    self._append(b"\n")  # ends a line that an interrupted run did not end
            self._append(text + b"\n")
        except OSError as error:
            raise TraceError(f"{self.path}: {error.strerror or error}") from None

    def _append(self, text: bytes) -> None:
        """Write all of it or, on a full disk say, nothing: no part of a line stays.

        A file that nothing has been written to is removed.
        """
        assert self._file is not None
        before = self._file.tell()
        try:
            rest = memoryview(text)
            while rest:  # a disk that is nearly full takes a part of it
                rest = rest[self._file.write(rest) :]
        except BaseException:
            if self.path.is_file():  # and no device
                self._file.truncate(before)
                self.close(remove=not before)
            raise

    def close(self, *, remove: bool) -> None:
        """Close the file; ``remove`` when the facts are not needed any more."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if remove:
            self.path.unlink(missing_ok=True)


def key(path: str) -> str:
    """A path as it is known from everywhere."""
    return path if "://" in path else os.path.abspath(path)


def default_path(places: Sequence[Place]) -> Path:
    """Where the facts of a job go that nobody named a file for: the user's cache, by the files."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    paths = "\n".join(sorted(key(place.path) for place in places))
    name = hashlib.sha256(paths.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Path(base) / "trace-util" / f"facts-{name}.jsonl"
