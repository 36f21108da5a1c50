"""A walk through the strings of a trace: which of them give something away, and which parts.

What stands in a text by the rules of JSON, or as Python prints it, is walked through as the trace
itself is, however often it was put into quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from trace_util import giveaways, pairs
from trace_util.giveaways import Match
from trace_util.json_strings import is_key, pieces, places_of, text_of
from trace_util.secret_numbers import NumberWalk

# Kinds whose value, once known, is searched for in every other string.
_SPREADING = (giveaways.SECRET, giveaways.USER, giveaways.HOST, giveaways.JOB, giveaways.EMAIL)
# Kinds that come as an object or a list of texts; under the others only a list is one.
_DUMPS = (giveaways.SECRET, giveaways.ENVIRONMENT, giveaways.COMMAND)
_SEEN_LIMIT = 1_000_000


class Flagged(NamedTuple):
    """A literal that gives something away: all of it for its place, or parts for their shape.

    What stands between two literals gives away nothing but secret numbers, by their place.
    """

    position: int  # in the list of pieces: odd for a literal, even for what is between two
    whole: str | None  # the kind that its place gives to all of it
    parts: list[Match]


class _Inner(Match):
    """A stretch of what stands in a text, whose names were kept when that was walked through."""


Names = dict[str, str]  # a value -> its kind


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
            if len(text) <= 60 and (kind := giveaways.kind_of_key(text.lstrip("-"))):
                self._keys[literal] = kind

    def matches(self, text: str) -> list[Match]:
        """The stretches of a text that are to go, for their shape or as a known name."""
        within = self._within(text)
        starts = {match.start for match in within}  # where JSON tells the end better than a pattern
        by_name = (one for one in pairs.announced(text) if one.start not in starts)
        found = giveaways.matches(text, [*within, *by_name])
        if self._pattern is not None:
            for m in self._pattern.finditer(text):
                if not _overlaps(known := Match(m.start(), m.end(), self.names[m[0]]), found):
                    found.append(known)
        return sorted(found)

    def _within(self, text: str) -> list[Match]:
        """The stretches that are to go of the members and strings that stand in a text."""
        quote = '"' if '"' in text else "'"
        if quote not in text or not (":" in text or "\\" in text):
            return []
        inner = Walk({})
        inner.names, inner._pattern = self.names, self._pattern
        found: list[Match] = []
        at = 0
        for parts in pieces([text.replace(quote, '"').encode("utf-8", "surrogatepass")]):
            starts = [at]
            for part in parts:
                starts.append(starts[-1] + _characters(part))
            for position, whole, shaped in inner.flagged(parts):
                places = _places(parts[position], whole, shaped, position)
                for m in places:
                    at_start, at_end = starts[position] + m.start, starts[position] + m.end
                    found.append(_Inner(at_start, at_end, m.kind))
            at = starts[-1]
        return found

    def _look(self, parts: list[bytes], position: int) -> Flagged | None:
        literal = parts[position]
        kind, self._awaited = self._awaited, None
        if self._dump is not None:
            self._dump = _deeper(self._dump, parts[position - 1])
        dump = self._dump
        if literal in self._keys and is_key(parts, position):
            self._expect(self._keys[literal], parts[position + 1].lstrip()[1:].strip())
        elif parts[position + 1].strip() == b"," and giveaways.is_secret_flag(text_of(literal)):
            self._awaited = giveaways.SECRET  # ["--token", "..."]
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
        if dump is not None and not (kind and giveaways.is_given_away(kind, text)):
            kind = dump[0]
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
            if isinstance(match, _Inner):
                continue
            value = text[match.start : match.end]
            if match.kind in _SPREADING:
                self._keep(value, match.kind)
            elif match.kind == giveaways.PATH and (user := giveaways.user_in_path(value)):
                self._keep(user, giveaways.USER)

    def _keep(self, name: str, kind: str) -> None:
        is_name = giveaways.kind_of_key(name.lstrip("-"))  # as of members within a secret one
        if giveaways.is_searchable(name) and not is_name:
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


def _overlaps(match: Match, others: list[Match]) -> bool:
    return any(match.start < other.end and other.start < match.end for other in others)


def _characters(part: bytes) -> int:
    return len(part.decode("utf-8", "surrogatepass"))


def _places(part: bytes, whole: str | None, shaped: list[Match], position: int) -> list[Match]:
    """Where in a piece of a text the stretches stand, as characters of that text."""
    if position % 2 == 0:
        return [Match(_characters(part[: m.start]), _characters(part[: m.end]), m.kind)
            for m in shaped]  # fmt: skip
    places = places_of(part.decode("utf-8", "surrogatepass"))
    if whole is None and len(places) == len(text_of(part)) + 1:
        return [Match(places[m.start], places[m.end], m.kind) for m in shaped]
    kinds = [whole] if whole else sorted((m.kind for m in shaped), key=giveaways.SECRET.__ne__)
    return [Match(places[0], places[-1], kinds[0])]
