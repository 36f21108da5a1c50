"""Mends what is not JSON in a trace, and counts each repair.

Profilers have written all of this: paths with single backslashes, raw control characters and bytes
of freed memory in names, bare ``NaN`` and ``inf``, quotes inside names, values left out.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any, Final

ESCAPES: Final = "illegal escapes"
CONTROLS: Final = "raw control characters"
ENCODING: Final = "bytes that are not UTF-8"
NUMBERS: Final = "NaN or infinite numbers"
QUOTES: Final = "unescaped quotes"
VALUES: Final = "missing or unreadable values"
COMMAS: Final = "stray commas"
NO_COMMA: Final = "missing commas"
# After these, two texts may have met where one was mended.
STRUCTURAL: Final = frozenset({QUOTES, VALUES, COMMAS})
# These two are legal JSON, and Perfetto opens it.
PATHS: Final = "paths with unescaped backslashes"
NAMES: Final = "control characters in names"

# What stands in a name where something could not be read: U+FFFD, as everywhere in Unicode.
DAMAGE = "\N{REPLACEMENT CHARACTER}"
_DAMAGE = DAMAGE.encode()

# A string in which some backslash starts no legal escape, and any backslash within it.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ILLEGAL_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(?P<bad>))', re.DOTALL)
_BACKSLASH = re.compile(rb'\\(?:(?P<keep>["\\])|)')
# Any escape, so that an escaped backslash is not taken for the start of one.
_SURROGATES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair: fine
    rb"|(?P<alone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
# Control characters that are legal nowhere in JSON, not even between values.
_NEVER = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]+")
# Tabs and line ends that must be inside a string: no value and no mark starts with what follows.
_INSIDE = re.compile(rb'[\t\n\r]+(?![\s"{}\[\],:\-0-9tfnNIi]|\Z)')
_NOT_A_NUMBER = rb"[-+]?(?:nan(?:\(\w*\))?|inf(?:inity)?)"
_BARE_NAN = re.compile(
    rb'(?<=[^\s:,\[{\\]")(\s*:\s*)' + _NOT_A_NUMBER + rb"(?=\s*[,}])", re.IGNORECASE
)


def mended_characters(text: bytes, repairs: Counter[str]) -> bytes:
    """The text with every character legal and every bare NaN ``null``; the text itself if sound."""
    text = _utf8(text, repairs)
    text, count = _NEVER.subn(_DAMAGE, text)
    text, inside = _INSIDE.subn(_DAMAGE, text)
    repairs[CONTROLS] += count + inside
    if b"\\" in text:
        text = _escapes(text, repairs)
    text, count = _BARE_NAN.subn(rb"\1null", text)
    repairs[NUMBERS] += count
    return text


def _utf8(text: bytes, repairs: Counter[str]) -> bytes:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return text
    mended = text.decode("utf-8", "replace").encode()
    sound = text.decode("utf-8", "ignore").encode()
    repairs[ENCODING] += len(text) - len(sound)
    return mended


def _escapes(text: bytes, repairs: Counter[str]) -> bytes:
    if not any(match["bad"] is not None for match in _ILLEGAL_ESCAPE.finditer(text)):
        return _lone_surrogates(text, repairs)

    def mend(string: re.Match[bytes]) -> bytes:
        raw = string[0]
        bad = sum(match["bad"] is not None for match in _ILLEGAL_ESCAPE.finditer(raw))
        if not bad:
            return raw
        # A writer that left one backslash alone escaped none: `C:\new\x.py` has three of them, and
        # its `\n` is no line feed.
        repairs[ESCAPES] += bad
        return _BACKSLASH.sub(lambda match: match[0] if match["keep"] else rb"\\", raw)

    return _lone_surrogates(_STRING.sub(mend, text), repairs)


def _lone_surrogates(text: bytes, repairs: Counter[str]) -> bytes:
    def mend(match: re.Match[bytes]) -> bytes:
        if match["alone"] is None:
            return match[0]
        repairs[ESCAPES] += 1
        return rb"\ufffd"

    return _SURROGATES.sub(mend, text)


_TOKEN = re.compile(rb'\s+|(?P<mark>[{}\[\]:,])|(?P<string>")|(?P<word>[^\s{}\[\]:,"]+)')
_NUMBER = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_WORD = re.compile(_NUMBER + rb"|true|false|null")
_NAN_WORD = re.compile(_NOT_A_NUMBER, re.IGNORECASE)
# Members that are sound and followed by another, as nearly all of a broken event are.
_PLAIN = rb'"[^"\\\x00-\x1f]*"'
_MEMBERS = re.compile(
    rb"(?:\s*%s\s*:\s*(?:%s|%s|true|false|null)\s*,(?=\s*\"))+" % (_PLAIN, _PLAIN, _NUMBER)
)
_BEFORE_MEMBERS = (b"{", b",")
_QUOTE = re.compile(rb'\\.|(?P<quote>")|(?P<raw>[\x00-\x1f]+)', re.DOTALL)
_AFTER_VALUE = re.compile(rb'\s*(?:[}\]]|,\s*"|$)')
_KEY_FOLLOWS = re.compile(rb'\s*:\s*["{\[\-0-9tfn]')
_BEYOND_MENDING = b'"\0'
_COLON = re.compile(rb"\s*:")
_AFTER_KEY = re.compile(rb'\s*(?:[:}\]]|,\s*["{\[\-0-9tfnNI]|$)')


def mended_event(text: bytes, repairs: Counter[str]) -> bytes:
    """The text of one event, read as its writer meant it: values filled in, quotes escaped."""
    parts: list[bytes] = []
    last = b""  # the last mark or value written, without space
    at = 0
    while at < len(text):
        if last in _BEFORE_MEMBERS and (members := _MEMBERS.match(text, at)):
            parts.append(members[0])
            last, at = b",", members.end()
        token = _TOKEN.match(text, at)
        if token is None:
            break
        at = token.end()
        if token["string"]:
            string, at = _string(text, at, last == b":", repairs)
            parts.append(string)
            last = b"value"
        elif token["word"]:
            parts.append(_word(token[0], repairs))
            last = b"value"
        elif token["mark"]:
            _before(token[0], last, parts, repairs)
            parts.append(token[0])
            last = token[0]
        else:
            parts.append(token[0])
    return b"".join(parts)


def _string(text: bytes, at: int, is_value: bool, repairs: Counter[str]) -> tuple[bytes, int]:
    """The string that opens just before ``at``, with its quotes; and where it ends.

    A quote closes it only where what follows may follow a string, and where the quotes within come
    in pairs. A string that never closes, that runs into a key or that would be a key with quotes in
    it is left open, so that the event is not taken for sound: two texts have met in it. In the two
    latter cases no text that follows can mend that, which a raw control character tells.
    """
    after = _AFTER_VALUE if is_value else _AFTER_KEY
    first = _QUOTE.search(text, at)
    if first and first["quote"] and after.match(text, first.end()):  # as nearly all are
        return text[at - 1 : first.end()], first.end()
    parts, found = [b'"'], Counter[str]()
    for match in _QUOTE.finditer(text, at):
        parts.append(text[at : match.start()])
        at = match.end()
        if match["raw"]:
            found[CONTROLS] += 1
            parts.append(_DAMAGE)
        elif match["quote"] and found[QUOTES] % 2 == 0 and after.match(text, at):
            if found[QUOTES] and _COLON.match(text, at):
                return _BEYOND_MENDING, len(text)
            repairs += found
            parts.append(b'"')
            return b"".join(parts), at
        elif match["quote"] and is_value and _KEY_FOLLOWS.match(text, at):
            return _BEYOND_MENDING, len(text)
        elif match["quote"]:
            found[QUOTES] += 1
            parts.append(b'\\"')
        else:
            parts.append(match[0])
    return b'"', len(text)


class _DoubledKeyError(Exception):
    """An object in a JSON text says something twice."""


@cache
def _decoder() -> Any:
    import json  # of what is loaded anyway, nothing tells of doubled keys

    def look(members: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in members}) < len(members):
            raise _DoubledKeyError

    return json.JSONDecoder(object_pairs_hook=look)


def has_doubled_keys(text: bytes) -> bool:
    """Whether an object in a JSON text says something twice, which no profiler writes.

    In an event that had to be mended it shows that two texts have met.
    """
    try:
        _decoder().decode(text.decode())
    except _DoubledKeyError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _word(word: bytes, repairs: Counter[str]) -> bytes:
    if _WORD.fullmatch(word):
        return word
    repairs[NUMBERS if _NAN_WORD.fullmatch(word) else VALUES] += 1
    return b"null"


def _before(mark: bytes, last: bytes, parts: list[bytes], repairs: Counter[str]) -> None:
    """Put right what may not stand before a mark: a bare colon, a comma too many."""
    if last == b":" and mark in b",}]":
        repairs[VALUES] += 1
        parts.append(b"null")
    elif last == b"," and mark in b"}],":
        repairs[COMMAS] += 1
        while parts.pop() != b",":
            pass


_ANY_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:")
_LETTERS = {8: r"\b", 9: r"\t", 10: r"\n", 12: r"\f", 13: r"\r"}
_NOT_FOR_TERMINALS = {
    code: DAMAGE for code in (*range(32), *range(127, 160)) if code not in (9, 10)
}


def mended_name(name: str, repairs: Counter[str]) -> str:
    r"""The name without control characters but tab and line feed; mostly the name itself.

    In a Windows path whose backslashes were not escaped, ``C:\new`` is legal JSON with a line feed
    in it: those become backslashes and letters again.
    """
    if not _ANY_CONTROL.search(name):
        return name
    if _DRIVE.match(name):
        repairs[PATHS] += 1
        return name.translate(_LETTERS).translate(_NOT_FOR_TERMINALS)
    mended = name.translate(_NOT_FOR_TERMINALS)
    repairs[NAMES] += mended != name
    return mended
