"""The columns of the events kept so far, and the tables that they index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace_util.arguments import integers, number_in
from trace_util.columns import Array, Column, Table
from trace_util.events import Events, Kind
from trace_util.rows import ABSENT, ExactArgs
from trace_util.sparse import SparseColumn
from trace_util.vocabulary import BOOKKEEPING_PROCESSES, MTIA_STREAM_EVENTS, OPS_PROCESS, kind_of

# The texts that tell shapes, or how a kernel was launched, are interned as one: a byte that is in
# no JSON stands between them.
SEPARATOR = b"\0"
_JOINED: Callable[[Iterable[Any]], bytes] = SEPARATOR.join


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

_FIRST_DTYPES = {"start_ns": np.int64, "duration_ns": np.int64, "kind": np.uint8, "row": np.int32}
_NOT_IN_BRIEF = ("row", "external_id", "shapes", "launch")
_RARE = ("device", "stream", "correlation", "size_bytes")  # few events of a training step say these


class EventColumns:
    """Every column of :class:`trace_util.events.Events`, growing; ``brief`` for a summary's."""

    def __init__(self, brief: bool) -> None:
        self.brief = brief
        self.columns: dict[str, Any] = {
            name: Column(_FIRST_DTYPES.get(name, np.int8)) for name in Events.__struct_fields__
        }
        if brief:
            self.columns |= {name: SparseColumn() for name in _RARE}
        # By the column that indexes the table.
        self.tables = {name: Table() for name in ("name", "category", "process", "thread")}
        self.tables["shapes"] = Table(absent=_JOINED([b""] * 4))
        self.tables["launch"] = Table(absent=_JOINED([b""] * 5))
        self._kinds = np.empty(0, dtype=np.uint8)  # by category index

    def __len__(self) -> int:
        return len(self.columns["start_ns"])

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the events where the mask ``[n]`` is false."""
        for column in self.columns.values():
            column.keep(mask)

    def table_values(self) -> dict[str, list[Any]]:
        """What each table holds, by index."""
        return {name: table.listed() for name, table in self.tables.items()}

    def merge(self, values: dict[str, list[Any]], columns: Iterator[Any], rows: int) -> None:
        """Append other columns, of text that follows ``rows`` rows.

        ``values`` are their tables'; ``columns`` their states in order, one at a time so that no
        two are in memory.
        """
        for name, column in self.columns.items():
            indices = None
            if name in self.tables:
                table = self.tables[name]
                indices = np.array([*(table[each] for each in values[name]), -1])
            column.append(next(columns), indices, rows if name == "row" else 0)

    def append(self, kept: list[Any], rows: Array | None, starts: Array, durations: Array) -> None:
        """Append complete events, at least one, with their times and, but for a summary, rows."""
        tables = self.tables
        category = _indices(tables["category"], [each.cat for each in kept])
        if len(self._kinds) < len(tables["category"]):
            kinds = [kind_of(category) for category in tables["category"]]
            self._kinds = np.array(kinds, dtype=np.uint8)
        kind = self._kinds[category]
        process = _indices(tables["process"], [each.pid for each in kept])
        self._refine(kind, kept, category, process)
        args = [each.args for each in kept]
        add = self.columns
        add["start_ns"].extend(starts)
        add["duration_ns"].extend(durations)
        name = _indices(tables["name"], [each.name for each in kept])
        add["name"].extend(name, len(tables["name"]))
        add["category"].extend(category, len(tables["category"]))
        add["kind"].extend(kind)
        add["process"].extend(process, len(tables["process"]))
        thread = _indices(tables["thread"], [each.tid for each in kept])
        add["thread"].extend(thread, len(tables["thread"]))
        self._append_links(args, kind)
        self._append_places(kept, args, kind)
        if rows is None:
            for absent in _NOT_IN_BRIEF:
                add[absent].fill(len(kept))
        else:
            add["row"].extend(rows, int(rows[-1]))
            self._append_details(args, kind)

    def _refine(self, kind: Array, kept: list[Any], category: Array, process: Array) -> None:
        """Correct the kinds that a category alone does not tell."""
        processes, categories = self.tables["process"], self.tables["category"]
        for books in BOOKKEEPING_PROCESSES & processes.keys():
            kind[process == processes[books]] = Kind.BOOKKEEPING
        if "mtia_ccp_events" in categories:
            for i in np.flatnonzero(category == categories["mtia_ccp_events"]).tolist():
                if kept[i].name in MTIA_STREAM_EVENTS:
                    kind[i] = Kind.SYNC
        if "" in categories and OPS_PROCESS in processes:
            kind[(category == categories[""]) & (process == processes[OPS_PROCESS])] = Kind.CPU_OP
        if "" in categories and isinstance(kept[0].args, ExactArgs):
            for i in np.flatnonzero(category == categories[""]).tolist():
                args = kept[i].args
                if args.task_type is not None:
                    kind[i] = Kind.KERNEL
                elif args.level is not None:
                    kind[i] = Kind.RUNTIME

    def _append_links(self, args: list[Any], kind: Array) -> None:
        linked = np.flatnonzero(_IS_LINKED[kind])
        theirs = [args[i] for i in linked.tolist()]
        correlation = integers([each.correlation for each in theirs])
        self.columns["correlation"].scatter(len(args), linked, correlation)

    def _append_places(self, kept: list[Any], args: list[Any], kind: Array) -> None:
        """Device, stream and size of the events on device rows."""
        count = len(kept)
        placed = np.flatnonzero(_IS_ON_DEVICE[kind])
        rows = placed.tolist()
        device = integers([args[i].device for i in rows])
        for i in np.flatnonzero(device == -1).tolist():
            device[i] = number_in(kept[rows[i]].pid)
        stream = integers([args[i].stream for i in rows])
        for i in np.flatnonzero(stream == -1).tolist():
            stream[i] = number_in(kept[rows[i]].tid)
        stream[stream == _NO_STREAM] = -1
        self.columns["device"].scatter(count, placed, device)
        self.columns["stream"].scatter(count, placed, stream)
        sized = np.flatnonzero(_IS_SIZED[kind])
        sizes = integers([args[i].size_bytes for i in sized.tolist()])
        self.columns["size_bytes"].scatter(count, sized, sizes)

    def _append_details(self, args: list[Any], kind: Array) -> None:
        count = len(args)
        external = integers([each.external_id for each in args])
        if external.min() == -1:
            old = integers([each.external_id_2021 for each in args])
            external = np.where(external == -1, old, external)
        self.columns["external_id"].extend(external)
        ops = np.flatnonzero(_HAS_SHAPES[kind]).tolist()
        shaped = [i for i in ops if args[i].dims is not ABSENT]
        texts = [
            _JOINED((each.dims, each.types, each.strides, each.concrete))
            for each in [args[i] for i in shaped]
        ]
        where = np.array(shaped, dtype=np.int64)
        self.columns["shapes"].scatter(count, where, _indices(self.tables["shapes"], texts))
        launched = np.flatnonzero(kind == Kind.KERNEL)
        texts = [
            _JOINED((each.grid, each.block, each.registers, each.shared_bytes, each.occupancy))
            for each in [args[i] for i in launched.tolist()]
        ]
        self.columns["launch"].scatter(count, launched, _indices(self.tables["launch"], texts))


def _indices(table: Table, values: list[Any]) -> Array:
    return np.fromiter(map(table.__getitem__, values), dtype=np.int32, count=len(values))
