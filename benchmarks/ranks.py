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
import hashlib
import json
import os
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

from job_traces import SLOW_RANK, write_ranks
from read import PEERS, machine, set_up

sys.path.insert(0, str(Path(__file__).parents[1]))

# A run counts for the ratio of one process to two if others took less of the machine than this;
# so many times as many runs are tried.
DISTURBED, MOST_TRIES = 0.05, 4
GOAL = {"two processes": 1.7, "time": 15, "memory": 10, "worker MiB": 400}

# ----------------------------------------------------------------------------------- who reads them


def ours(paths: list[str], workers: int) -> dict[str, Any]:
    """The facts of the job; what they come to, and the largest worker."""
    import resource

    import msgspec

    from trace_util.gather.gathering import gathered
    from trace_util.job.facts import job_facts

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
        "worker_mib": (children or own) / 1024,
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
    """One run: seconds, processor seconds, the most memory of all its processes, what it said."""

    seconds: float
    processor_s: float
    others: float  # the part of the machine that other processes took meanwhile
    memory_mib: float
    answer: dict[str, Any]


def measured(python: str, *arguments: str) -> Run:
    """Run this file with a Python, watched."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [python, __file__, "--run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    before, busy = os.times(), _busy_s()
    with _watched(process.pid) as peak:
        out, err = process.communicate()
    seconds, after = time.perf_counter() - began, os.times()
    processor = sum(after[2:4]) - sum(before[2:4])  # of this child and of its own
    others = _busy_s() - busy - sum(after[:4]) + sum(before[:4])
    others /= seconds * (os.cpu_count() or 1)
    if process.returncode:
        raise SystemExit(f"{arguments[0]} failed: {err.decode()[-2000:]}")
    return Run(
        seconds, processor, others, peak[0], json.loads(out.decode().strip().rsplit("\n", 1)[-1])
    )


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


def _busy_s() -> float:
    """Processor seconds that all processes of the machine have taken; Linux only, else 0."""
    try:
        with open("/proc/stat") as file:
            user, nice, system, _, _, *rest = map(int, file.readline().split()[1:])
    except OSError:
        return 0.0
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


def _undisturbed(runs: list[Run]) -> list[Run]:
    """The runs during which others took little; all of them where that is never so."""
    return [run for run in runs if run.others <= DISTURBED] or runs


def scaling(paths: list[Path], rounds: int) -> dict[str, Any]:
    """One process and two, in turn; and two on a quarter of the files, for the memory."""
    names = [str(path) for path in paths]
    for path in paths:
        subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)  # page cache
    runs: dict[str, list[Run]] = {"1": [], "2": []}
    while any(sum(run.others <= DISTURBED for run in each) < rounds for each in runs.values()):
        if len(runs["1"]) == MOST_TRIES * rounds:
            break
        for workers, each in runs.items():
            each.append(measured(sys.executable, "ours", workers, *names))
            last = each[-1]
            told = f"{last.seconds:.1f} s, others took {last.others:.0%} of the machine"
            print(f"  {workers} process(es): {told}", file=sys.stderr)
    one, two = map(_undisturbed, runs.values())
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
        "one_s": [run.seconds for run in one],
        "two_s": [run.seconds for run in two],
        "all_runs": {k: [(run.seconds, run.others) for run in each] for k, each in runs.items()},
        "one_processor_s": statistics.median(run.processor_s for run in one),
        "two_processor_s": statistics.median(run.processor_s for run in two),
        "ratio": statistics.median(run.seconds for run in one)
        / statistics.median(run.seconds for run in two),
        "most_others": max(run.others for run in (*one, *two)),
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
        "ours_processor_s": statistics.median(run.processor_s for run in mine),
        "hta_processor_s": statistics.median(run.processor_s for run in theirs),
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
            "| s (min to max) | processor s | MB/s | MiB, all processes | MiB, largest worker |",
            "|---|---|---|---|---|---|",
            _row("1 process", one["one_s"], one["one_processor_s"], rate, one["one_mib"], None),
            _row(
                "2 processes",
                one["two_s"],
                one["two_processor_s"],
                rate,
                one["two_mib"],
                one["worker_mib"],
            ),
            "",
            f"Two processes are {one['ratio']:.2f} times as fast as one "
            f"(goal: {GOAL['two processes']}; {len(one['one_s'])} and {len(one['two_s'])} runs of "
            f"{len(one['all_runs']['1'])} each, those that other processes disturbed least: by "
            f"{one['most_others']:.0%} of the machine at most). "
            f"The largest worker takes {one['worker_mib_few']:.0f} MiB for {one['few']} files and "
            f"{one['worker_mib']:.0f} MiB for {one['files']} (goal: at most {GOAL['worker MiB']}).",
        ]
    if two := found.get("hta"):
        rate = two["bytes"] / 1e6
        lines += [
            "",
            f"| {two['files']} ranks, {two['bytes'] / 1e6:.0f} MB "
            "| s (min to max) | processor s | MB/s | MiB, all processes | MiB, largest worker |",
            "|---|---|---|---|---|---|",
            _row(
                "trace_util, 2 processes",
                two["ours_s"],
                two["ours_processor_s"],
                rate,
                two["ours_mib"],
                None,
            ),
            _row(
                "HolisticTraceAnalysis 0.5",
                two["hta_s"],
                two["hta_processor_s"],
                rate,
                two["hta_mib"],
                None,
            ),
            "",
            f"HTA takes {two['time_ratio']:.1f} times the time (goal: {GOAL['time']}) and "
            f"{two['memory_ratio']:.1f} times the memory (goal: {GOAL['memory']}).",
        ]
    return "\n".join(lines)


def _row(
    title: str, seconds: list[float], processor: float, megabytes: float, mib: float, worker: Any
) -> str:
    middle = statistics.median(seconds)
    spread = f"{middle:.1f} ({min(seconds):.1f} to {max(seconds):.1f})"
    largest = "" if worker is None else f"{worker:.0f}"
    rate = f"{megabytes / middle:.0f}"
    return f"| {title} | {spread} | {processor:.1f} | {rate} | {mib:.0f} | {largest} |"


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
