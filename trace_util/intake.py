"""What has been read so far: rows are decoded here, chunk by chunk, and become columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from struct import error as PackError
from struct import pack
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trace_util.columns import Array, Column, Table
from trace_util.events import Events, Kind, TraceError
from trace_util.rows import ABSENT, PHASE_OF, Decoders, Instant, Meta, Other
from trace_util.times import (
    INVALID_NS,
    has_finer_decimals,
    nanoseconds_of_numbers,
    nanoseconds_of_texts,
)
from trace_util.vocabulary import BOOKKEEPING_PROCESSES, MTIA_STREAM_EVENTS, kind_of

NO_START = "events without a usable start"
NO_DURATION = "events without a usable duration"
# The texts that tell shapes, or how a kernel was launched, are interned as one: a byte that is in
# no JSON stands between them.
SEPARATOR = b"\0"
_JOINED: Callable[[Iterable[Any]], bytes] = SEPARATOR.join

PYTHON_FRAMES = "Python frames (no part of a summary)"


def _mask(*kinds: Kind) -> NDArray[np.bool_]:
    mask = np.zeros(256, dtype=bool)
    mask[list(kinds)] = True
    return mask


_IS_ON_DEVICE = _mask(Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GPU_ANNOTATION, Kind.SYNC)
_IS_LINKED = ~_mask(Kind.CPU_OP, Kind.PYTHON, Kind.USER_ANNOTATION)
_HAS_SHAPES = _mask(Kind.CPU_OP, Kind.USER_ANNOTATION)
_IS_SIZED = _mask(Kind.MEMCPY, Kind.MEMSET)
# CUPTI's "no stream" (CUPTI_SYNCHRONIZATION_INVALID_VALUE) as an unsigned 32-bit number.
_NO_STREAM = 0xFFFFFFFF
# How much of each chunk is looked at for times finer than thousandths.
_SAMPLE_BYTES = 2048

# Columns that index a table, and the table's name.
_TABLES = {
    "name": "names",
    "category": "categories",
    "process": "processes",
    "thread": "threads",
    "shapes": "shapes",
    "launch": "launches",
}
_COUNTS = ("phases", "repairs", "skipped")
_NAMINGS = ("process_names", "thread_names")

COLUMNS = tuple(each.name for each in fields(Events))
_FIRST_DTYPES = {"start_ns": np.int64, "duration_ns": np.int64, "kind": np.uint8, "row": np.int32}


class Intake:
    """Columns, tables and counts of the events read so far."""

    def __init__(self, columns: str = "all") -> None:
        if columns not in ("all", "summary"):
            raise TraceError(f"columns={columns!r}: expected 'all' or 'summary'")
        self.brief = columns == "summary"
        self.decoders = Decoders(self.brief)
        self.columns = {name: Column(_FIRST_DTYPES.get(name, np.int8)) for name in COLUMNS}
        self.names, self.categories = Table(), Table()
        self.processes, self.threads = Table(), Table()
        self.shapes = Table(absent=_JOINED([b""] * 4))
        self.launches = Table(absent=_JOINED([b""] * 5))
        self.rows = 0  # events seen, of any phase
        self.phases: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.process_names: dict[Any, str] = {}
        self.thread_names: dict[tuple[Any, Any], str] = {}
        self.record_end_ns: int | None = None
        self._kinds = np.empty(0, dtype=np.uint8)  # by category index
        self._exact = False

    def add(self, text: bytes | memoryview) -> None:
        """Take in a JSON list of events.

        Raises ``msgspec.DecodeError`` where the text is malformed, and has then changed nothing.
        """
        try:
            if not self._exact and not has_finer_decimals(text[:_SAMPLE_BYTES]):
                if self._take(self.decoders.quick.decode(text), self.decoders.quick_row):
                    return
                self._exact = True
            self._take(self.decoders.exact.decode(text), self.decoders.exact_row)
        except msgspec.ValidationError:
            self._exact = True
            repairs: Counter[str] = Counter()
            skipped: Counter[str] = Counter()
            rows = self.decoders.lenient(text, repairs, skipped)
            self.repairs += repairs
            self.skipped += skipped
            self._take(rows, self.decoders.exact_row)

    def skip(self, reason: str) -> None:
        """Count an event that cannot be read."""
        self.skipped[reason] += 1
        self.rows += 1

    def state(self) -> dict[str, Any]:
        """All but the columns, to be handed to :meth:`append` in another process."""
        names = (*_COUNTS, *_NAMINGS, "rows", "record_end_ns")
        kept: dict[str, Any] = {name: vars(self)[name] for name in names}
        return kept | {name: vars(self)[name].listed() for name in _TABLES.values()}

    def append(self, state: dict[str, Any], columns: Iterator[Any]) -> None:
        """Append what another intake has read of the text that follows.

        ``columns`` are its columns' states in order, one at a time so that no two are in memory.
        """
        for name, column in self.columns.items():
            indices = None
            if name in _TABLES:
                table = vars(self)[_TABLES[name]]
                indices = np.array([*(table[each] for each in state[_TABLES[name]]), -1])
            column.append(next(columns), indices, self.rows if name == "row" else 0)
        for name in (*_COUNTS, *_NAMINGS):
            vars(self)[name].update(state[name])
        self.rows += state["rows"]
        if state["record_end_ns"] is not None:
            self.record_end_ns = state["record_end_ns"]

    def _take(self, rows: list[Any], complete: Any) -> bool:
        """Append rows; False where their times can only be had from texts."""
        kept = [row for row in rows if type(row) is complete]
        texts = complete is self.decoders.exact_row
        starts = _times([each.ts for each in kept], texts)
        durations = _times([each.dur for each in kept], texts)
        if starts is None or durations is None:
            return False
        if len(kept) < len(rows):
            is_kept = bytes([type(row) is complete for row in rows])
            where = np.flatnonzero(np.frombuffer(is_kept, dtype=bool))
            self._count_others([row for row in rows if type(row) is not complete])
        else:
            where = np.arange(len(rows))
        self.phases["X"] += len(kept)
        where += self.rows
        self.rows += len(rows)
        wanted = self._wanted(kept, starts, durations)
        if wanted is not None:
            kept = [kept[i] for i in wanted.tolist()]
            where, starts, durations = where[wanted], starts[wanted], durations[wanted]
        if kept:
            self._append(kept, where, starts, durations)
        return True

    def _wanted(self, kept: list[Any], starts: Array, durations: Array) -> Array | None:
        """The positions of the events to keep; ``None`` for all."""
        bad_start, bad_duration = starts == INVALID_NS, durations == INVALID_NS
        left_out = bad_start | bad_duration
        if left_out.any():
            self.skipped[NO_START] += int(bad_start.sum())
            self.skipped[NO_DURATION] += int((bad_duration & ~bad_start).sum())
        if self.brief:
            python = np.array([each.cat == "python_function" for each in kept], dtype=bool)
            python &= ~left_out
            self.skipped[PYTHON_FRAMES] += int(python.sum())
            left_out |= python
        return np.flatnonzero(~left_out) if left_out.any() else None

    def _append(self, kept: list[Any], where: Array, starts: Array, durations: Array) -> None:
        category = _indices(self.categories, [each.cat for each in kept])
        if len(self._kinds) < len(self.categories):
            kinds = [kind_of(category) for category in self.categories]
            self._kinds = np.array(kinds, dtype=np.uint8)
        kind = self._kinds[category]
        process = _indices(self.processes, [each.pid for each in kept])
        self._refine(kind, kept, category, process)
        args = [each.args for each in kept]
        add = self.columns
        add["row"].extend(where, self.rows)
        add["start_ns"].extend(starts)
        add["duration_ns"].extend(durations)
        name = _indices(self.names, [each.name for each in kept])
        add["name"].extend(name, len(self.names))
        add["category"].extend(category, len(self.categories))
        add["kind"].extend(kind)
        add["process"].extend(process, len(self.processes))
        thread = _indices(self.threads, [each.tid for each in kept])
        add["thread"].extend(thread, len(self.threads))
        self._append_links(args, kind)
        self._append_places(kept, args, kind)
        if self.brief:
            for absent in ("external_id", "shapes", "launch"):
                add[absent].fill(len(kept))
        else:
            self._append_details(args, kind)

    def _refine(self, kind: Array, kept: list[Any], category: Array, process: Array) -> None:
        """Correct the kinds that a category alone does not tell."""
        for books in BOOKKEEPING_PROCESSES & self.processes.keys():
            kind[process == self.processes[books]] = Kind.BOOKKEEPING
        if "mtia_ccp_events" in self.categories:
            for i in np.flatnonzero(category == self.categories["mtia_ccp_events"]).tolist():
                if kept[i].name in MTIA_STREAM_EVENTS:
                    kind[i] = Kind.SYNC
        if self._exact and "" in self.categories:
            for i in np.flatnonzero(category == self.categories[""]).tolist():
                args = kept[i].args
                if args.task_type is not None:
                    kind[i] = Kind.KERNEL
                elif args.level is not None:
                    kind[i] = Kind.RUNTIME

    def _append_links(self, args: list[Any], kind: Array) -> None:
        linked = np.flatnonzero(_IS_LINKED[kind])
        theirs = [args[i] for i in linked.tolist()]
        correlation = _integers([each.correlation for each in theirs])
        self.columns["correlation"].scatter(len(args), linked, correlation)

    def _append_places(self, kept: list[Any], args: list[Any], kind: Array) -> None:
        """Device, stream and size of the events on device rows."""
        count = len(kept)
        placed = np.flatnonzero(_IS_ON_DEVICE[kind])
        rows = placed.tolist()
        device = _integers([args[i].device for i in rows])
        for i in np.flatnonzero(device == -1).tolist():
            device[i] = _number_in(kept[rows[i]].pid)
        stream = _integers([args[i].stream for i in rows])
        for i in np.flatnonzero(stream == -1).tolist():
            stream[i] = _number_in(kept[rows[i]].tid)
        stream[stream == _NO_STREAM] = -1
        self.columns["device"].scatter(count, placed, device)
        self.columns["stream"].scatter(count, placed, stream)
        sized = np.flatnonzero(_IS_SIZED[kind])
        sizes = _integers([args[i].size_bytes for i in sized.tolist()])
        self.columns["size_bytes"].scatter(count, sized, sizes)

    def _append_details(self, args: list[Any], kind: Array) -> None:
        count = len(args)
        external = _integers([each.external_id for each in args])
        if external.min() == -1:
            old = _integers([each.external_id_2021 for each in args])
            external = np.where(external == -1, old, external)
        self.columns["external_id"].extend(external)
        ops = np.flatnonzero(_HAS_SHAPES[kind]).tolist()
        shaped = [i for i in ops if args[i].dims is not ABSENT]
        texts = [
            _JOINED((each.dims, each.types, each.strides, each.concrete))
            for each in [args[i] for i in shaped]
        ]
        where = np.array(shaped, dtype=np.int64)
        self.columns["shapes"].scatter(count, where, _indices(self.shapes, texts))
        launched = np.flatnonzero(kind == Kind.KERNEL)
        texts = [
            _JOINED((each.grid, each.block, each.registers, each.shared_bytes, each.occupancy))
            for each in [args[i] for i in launched.tolist()]
        ]
        self.columns["launch"].scatter(count, launched, _indices(self.launches, texts))

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


def _indices(table: Table, values: list[Any]) -> Array:
    return np.fromiter(map(table.__getitem__, values), dtype=np.int32, count=len(values))


def _integers(values: list[Any]) -> NDArray[np.int64]:
    """The values as integers; -1 for whatever is none."""
    try:
        return np.frombuffer(bytearray(pack(f"{len(values)}q", *values)), dtype=np.int64)
    except PackError:
        return np.array([_integer(value) for value in values], dtype=np.int64)


def _integer(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
    return number if abs(number) < 2**63 else -1


def _number_in(value: Any) -> int:
    """The number of a row: itself, or the one in a text such as ``"stream 7 "``; -1 for none."""
    if isinstance(value, str):
        digits = value.split()[-1:]
        return int(digits[0]) if digits and digits[0].isascii() and digits[0].isdigit() else -1
    return _integer(value)
