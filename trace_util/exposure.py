"""What a trace exposes of its author: findings by kind and place, never the values themselves.

Every string of the file is looked at, decoded: header, metadata, event names and arguments. Some
values are given away by their shape (:mod:`trace_util.giveaways`), some by the name of the member
that holds them, some because they were seen elsewhere: a user's name found in a home folder is a
user's name wherever else it stands.
"""

from __future__ import annotations

import codecs
import getpass
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from trace_util import content, giveaways
from trace_util.events import TraceError
from trace_util.giveaways import Match
from trace_util.json_strings import is_key, pieces, text_of
from trace_util.secret_numbers import NumberWalk

# Kinds whose value, once known, is searched for in every other string.
_SPREADING = (giveaways.SECRET, giveaways.USER, giveaways.HOST, giveaways.JOB, giveaways.EMAIL)
# Kinds that come as an object or a list of texts; under the others only a list is one.
_DUMPS = (giveaways.SECRET, giveaways.ENVIRONMENT, giveaways.COMMAND)
_SEEN_LIMIT = 1_000_000
# What sound JSON has outside of quotes: numbers, marks, and the letters of true, false, null, NaN
# and Infinity. Anything else there is a comment, an unquoted text, or a string that never closes.
_PLAIN = b" \t\r\n0123456789.,:{}[]+-eE" + b"truefalsenullNaNInfinity"
_HIDING = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, content.GZIP_MAGIC)
OUTSIDE = "text outside of quotes"


class Finding(NamedTuple):
    """So many values of a kind under members of one name."""

    kind: str
    where: str
    times: int


class Flagged(NamedTuple):
    """A literal that gives something away: all of it for its place, or parts for their shape.

    What stands between two literals gives away nothing but secret numbers, by their place.
    """

    position: int  # in the list of pieces: odd for a literal, even for what is between two
    whole: str | None  # the kind that its place gives to all of it
    parts: list[Match]


Names = dict[str, str]  # a value -> its kind


def own_names() -> Names:
    """The names of this machine and of who is using it: what a trace made here may hold."""
    host = socket.gethostname()
    names = {host: giveaways.HOST, host.split(".")[0]: giveaways.HOST}
    with suppress(KeyError, OSError):  # a user without an account, as in some containers
        names[getpass.getuser()] = giveaways.USER
    return {name: kind for name, kind in names.items() if giveaways.is_searchable(name)}


class Walk:
    """Goes through the pieces of one file, once, and says which literals give something away."""

    def __init__(self, names: Names) -> None:
        self.names = dict(names)
        self._pattern = _pattern_of(self.names)
        self._seen: set[bytes] = set()
        self._shaped: dict[bytes, list[Match]] = {}
        self._keys: dict[bytes, str] = {}
        self._dump: tuple[str, int] | None = None  # the kind of the member we are in, and its depth
        self._awaited: str | None = None  # the kind of the value that comes next
        self._numbers = NumberWalk()

    def flagged(self, parts: list[bytes]) -> list[Flagged]:
        """The literals of ``parts`` (from :func:`json_strings.pieces`) that are to go, and the
        numbers."""
        unique = set(parts[1::2])
        self._classify(unique - self._seen)
        if not (
            self._dump
            or self._awaited
            or self._numbers.is_inside
            or not self._shaped.keys().isdisjoint(unique)
            or not self._keys.keys().isdisjoint(unique)
        ):
            return []
        found = [one for i in range(1, len(parts), 2) if (one := self._look(parts, i))]
        if self._dump is not None:
            self._dump = _deeper(self._dump, parts[-1])
        return [*found, *self._numbered(parts)]

    def _numbered(self, parts: list[bytes]) -> Iterator[Flagged]:
        names = {
            position: text_of(parts[position])
            for position in range(1, len(parts), 2)
            if self._keys.get(parts[position]) == giveaways.SECRET and is_key(parts, position)
        }
        for position, matches in self._numbers.found(parts, names):
            yield Flagged(position, None, matches)

    def _classify(self, literals: set[bytes]) -> None:
        if len(self._seen) > _SEEN_LIMIT:
            self._seen.clear()
        self._seen |= literals
        for literal in literals:
            text = text_of(literal)
            if found := self.matches(text):
                self._shaped[literal] = found
            if len(text) <= 60 and (kind := giveaways.kind_of_key(text)):
                self._keys[literal] = kind

    def matches(self, text: str) -> list[Match]:
        """The stretches of a text that are to go, for their shape or as a known name."""
        found = giveaways.matches(text)
        if self._pattern is not None:
            for m in self._pattern.finditer(text):
                if all(m.end() <= other.start or other.end <= m.start() for other in found):
                    found.append(Match(m.start(), m.end(), self.names[m[0]]))
        return sorted(found)

    def _look(self, parts: list[bytes], position: int) -> Flagged | None:
        literal = parts[position]
        kind, self._awaited = self._awaited, None
        if self._dump is not None:
            self._dump = _deeper(self._dump, parts[position - 1])
        dump = self._dump
        if literal in self._keys and is_key(parts, position):
            self._expect(self._keys[literal], parts[position + 1].lstrip()[1:].strip())
        shaped = self._shaped.get(literal, [])
        if kind is None and dump is None:
            self._learn(literal, None, shaped)
            return Flagged(position, None, shaped) if shaped else None
        return self._look_by_place(position, literal, kind, dump)

    def _look_by_place(
        self, position: int, literal: bytes, kind: str | None, dump: tuple[str, int] | None
    ) -> Flagged | None:
        text, shaped = text_of(literal), self._shaped.get(literal, [])
        self._learn(literal, kind, shaped)
        if dump is not None and kind is None:
            kind = dump[0]
            if giveaways.is_secret_flag(text):  # ["--token", "..."]
                self._awaited = giveaways.SECRET
        if kind is not None and any(match.kind == giveaways.SECRET for match in shaped):
            kind = giveaways.SECRET  # whatever else the whole text is
        if kind is not None and giveaways.is_given_away(kind, text):
            return Flagged(position, kind, [])
        return Flagged(position, None, shaped) if shaped else None

    def _expect(self, kind: str, after_colon: bytes) -> None:
        """Remember that what comes next is of a kind: one text, or everything in a dump."""
        if not after_colon:
            self._awaited = kind
        elif self._dump is None and after_colon[:1] in (b"[{" if kind in _DUMPS else b"["):
            self._dump = (kind, 0)  # its bracket is counted with the next literal

    def _learn(self, literal: bytes, kind: str | None, shaped: list[Match]) -> None:
        """Keep the names that a literal reveals, to find them wherever else they stand."""
        if kind is None and not shaped:
            return
        text = text_of(literal)
        if kind in _SPREADING and giveaways.is_given_away(kind, text):
            self._keep(text, kind)
        for match in shaped:
            value = text[match.start : match.end]
            if match.kind in _SPREADING:
                self._keep(value, match.kind)
            elif match.kind == giveaways.PATH and (user := giveaways.user_in_path(value)):
                self._keep(user, giveaways.USER)

    def _keep(self, name: str, kind: str) -> None:
        if giveaways.is_searchable(name):
            self.names.setdefault(name, kind)


def _pattern_of(names: Names) -> re.Pattern[str] | None:
    """Finds any of the names as a word of its own; ``aten::NAME`` is an op and not a person."""
    if not names:
        return None
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![A-Za-z0-9])(?<!::)(?:{words})(?![A-Za-z0-9])")


def _deeper(dump: tuple[str, int], outside: bytes) -> tuple[str, int] | None:
    """Where we are in a member's value after ``outside``; ``None`` once it has closed."""
    kind, depth = dump
    for byte in outside:
        depth += (byte in b"[{") - (byte in b"]}")
        if byte in b"]}" and depth <= 0:
            return None
    return kind, depth


class Scan:
    """The findings of one file, fed block by block."""

    def __init__(self, names: Names | None = None) -> None:
        self.walk = Walk(own_names() if names is None else names)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._before = "a list"  # the place of a literal whose member's name came a block before

    def feed(self, parts: list[bytes]) -> None:
        """Count what the pieces of a JSON text give away."""
        for position, whole, shaped in self.walk.flagged(parts):
            where = self._place_of(parts, position)
            for kind in [whole] if whole else [match.kind for match in shaped]:
                self._counts[kind, where] += 1
        self._before = self._last_name(parts, len(parts))
        if b"".join(parts[0::2]).translate(None, _PLAIN):
            self._feed_outside(parts)

    def _feed_outside(self, parts: list[bytes]) -> None:
        """Count what stands in the file but in no closed string, where nothing can replace it."""
        for position in range(0, len(parts), 2):
            outside = parts[position]
            if not outside.translate(None, _PLAIN):
                continue
            text = text_of(b'"' + outside.replace(b'"', b" ") + b'"')  # as a string may never close
            kinds = [match.kind for match in self.walk.matches(text)]
            if not kinds and position and is_key(parts, position - 1):
                kind = giveaways.kind_of_key(text_of(parts[position - 1]))
                kinds = [kind] if kind == giveaways.SECRET else []
            for kind in kinds:
                self._counts[kind, OUTSIDE] += 1

    def _place_of(self, parts: list[bytes], position: int) -> str:
        """The name of the member that holds a value, unless that gives something away itself."""
        if position % 2 and is_key(parts, position):
            return "a member's name"
        return self._last_name(parts, position)

    def _last_name(self, parts: list[bytes], position: int) -> str:
        """The last member's name before a position, as a place."""
        last = position - 2 if position % 2 else position - 1
        for i in range(last, max(-1, position - 100), -2):
            if is_key(parts, i):
                name = text_of(parts[i])
                return "a member" if self.walk.matches(name) else f'"{name[:40]}"'
        return self._before if position < 100 else "a list"

    def feed_text(self, text: str, where: str) -> None:
        """Count what a plain text gives away."""
        for match in self.walk.matches(text):
            self._counts[match.kind, where] += 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Secrets first, then by kind and place."""
        order = sorted(self._counts.items(), key=lambda i: (i[0][0] != giveaways.SECRET, i[0]))
        return tuple(Finding(kind, where, times) for (kind, where), times in order)


def findings_of(path: Path, names: Names | None = None) -> tuple[Finding, ...]:
    """What the trace (or, for a ``.txt``, the table) at ``path`` gives away."""
    scan = Scan(names)
    if path.suffix == ".txt":
        scan.feed_text(text_content(path), "the text")
    else:
        for parts in pieces(json_blocks(path)):
            scan.feed(parts)
    return scan.findings


def json_blocks(path: Path) -> Iterator[bytes]:
    """The content of a trace, in blocks.

    Raises:
        TraceError: it cannot be read, or its strings cannot be told from the bytes as they stand.
    """
    for at, block in enumerate(content.blocks(path)):
        if not at and block.startswith(_HIDING):
            what = "gzip within gzip" if block.startswith(content.GZIP_MAGIC) else "UTF-16 text"
            raise TraceError(
                f"{path}: {what}, in which nothing that gives people away can be found; "
                "save it as UTF-8 text first"
            )
        yield block


def text_content(path: Path) -> str:
    """The content of a table; bytes that are not UTF-8 survive a round trip."""
    return b"".join(content.blocks(path)).decode("utf-8", "surrogateescape")


def has_secrets(findings: Iterable[Finding]) -> bool:
    """Whether something among the findings must not leave the machine."""
    return any(finding.kind == giveaways.SECRET for finding in findings)
