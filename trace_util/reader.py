"""Reads a trace file: any layout, any vocabulary, in memory that follows the events kept."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec

from trace_util.events import Events, Header, LaunchShape, Shapes, Trace, TraceError
from trace_util.intake import Intake


def read_trace(path: str | Path, *, columns: str = "all") -> Trace:
    """The trace in a file (first cut: whole file in memory)."""
    data = Path(path).read_bytes()
    size = len(data)
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    try:
        raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
    except msgspec.DecodeError as error:
        raise TraceError(f"{path}: not a trace: {error}") from error
    intake = Intake(columns)
    header: dict[str, Any] = {}
    if isinstance(raw, list):
        intake.add(data)
    else:
        if "traceEvents" not in raw:
            raise TraceError(f"{path}: no traceEvents")
        intake.add(bytes(raw.pop("traceEvents")))
        header = {key: msgspec.json.decode(value) for key, value in raw.items()}
    return trace_of(str(path), size, header, intake)


def trace_of(path: str, size_bytes: int, header: dict[str, Any], intake: Intake) -> Trace:
    """The finished trace."""
    return Trace(
        path=path,
        size_bytes=size_bytes,
        header=header_of(header),
        events=Events(**{name: column.array() for name, column in intake.columns.items()}),
        names=tuple(intake.names),
        categories=tuple(intake.categories),
        processes=tuple(intake.processes),
        threads=tuple(intake.threads),
        shapes=tuple(map(_shapes, intake.shapes)),
        launches=tuple(map(_launch, intake.launches)),
        phases=dict(intake.phases),
        process_names=intake.process_names,
        thread_names=intake.thread_names,
        repairs=dict(+intake.repairs),
        skipped=dict(+intake.skipped),
    )


def header_of(keys: dict[str, Any]) -> Header:
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
        other=keys,
    )


def _shapes(key: tuple[bytes, ...]) -> Shapes:
    return Shapes(*(_plain(text) for text in key))


def _plain(text: bytes) -> str:
    """A JSON text on one line, spaced as Python and Kineto space it."""
    spaced = msgspec.json.format(text, indent=0) if text else b""
    return spaced.decode("utf-8", "replace")


def _launch(key: tuple[Any, ...]) -> LaunchShape:
    grid, block, registers, shared, occupancy = key
    return LaunchShape(
        _dimensions(grid), _dimensions(block), _whole(registers), _whole(shared), _real(occupancy)
    )


def _dimensions(text: bytes) -> tuple[int, ...] | None:
    try:
        value = msgspec.json.decode(text)
        if isinstance(value, str):  # "[128, 1, 1]", as some writers spell it
            value = msgspec.json.decode(value)
        return tuple(int(each) for each in value)
    except (msgspec.DecodeError, TypeError, ValueError):
        return None


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None


def _real(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
