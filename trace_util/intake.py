"""What has been read so far: rows are decoded here, chunk by chunk, and become columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trace_util.columns import Array, Column, Table
from trace_util.events import Events, Kind, TraceError
from trace_util.rows import PHASE_OF, Args, BriefArgs, Decoders, Instant, Meta, Other
from trace_util.times import (
    INVALID_NS,
    has_finer_decimals,
    nanoseconds_of_numbers,
    nanoseconds_of_texts,
)
from trace_util.vocabulary import BOOKKEEPING_PROCESSES, MTIA_STREAM_EVENTS, kind_of

_DEVICE_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GPU_ANNOTATION, Kind.SYNC)
_UNLINKED_KINDS = (Kind.CPU_OP, Kind.PYTHON, Kind.USER_ANNOTATION)
# CUPTI's "no stream" (CUPTI_SYNCHRONIZATION_INVALID_VALUE) as an unsigned 32-bit number.
_NO_STREAM = 0xFFFFFFFF
# How much of each chunk is looked at for times finer than thousandths.
_SAMPLE_BYTES = 4096

COLUMNS = tuple(each.name for each in fields(Events))
_FIRST_DTYPES = {"start_ns": np.int64, "duration_ns": np.int64, "kind": np.uint8, "row": np.int32}


class Intake:
    """Columns, tables and counts of the events read so far."""

    def __init__(self, columns: str = "all") -> None:
        if columns not in ("all", "summary"):
            raise TraceError(f"columns={columns!r}: expected 'all' or 'summary'")
        self.brief = columns == "summary"
        self.decoders = Decoders(BriefArgs if self.brief else Args)
        self.columns = {name: Column(_FIRST_DTYPES.get(name, np.int8)) for name in COLUMNS}
        self.names, self.categories = Table(), Table()
        self.processes, self.threads = Table(), Table()
        self.shapes, self.launches = Table(), Table()
        self.rows = 0  # events seen, of any phase
        self.phases: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.process_names: dict[Any, str] = {}
        self.thread_names: dict[tuple[Any, Any], str] = {}
        self.record_end_ns: int | None = None
        self._kinds: list[int] = []  # by category index
        self._exact = False

    def add(self, text: bytes) -> None:
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
            rows = self.decoders.lenient(text, self.repairs, self.skipped)
            self._take(rows, self.decoders.exact_row)

    def _take(self, rows: list[Any], complete: type) -> bool:
        """Append rows; False where their times can only be had from texts."""
        types = list(map(type, rows))
        if types.count(complete) == len(rows):
            where = np.arange(len(rows))
            kept = rows
        else:
            positions = [i for i, each in enumerate(types) if each is complete]
            where = np.array(positions, dtype=np.int64)
            kept = [rows[i] for i in positions]
        starts = _times([each.ts for each in kept], complete is self.decoders.exact_row)
        durations = _times([each.dur for each in kept], complete is self.decoders.exact_row)
        if starts is None or durations is None:
            return False
        if len(kept) < len(rows):
            self._count_others(rows, types, complete)
        if kept:
            self.phases["X"] += len(kept)
        where += self.rows
        self.rows += len(rows)
        valid = (starts != INVALID_NS) & (durations != INVALID_NS)
        if not valid.all():
            self.skipped["events without a usable start"] += int((starts == INVALID_NS).sum())
            self.skipped["events without a usable duration"] += int(
                ((starts != INVALID_NS) & (durations == INVALID_NS)).sum()
            )
        if self.brief:
            python = np.array([each.cat == "python_function" for each in kept], dtype=bool)
            if python.any():
                self.skipped["Python frames (not needed for a summary)"] += int(
                    (python & valid).sum()
                )
                valid &= ~python
        if not valid.all():
            kept = [kept[i] for i in np.flatnonzero(valid)]
            where, starts, durations = where[valid], starts[valid], durations[valid]
        self._append(kept, where, starts, durations)
        return True

    def _append(self, kept: list[Any], where: Array, starts: Array, durations: Array) -> None:
        count = len(kept)
        if not count:
            return
        category = _indices(self.categories, [each.cat for each in kept])
        while len(self._kinds) < len(self.categories):
            self._kinds.append(kind_of(list(self.categories)[len(self._kinds)]))
        kind = np.array(self._kinds, dtype=np.uint8)[category]
        process = _indices(self.processes, [each.pid for each in kept])
        self._refine(kind, kept, category, process)
        add = self.columns
        add["row"].extend(where)
        add["start_ns"].extend(starts)
        add["duration_ns"].extend(durations)
        add["name"].extend(_indices(self.names, [each.name for each in kept]))
        add["category"].extend(category)
        add["kind"].extend(kind)
        add["process"].extend(process)
        add["thread"].extend(_indices(self.threads, [each.tid for each in kept]))
        self._append_links(kept, kind)
        self._append_places(kept, kind)
        if self.brief:
            for name in ("external_id", "shapes", "launch"):
                add[name].fill(count)
        else:
            self._append_details(kept, kind)

    def _refine(self, kind: Array, kept: list[Any], category: Array, process: Array) -> None:
        """Correct the kinds that a category alone does not tell."""
        books = [self.processes[p] for p in BOOKKEEPING_PROCESSES if p in self.processes]
        if books:
            kind[np.isin(process, books)] = Kind.BOOKKEEPING
        mtia = self.categories.get("mtia_ccp_events")
        if mtia is not None:
            for i in np.flatnonzero(category == mtia):
                if kept[i].name in MTIA_STREAM_EVENTS:
                    kind[i] = Kind.SYNC
        bare = self.categories.get("")
        if bare is not None:
            for i in np.flatnonzero(category == bare):
                if kept[i].args.task_type is not None:
                    kind[i] = Kind.KERNEL
                elif kept[i].args.level is not None and kept[i].args.connection != -1:
                    kind[i] = Kind.RUNTIME

    def _append_links(self, kept: list[Any], kind: Array) -> None:
        linked = np.flatnonzero(~np.isin(kind, _UNLINKED_KINDS))
        args = [kept[i].args for i in linked]
        correlation = _integers([each.correlation for each in args])
        if (correlation == -1).any():
            connection = _integers([each.connection for each in args])
            correlation = np.where(correlation == -1, connection, correlation)
        self.columns["correlation"].scatter(len(kept), linked, correlation)

    def _append_places(self, kept: list[Any], kind: Array) -> None:
        """Device, stream and size of the events on device rows."""
        count = len(kept)
        placed = np.flatnonzero(np.isin(kind, _DEVICE_KINDS))
        rows = [kept[i] for i in placed]
        device = _integers([each.args.device for each in rows])
        for i in np.flatnonzero(device == -1):
            device[i] = _number_in(rows[i].pid)
        stream = _integers([each.args.stream for each in rows])
        for i in np.flatnonzero(stream == -1):
            stream[i] = _number_in(rows[i].tid)
        stream[stream == _NO_STREAM] = -1
        self.columns["device"].scatter(count, placed, device)
        self.columns["stream"].scatter(count, placed, stream)
        sized = np.flatnonzero((kind == Kind.MEMCPY) | (kind == Kind.MEMSET))
        sizes = _integers([kept[i].args.size_bytes for i in sized])
        self.columns["size_bytes"].scatter(count, sized, sizes)

    def _append_details(self, kept: list[Any], kind: Array) -> None:
        count = len(kept)
        args = [each.args for each in kept]
        external = _integers([each.external_id for each in args])
        if (external == -1).any():
            old = _integers([each.external_id_2021 for each in args])
            external = np.where(external == -1, old, external)
        self.columns["external_id"].scatter(count, np.arange(count), external)
        shaped = np.flatnonzero((kind == Kind.CPU_OP) | (kind == Kind.USER_ANNOTATION))
        keys = [_shape_key(args[i]) for i in shaped]
        self.columns["shapes"].scatter(count, shaped, _indices_or_none(self.shapes, keys))
        launched = np.flatnonzero(kind == Kind.KERNEL)
        keys = [_launch_key(args[i]) for i in launched]
        self.columns["launch"].scatter(count, launched, _indices_or_none(self.launches, keys))

    def _count_others(self, rows: list[Any], types: list[type], complete: type) -> None:
        for each, count in Counter(types).items():
            if each in PHASE_OF:
                self.phases[PHASE_OF[each]] += count
        for row, each in zip(rows, types, strict=True):
            if each is Meta:
                self._name(row)
            elif each is Instant and row.name == "Record Window End":
                end = int(nanoseconds_of_texts([bytes(row.ts)])[0])
                self.record_end_ns = None if end == INVALID_NS else end
            elif each is Other:
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


def _indices_or_none(table: Table, keys: list[Any]) -> Array:
    return np.array([-1 if key is None else table[key] for key in keys], dtype=np.int32)


def _integers(values: list[Any]) -> NDArray[np.int64]:
    """The values as integers; -1 for whatever is none."""
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except (TypeError, ValueError, OverflowError):
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


def _shape_key(args: Args) -> tuple[bytes, ...] | None:
    key = bytes(args.dims), bytes(args.types), bytes(args.strides), bytes(args.concrete)
    return key if any(key) else None


def _launch_key(args: Args) -> tuple[Any, ...] | None:
    grid, block = bytes(args.grid), bytes(args.block)
    key = grid, block, args.registers, args.shared_bytes, args.occupancy
    return key if grid or block or args.registers is not None else None
