"""The bars of one row: what is wide enough to be seen, and the rest merged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Trace
from trace_util.links import Links
from trace_util.plot.labels import host_labels, kernel_labels
from trace_util.plot.roles import CALLED, Role
from trace_util.plot.rows import Row
from trace_util.report.text import NO_NAME, clean, shortened
from trace_util.report.units import counted, duration
from trace_util.timeline import Indexes, clip

_TITLE_LETTERS = 160


@dataclass(frozen=True)
class Bar:
    """A stretch of one row: one event, or many that are too narrow to be drawn alone."""

    start_ns: int
    end_ns: int
    depth: int
    role: Role
    labels: tuple[str, ...]  # longest first; none where many are merged
    title: str  # in full, with the duration
    count: int
    faded: bool  # launched by another step than the one shown


def bars_of(
    trace: Trace,
    links: Links,
    roles: NDArray[np.uint8],
    row: Row,
    span_ns: tuple[int, int],
    resolution_ns: float,
    shown_step: int | None,
) -> tuple[Bar, ...]:
    """The bars of a row inside a span, in order of depth and start."""
    events = trace.events
    starts, ends = clip(events.start_ns[row.events], events.end_ns[row.events], *span_ns)
    order = np.lexsort((starts, row.depth))
    wide = (ends - starts)[order] >= resolution_ns
    faded = _faded(links, row, shown_step)
    alone = [
        _single(trace, int(row.events[i]), int(starts[i]), int(ends[i]), int(row.depth[i]),
                Role(int(roles[row.events[i]])), bool(faded[i]))
        for i in order[wide]
    ]  # fmt: skip
    narrow = order[~wide]
    cell = ((starts[narrow] - span_ns[0]) // max(resolution_ns, 1)).astype(np.int64)
    merged = [
        _merged(trace, row, members, roles, starts, ends, faded)
        for members in _cells(narrow, cell, row.depth[narrow], roles[row.events[narrow]])
    ]
    return tuple(sorted((*alone, *merged), key=lambda bar: (bar.depth, bar.start_ns, bar.end_ns)))


def _faded(links: Links, row: Row, shown_step: int | None) -> NDArray[np.bool_]:
    if shown_step is None:
        return np.zeros(len(row.events), dtype=bool)
    other: NDArray[np.bool_] = links.step[row.events] != shown_step
    return other


def _cells(
    rows: Indexes, cell: Indexes, depth: Indexes, role: NDArray[np.uint8]
) -> list[NDArray[np.int64]]:
    """Positions that share a cell, a depth and a role."""
    if not len(rows):
        return []
    order = np.lexsort((role, cell, depth))
    key = np.stack([depth[order], cell[order], role[order].astype(np.int64)])
    bounds = np.flatnonzero((key[:, 1:] != key[:, :-1]).any(axis=0)) + 1
    return list(np.split(rows[order], bounds))


def _merged(
    trace: Trace,
    row: Row,
    members: Indexes,
    roles: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    faded: NDArray[np.bool_],
) -> Bar:
    first = int(members[0])
    event = int(row.events[first])
    role, depth = Role(int(roles[event])), int(row.depth[first])
    low, high = int(starts[members].min()), int(ends[members].max())
    if len(members) == 1:
        return _single(trace, event, low, high, depth, role, bool(faded[first]))
    title = f"{counted(len(members), 'event')}, the first {_name(trace, event)}"
    return Bar(low, high, depth, role, (), title, len(members), bool(faded[members].all()))


def _single(
    trace: Trace,
    event: int,
    start_ns: int,
    end_ns: int,
    depth: int,
    role: Role,
    faded: bool,
) -> Bar:
    name = trace.name_of(event)
    title = f"{_name(trace, event)}, {duration(int(trace.events.duration_ns[event]))}"
    labels = _labels(name, role)
    if role >= Role.GEMM:
        labels = (f"{labels[0]} · {duration(int(trace.events.duration_ns[event]))}", *labels)
    return Bar(start_ns, end_ns, depth, role, labels, title, 1, faded)


@lru_cache(maxsize=4096)
def _labels(name: str, role: Role) -> tuple[str, ...]:
    return kernel_labels(name) if role >= Role.GEMM else host_labels(name, CALLED.get(role))


def _name(trace: Trace, event: int) -> str:
    return shortened(clean(trace.name_of(event)), _TITLE_LETTERS).strip() or NO_NAME
