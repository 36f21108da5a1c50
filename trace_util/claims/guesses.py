"""A reader's guesses, made before looking, marked against the trace."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from trace_util.claims.quantities import TEXTS, Quantities, Scalar, known_name, one_value
from trace_util.events import UsageError

# Counts must be right. A guessed time or share is a good one within a quarter: nobody knows more
# before measuring, and a wrong idea is off by a factor.
NEAR = 0.25

_WHOLE = re.compile(r"[+-]?\d{1,300}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


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
        UsageError: it is not of that form, no such value can be right, or there is no such fact.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise UsageError(f"{text}: not a guess; write FACT=VALUE, such as kernels_per_step=5")
    fact = known_name(name, facts)
    guessed = value if fact in TEXTS else _number(text, fact, value)
    actual = one_value(facts[fact])
    values = actual if isinstance(actual, tuple) else (actual,)
    return Guess(fact, guessed, actual, all(_right(guessed, one) for one in values))


def _number(text: str, fact: str, value: str) -> int | float:
    """The number that was guessed: ``50 %`` of a share is 0.5.

    Raises:
        UsageError: it is none, or none that a share can be.
    """
    number, percent = value.removesuffix("%").strip(), value.endswith("%")
    if not _NUMBER.fullmatch(number) or not math.isfinite(float(number)):
        raise UsageError(f"{text}: {value!r} is no number, and {fact} is one")
    is_share = "share" in fact
    if percent and not is_share:
        raise UsageError(f"{text}: {fact} is no share; give its number without %")
    guessed = int(number) if _WHOLE.fullmatch(number) else float(number)
    guessed = guessed / 100 if percent else guessed
    if is_share and not 0 <= guessed <= 1:
        raise UsageError(f"{text}: a share is 0 to 1, or a percentage such as 25 %")
    return guessed


def _right(guessed: int | float | str, actual: Scalar) -> bool:
    if actual is None:
        return False
    if isinstance(guessed, str) or isinstance(actual, str):
        return str(guessed).lower() == str(actual).lower()
    if isinstance(actual, int):
        return guessed == actual
    return abs(guessed - actual) <= NEAR * abs(actual)
