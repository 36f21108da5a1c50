"""The table that a lesson's ``--sweep`` writes: a point a size, and no trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from trace_util.events import TraceError

if TYPE_CHECKING:
    from pathlib import Path

KEYS: Final = frozenset({"run_facts", "flag", "points"})

_MOST_BYTES: Final = 1_000_000  # of a sweep's table; a trace may be far larger
_BEGIN: Final = re.compile(rb'\s*\{\s*"(?:run_facts|flag|points)"\s*:')
_TIMES: Final = ("median", "min", "max")


def is_sweep(path: Path) -> bool:
    """Whether a file is the table of a sweep. Of any other, only the first bytes are read."""
    return _table(path) is not None


def sweep_in(path: Path) -> dict[str, Any] | None:
    """The table of a sweep; ``None`` for any other file.

    Raises:
        TraceError: it is one, and its points cannot be drawn.
    """
    found = _table(path)
    if found is None:
        return None
    points = found["points"]
    sound = isinstance(points, list) and all(map(_is_point, points))
    if not (points and sound and isinstance(found["run_facts"], dict)):
        raise TraceError(
            f"{path}: a sweep {'with damaged points' if points else 'without points'}; "
            "run the lesson with --sweep again"
        )
    return found


def _table(path: Path) -> dict[str, Any] | None:
    try:
        if path.suffix.lower() != ".json" or not path.is_file():
            return None  # a pipe can be read but once
        if path.stat().st_size > _MOST_BYTES:
            return None
        with path.open("rb") as file:
            begin = file.read(64)
            if _BEGIN.match(begin) is None:
                return None
            import json  # only a sweep's table needs it

            found = json.loads(begin + file.read())
    except (OSError, ValueError, RecursionError):
        return None  # the reader of traces says what is wrong with it
    return found if isinstance(found, dict) and found.keys() >= KEYS else None


def _is_point(point: Any) -> bool:
    """Whether a point has all that its table and figure need."""
    if not isinstance(point, Mapping) or not isinstance(point.get("unprofiled_step_us"), Mapping):
        return False
    times = [point["unprofiled_step_us"].get(name) for name in _TIMES]
    needed = (*times, point.get("value"), point.get("flops"), point.get("profiled_step_us"))
    optional = [point.get(name, "") for name in ("gpu_busy_us", "kernels", "peak_flops_per_s")]
    return (
        all(_is_number(one) and one > 0 for one in needed)
        and all(one is None or _is_number(one) for one in optional)
        and isinstance(point.get("regime"), str)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
