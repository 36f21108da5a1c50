"""Small traces made from plain events, read by the real reader; times are in microseconds."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from trace_util.events import Trace
from trace_util.facts import Facts, trace_facts
from trace_util.links import Links, link
from trace_util.reader import read_trace

HOST = 100

Event = dict[str, Any]


def complete(
    category: str, name: str, ts: Any, dur: Any, pid: Any = HOST, tid: Any = HOST, **args: Any
) -> Event:
    """A complete event; arguments that are ``None`` are left out."""
    event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    told = {key.replace("_", " "): value for key, value in args.items() if value is not None}
    return {**event, "args": told} if told else event


def kernel(
    ts: Any = 10,
    dur: Any = 5,
    correlation: int | None = 1,
    *,
    name: str = "k",
    device: int = 0,
    stream: int = 7,
    category: str = "kernel",
    **args: Any,
) -> Event:
    """A kernel; with other categories a copy or a memset."""
    return complete(
        category,
        name,
        ts,
        dur,
        device,
        stream,
        correlation=correlation,
        device=device,
        stream=stream,
        **args,
    )


def copy(ts: Any, dur: Any, correlation: int | None = 1, **args: Any) -> Event:
    """A copy to the device."""
    name = args.pop("name", "Memcpy HtoD (Pageable -> Device)")
    return kernel(ts, dur, correlation, name=name, category="gpu_memcpy", **args)


def memset(ts: Any, dur: Any, correlation: int | None = 1, **args: Any) -> Event:
    """A memset."""
    return kernel(ts, dur, correlation, name="Memset (Device)", category="gpu_memset", **args)


def call(
    ts: Any = 2,
    dur: Any = 3,
    correlation: int | None = 1,
    *,
    name: str = "cudaLaunchKernel",
    category: str = "cuda_runtime",
    pid: Any = HOST,
    tid: Any = HOST,
    **args: Any,
) -> Event:
    """A runtime call, by default a launch."""
    return complete(category, name, ts, dur, pid, tid, correlation=correlation, **args)


def op(ts: Any, dur: Any, name: str = "aten::mm", **args: Any) -> Event:
    """An op on the CPU."""
    return complete("cpu_op", name, ts, dur, **args)


def annotation(ts: Any, dur: Any, name: str = "block", **args: Any) -> Event:
    """A `record_function` range."""
    return complete("user_annotation", name, ts, dur, **args)


def mark(number: int, ts: Any, dur: Any, **args: Any) -> Event:
    """A step mark."""
    return annotation(ts, dur, f"ProfilerStep#{number}", **args)


def frame(ts: Any, dur: Any, name: str = "train.py(3): step", **args: Any) -> Event:
    """A Python frame, as `with_stack` records them."""
    return complete("python_function", name, ts, dur, **args)


def written(document: Any, folder: Path, name: str = "trace.json") -> Path:
    """A file with the document as JSON."""
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def read(document: Any) -> Trace:
    """The document, written out and read back."""
    with tempfile.TemporaryDirectory() as folder:
        return read_trace(written(document, Path(folder)))


def trace_of(*events: Event, **header: Any) -> Trace:
    """The trace of these events."""
    return read({**header, "traceEvents": list(events)})


def links_of(*events: Event, **header: Any) -> tuple[Trace, Links]:
    """The trace of these events and its links."""
    trace = trace_of(*events, **header)
    return trace, link(trace)


def facts_of(*events: Event, **header: Any) -> Facts:
    """The facts of these events."""
    return trace_facts(trace_of(*events, **header))
