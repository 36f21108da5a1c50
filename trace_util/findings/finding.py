"""A finding as data: a claim with named values, the events that show it, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple


class Unit(Enum):
    """What a value is measured in; the reports know how to write each."""

    NS = "ns"
    SHARE = "share"  # of 1
    COUNT = "count"
    BYTES = "bytes"
    FLOPS_PER_S = "flop/s"
    BYTES_PER_S = "byte/s"
    TEXT = "text"  # a name out of the trace


class Value(NamedTuple):
    """A named number or name that a sentence quotes; ``None`` is "not known"."""

    name: str
    amount: float | int | str | None
    unit: Unit


class Kind(Enum):
    """What a finding is about; in this order they are shown."""

    COST = "cost"  # time or accuracy that the workload loses
    ARTEFACT = "artefact"  # of the recording: it bends figures or hides events
    NOTE = "note"  # how this workload runs; nothing to mend


@dataclass(frozen=True)
class Finding:
    """One thing that the trace shows.

    ``claim`` and ``next_step`` are templates over the names of ``values``: ``"{idle} of {step}"``.
    """

    id: str
    kind: Kind
    claim: str
    values: tuple[Value, ...]
    threshold: str  # when it is said at all, and whether that was measured or reasoned
    next_step: str = ""
    rows: tuple[int, ...] = ()  # events that show it, as indexes into the columns


MOST_ROWS = 20


def rows_of(rows: Any) -> tuple[int, ...]:
    """The first of the rows that show a finding, as plain integers."""
    return tuple(int(row) for row in rows[:MOST_ROWS])


def ns(name: str, amount: float | None) -> Value:
    """A duration in nanoseconds."""
    return Value(name, amount, Unit.NS)


def share(name: str, amount: float | None) -> Value:
    """A part of 1."""
    return Value(name, amount, Unit.SHARE)


def count(name: str, amount: int | None) -> Value:
    """A number of things."""
    return Value(name, amount, Unit.COUNT)


def size(name: str, amount: int | None) -> Value:
    """A number of bytes."""
    return Value(name, amount, Unit.BYTES)


def text(name: str, amount: str | None) -> Value:
    """A name out of the trace."""
    return Value(name, amount, Unit.TEXT)
