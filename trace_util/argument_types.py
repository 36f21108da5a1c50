"""What may stand on a command line: types for argparse, whose errors are wrong usage (exit 2)."""

from __future__ import annotations

from argparse import ArgumentTypeError


def named(text: str) -> str:
    """The name of a file or a place; an empty one would mean the current folder."""
    if not text.strip():
        raise ArgumentTypeError("an empty name; is a variable not set?")
    return text


def at_least_one(text: str) -> int:
    """A number of things, 1 or more."""
    number = _integer(text)
    if number is None or number < 1:
        raise ArgumentTypeError(f"{text!r}: give a whole number, 1 or more")
    return number


def port(text: str) -> int:
    """The number of a port, 0 for any that is free."""
    number = _integer(text)
    if number is None or not 0 <= number < 65536:
        raise ArgumentTypeError(f"{text!r}: a port is a number from 0 to 65535")
    return number


def seconds(text: str) -> float:
    """A time in seconds above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"{text!r}: not a number of seconds above 0")
    return number


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
