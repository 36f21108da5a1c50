"""Where a device runs nothing, and why: for each gap its cause and the events that show it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trace_util.blocks import BLOCK, in_blocks, rows_where
from trace_util.calls import waits
from trace_util.events import CALL_KINDS, Kind, Trace
from trace_util.links import Links
from trace_util.tally import distinct
from trace_util.timeline import Indexes, Nanoseconds, Union, covered_ns, union
from trace_util.wide_steps import wide_first_steps

# CUPTI's names for what the profiler itself costs (CUpti_ActivityOverheadKind, CUPTI 12.x). Others
# of its `overhead` rows are CUDA's own, such as "Lazy Function Loading" or "Command Buffer Full".
PROFILER_OVERHEADS = (
    "Activity Buffer Request",
    "Buffer Flush",
    "Instrumentation",
    "Resource",
)
# An idle H200 began at most 4 µs after the end of the launch, in all recorded runs. What waits for
# far longer waits for something that is not in the trace.
LONGEST_LATENCY_NS = 100_000
_FLUSH = re.compile(r"DeviceSynchronize")


class Cause(IntEnum):
    """Why a device ran nothing; ``UNKNOWN`` where the trace does not show it."""

    UNKNOWN = 0  # the work had been launched, or its launch was not recorded
    OVERHEAD = 1  # the CPU had not launched the next work yet
    SYNCHRONISE = 2  # the CPU was waiting for the device when the device ran dry
    PROFILER = 3  # an artefact of the recording


class Gaps(Struct, frozen=True, gc=False):
    """The gaps of every device inside the window, in order; columns are ``[g]``.

    ``before``, ``after``, ``launch`` and ``evidence`` are indexes into the columns of the events,
    -1 where there is none: the GPU events around the gap, the call that launched the one after it,
    and the event that shows the cause (the synchronise, the profiler's own row, the wide step).
    """

    device: Indexes  # index into Facts.devices
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    cause: NDArray[np.uint8]
    before: Indexes
    after: Indexes
    launch: Indexes
    evidence: Indexes

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def duration_ns(self) -> Nanoseconds:
        """The length of each gap."""
        return self.end_ns - self.start_ns

    def by_cause(self) -> dict[Cause, tuple[int, int]]:
        """Cause -> (number of gaps, their time in ns); causes without a gap are missing."""
        found = {}
        for cause in Cause:
            mine = self.cause == cause
            if mine.any():
                found[cause] = (int(mine.sum()), int(self.duration_ns[mine].sum()))
        return found

    def largest(self, count: int) -> list[int]:
        """The positions of the longest gaps, longest first."""
        return [int(i) for i in np.argsort(-self.duration_ns, kind="stable")[:count]]


def device_gaps(
    trace: Trace, links: Links, device_rows: list[Indexes], low_ns: int, high_ns: int
) -> Gaps:
    """The gaps of each device (given as the rows of its GPU events) inside the window."""
    parts = [_idle(trace, rows, low_ns, high_ns) for rows in device_rows]
    columns = list(map(_joined, zip(*parts, strict=True)))
    if not columns or not len(columns[0]):
        nothing = np.zeros(0, dtype=np.int64)
        return Gaps(*(nothing,) * 3, nothing.astype(np.uint8), *(nothing,) * 4)
    start, end, before, after = columns
    device = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part[0]) for part in parts])
    del parts, columns
    launch = np.asarray(links.launch[after])
    launch[after < 0] = -1
    cause = np.empty(len(start), dtype=np.uint8)
    evidence = np.empty(len(start), dtype=np.int32)
    causes = _Causes(trace, links)
    for first in range(0, len(start), BLOCK):
        some = slice(first, first + BLOCK)
        gaps = start[some], end[some], before[some], after[some], launch[some]
        cause[some], evidence[some] = causes.of(*gaps)
    return Gaps(device, start, end, cause, before, after, launch, evidence)


def _idle(
    trace: Trace, rows: Indexes, low_ns: int, high_ns: int
) -> tuple[Nanoseconds, Nanoseconds, Indexes, Indexes]:
    """Start and end of each gap of one device, and the GPU events before and after it."""
    busy = _intervals(trace, rows)
    kept = (busy.end_ns > low_ns) & (busy.start_ns < high_ns)
    start = np.append(low_ns, np.minimum(busy.end_ns[kept], high_ns))
    end = np.append(np.maximum(busy.start_ns[kept], low_ns), high_ns)
    none = np.full(1, -1, dtype=np.int32)
    before, after = np.append(none, busy.last[kept]), np.append(busy.first[kept], none)
    del busy, kept
    gap = end > start
    return start[gap], end[gap], before[gap], after[gap]


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Causes:
    """What a trace shows of why its devices wait."""

    def __init__(self, trace: Trace, links: Links) -> None:
        self._events, self._links = trace.events, links
        self._profiler = _intervals(trace, _profiler_rows(trace))
        self._marks = np.array([step.index for step in links.steps], dtype=np.int32)
        self._wide = np.append(wide_first_steps(trace, links), False)  # the last: of no step
        flush = closing_flush(trace, links)
        self._flush = -1 if flush is None else flush
        self._waiting = [
            (process, _intervals(trace, rows)) for process, rows in _waiting_rows(trace)
        ]

    def of(
        self,
        start: Nanoseconds,
        end: Nanoseconds,
        before: Indexes,
        after: Indexes,
        launch: Indexes,
    ) -> tuple[NDArray[np.uint8], Indexes]:
        """The cause of each gap and the event that shows it.

        The first of these that holds: the profiler's own work fills most of it; the next work had
        been launched before the gap began, or for most of it (unknown: say, the device still ran
        what was launched before the recording began); it leads into a first step that is far wider
        than the rest (in a merged job, of its rank); the CPU was in a synchronise when the device
        ran dry, or for most of the time until the next launch; the CPU had not launched yet.
        """
        events, length = self._events, end - start
        cause = np.full(len(start), Cause.OVERHEAD, dtype=np.uint8)
        evidence = np.full(len(start), -1, dtype=np.int32)
        unsettled = np.ones(len(start), dtype=bool)

        def settle(at: Indexes, why: Cause, rows: Indexes) -> None:
            is_open = unsettled[at]
            at, rows = at[is_open], rows[is_open]
            cause[at], evidence[at], unsettled[at] = why, rows, False

        row, filled = _most_of(self._profiler, start, end)
        at = np.flatnonzero(2 * filled >= length)
        settle(at, Cause.PROFILER, row[at])

        called = np.where(launch >= 0, events.ends(launch), end)
        waited = end - called
        queued = (waited > LONGEST_LATENCY_NS) & (2 * waited > length)
        at = np.flatnonzero((after >= 0) & ((launch < 0) | (called <= start) | queued))
        settle(at, Cause.UNKNOWN, np.full(len(at), -1))

        step = np.where(launch >= 0, self._links.step[launch], -1)
        at = np.flatnonzero((before < 0) & self._wide[step])
        settle(at, Cause.PROFILER, self._marks[step[at]])

        launched = np.where(launch >= 0, events.start_ns[launch], end)
        for process, waiting in self._waiting:
            mine = (launch < 0) | (events.process[launch] == process)
            at = np.flatnonzero(unsettled & mine)
            row, ran_dry = _open_at(waiting, start[at])
            is_flush = ran_dry & (row == self._flush)
            settle(at[is_flush], Cause.PROFILER, row[is_flush])
            settle(at[ran_dry], Cause.SYNCHRONISE, row[ran_dry])
            row, until = _most_of(waiting, start[at], np.minimum(launched[at], end[at]))
            mostly = 2 * until >= length[at]
            settle(at[mostly], Cause.SYNCHRONISE, row[mostly])
        return cause, evidence


def closing_flush(trace: Trace, links: Links) -> int | None:
    """The `…DeviceSynchronize` with which the profiler ends its recording, ``None`` without one.

    It is the last call of the trace, stands in no op or annotation, and begins after the last step.
    """
    start = trace.events.start_ns
    latest = [
        int(calls[np.argmax(start[calls])])
        for calls in in_blocks(trace.events.is_kind(*CALL_KINDS))
        if len(calls)
    ]
    if not latest:
        return None
    last = max(latest, key=lambda row: int(start[row]))  # of equals the first one in the file
    inside = links.parent[last] >= 0 or links.step[last] >= 0
    start_ns = int(start[last])
    late = all(start_ns >= step.end_ns for step in links.steps)
    return last if late and not inside and _FLUSH.search(trace.name_of(last)) else None


def _profiler_rows(trace: Trace) -> Indexes:
    rows = rows_where(trace.events.is_kind(Kind.OVERHEAD))
    names = distinct(trace.events.name[rows]).tolist()
    ours = np.zeros(len(trace.names), dtype=bool)
    ours[[i for i in names if trace.names[i].startswith(PROFILER_OVERHEADS)]] = True
    return rows[ours[trace.events.name[rows]]]


def waiting_calls(trace: Trace) -> Indexes:
    """The calls in which the CPU waits for the device."""
    name, is_call = trace.events.name, trace.events.is_kind(*CALL_KINDS)
    waiting = np.zeros(len(trace.names), dtype=bool)
    for rows in in_blocks(is_call):
        used = [i for i in distinct(name[rows]).tolist() if waits(trace.names[i])]
        waiting[used] = True
    return rows_where(is_call, lambda rows: waiting[name[rows]])


def _waiting_rows(trace: Trace) -> Iterator[tuple[int, Indexes]]:
    """For each process the calls in which it waits for the device."""
    events = trace.events
    rows = waiting_calls(trace)
    for process in distinct(events.process[rows]).tolist():
        yield process, rows[events.process[rows] == process]


def _intervals(trace: Trace, rows: Indexes) -> Union:
    """The union of the given events, `first` and `last` as rows."""
    found = union(trace.events.start_ns[rows], trace.events.ends(rows))
    return found._replace(first=rows[found.first], last=rows[found.last])


def _open_at(waiting: Union, at: Nanoseconds) -> tuple[Indexes, NDArray[np.bool_]]:
    """The interval that is open at each time, or the latest before it; and whether it is open."""
    if not len(waiting.start_ns):
        return np.full(len(at), -1, dtype=np.int64), np.zeros(len(at), dtype=bool)
    index = np.searchsorted(waiting.start_ns, at, side="right") - 1
    found = index >= 0
    return np.where(found, waiting.last[index], -1), found & (waiting.end_ns[index] >= at)


def _most_of(busy: Union, start: Nanoseconds, end: Nanoseconds) -> tuple[Indexes, Nanoseconds]:
    """The last interval that begins before each end, and the time of [start, end) covered."""
    row, _ = _open_at(busy, np.maximum(end - 1, start))
    return row, covered_ns(busy, start, end)
