"""What bounds this run, which numbers say so, and what to do next.

overhead-bound: the GPU waits for the CPU's launches; input-bound: for the data loader. Where it is
busy for nine tenths of the time and more: compute-bound, memory-bound: with arithmetic or memory;
copy-bound: with copies from and to the host; kernel-bound: with kernels that the trace does not let
one tell apart. undecided: neither the GPU nor the CPU alone bounds the run, the profiler may be
what slows it, or collectives may send or wait.

The ranks of a job are explained together: who is slow in which step and why, and what communication
costs.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trace_util.gather.gathering import Told
    from trace_util.gather.places import Place

EXAMPLE = """examples:
  trace-util explain traces/recorded/nvidia-h200/03_simple_mlp/64_128_768_3072_eager.json.gz
  trace-util explain trace.json.gz --json
  trace-util explain "runs/rank*.json.gz"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from trace_util.argument_types import at_least_one, named
    from trace_util.gather.arguments import WHERE, add_where_arguments

    add = parser.add_argument
    add("where", metavar="WHERE", nargs="+", type=named, help=f"{WHERE}, or - for stdin")
    add(
        "--top",
        type=at_least_one,
        default=5,
        metavar="N",
        help="kernels in the table (default: 5)",
    )
    add("--json", action="store_true", help="print JSON, with all of the findings")
    add_where_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation of one trace, or of many; 1 if any of many was refused."""
    from trace_util.gather.arguments import places_meant
    from trace_util.gather.places import means_several

    places = places_meant(arguments.where)
    if means_several(arguments.where):
        return _many(places, arguments)
    return _one(places[0].path, arguments)


def _one(path: str, arguments: argparse.Namespace) -> int:
    import sys

    from trace_util.cautions import unsound
    from trace_util.explain import explanation
    from trace_util.gather.places import read_place
    from trace_util.report.explain import explanation_json, explanation_text
    from trace_util.report.hints import say
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import shell_path, style_of

    trace = read_place(path)
    found = explanation(trace)
    if arguments.json:
        sys.stdout.write(encoded(explanation_json(trace, found)))
        return 0
    sys.stdout.write(explanation_text(found, style_of(sys.stdout), arguments.top))
    if path != "-":
        # The Perfetto UI refuses what is no sound JSON; a report draws it.
        show = "report" if unsound(trace.repairs, trace.skipped) else "open"
        again = "check" if trace.header.run.get("lesson") else show
        say(f"next: trace-util {again} {shell_path(path)}")
    return 0


def _many(places: list[Place], arguments: argparse.Namespace) -> int:
    """Each job as a whole, and a paragraph for each other trace."""
    import sys
    from functools import partial

    from trace_util.gather.arguments import told_of
    from trace_util.job.facts import job_facts
    from trace_util.job.grouping import jobs_of, same_rank
    from trace_util.report.hints import say
    from trace_util.report.job import job_explanation
    from trace_util.report.job_json import job_explanation_json
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import style_of

    work = partial(_told, as_json=arguments.json)
    told = told_of(arguments, places, work)
    groups, alone = jobs_of([one.rank for one in told])
    jobs = [job_facts(group) for group in groups]
    made: list[Any] = []
    refused = any(job.broken for job in jobs)
    for position in alone:
        one = told[position]
        if not one.rank.events and one.more is None:
            refused = True
            reason = f"{one.rank.path}: {one.rank.broken}"
            say(f"error: {reason}")
            made += [{"file": one.rank.path, "error": reason}] if arguments.json else []
        else:
            if twin := same_rank(one.rank, groups):
                say(twin)
            made.append(one.more or _explained(one.rank.path, arguments.json))
    if arguments.json:
        made += [{"job": job_explanation_json(job)} for job in jobs]
        sys.stdout.write(encoded(made))
    else:
        made += [job_explanation(job, style_of(sys.stdout)) for job in jobs]
        sys.stdout.write("\n".join(made))
    return 1 if refused else 0


def _told(path: str, as_json: bool) -> Told:
    """A file as a rank, and its explanation where it is none."""
    from trace_util.gather.gathering import Told, rank_facts

    rank = rank_facts(path)
    if rank.rank is not None or not rank.events:
        return Told(rank)
    return Told(rank, _explained(path, as_json))


def _explained(path: str, as_json: bool) -> Any:
    from trace_util.explain import explanation
    from trace_util.gather.places import read_place
    from trace_util.report.explain import explanation_json, explanation_text

    trace = read_place(path, processes=1)
    found = explanation(trace)
    return explanation_json(trace, found) if as_json else explanation_text(found)
