"""Damages the bytes of traces at random, for the fuzz tests of the reader."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence

# Bytes that matter to JSON, to numbers or to encodings.
TOKENS = [
    *(bytes([byte]) for byte in b'{}[]",:\\-.0 \n'),
    *(b"\x00", b"\x01", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\x1f\x8b"),
    *(b"NaN", b"-Infinity", b"null", b"true", b"1e999", b"9" * 40, b"\\u", b"\\ud800", b"\\x"),
    *(b'"ts":', b'"dur": -1', b'"ph": "X"', b'"traceEvents": [', b"}, {", b"},\n  {", b"[" * 300),
]


def cut(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """The start, the end, or all but a stretch of the data."""
    a, b = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return rng.choice((data[:b], data[a:], data[:a] + data[b:]))


def flip(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """A few bytes changed."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 8, 64))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def splice(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """A stretch of another trace over, or in between, the bytes of this one."""
    a, b = sorted((rng.randrange(len(other) + 1), rng.randrange(len(other) + 1)))
    at = rng.randrange(len(data) + 1)
    keep = rng.choice((at, at + b - a, len(data)))
    return data[:at] + other[a:b] + data[keep:]


def sprinkle(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Pieces of syntax put in, or over other bytes, at a few places."""
    for _ in range(rng.choice((1, 2, 5))):
        at, token = rng.randrange(len(data) + 1), rng.choice(TOKENS)
        data = data[:at] + token + data[at + rng.choice((0, len(token))) :]
    return data


def repeat(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """A stretch written many times."""
    at = rng.randrange(len(data))
    stretch = data[at : at + rng.choice((1, 3, 40))]
    return data[:at] + stretch * rng.choice((2, 50, 300)) + data[at:]


DAMAGES: Sequence[Callable[[bytes, bytes, random.Random], bytes]] = (
    cut,
    flip,
    splice,
    sprinkle,
    repeat,
)


def damaged(texts: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the texts with one to three kinds of damage, sometimes to its gzip form."""
    data, other = rng.choice(texts), rng.choice(texts)
    zipped = rng.random() < 0.2
    if zipped:
        data = gzip.compress(data, 1)
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = rng.choice(DAMAGES)(data or b" ", other, rng)
    if not zipped and rng.random() < 0.1:
        data = gzip.compress(data, 1)
    return data
