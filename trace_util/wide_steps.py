"""Steps that took the CPU far longer than the other steps of the same process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Trace
from trace_util.links import Links
from trace_util.tally import distinct, middle

# A step mark is wide when it lasts over this many times the median of all (of two none can).
WIDE = 2.0


def wide_steps(trace: Trace, links: Links) -> NDArray[np.bool_]:
    """Mask of the wide steps, in their order.

    In a merged job each rank has a pace of its own, and each a first step.
    """
    duration = np.array([step.end_ns - step.start_ns for step in links.steps], dtype=np.int64)
    wide = np.zeros(len(duration), dtype=bool)
    for mine in _by_process(trace, links):
        wide[mine] = duration[mine] > WIDE * middle(duration[mine].tolist())
    return wide


def wide_first_steps(trace: Trace, links: Links) -> NDArray[np.bool_]:
    """Mask of the steps that are wide and the first of their process."""
    first = np.zeros(len(links.steps), dtype=bool)
    first[[mine[0] for mine in _by_process(trace, links)]] = True
    return first & wide_steps(trace, links)


def _by_process(trace: Trace, links: Links) -> list[NDArray[np.intp]]:
    """The positions of each process's steps."""
    marks = np.array([step.index for step in links.steps], dtype=np.int64)
    process = trace.events.process[marks]
    return [np.flatnonzero(process == one) for one in distinct(process).tolist()]
