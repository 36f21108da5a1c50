"""Numbers with their units, as people read them: times, shares, sizes, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


class Unit(NamedTuple):
    """A unit of time and the number of decimals, for numbers that stand below each other."""

    ns: int
    name: str
    decimals: int

    def number(self, value_ns: float | None) -> str:
        """The value in this unit, without its name; "-" for what cannot be known."""
        if not value_ns:
            return "-" if value_ns is None else "0"
        return f"{value_ns / self.ns:,.{self.decimals}f}"

    def at_least(self, value_ns: float | None, partial: bool) -> str:
        """The same; with ``>=`` where it is a part, of which 0 says nothing."""
        if not partial:
            return self.number(value_ns)
        return f">= {self.number(value_ns)}" if value_ns else "-"


def unit_for(values_ns: Sequence[float | None]) -> Unit:
    """The unit for a column: that of its largest value, three digits for its smallest above 0."""
    known = [abs(value) for value in values_ns if value]
    if not known:
        return Unit(1_000, "µs", 0)
    ns, name = next(unit for unit in _UNITS if max(known) >= unit[0] or unit[0] == 1)
    return Unit(ns, name, _decimals(min(known) / ns, most=3 if ns > 1 else 0))


def _decimals(value: float, most: int) -> int:
    """The decimals that show three digits of a value, at most so many."""
    for decimals, limit in enumerate((100, 10, 1)):
        if round(value, decimals) >= limit:
            return min(decimals, most)
    return most


def duration(ns: float | None) -> str:
    """A time in its own unit, three digits: ``8.32 µs``, ``436 µs``, ``1.07 s``."""
    if ns is None:
        return "not known"
    unit = unit_for([ns])
    if ns and round(abs(ns) / unit.ns, unit.decimals) >= 1000 and unit.ns < 10**9:
        unit = unit_for([1000 * unit.ns])
    return f"{unit.number(ns)} {unit.name if ns else 'µs'}"


def share(part: float | None) -> str:
    """A share of 1 as a percentage; the caller says of what. Never 0 or 100 unless it is."""
    if part is None:
        return "not known"
    percent = 100 * part
    if part in (0, 1):
        return f"{percent:.0f} %"
    for decimals in (1, 2, 3):
        text = f"{percent:.{decimals}f}"
        if float(text) and (float(text) < 100 or percent >= 100):
            return f"{text} %"
    return "< 0.001 %" if percent < 1 else "> 99.999 %"


def size(size_bytes: float | None) -> str:
    """A size in decimal units: ``512 B``, ``50.3 MB``."""
    if size_bytes is None:
        return "-"
    value, units = float(size_bytes), ["B", "kB", "MB", "GB", "TB", "PB"]
    while abs(value) >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:,.{0 if units[0] == 'B' else _decimals(abs(value), 2)}f} {units[0]}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun: ``1 kernel``, ``2,700 kernels``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def count_at_least(number: int, partial: bool) -> str:
    """A number, ``>= 5`` where it is of a part, of which 0 says nothing: "-"."""
    if not partial:
        return f"{number:,}"
    return f">= {number:,}" if number else "-"
