"""A reader's guesses, made before looking, marked against the trace."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trace_util.claims.quantities import Quantities, Scalar, known_name, one_value
from trace_util.events import TraceError

# Counts must be right. A guessed time or share is a good one within a quarter: nobody knows more
# before measuring, and a wrong idea is off by a factor.
NEAR = 0.25


@dataclass(frozen=True)
class Guess:
    """A guess and what the trace says; ``actual`` is ``None`` where it cannot say."""

    fact: str
    guess: int | float | str
    actual: Scalar | tuple[Scalar, ...]
    holds: bool


def guess(text: str, facts: Quantities) -> Guess:
    """The guess ``kernels_per_step=5``, marked.

    Raises:
        TraceError: it is not of that form, or there is no such fact.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise TraceError(f"{text}: not a guess; write FACT=VALUE, such as kernels_per_step=5")
    fact = known_name(name, facts)
    guessed, actual = _value(value), one_value(facts[fact])
    values = actual if isinstance(actual, tuple) else (actual,)
    return Guess(fact, guessed, actual, all(_right(guessed, one) for one in values))


def _value(text: str) -> int | float | str:
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    share = re.fullmatch(r"([+-]?\d+(?:\.\d+)?)\s*%", text)
    try:
        return float(share.group(1)) / 100 if share else float(text)
    except ValueError:
        return text


def _right(guessed: int | float | str, actual: Scalar) -> bool:
    if actual is None:
        return False
    if isinstance(guessed, str) or isinstance(actual, str):
        return str(guessed).lower() == str(actual).lower()
    if isinstance(actual, int):
        return guessed == actual
    return abs(guessed - actual) <= NEAR * abs(actual)
