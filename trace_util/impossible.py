"""Leaves out the events whose times cannot be true.

Profilers have written zeros for unfinished events, ends of INT_MIN (durations of minus or plus
centuries) and copies dated years ahead. One of them would stretch every span and sum.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from trace_util.intake import Intake
from trace_util.times import LIMIT_NS

_DAY_NS: Final = 24 * 3600 * 10**9
LONGEST_NS: Final = _DAY_NS  # no event, and no step, lasts longer
_YEAR_NS: Final = 365 * _DAY_NS

NO_TIME: Final = "events with start and duration 0"
NEGATIVE: Final = "events with a negative duration"
TOO_LONG: Final = "events longer than a day"
TOO_FAR: Final = "events that start more than a year from the others"
AT_ZERO: Final = "events without a start time (0)"


def without_impossible_times(intake: Intake) -> None:
    """Drop such events from the columns and count them in ``skipped``, by reason."""
    columns = intake.events.columns
    if not len(intake.events):
        return
    start = columns["start_ns"].array()
    duration = columns["duration_ns"].array()
    reasons = dict(_impossible(start, duration))
    if not reasons:
        return
    left_out = np.zeros(len(start), dtype=bool)
    for reason, mask in reasons.items():
        intake.skipped[reason] += int((mask & ~left_out).sum())
        left_out |= mask
    intake.events.keep(~left_out)


def _impossible(
    start: NDArray[np.int64], duration: NDArray[np.int64]
) -> list[tuple[str, NDArray[np.bool_]]]:
    reasons = []
    first, last = int(start.min()), int(start.max())
    if first <= 0:
        reasons.append((NO_TIME, (start == 0) & (duration == 0)))
    if int(duration.min()) < 0:
        reasons.append((NEGATIVE, duration < 0))
    if int(duration.max()) > LONGEST_NS:
        reasons.append((TOO_LONG, duration > LONGEST_NS))
    if last - first > _DAY_NS:
        beyond = np.abs(start) >= LIMIT_NS
        timed = start[(start != 0) & ~beyond]
        middle = int(np.median(timed)) if len(timed) else 0
        reasons.append((TOO_FAR, beyond | (np.abs(start - middle) > _YEAR_NS)))
        if abs(middle) > _DAY_NS:
            reasons.append((AT_ZERO, start == 0))
    return [(reason, mask) for reason, mask in reasons if mask.any()]
