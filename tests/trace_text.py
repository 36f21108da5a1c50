"""Traces written by hand for the tests of the reader, in every layout that files have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from trace_util.events import Trace
from trace_util.reader import read_trace

Event = dict[str, Any]


def complete(
    name: str = "op", cat: str | None = "cpu_op", ts: Any = 10, dur: Any = 5, **more: Any
) -> Event:
    """A complete event on the host; keywords replace or add fields."""
    event: Event = {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 100,
        "tid": 100,
        "ts": ts,
        "dur": dur,
    }
    if cat is None:
        del event["cat"]
    return event | more


def kernel(name: str = "k", ts: Any = 10, dur: Any = 5, correlation: int = 1, **more: Any) -> Event:
    """The kernel "K" of the collected cases."""
    args = {"correlation": correlation}
    return complete(name, "kernel", ts, dur, pid=0, tid=7, args=args) | more


def launch(
    ts: Any = 5, dur: Any = 2, correlation: int = 1, name: str = "cudaLaunchKernel"
) -> Event:
    """The launch "R" of the collected cases."""
    return complete(name, "cuda_runtime", ts, dur, args={"correlation": correlation})


def step(number: int = 2, ts: Any = 0, dur: Any = 100) -> Event:
    """The step mark "S" of the collected cases."""
    return complete(f"ProfilerStep#{number}", "user_annotation", ts, dur)


def document(events: Sequence[Event], **header: Any) -> dict[str, Any]:
    """A trace as an object: header keys first."""
    return {"schemaVersion": 1, **header, "traceEvents": list(events)}


def native(trace: dict[str, Any]) -> str:
    """The layout of Kineto: keys of the header by line, four lines an event."""
    head = [
        f'  "{key}": {json.dumps(value)},'
        for key, value in trace.items()
        if key not in ("traceEvents", "traceName")
    ]
    rows = []
    for event in trace["traceEvents"]:
        start = {key: event[key] for key in event if key not in ("ts", "dur", "args")}
        times = {key: event[key] for key in ("ts", "dur") if key in event}
        lines = [json.dumps(part)[1:-1] for part in (start, times) if part]
        if "args" in event:
            inner = json.dumps(event["args"])[1:-1]
            lines.append(f'"args": {{\n      {inner}\n    }}')
        rows.append("  {\n    " + ",\n    ".join(lines) + "\n  }")
    return (
        "{\n"
        + "\n".join(head)
        + '\n  "traceEvents": [\n'
        + ",\n".join(rows)
        + '\n  ],\n  "traceName": "t"\n}\n'
    )


def moved(trace: dict[str, Any], where: str) -> dict[str, Any]:
    """The same trace with its events before, among or behind the other keys."""
    rest = [(key, value) for key, value in trace.items() if key not in ("traceEvents", "traceName")]
    cut = {"first": 0, "middle": len(rest) // 2, "last": len(rest)}[where]
    return dict([*rest[:cut], ("traceEvents", trace["traceEvents"]), *rest[cut:]])


LAYOUTS = {
    "native": native,
    "one line": json.dumps,
    "compact": lambda trace: json.dumps(trace, separators=(",", ":")),
    "indent 2": lambda trace: json.dumps(trace, indent=2),
    "indent 4": lambda trace: json.dumps(trace, indent=4),
    "tabs": lambda trace: json.dumps(trace, indent="\t"),
    "events first": lambda trace: json.dumps(moved(trace, "first"), indent=1),
    "events in the middle": lambda trace: json.dumps(moved(trace, "middle")),
    "a top-level list": lambda trace: json.dumps(trace["traceEvents"]),
    "an event a line": lambda trace: (
        "[\n" + ",\n".join(map(json.dumps, trace["traceEvents"])) + "\n]"
    ),
    "Windows line ends": lambda trace: native(trace).replace("\n", "\r\n"),
}


def written(folder: Path, text: str | bytes, name: str = "t.json") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(folder: Path, events: Sequence[Event] | str | bytes, **header: Any) -> Trace:
    """The trace of these events, or of this text, by way of a file."""
    if not isinstance(events, (str, bytes)):
        events = json.dumps(document(events, **header))
    return read_trace(written(folder, events))


def names(trace: Trace) -> list[str]:
    """The names of the events, in file order."""
    return [trace.names[i] for i in trace.events.name]


def rows(trace: Trace) -> list[tuple[Any, ...]]:
    """The events as tuples of plain values, tables looked up, for comparing whole traces."""
    events = trace.events
    tables = {
        "name": trace.names,
        "category": trace.categories,
        "process": trace.processes,
        "thread": trace.threads,
        "shapes": (*trace.shapes, None),
        "launch": (*trace.launches, None),
    }
    columns = [
        [tables[name][i] for i in column] if name in tables else column.tolist()
        for name, column in asdict(events).items()
    ]
    return list(zip(*columns, strict=True))
