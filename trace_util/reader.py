"""Reads a trace file: any layout, any vocabulary, in memory that follows the events kept."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from trace_util.cautions import cautions
from trace_util.document import Document
from trace_util.event_columns import SEPARATOR
from trace_util.events import Events, Header, LaunchShape, Shapes, Trace, TraceError
from trace_util.impossible import without_impossible_times
from trace_util.intake import PYTHON_FRAMES, Intake
from trace_util.repair import mended_name
from trace_util.sources import Source

# Plain files from this size on are read by two processes.
LARGE_BYTES: Final = 200_000_000


def read_trace(
    path: str | os.PathLike[str], *, columns: str = "all", processes: int | None = None
) -> Trace:
    """The trace in a file, or in standard input for ``-``.

    ``columns="summary"`` leaves out what a summary does not need: Python frames, rows, shapes,
    launch shapes and external ids; columns that few events fill are :class:`sparse.Sparse` there.
    ``processes`` share the work on one plain file; by default two do from 200 MB on, where there
    are two cores.

    Raises:
        TraceError: the file holds no trace; the message says what it seems to be.
    """
    source = Source(path)
    with _paused_garbage_collection():
        document = _read(source, columns, processes)
    intake = document.intake
    intake.repairs += source.notes
    if not len(intake.events) and not intake.skipped[PYTHON_FRAMES]:
        from trace_util.refusal import refusal

        raise TraceError(refusal(source, document))
    without_impossible_times(intake)
    return _trace(source, document)


def _read(source: Source, columns: str, processes: int | None) -> Document:
    if processes is None:
        processes = 2 if (source.size_bytes or 0) >= LARGE_BYTES else 1
    if processes > 1 and source.is_plain():
        from trace_util import parallel

        if parallel.cores() > 1:
            document = parallel.read_in_stretches(source, columns, processes)
            if document is not None:
                return document
    document = Document(source.blocks(), Intake(columns))
    document.read()
    return document


@contextmanager
def _paused_garbage_collection() -> Iterator[None]:
    """Without the collector, which would look through millions of rows that hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _trace(source: Source, document: Document) -> Trace:
    intake = document.intake
    tables = intake.events.tables
    return Trace(
        path=source.path,
        size_bytes=source.size_bytes or source.bytes_read,
        header=header_of(document.header, intake.record_end_ns),
        events=Events(**{name: column.array() for name, column in intake.events.columns.items()}),
        names=tuple(mended_name(name, intake.repairs) for name in tables["name"]),
        categories=tuple(tables["category"]),
        processes=tuple(map(_key, tables["process"])),
        threads=tuple(map(_key, tables["thread"])),
        shapes=tuple(map(_shapes, tables["shapes"].listed())),
        launches=tuple(map(_launch, tables["launch"].listed())),
        phases=dict(intake.phases.most_common()),
        process_names=intake.process_names,
        thread_names=intake.thread_names,
        repairs=dict(+intake.repairs),
        skipped=dict(+intake.skipped),
        warnings=cautions(source, document),
    )


def _key(value: Any) -> str | int:
    """A process or a thread as the trace names it: a number or a text."""
    return value if isinstance(value, (int, str)) else "" if value is None else str(value)


def header_of(keys: dict[str, Any], record_end_ns: int | None) -> Header:
    """The header of a trace, from its top-level keys."""
    keys = dict(keys)
    devices = keys.pop("deviceProperties", None)
    base = keys.pop("baseTimeNanoseconds", None)
    run = keys.pop("run_facts", None)
    distributed = keys.pop("distributedInfo", None)
    return Header(
        device_properties=tuple(d for d in devices if isinstance(d, dict))
        if isinstance(devices, list)
        else (),
        base_time_ns=base if isinstance(base, int) else None,
        run=run if isinstance(run, dict) else {},
        distributed=distributed if isinstance(distributed, dict) else {},
        record_end_ns=record_end_ns,
        other=keys,
    )


def _shapes(texts: bytes) -> Shapes:
    return Shapes(*map(_plain, texts.split(SEPARATOR)))


def _plain(text: bytes) -> str:
    """A JSON text on one line, spaced as Python and Kineto space it."""
    spaced = msgspec.json.format(text, indent=0) if text else b""
    return spaced.decode("utf-8", "replace")


def _launch(texts: bytes) -> LaunchShape:
    grid, block, registers, shared, occupancy = map(_decoded, texts.split(SEPARATOR))
    return LaunchShape(
        _dimensions(grid),
        _dimensions(block),
        int(registers) if isinstance(registers, (int, float)) else None,
        int(shared) if isinstance(shared, (int, float)) else None,
        float(occupancy) if isinstance(occupancy, (int, float)) else None,
    )


def _decoded(text: bytes) -> Any:
    try:
        value = msgspec.json.decode(text)
        # "[128, 1, 1]", as some writers spell a grid
        return msgspec.json.decode(value) if isinstance(value, str) else value
    except (msgspec.DecodeError, RecursionError):
        return None


def _dimensions(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not all(isinstance(each, int) for each in value):
        return None
    return tuple(value)
