"""Whether the events of a file are all there and could be used, as reading it showed."""

from __future__ import annotations

from typing import Final

from trace_util import document, sources
from trace_util.cautions import BROKEN, IMPOSSIBLE, TWO_WRITERS, is_of_incomplete
from trace_util.events import Trace
from trace_util.salvage import LAST_EVENT

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


def has_two_texts(trace: Trace) -> bool:
    """Whether the text breaks off and goes on: damage, or two writers of one path."""
    return TWO_WRITERS in trace.warnings


def has_several_lists(trace: Trace) -> bool:
    """Whether one sound text says ``traceEvents`` more than once: readers differ on what counts."""
    return bool(trace.repairs.get(document.FURTHER_LISTS)) and not has_two_texts(trace)


def is_damaged(trace: Trace) -> bool:
    """Whether the compressed data is not what was written."""
    return bool(trace.repairs.get(sources.DAMAGED))


def why_incomplete(trace: Trace) -> str:
    """Why the events are not all there, or not all true, as one sentence; "" for a whole trace."""
    found = left_out(trace)
    reasons = [
        "the file is cut off" if is_cut_off(trace) else "",
        "its gzip data is damaged" if is_damaged(trace) else "",
        "its text breaks off and goes on, as where two writers had one path"
        if has_two_texts(trace)
        else "",
        "its traceEvents stands more than once" if has_several_lists(trace) else "",
        "it was made of a file that was cut off or damaged"
        if is_of_incomplete(trace.header.other)
        else "",
        f"events could not be used ({', '.join(f'{what}: {n}' for what, n in found.items())})"
        if found
        else "",
    ]
    return ", and ".join(filter(None, reasons))
