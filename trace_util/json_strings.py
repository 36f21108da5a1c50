"""The string literals of a JSON text and what stands between them, block by block.

A trace can be changed without being understood: what a name says lies inside its quotes, and
everything that a number, a bracket or an order of events means lies outside of them. This is the
cut between the two, at the speed of the regular expression engine and with bounded memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

_STRING = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")', re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r'|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|.',
    re.DOTALL,
)


def pieces(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lists ``[outside, literal, outside, literal, ..., outside]``; joined, they are the input.

    Literals keep their quotes. A list never ends within a literal, nor between a literal and what
    follows it, so that a key and its value's kind can be told from one list (all but the last list
    hold back their last literal for that).
    """
    rest = b""
    for block in blocks:
        cut = _STRING.split(rest + block)
        if len(cut) < 5:
            rest = b"".join(cut)
            continue
        rest = b"".join(cut[-2:])
        yield cut[:-2]
    yield _STRING.split(rest)


def is_key(parts: list[bytes], index: int) -> bool:
    """Whether the literal at ``parts[index]`` is the name of a member."""
    return parts[index + 1].lstrip()[:1] == b":"


def text_of(literal: bytes) -> str:
    """What a literal says. Illegal escapes and bytes are read as they stand, never refused."""
    plain = literal.decode("utf-8", "surrogateescape")
    if "\\" not in plain:
        return plain[1:-1]
    mended = _ESCAPE.sub(lambda m: m[0] if m[1] else r"\\", plain)
    try:
        return str(json.loads(mended, strict=False))
    except ValueError:
        return plain[1:-1]


def places_of(literal: str) -> list[int]:
    """Where in a literal each character of its text is spelled, and where the last one ends."""
    spelled = [m.start() for m in _CHARACTER.finditer(literal, 1, len(literal) - 1)]
    return [*spelled, len(literal) - 1]


def literal_of(text: str) -> bytes:
    """The literal that says ``text``."""
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can spell
        return json.dumps(text).encode()
