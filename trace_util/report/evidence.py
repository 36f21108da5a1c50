"""Evidence as text and JSON: numbers with their units, events with their times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trace_util.evidence import EventRow, Evidence
from trace_util.kernel_names import decode
from trace_util.report.summary_json import us
from trace_util.report.text import clean, shortened
from trace_util.report.units import duration, share, size

_NAME = 44  # columns of an event's name


def evidence_texts(evidence: Iterable[Evidence]) -> list[str]:
    """One sentence for all numbers, and one for each group of events."""
    numbers = [_number(one) for one in evidence if not one.events]
    groups = [_events(one) for one in evidence if one.events]
    return (["; ".join(numbers)] if numbers else []) + groups


def _number(one: Evidence) -> str:
    return f"{one.what}: {_value(one)}" if one.value is not None else f"{one.what}: not known"


def _value(one: Evidence) -> str:
    value = one.value
    if isinstance(value, str) or value is None:
        return clean(value or "")
    if one.unit == "ns":
        return duration(value)
    if one.unit == "share":
        return share(value)
    if one.unit == "bytes":
        return size(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _events(one: Evidence) -> str:
    told = f" ({one.value})" if one.value is not None else ""
    return f"{one.what}{told}: " + ", ".join(map(event_text, one.events))


def event_text(event: EventRow) -> str:
    """``aten::t at 85.0 µs for 43.6 µs``: since the first event of the trace, as viewers count."""
    name = decode(event.name)
    shown = shortened(name.short if name.is_known else event.name, _NAME)
    return f"{shown} at {duration(event.since_first_ns)} for {duration(event.duration_ns)}"


def evidence_json(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """``what``, ``value``, ``unit`` ("us", "share", "bytes" or "") and ``events`` of each."""
    return [
        {
            "what": one.what,
            "value": us(one.value)
            if one.unit == "ns" and not isinstance(one.value, str)
            else one.value,
            "unit": "us" if one.unit == "ns" else one.unit,
            "events": [event_json(event) for event in one.events],
        }
        for one in evidence
    ]


def event_json(event: EventRow) -> dict[str, Any]:
    """An event: times in µs on the file's clock, ``row`` in the file's list of events."""
    return {
        "name": event.name,
        "start_us": us(event.start_ns),
        "duration_us": us(event.duration_ns),
        "row": event.row,
        "trace": event.trace or None,
    }
