"""What became of merged ranks, as text and as JSON."""

from __future__ import annotations

from typing import Any

from trace_util.merge import Merged, MergedRank
from trace_util.report.summary_json import us
from trace_util.report.text import PLAIN, Style, clean, name_column, number_column, table, wrapped
from trace_util.report.units import counted, duration, size

# Clocks of machines that keep the time differ by less (NTP: milliseconds).
FAR_APART_NS = 1_000_000_000


def merge_text(merged: Merged, style: Style = PLAIN) -> str:
    """The file, and for each rank its events and how its clock was shifted."""
    events = sum(one.events for one in merged.ranks)
    head = f"{clean(merged.target)}: {counted(len(merged.ranks), 'rank')}, "
    head += f"{counted(events, 'event')}, {size(merged.size_bytes)}"
    columns = [
        name_column("track"),
        *map(number_column, ("events", "clock shift", "collectives", "agree within")),
        name_column("file"),
    ]
    rows = [_row(one, position) for position, one in enumerate(merged.ranks)]
    return f"{style.bold(head)}\n{table(columns, rows, style)}\n" + _notes(merged, style)


def _row(one: MergedRank, position: int) -> list[str]:
    shift = one.shift
    return [
        one.label,
        f"{one.events:,}",
        _signed(shift.shift_ns) if position else "reference",
        f"{shift.matched:,}",
        duration(shift.spread_ns) if shift.matched > 1 else "-",
        one.path.replace("\\", "/").rpartition("/")[2],
    ]


def _notes(merged: Merged, style: Style) -> str:
    """What the table does not say: shifts that were not made, and those that are beyond belief."""
    notes = []
    for one in merged.ranks[1:]:
        if not one.shift.matched:
            notes.append(f"{one.label}: no collective in common; its clock is left as it is")
        elif one.shift.measured_ns and not one.shift.shift_ns:
            measured = _signed(one.shift.measured_ns)
            notes.append(f"{one.label}: {measured} is no more than the collectives' spread; left")
        elif abs(one.shift.shift_ns) > FAR_APART_NS:
            far = duration(abs(one.shift.shift_ns))
            notes.append(f"{one.label}: its clock is {far} away; is it a rank of the same run?")
    return "".join(wrapped(note, style, 2) + "\n" for note in notes)


def _signed(ns: int) -> str:
    return f"{'-' if ns < 0 else '+'}{duration(abs(ns))}" if ns else "0"


def merge_json(merged: Merged) -> dict[str, Any]:
    """The same facts, times in microseconds."""
    return {
        "file": merged.target,
        "size_bytes": merged.size_bytes,
        "steps": list(merged.steps) if merged.steps is not None else None,
        "refused": list(merged.refused),
        "ranks": [
            {
                "label": one.label,
                "file": one.path,
                "complete_events": one.events,
                "incomplete": one.incomplete,
                "clock_shift_us": us(one.shift.shift_ns),
                "clock_measured_us": us(one.shift.measured_ns),
                "collectives_matched": one.shift.matched,
                "spread_us": us(one.shift.spread_ns),
            }
            for one in merged.ranks
        ],
    }
