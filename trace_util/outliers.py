"""Which events have times that no recording can have: never written, negative, or far off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Events, Kind

# No profiler window lasts as long. Unfinished ops end centuries away, and records that were never
# filled in start at 0, where the others start days after boot or decades after 1970.
DAY_NS = 86_400 * 10**9

UNSET = "ts and dur of 0"
NEGATIVE = "negative duration"
ABSURD = "over a day long, or over a day away from the rest"


def outliers(events: Events) -> dict[str, NDArray[np.int64]]:
    """The rows to leave out of every span and sum, by reason; reasons without rows are missing."""
    starts, durations = events.start_ns, events.duration_ns
    unset = (starts == 0) & (durations == 0) & (events.kind != Kind.BOOKKEEPING)
    negative = durations < 0
    absurd = durations > DAY_NS
    trusted = ~(unset | negative | absurd)
    if trusted.any():
        middle = int(np.partition(starts[trusted], trusted.sum() // 2)[trusted.sum() // 2])
        absurd |= trusted & ((starts < middle - DAY_NS) | (starts > middle + DAY_NS))
    found = {UNSET: unset, NEGATIVE: negative, ABSURD: absurd & ~negative}
    return {reason: np.flatnonzero(mask) for reason, mask in found.items() if mask.any()}
