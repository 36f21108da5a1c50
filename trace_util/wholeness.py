"""Whether the events of a file are all there and could be used, as reading it showed."""

from __future__ import annotations

from typing import Final

from trace_util import document, sources
from trace_util.cautions import BROKEN, IMPOSSIBLE
from trace_util.event_list import LAST_EVENT
from trace_util.events import Trace

_NO_END: Final = (document.CUT_OFF, sources.CUT_OFF)


def is_cut_off(trace: Trace) -> bool:
    """Whether the end of the file is missing."""
    return any(trace.repairs.get(reason) for reason in _NO_END)


def left_out(trace: Trace) -> dict[str, int]:
    """How many events could not be used, by reason; nothing is left out of a sound trace.

    The event at which a file is cut off does not count.
    """
    reasons = [each for each in (*IMPOSSIBLE, *BROKEN) if each != LAST_EVENT]
    return {reason: trace.skipped[reason] for reason in reasons if trace.skipped.get(reason)}
