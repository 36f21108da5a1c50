"""The steps of whose GPU work a trace does not tell all, so that their figures are at least so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trace_util.blocks import rows_where
from trace_util.events import Trace
from trace_util.launches import unplaced_work
from trace_util.links import Links
from trace_util.steps import StepFacts
from trace_util.tally import distinct


def partial_steps(trace: Trace, links: Links, steps: Sequence[StepFacts]) -> tuple[int, ...]:
    """The positions of such steps: all of them where GPU work names no launch.

    Else those that lost kernels, and those during which a process without marks launched work.
    """
    if not steps:
        return ()
    if len(unplaced_work(trace, links)):
        return tuple(range(len(steps)))
    others = _launches_elsewhere(trace, links)
    starts = np.array([step.start_ns for step in steps])
    ends = starts + [step.duration_ns for step in steps]
    elsewhere = np.searchsorted(others, starts) < np.searchsorted(others, ends)
    lost = [step.lost_kernels > 0 for step in steps]
    return tuple(np.flatnonzero(elsewhere | lost).tolist())


def _launches_elsewhere(trace: Trace, links: Links) -> NDArray[np.int64]:
    """When processes that have no step marks launched work, in order."""
    events = trace.events
    marked = distinct(events.process[[step.index for step in links.steps]])
    calls = rows_where(links.is_launch, lambda rows: links.step[rows] < 0)
    calls = calls[~np.isin(events.process[calls], marked)]
    return np.sort(events.start_ns[calls])
