"""What became of a slimmed trace, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from trace_util.report.text import clean
from trace_util.report.units import duration, size
from trace_util.slim import Slimmed

_SHOWN = {
    "steps": "steps",
    "kernels_of_steps": "kernels of the steps",
    "gpu_busy_of_steps_ns": "GPU busy of the steps",
    "window_busy_ns": "GPU busy in the window",
    "kernel_count": "kernels",
    "kernel_total_ns": "kernel time",
    "launch_count": "launches",
}


def slim_json(slimmed: Slimmed) -> dict[str, Any]:
    """The fields of the result; ``totals`` in the units that their names say."""
    return asdict(slimmed)


def slim_text(slimmed: Slimmed) -> str:
    """Sizes, and the totals that were seen to be the same in both files."""
    events = f"{slimmed.kept:,} of {slimmed.events:,} events"
    sizes = f"{size(slimmed.slim_bytes)} of {size(slimmed.size_bytes)}"
    head = f"{clean(slimmed.target)}: {sizes}, {events}\n"
    rows = [(label, _value(slimmed, name)) for name, label in _SHOWN.items()]
    start, end = slimmed.totals["window_start_ns"], slimmed.totals["window_end_ns"]
    if start is not None and end is not None:
        rows.insert(0, ("window", duration(end - start)))
    rows = [(label, value) for label, value in rows if value]
    width = max(len(label) for label, _ in rows)
    return (
        head
        + "the same in both, as read back:\n"
        + "".join(f"  {label:<{width}}  {value}\n" for label, value in rows)
    )


def _value(slimmed: Slimmed, name: str) -> str:
    value = slimmed.totals.get(name)
    if value is None:
        return ""
    return duration(value) if name.endswith("_ns") else f"{value:,}"
