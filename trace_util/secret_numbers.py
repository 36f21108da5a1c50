"""Where secrets stand that are numbers and have no quotes: ``"password": 12345678``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trace_util import giveaways
from trace_util.giveaways import Match

_AFTER_NAME = re.compile(rb"\s*:\s*")
_NUMBER = re.compile(rb"-?\d[\d.eE+-]*")
_STEP = re.compile(rb"[\[{]|[\]}]|-?\d[\d.eE+-]*")


class NumberWalk:
    """Goes through the pieces of one file, once, and finds the numbers below secret members."""

    def __init__(self) -> None:
        self._depth = 0  # in a list or an object that is a secret member's value
        self._shape: re.Pattern[bytes] | None = None  # of its numbers that are secrets

    @property
    def is_inside(self) -> bool:
        """Whether the value of a secret member goes on in the pieces that come next."""
        return self._depth > 0

    def found(
        self, parts: list[bytes], names: Mapping[int, str]
    ) -> Iterator[tuple[int, list[Match]]]:
        """Positions of pieces outside of literals, and the secret numbers in each.

        ``names`` are the members' names among ``parts`` that announce a secret, by position.
        """
        for position in range(0, len(parts), 2):
            outside = parts[position]
            matches: list[Match] = []
            if self._depth:
                matches = list(self._inside(outside, 0))
            elif position - 1 in names:
                self._shape = giveaways.secret_number(names[position - 1])
                matches = self._value(outside)
            if matches:
                yield position, matches

    def _value(self, outside: bytes) -> list[Match]:
        """The secret numbers at the start of a member's value, given what follows its name."""
        colon = _AFTER_NAME.match(outside)
        at = colon.end() if colon else 0
        if self._shape is None:
            return []
        if outside[at : at + 1] in (b"[", b"{"):
            return list(self._inside(outside, at))
        number = _NUMBER.match(outside, at)
        return [_match(number)] if number and self._shape.fullmatch(number[0]) else []

    def _inside(self, outside: bytes, at: int) -> Iterator[Match]:
        for step in _STEP.finditer(outside, at):
            if step[0] in b"[{":
                self._depth += 1
            elif step[0] in b"]}":
                self._depth -= 1
                if not self._depth:
                    return
            elif self._shape is not None and self._shape.fullmatch(step[0]):
                yield _match(step)


def _match(number: re.Match[bytes]) -> Match:
    return Match(number.start(), number.end(), giveaways.SECRET)
