"""Reads the ranks of a job: one process and two, memory by the number of files, beside HTA.

    python benchmarks/ranks.py --setup       # once: the other tool, in its own environment
    python benchmarks/ranks.py               # 5 GB in 16 ranks, and 8 ranks of 100 MB for HTA
    python benchmarks/ranks.py --size 0.4 --each 20 --rounds 1      # a small try

The ranks are made from a recorded MLP: a step is many of its layers and an all-reduce, and one rank
computes longer in every step. The job's facts must name that rank, and be the same however many
processes worked on them. Times are those of whole processes, start to end; memory is the sum over a
process and its children of what each has alone plus its part of what they share (PSS), looked at
ten times a second, and the largest resident size of any worker. Prints a table and, last, one JSON
line. The traces lie in a temporary folder and are removed at the end.
"""

import argparse
import gzip
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.read import (  # noqa: E402
    PEERS,
    RECORDED,
    machine,
    set_up,
    write_large_trace,
)

LAYERS = 100  # of a step: some 6,000 events
SLOW_RANK = 1
EXTRA, REDUCE_PART = 0.1, 0.15  # of the layers' time: what the slow rank does more, an all-reduce
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GOAL = {"two processes": 1.7, "time": 15, "memory": 10, "worker MiB": 400}

# ---------------------------------------------------------------------------------------- the ranks


def write_ranks(folder: Path, ranks: int, megabytes: float) -> list[Path]:
    """The traces of a job, so many MB each."""
    folder.mkdir()
    paths = []
    for rank in range(ranks):
        source = folder / "one-step.json"
        source.write_text(one_step(rank, ranks))
        paths.append(folder / f"rank{rank}.json")
        write_large_trace(source, paths[-1], megabytes)
        source.unlink()
    return paths


def one_step(rank: int, ranks: int) -> str:
    """The trace of one step of a rank, laid out as Kineto does."""
    document = json.loads(gzip.decompress(RECORDED.read_bytes()))
    events = document["traceEvents"]
    step = next(e for e in events if e["name"] == "ProfilerStep#3")
    begin, end = step["ts"], step["ts"] + step["dur"]
    host = [
        e for e in events if e["ph"] == "X" and begin < e["ts"] < end and e["pid"] == step["pid"]
    ]
    ids = {e["args"]["correlation"] for e in host if "correlation" in e.get("args", {})}
    gpu = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    gpu = [e for e in gpu if e["args"]["correlation"] in ids]
    arrows = [e for e in events if e.get("cat") == "ac2g" and e["id"] in ids]
    layer = [*host, *gpu, *arrows]
    last = max(e["ts"] + e.get("dur", 0) for e in layer)
    period = last - begin + 5
    texts = []
    for copy in range(LAYERS):
        texts += [_text(_moved(e, copy * period, copy * 1000)) for e in layer]
    done = begin + LAYERS * period
    own = EXTRA * LAYERS * period if rank == SLOW_RANK else 0
    reduce = REDUCE_PART * LAYERS * period  # and ends on all ranks together
    like = max(gpu, key=lambda e: e["dur"])
    call = next(e for e in host if e["args"].get("correlation") == like["args"]["correlation"])
    if own:
        texts += _launched(call, like, done, own, "planted_kernel", 900_001)
    texts += _launched(call, like, done + own, reduce - own, REDUCE, 900_002, stream=20)
    sync = {**call, "name": "cudaDeviceSynchronize", "ts": done + reduce + 10, "dur": 5}
    texts.append(_text({**sync, "args": {"External id": 900_003, "correlation": 900_003}}))
    texts.insert(0, _text({**step, "dur": done + reduce + 20 - begin}))
    names = [e for e in events if e["ph"] == "M"]
    names.sort(key=lambda e: e["name"] != "process_name")  # as write_large_trace looks for them
    header = {
        "schemaVersion": 1,
        "deviceProperties": document["deviceProperties"],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
        "baseTimeNanoseconds": document["baseTimeNanoseconds"],
    }
    inner = ",".join(texts + [_text(e) for e in names])
    return json.dumps(header)[:-1] + f', "traceEvents": [{inner}\n  ], "traceName": "rank{rank}"}}'


def _launched(
    call: dict[str, Any],
    like: dict[str, Any],
    at: float,
    us: float,
    name: str,
    id: int,
    **more: int,
) -> list[str]:
    args = {**like["args"], **more, "correlation": id, "External id": id}
    kernel = {**like, "name": name, "ts": at, "dur": us, "tid": args["stream"], "args": args}
    launch = {**call, "ts": at - 20, "dur": 4, "args": {"External id": id, "correlation": id}}
    return [_text(launch), _text(kernel)]


def _moved(event: dict[str, Any], us: float, ids: int) -> dict[str, Any]:
    moved = {**event, "ts": event["ts"] + us}
    if "id" in moved:
        moved["id"] += ids
    if "args" in moved:
        links = ("External id", "correlation")
        told = {k: v + ids if k in links and v else v for k, v in moved["args"].items()}
        moved["args"] = told
    return moved


def _text(event: dict[str, Any]) -> str:
    event = {k: f"{v:.3f}" if k in ("ts", "dur") else v for k, v in event.items()}
    if event["ph"] == "M":  # the name first, as Kineto writes these
        event = {"name": event["name"], **event}
    keys = [
        f"{json.dumps(k)}: {v if k in ('ts', 'dur') else json.dumps(v)}" for k, v in event.items()
    ]
    return "\n  {\n    " + ", ".join(keys) + "\n  }"


# ----------------------------------------------------------------------------------- who reads them


def ours(paths: list[str], workers: int) -> dict[str, Any]:
    """The facts of the job; what they come to, and the largest worker."""
    import resource

    import msgspec

    from trace_util.job.facts import job_facts
    from trace_util.job.gathering import gathered

    ranks = gathered(paths, workers=workers)
    job = job_facts(ranks)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "digest": hashlib.sha256(msgspec.json.encode(ranks)).hexdigest()[:16],
        "events": sum(one.events for one in ranks),
        "steps": len(job.steps),
        "broken": [one.broken for one in job.broken],
        "slow": sorted({step.slow.rank if step.slow else None for step in job.steps}, key=str),
        "exposed_share": job.exposed_share,
        "worker_mib": (own if workers == 1 else children) / 1024,
    }


def hta(paths: list[str]) -> dict[str, Any]:
    """HolisticTraceAnalysis: where the ranks' time goes, and how much communication overlaps."""
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files=dict(enumerate(paths)), trace_dir="")
    breakdown = analysis.get_temporal_breakdown(visualize=False)
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    return {"ranks": len(breakdown), "overlap": len(overlap)}


# ---------------------------------------------------------------------------------- the measurement


class Run(NamedTuple):
    """One run: seconds, the largest sum of memory over its processes, and what it said."""

    seconds: float
    memory_mib: float
    answer: dict[str, Any]


def measured(python: str, *arguments: str) -> Run:
    """Run this file with a Python, watched."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [python, __file__, "--run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with _watched(process.pid) as peak:
        out, err = process.communicate()
    seconds = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"{arguments[0]} failed: {err.decode()[-2000:]}")
    return Run(seconds, peak[0], json.loads(out.decode().strip().rsplit("\n", 1)[-1]))


@contextmanager
def _watched(pid: int) -> Iterator[list[float]]:
    """The largest memory in MiB of a process and all beneath it; Linux only, else 0."""
    peak = [0.0]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.1):
            peak[0] = max(peak[0], sum(map(_pss_mib, _family(pid))))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _pss_mib(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def scaling(paths: list[Path], rounds: int) -> dict[str, Any]:
    """One process and two, in turn; and two on a quarter of the files, for the memory."""
    names = [str(path) for path in paths]
    for path in paths:
        subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)  # page cache
    runs: dict[str, list[Run]] = {"1": [], "2": []}
    for _ in range(rounds):
        for workers, each in runs.items():
            each.append(measured(sys.executable, "ours", workers, *names))
            print(f"  {workers} process(es): {each[-1].seconds:.1f} s", file=sys.stderr)
    few = measured(sys.executable, "ours", "2", *names[: max(len(names) // 4, 2)])
    answers = [run.answer for each in runs.values() for run in each]
    for answer in answers:
        _require(answer["digest"] == answers[0]["digest"], "the processes do not agree")
        _require(not answer["broken"], f"broken ranks: {answer['broken']}")
        _require(answer["slow"] == [SLOW_RANK], f"the slow rank is {answer['slow']}")
    return {
        "bytes": sum(path.stat().st_size for path in paths),
        "files": len(paths),
        "events": answers[0]["events"],
        "one_s": [run.seconds for run in runs["1"]],
        "two_s": [run.seconds for run in runs["2"]],
        "ratio": statistics.median(run.seconds for run in runs["1"])
        / statistics.median(run.seconds for run in runs["2"]),
        "worker_mib": max(run.answer["worker_mib"] for run in runs["2"]),
        "worker_mib_few": few.answer["worker_mib"],
        "few": max(len(names) // 4, 2),
        "one_mib": max(run.memory_mib for run in runs["1"]),
        "two_mib": max(run.memory_mib for run in runs["2"]),
    }


def beside_hta(paths: list[Path], rounds: int, python: Path) -> dict[str, Any]:
    """Our two processes and HTA on the same ranks, in turn."""
    names = [str(path) for path in paths]
    mine: list[Run] = []
    theirs: list[Run] = []
    for _ in range(rounds):
        mine.append(measured(sys.executable, "ours", "2", *names))
        theirs.append(measured(str(python), "hta", "0", *names))
        print(f"  ours {mine[-1].seconds:.1f} s, HTA {theirs[-1].seconds:.1f} s", file=sys.stderr)
    return {
        "bytes": sum(path.stat().st_size for path in paths),
        "files": len(paths),
        "ours_s": [run.seconds for run in mine],
        "hta_s": [run.seconds for run in theirs],
        "ours_mib": max(run.memory_mib for run in mine),
        "hta_mib": max(run.memory_mib for run in theirs),
        "time_ratio": statistics.median(run.seconds for run in theirs)
        / statistics.median(run.seconds for run in mine),
        "memory_ratio": max(run.memory_mib for run in theirs) / max(run.memory_mib for run in mine),
    }


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise SystemExit(f"error: {why}")


def table(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = []
    if one := found.get("scaling"):
        rate = one["bytes"] / 1e6
        lines += [
            f"| {one['files']} ranks, {one['bytes'] / 1e9:.2f} GB, {one['events']:,} events "
            "| s (min to max) | MB/s | MiB, all processes | largest worker MiB |",
            "|---|---|---|---|---|",
            _row("1 process", one["one_s"], rate, one["one_mib"], None),
            _row("2 processes", one["two_s"], rate, one["two_mib"], one["worker_mib"]),
            "",
            f"Two processes are {one['ratio']:.2f} times as fast as one "
            f"(goal: {GOAL['two processes']}). The largest worker takes "
            f"{one['worker_mib_few']:.0f} MiB for {one['few']} files and "
            f"{one['worker_mib']:.0f} MiB for {one['files']} (goal: at most {GOAL['worker MiB']}).",
        ]
    if two := found.get("hta"):
        rate = two["bytes"] / 1e6
        lines += [
            "",
            f"| {two['files']} ranks, {two['bytes'] / 1e6:.0f} MB "
            "| s (min to max) | MB/s | MiB, all processes | largest worker MiB |",
            "|---|---|---|---|---|",
            _row("trace_util, 2 processes", two["ours_s"], rate, two["ours_mib"], None),
            _row("HolisticTraceAnalysis 0.5", two["hta_s"], rate, two["hta_mib"], None),
            "",
            f"{two['time_ratio']:.1f} times the speed (goal: {GOAL['time']}), a "
            f"{two['memory_ratio']:.1f}th of the memory (goal: {GOAL['memory']}).",
        ]
    return "\n".join(lines)


def _row(title: str, seconds: list[float], megabytes: float, mib: float, worker: Any) -> str:
    middle = statistics.median(seconds)
    spread = f"{middle:.1f} ({min(seconds):.1f} to {max(seconds):.1f})"
    largest = "" if worker is None else f"{worker:.0f}"
    return f"| {title} | {spread} | {megabytes / middle:.0f} | {mib:.0f} | {largest} |"


def main() -> None:
    """Measure, or be one of the measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--size", type=float, default=5.0, help="GB of rank traces (default: %(default)s)")
    add("--files", type=int, default=16, help="ranks that they are (default: %(default)s)")
    add("--each", type=float, default=100, help="MB of each of 8 ranks for HTA (default: 100)")
    add("--rounds", type=int, default=3, help="runs of each (default: %(default)s)")
    add("--hta-rounds", type=int, default=1, help="runs beside HTA (default: %(default)s)")
    add("--only", choices=("scaling", "hta"), help="one of the two comparisons")
    add("--peers", type=Path, default=PEERS, help="environment of the other tools")
    add("--setup", action="store_true", help="make that environment, and no more")
    add("--run", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.setup:
        set_up(args.peers)
        return
    if args.run:
        who, workers, *paths = args.run
        print(json.dumps(ours(paths, int(workers)) if who == "ours" else hta(paths)))
        return
    found: dict[str, Any] = {"machine": machine()}
    print(found["machine"])
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        _require(shutil.disk_usage(folder).free > 1.2e9 * args.size, "the disk is too full")
        if args.only != "hta":
            paths = write_ranks(Path(folder) / "many", args.files, 1000 * args.size / args.files)
            found["scaling"] = scaling(paths, args.rounds)
            shutil.rmtree(Path(folder) / "many")
        python = args.peers / "bin/python"
        if args.only != "scaling" and python.exists():
            paths = write_ranks(Path(folder) / "eight", 8, args.each)
            found["hta"] = beside_hta(paths, args.hta_rounds, python)
        elif args.only != "scaling":
            print("left out: HolisticTraceAnalysis (run --setup first)", file=sys.stderr)
    print(f"\n{table(found)}\n\n{json.dumps(found)}")


if __name__ == "__main__":
    main()
