"""Two or more traces of one workload: which kernels stayed, were fused, replaced or vanished, which
CPU rows came and went, and whether a step's time differs by more than its spread.

Times are those without the profiler where the traces carry them, and those of the trace besides.
Unlike runs are compared with a warning that says what differs. Folders, patterns and addresses that
hold the ranks of a job each are compared job by job.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trace_util.gather.places import Place

EXAMPLE = """examples:
  trace-util compare traces/recorded/nvidia-h200/03_simple_mlp/64_128_768_3072_eager.json.gz \\
    traces/recorded/nvidia-h200/03_simple_mlp/64_128_768_3072_compile.json.gz
  trace-util compare compiled.json liger.json --baseline eager.json --json
  trace-util compare "monday/rank*.json.gz" "tuesday/rank*.json.gz"
"""

MOST_TRACES = 8  # of one folder that are compared, all in memory at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from trace_util.argument_types import named
    from trace_util.gather.arguments import WHERE, add_where_arguments

    parser.add_argument(
        "traces", metavar="WHERE", nargs="+", type=named, help=f"two or more; each {WHERE}"
    )
    parser.add_argument(
        "--baseline",
        metavar="WHERE",
        type=named,
        help="what the others are compared with, one of them or another; default: the first",
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    add_where_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the comparison; returns 0, and 1 where a rank of a job is broken."""
    from trace_util.events import UsageError
    from trace_util.files import once
    from trace_util.gather.arguments import places_meant
    from trace_util.gather.places import means_several

    sides = list(args.traces)
    if args.baseline and args.baseline not in sides:
        sides.insert(0, args.baseline)
    baseline = sides.index(args.baseline) if args.baseline else 0
    once(sides)
    if len(sides) == 1 and not means_several(sides):
        raise UsageError(f"{sides[0]}: has nothing to be compared with; give two or more")
    if not any(means_several([side]) for side in sides):
        return _traces(sides, baseline, args.json)
    if len(sides) == 1:  # one folder of a few traces that are no job
        return _within(args, places_meant(sides))
    return _jobs(args, sides, baseline)


def _traces(paths: list[str], baseline: int, as_json: bool) -> int:
    import sys

    from trace_util.compare import comparison
    from trace_util.gather.places import read_place
    from trace_util.report.compare import compare_text
    from trace_util.report.compare_json import compare_json
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import style_of

    found = comparison([read_place(path) for path in paths], baseline)
    if as_json:
        print(encoded(compare_json(found)), end="")
    else:
        print(compare_text(found, style_of(sys.stdout)), end="")
    return 0


def _within(args: argparse.Namespace, places: list[Place]) -> int:
    from trace_util.events import TraceError
    from trace_util.gather.arguments import told_of
    from trace_util.gather.gathering import rank_told
    from trace_util.job.grouping import jobs_of

    told = told_of(args, places, rank_told)
    jobs, _ = jobs_of([one.rank for one in told])
    if jobs:
        raise TraceError(
            f"{jobs[0].name}: one job has nothing to be compared with; give another, or see how "
            "its ranks differ with trace-util explain"
        )
    if len(places) > MOST_TRACES:
        raise TraceError(
            f"{args.traces[0]}: {len(places)} traces; compare {MOST_TRACES} at most, by their names"
        )
    return _traces([place.path for place in places], 0, args.json)


def _jobs(args: argparse.Namespace, sides: list[str], baseline: int) -> int:
    import sys

    from trace_util.events import TraceError
    from trace_util.gather.arguments import places_meant, told_of
    from trace_util.gather.gathering import rank_told
    from trace_util.job.comparison import job_comparison
    from trace_util.job.facts import job_facts
    from trace_util.job.grouping import Group, jobs_of
    from trace_util.report.job_comparison import job_comparison_json, job_comparison_text
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import style_of

    jobs = []
    for side in sides:
        ranks = [one.rank for one in told_of(args, places_meant([side]), rank_told)]
        groups, alone = jobs_of(ranks)
        if not groups and len(ranks) == 1:
            groups, alone = [Group(side, (ranks[0],))], []
        if len(groups) != 1 or alone:
            many = f"{len(groups)} jobs and {len(alone)} other traces"
            raise TraceError(f"{side}: holds {many}; name the ranks of one job")
        jobs.append(job_facts(groups[0]))
    found = job_comparison(jobs, baseline)
    if args.json:
        print(encoded(job_comparison_json(found)), end="")
    else:
        print(job_comparison_text(found, style_of(sys.stdout)), end="")
    return 1 if any(job.broken for job in jobs) else 0
