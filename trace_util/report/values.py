"""Named values as text and as JSON, and sentences filled in with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trace_util.findings.finding import Unit, Value
from trace_util.report.summary_json import us
from trace_util.report.text import clean
from trace_util.report.units import duration, share, size


def filled(template: str, values: Iterable[Value]) -> str:
    """The sentence with its values written out; a name in braces must be among them.

    ``{launches:launch/launches}`` writes the number with the noun that goes with it.
    """
    return template.format_map({value.name: _Shown(value) for value in values})


class _Shown:
    """A value within a template."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def __format__(self, nouns: str) -> str:
        if not nouns:
            return written(self.value)
        one, many = nouns.split("/")
        return f"{written(self.value)} {one if self.value.amount == 1 else many}"


def written(value: Value) -> str:
    """A value with its unit, as a sentence quotes it."""
    amount = value.amount
    if amount is None:
        return "an unknown number" if value.unit is Unit.COUNT else "not known"
    if isinstance(amount, str):
        return clean(amount)
    if value.unit is Unit.NS:
        return duration(amount)
    if value.unit is Unit.SHARE:
        return share(amount)
    if value.unit is Unit.BYTES:
        return size(amount)
    if value.unit is Unit.FLOPS_PER_S:
        return rate(amount, "FLOP/s")
    if value.unit is Unit.BYTES_PER_S:
        return rate(amount, "B/s")
    return f"{amount:,}"


def rate(amount: float, unit: str) -> str:
    """A rate with three digits: ``685 TFLOP/s``, ``3.99 TB/s``, ``12.5 GB/s``."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= 0.9995 * factor or prefix == "k":
            scaled = amount / factor
            digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
            return f"{scaled:,.{digits}f} {prefix}{unit}"
    raise AssertionError("unreachable")


def value_json(value: Value) -> dict[str, Any]:
    """``{name, value, unit}``; times in microseconds."""
    if value.unit is Unit.NS:
        amount = value.amount if not isinstance(value.amount, str) else None
        return {"name": value.name, "value": us(amount), "unit": "us"}
    return {"name": value.name, "value": value.amount, "unit": value.unit.value}
