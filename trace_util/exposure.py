"""What a trace exposes of its author: findings by kind and place, never the values themselves.

Every string of the file is looked at, decoded: header, metadata, event names and arguments. Some
values are given away by their shape (:mod:`trace_util.giveaways`), some by the name of the member
that holds them (also where that stands in a text: JSON, ``password=…``), some because they were
seen elsewhere: a user's name found in a home folder is a user's name wherever else it stands.
"""

from __future__ import annotations

import codecs
import getpass
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from trace_util import content, giveaways
from trace_util.events import TraceError
from trace_util.json_strings import is_key, pieces, text_of
from trace_util.walk import Names, Walk

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


def own_names() -> Names:
    """The names of this machine and of who is using it: what a trace made here may hold."""
    host = socket.gethostname()
    names = {host: giveaways.HOST, host.split(".")[0]: giveaways.HOST}
    with suppress(KeyError, OSError):  # a user without an account, as in some containers
        names[getpass.getuser()] = giveaways.USER
    return {name: kind for name, kind in names.items() if giveaways.is_searchable(name)}


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
