"""A trace with its links, its facts and its run, and the questions that are put to all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trace_util.calls import Call
from trace_util.computed import Computed, computed
from trace_util.events import Kind, Trace
from trace_util.evidence import EventRow, Evidence
from trace_util.facts import Facts, trace_facts
from trace_util.launches import unplaced_work
from trace_util.links import Indexes, Links, link
from trace_util.ranges import Range, range_of
from trace_util.runs import ANNOTATIONS, Run, run_of
from trace_util.slim import GPU
from trace_util.steps import sound_steps, step_ranks
from trace_util.wholeness import why_incomplete

SHOWN = 6  # events of one piece of evidence; more prove nothing more


@dataclass(frozen=True)
class Reading:
    """A trace with what has been worked out of it. Rows are indexes into the columns."""

    trace: Trace
    links: Links
    facts: Facts
    run: Run
    label: str = ""  # the path, for a trace beside the one that is checked

    @cached_property
    def first_ns(self) -> int:
        """The start of the first event, from which viewers count."""
        events = self.trace.events
        starts = events.start_ns[events.kind != Kind.BOOKKEEPING]
        return int(starts.min()) if len(starts) else 0

    @property
    def steps(self) -> range:
        """The indexes of the steps."""
        return range(len(self.facts.steps))

    @property
    def no_gpu(self) -> str | None:
        """Why GPU work cannot be seen in the trace, ``None`` when it can."""
        flaw = why_incomplete(self.trace)
        return {
            "none": f"no launch is in what could be read: {flaw}"
            if flaw
            else "nothing was launched: the run was on the CPU",
            "missing": "kernels were launched, but what the GPU did was not recorded",
        }.get(self.facts.gpu_activity)

    @cached_property
    def unplaced(self) -> str:
        """Why the GPU work of a step cannot be known, "" where it can."""
        count = len(unplaced_work(self.trace, self.links))
        events = "a GPU event names" if count == 1 else f"{count:,} GPU events name"
        return f"{events} no launch, and so no step" if count else ""

    def lost_kernels(self, step: int | None = None) -> str:
        """How many launches of a step, or of the file, have no kernel, in words; "" where none."""
        if step is None:
            lost, where = self.facts.lost_launches, "the trace"
        else:
            lost, where = self.facts.steps[step].lost_kernels, self.facts.steps[step].name
        what = "a launch" if lost == 1 else f"{lost} launches"
        return f"{where} lost the kernels of {what}" if lost else ""

    @property
    def is_merged(self) -> bool:
        """Whether the traces of several ranks were merged into this one."""
        return len(set(step_ranks(self.trace, self.facts.steps))) > 1

    @property
    def left_out(self) -> str:
        """Why ops are missing that were recorded, "" where none is."""
        note = self.trace.header.other.get("slimmed")
        is_slim = isinstance(note, dict) and note.get("keep") == GPU
        return "this copy was slimmed to the GPU's work, and most ops left out" if is_slim else ""

    def name(self, row: int) -> str:
        """The name of an event."""
        return self.trace.name_of(row)

    def event(self, row: int) -> EventRow:
        """An event as evidence."""
        events = self.trace.events
        start = int(events.start_ns[row])
        return EventRow(
            self.name(row),
            start,
            start - self.first_ns,
            int(events.duration_ns[row]),
            int(events.row[row]),
            self.label,
        )

    def proof(self, what: str, rows: Iterable[int], value: int | str | None = None) -> Evidence:
        """Events as evidence, the first few of them."""
        events = tuple(self.event(row) for row in list(rows)[:SHOWN])
        return Evidence(what, "none" if value is None and not events else value, "", events)

    def in_step(self, step: int, *kinds: Kind) -> list[int]:
        """The events of the given kinds that belong to a step, in order of start."""
        events = self.trace.events
        rows = np.flatnonzero((self.links.step == step) & events.is_kind(*kinds))
        rows = rows[rows != self.facts.steps[step].index]
        return self._in_order(rows)

    def kernels(self, step: int) -> list[int]:
        """The kernels of a step, in the order in which they ran."""
        return self.in_step(step, Kind.KERNEL)

    def ops(self, step: int, *names: str) -> list[int]:
        """The ops of a step, all or those of the given names, in order of start."""
        rows = self.in_step(step, Kind.CPU_OP)
        return [row for row in rows if self.name(row) in names] if names else rows

    def annotation(self, step: int) -> int | None:
        """The lesson's own annotation in a step."""
        told = self.trace.header.run.get("annotation")
        for row in self.in_step(step, Kind.USER_ANNOTATION):
            if self.name(row) == told or self.name(row) in ANNOTATIONS:
                return row
        return None

    def above(self, row: int) -> Iterator[int]:
        """The host events around a host event, from the innermost outwards."""
        row = int(self.links.parent[row])
        while row >= 0:
            yield row
            row = int(self.links.parent[row])

    def inside(self, row: int, *names: str) -> int | None:
        """The innermost event of one of the names around a host event."""
        return next((up for up in self.above(row) if self.name(up) in names), None)

    def launches_in(self, outer: int) -> list[int]:
        """The launches within a host event, on its thread, in file order."""
        events = self.trace.events
        rows, starts = self._launches_by_start
        low = np.searchsorted(starts, events.start_ns[outer], side="left")
        high = np.searchsorted(starts, events.end_ns[outer], side="right")
        # Those of other threads lie in the same stretch of time.
        return sorted(row for row in rows[low:high].tolist() if outer in self.above(row))

    @cached_property
    def _launches_by_start(self) -> tuple[Indexes, Indexes]:
        """The launches in order of start, and their starts."""
        rows = np.flatnonzero(self.links.is_launch)
        rows = rows[np.argsort(self.trace.events.start_ns[rows], kind="stable")]
        return rows, self.trace.events.start_ns[rows]

    def computed(self, kernel: int) -> Computed:
        """What a kernel computes."""
        return computed(self.trace, self.links, kernel)

    def queries(self, step: int) -> list[int]:
        """The occupancy queries of a step."""
        mask = (self.links.step == step) & (self.links.call == Call.OCCUPANCY)
        rows = np.flatnonzero(mask)
        return self._in_order(rows)

    def _in_order(self, rows: Indexes) -> list[int]:
        starts = self.trace.events.start_ns[rows]
        in_order: list[int] = rows[np.argsort(starts, kind="stable")].tolist()
        return in_order

    def start_ns(self, row: int) -> int:
        """When an event starts."""
        return int(self.trace.events.start_ns[row])

    def duration_ns(self, row: int) -> int:
        """How long an event lasts."""
        return int(self.trace.events.duration_ns[row])

    def dispatch(self) -> Range | None:
        """CPU time of the annotated step, without the first one, which the profiler slows most."""
        rows = [row for step in self.steps if (row := self.annotation(step)) is not None]
        return range_of([self.duration_ns(row) for row in (rows[1:] or rows)])

    def unprofiled(self) -> Range | None:
        """The time of a step that was measured without the profiler."""
        told = self.facts.unprofiled_step
        if told is None or told.min_ns is None or told.max_ns is None or told.count is None:
            return None
        return Range(told.median_ns, told.min_ns, told.max_ns, told.count)

    def gpu_step(self) -> Range | None:
        """GPU time of a step: the union of what it launched, of the steps that can be compared.

        ``None`` where each of them lost kernels.
        """
        sound = [self.facts.steps[index] for index in sound_steps(self.facts.steps)]
        return range_of([step.gpu_busy_ns for step in sound if not step.lost_kernels])


def reading_of(trace: Trace, label: str = "") -> Reading:
    """A trace, linked and with its facts."""
    links = link(trace)
    facts = trace_facts(trace, links)
    return Reading(trace, links, facts, run_of(trace, facts), label)
