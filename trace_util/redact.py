"""A copy of a trace without what would give people away, and the proof that the rest is the same.

Only texts inside quotes are touched, and the numbers of members that hold secrets, which become 0.
All else outside of quotes (numbers, brackets, the order of events: every time, duration and link)
is copied byte for byte, and the copy is read back to prove it: the same structure, as many
strings, and nothing left that gives anything away. Equal texts become equal stand-ins and different
ones stay different, so that names still group as before.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trace_util import content, giveaways
from trace_util.events import TraceError, UsageError
from trace_util.exposure import (
    OUTSIDE,
    Finding,
    Scan,
    json_blocks,
    own_names,
    text_content,
)
from trace_util.giveaways import Match
from trace_util.json_strings import literal_of, pieces, text_of
from trace_util.walk import Names, Walk


@dataclass(frozen=True)
class Redaction:
    """What was found in a trace and taken out of its copy."""

    source: str
    target: str
    findings: tuple[Finding, ...]
    strings: int  # in the file, names of members included
    strings_changed: int
    numbers_changed: int  # secret ones, which are 0 in the copy
    structure_sha256: str  # of everything outside of strings, but for these numbers the source's


_NUMBER = re.compile(r"-?\d[\d.eE+-]*")


class StandIns:
    """What is written instead of a value; the same value always gets the same."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def of(self, kind: str, value: str) -> str:
        """The stand-in for a value, such as ``redacted-host-name-1``."""
        if kind == giveaways.PATH:
            return self._of_path(value)
        return self._numbered(kind, value)

    def _numbered(self, kind: str, value: str) -> str:
        known = self._numbers.setdefault(kind, {})
        number = known.setdefault(value, len(known) + 1)
        return f"redacted-{kind.replace(' ', '-')}-{number}"

    def _of_path(self, path: str) -> str:
        """The folder is replaced; the file keeps its name, for that is what a reader looks for."""
        rest = giveaways.path_rest(path)
        folder = self._numbered(giveaways.PATH, path[: len(path) - len(rest)])
        return f"{folder}/{rest}" if rest else folder

    def in_text(self, text: str, found: Iterable[Match]) -> str:
        """``text`` with the matches replaced; secret numbers become 0, as JSON in it has them."""
        out, end = [], 0
        for match in found:
            value = text[match.start : match.end]
            is_number = match.kind == giveaways.SECRET and _NUMBER.fullmatch(value)
            stand_in = "0" if is_number else self.of(match.kind, value)
            out += [text[end : match.start], stand_in]
            end = match.end
        return "".join([*out, text[end:]])


@dataclass
class _Changed:
    """How much is another in the copy."""

    strings: int = 0
    numbers: int = 0


class _Structure:
    """The digest of what stands outside of strings, and how many strings there are."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.strings = 0

    def feed(self, parts: list[bytes]) -> None:
        self._digest.update(b'""'.join(parts[0::2]))
        self.strings += len(parts) // 2

    @property
    def seen(self) -> tuple[str, int]:
        return self._digest.hexdigest(), self.strings


def redact_trace(source: Path, target: Path, names: Names | None = None) -> Redaction:
    """Write a cleaned copy of ``source`` to ``target``; returns what was found and changed.

    ``names`` are values to look for beside those that the file itself reveals, with their kinds;
    by default this machine's name and its user's. The copy is gzipped if its name says so.

    Raises:
        UsageError: the trace is a pipe, or the copy would replace it or what is no file.
        TraceError: the file cannot be read, or the copy could not be proved clean and equal.
    """
    if target.exists() and target.samefile(source):
        raise UsageError(f"{target}: is the trace itself; name another file for the copy")
    content.require_rereadable(source)
    content.require_target(target)
    scan = Scan(own_names() if names is None else names)
    if source.suffix == ".txt":
        return _redact_text(source, target, scan)
    for parts in pieces(json_blocks(source)):
        scan.feed(parts)
    _require_quoted(source, scan.findings)
    before, changed = _Structure(), _Changed()
    copy = _rewritten(source, scan.walk.names, before, changed)
    content.write_atomically(target, (b"".join(parts) for parts in copy))
    try:
        _prove(target, before, scan.walk.names)
    except BaseException:  # Ctrl-C too: what was not proved is not kept
        target.unlink()
        raise
    digest, strings = before.seen
    return Redaction(
        source=str(source),
        target=str(target),
        findings=scan.findings,
        strings=strings,
        strings_changed=changed.strings,
        numbers_changed=changed.numbers,
        structure_sha256=digest,
    )


def _require_quoted(source: Path, findings: tuple[Finding, ...]) -> None:
    """Return if all that was found stands within quotes, where it can be replaced."""
    for kind, where, times in findings:
        if where == OUTSIDE:
            raise TraceError(
                f"{source}: cannot be cleaned: {times} x {kind} in {OUTSIDE} (a comment, a cut-off "
                "string, what follows the trace); take it out by hand, no copy was written"
            )


def _rewritten(
    source: Path, names: Names, structure: _Structure, changed: _Changed
) -> Iterator[list[bytes]]:
    walk, stand_ins = Walk(names), StandIns()
    for parts in pieces(json_blocks(source)):
        for position, whole, shaped in walk.flagged(parts):
            if position % 2 == 0:
                parts[position] = _zeroed(parts[position], shaped)
                changed.numbers += len(shaped)
                continue
            text = text_of(parts[position])
            new = stand_ins.of(whole, text) if whole else stand_ins.in_text(text, shaped)
            new = _without_names(new, walk, stand_ins)
            parts[position] = literal_of(new)
            changed.strings += 1
        structure.feed(parts)
        yield parts


def _zeroed(outside: bytes, numbers: list[Match]) -> bytes:
    """What stands between two strings, with a 0 for each of the numbers."""
    for number in reversed(numbers):
        outside = outside[: number.start] + b"0" + outside[number.end :]
    return outside


def _without_names(text: str, walk: Walk, stand_ins: StandIns) -> str:
    """``text`` again, for what only shows once the rest is gone: a name within a file's name."""
    for _ in range(3):
        found = walk.matches(text)
        if not found:
            break
        text = stand_ins.in_text(text, found)
    return text


def _prove(target: Path, before: _Structure, names: Names) -> None:
    """Read the copy back: nothing left to find, and the same structure as the original's."""
    after, scan = _Structure(), Scan(names)
    for parts in pieces(content.blocks(target)):
        after.feed(parts)
        scan.feed(parts)
    if scan.findings:
        kind, where, times = scan.findings[0]
        raise TraceError(f"{target}: could not be cleaned, {times} x {kind} under {where} is left")
    if after.seen != before.seen:
        raise TraceError(f"{target}: the cleaned copy came out different; it is not kept")


def _redact_text(source: Path, target: Path, scan: Scan) -> Redaction:
    text = text_content(source)
    scan.feed_text(text, "the text")
    walk, stand_ins = Walk(scan.walk.names), StandIns()
    clean = _without_names(text, walk, stand_ins)
    if walk.matches(clean):
        raise TraceError(f"{source}: could not be cleaned; leave the table out")
    content.write_atomically(target, [clean.encode("utf-8", "surrogateescape")])
    return Redaction(str(source), str(target), scan.findings, 0, int(clean != text), 0, "")
