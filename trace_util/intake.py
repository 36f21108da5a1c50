"""What has been read so far: rows are decoded here, chunk by chunk, and become columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trace_util.another_trace import refuse_another_trace
from trace_util.columns import Array
from trace_util.event_columns import EventColumns
from trace_util.events import TraceError
from trace_util.rows import PHASE_OF, Decoders, Instant, Meta, Other
from trace_util.times import (
    INVALID_NS,
    has_finer_decimals,
    nanoseconds_of_numbers,
    nanoseconds_of_texts,
)

NO_START = "events without a usable start"
NO_DURATION = "events without a usable duration"
PYTHON_FRAMES = "Python frames (no part of a summary)"


# How much of each chunk is looked at for times finer than thousandths.
_SAMPLE_BYTES = 2048

_COUNTS = ("phases", "repairs", "skipped")
_NAMINGS = ("process_names", "thread_names")


class Intake:
    """Columns, tables and counts of the events read so far."""

    def __init__(self, columns: str = "all") -> None:
        if columns not in ("all", "summary"):
            raise TraceError(f"columns={columns!r}: expected 'all' or 'summary'")
        self.brief = columns == "summary"
        self.decoders = Decoders(self.brief)
        self.events = EventColumns(self.brief)
        self.rows = 0  # events seen, of any phase
        self.phases: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.process_names: dict[Any, str] = {}
        self.thread_names: dict[tuple[Any, Any], str] = {}
        self.record_end_ns: int | None = None
        self._exact = False

    def add(self, text: bytes | memoryview, gaps: Sequence[int] = ()) -> None:
        """Take in a JSON list of events; ``gaps`` are as in :meth:`numbers`.

        Raises ``msgspec.DecodeError`` where the text is malformed, and has then changed nothing.
        """
        try:
            if not self._exact and not has_finer_decimals(text[:_SAMPLE_BYTES]):
                if self._take(self.decoders.quick.decode(text), self.decoders.quick_row, gaps):
                    return
                self._exact = True
            self._take(self.decoders.exact.decode(text), self.decoders.exact_row, gaps)
        except msgspec.ValidationError:
            refuse_another_trace(text)
            self._exact = True
            repairs: Counter[str] = Counter()
            skipped: Counter[str] = Counter()
            rows = self.decoders.lenient(text, repairs, skipped)
            self.repairs += repairs
            self.skipped += skipped
            self._take(rows, self.decoders.exact_row, gaps)

    def numbers(self, count: int, gaps: Sequence[int] = ()) -> Array:
        """The rows of the next ``count`` events, counted from the start of the list of events.

        ``gaps`` are the positions among them, ascending, before which an event was left out.
        """
        numbers = np.arange(self.rows, self.rows + count)
        if len(gaps):
            numbers += np.searchsorted(np.array(gaps), np.arange(count), side="right")
        return numbers

    def state(self) -> dict[str, Any]:
        """All but the columns, to be handed to :meth:`append` in another process."""
        names = (*_COUNTS, *_NAMINGS, "rows", "record_end_ns")
        state: dict[str, Any] = {name: vars(self)[name] for name in names}
        return state | {"tables": self.events.table_values()}

    def append(self, state: dict[str, Any], columns: Iterator[Any]) -> None:
        """Append what another intake has read of the text that follows; its columns in order."""
        self.events.merge(state["tables"], columns, self.rows)
        for name in (*_COUNTS, *_NAMINGS):
            vars(self)[name].update(state[name])
        self.rows += state["rows"]
        if state["record_end_ns"] is not None:
            self.record_end_ns = state["record_end_ns"]

    def _take(self, rows: list[Any], complete: Any, gaps: Sequence[int]) -> bool:
        """Append rows; False where their times can only be had from texts."""
        kept = [row for row in rows if type(row) is complete]
        texts = complete is self.decoders.exact_row
        starts = _times([each.ts for each in kept], texts)
        durations = _times([each.dur for each in kept], texts)
        if starts is None or durations is None:
            return False
        if len(kept) < len(rows):
            self._count_others([row for row in rows if type(row) is not complete])
        self.phases["X"] += len(kept)
        # A summary tells no rows, so that they need not be counted out.
        where = None if self.brief else self._positions(rows, complete, len(kept), gaps)
        self.rows += len(rows) + len(gaps)
        wanted = self._wanted(kept, starts, durations)
        if wanted is not None:
            kept = [kept[i] for i in wanted.tolist()]
            where = None if where is None else where[wanted]
            starts, durations = starts[wanted], durations[wanted]
        if kept:
            self.events.append(kept, where, starts, durations)
        return True

    def _positions(self, rows: list[Any], complete: Any, kept: int, gaps: Sequence[int]) -> Array:
        """The rows of the complete events."""
        numbers = self.numbers(len(rows), gaps)
        if kept == len(rows):
            return numbers
        is_kept = np.frombuffer(bytes([type(row) is complete for row in rows]), dtype=bool)
        return np.compress(is_kept, numbers)

    def _wanted(self, kept: list[Any], starts: Array, durations: Array) -> Array | None:
        """The positions of the events to keep; ``None`` for all."""
        bad_start, bad_duration = starts == INVALID_NS, durations == INVALID_NS
        left_out = bad_start | bad_duration
        if left_out.any():
            self.skipped[NO_START] += int(bad_start.sum())
            self.skipped[NO_DURATION] += int((bad_duration & ~bad_start).sum())
        if self.brief and "python_function" in {each.cat for each in kept}:
            python = np.array([each.cat == "python_function" for each in kept], dtype=bool)
            python &= ~left_out
            self.skipped[PYTHON_FRAMES] += int(python.sum())
            left_out |= python
        return np.flatnonzero(~left_out) if left_out.any() else None

    def _count_others(self, others: list[Any]) -> None:
        types = Counter(map(type, others))
        for each, count in types.items():
            if each in PHASE_OF:
                self.phases[PHASE_OF[each]] += count
        if Meta not in types and Instant not in types and Other not in types:
            return
        for row in others:
            if isinstance(row, Meta):
                self._name(row)
            elif isinstance(row, Instant):
                if row.name == "Record Window End":
                    end = int(nanoseconds_of_texts([bytes(row.ts)])[0])
                    self.record_end_ns = None if end == INVALID_NS else end
            elif isinstance(row, Other):
                self.phases[row.phase] += 1

    def _name(self, row: Meta) -> None:
        name = row.args.get("name") if isinstance(row.args, dict) else None
        if not isinstance(name, str) or isinstance(row.pid, (list, dict)):
            return
        if row.name == "process_name":
            self.process_names[row.pid] = name
        elif row.name == "thread_name" and not isinstance(row.tid, (list, dict)):
            self.thread_names[row.pid, row.tid] = name


def _times(values: list[Any], texts: bool) -> NDArray[np.int64] | None:
    if texts:
        return nanoseconds_of_texts(list(map(bytes, values)))
    return nanoseconds_of_numbers(values)
