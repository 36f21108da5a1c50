"""What traces hold: window, steps, GPU busy time, kernels, launches, ops, copies, oddities.

Traces that are ranks of one job are answered for together: which rank is slow in which step and
why, time in communication and how much of it is exposed, missing and broken ranks.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trace_util.gather.gathering import Told
    from trace_util.gather.places import Place
    from trace_util.job.facts import JobFacts

EXAMPLE = """examples:
  trace-util summary traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz
  trace-util summary traces/recorded --json > summaries.json
  trace-util summary "runs/rank*.json.gz"
  trace-util summary hf://buckets/me/traces/run7 --scheduler tcp://head:8786
  zcat trace.json.gz | trace-util summary -
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from trace_util.argument_types import at_least_one, named
    from trace_util.gather.arguments import WHERE, add_where_arguments

    add = parser.add_argument
    add("traces", metavar="WHERE", nargs="+", type=named, help=f"{WHERE}, or - for stdin")
    add(
        "--top",
        type=at_least_one,
        default=10,
        metavar="N",
        help="rows of each table (default: 10)",
    )
    add(
        "--json",
        action="store_true",
        help="print JSON; for anything but one file a list, in which a job is one item",
    )
    add_where_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the summaries; 1 if any file was refused, which is said on stderr as well."""
    from trace_util.gather.arguments import places_meant
    from trace_util.gather.places import means_several

    many = means_several(arguments.traces)
    places = places_meant(arguments.traces)
    top = arguments.top
    if not many:
        _show_one(_shown(places[0].path, "json" if arguments.json else "text", top), arguments)
        return 0
    made, jobs, refused = _many(arguments, places, "json" if arguments.json else "line")
    _show_many(made, jobs, arguments.json, top)
    return 1 if refused or any(job.broken for job in jobs) else 0


def _many(
    arguments: argparse.Namespace, places: list[Place], form: str
) -> tuple[list[Any], list[JobFacts], bool]:
    """The summaries of the files that are no ranks, the jobs, and whether a file was refused."""
    from functools import partial

    from trace_util.gather.arguments import told_of
    from trace_util.job.facts import job_facts
    from trace_util.job.grouping import jobs_of, same_rank
    from trace_util.report.hints import say

    told = told_of(arguments, places, partial(_told, form=form))
    groups, alone = jobs_of([one.rank for one in told])
    made: list[Any] = []
    refused = False
    for position in alone:
        one = told[position]
        if not one.rank.events and one.more is None:
            refused = True
            say(f"error: {one.rank.path}: {one.rank.broken}")
            if form == "json":
                made.append({"file": one.rank.path, "error": f"{one.rank.path}: {one.rank.broken}"})
        else:  # a rank without others is a trace like any
            if twin := same_rank(one.rank, groups):
                say(twin)
            made.append(one.more or _shown(one.rank.path, form, 0))
    return made, [job_facts(group) for group in groups], refused


def _told(path: str, form: str) -> Told:
    """A file as a rank, and its summary where it is none."""
    from trace_util.events import TraceError
    from trace_util.facts import trace_facts
    from trace_util.gather.gathering import Told
    from trace_util.gather.places import read_place
    from trace_util.job.rank import broken_rank, facts_of
    from trace_util.links import link

    try:
        trace = read_place(path, columns="summary", processes=1)
    except TraceError as error:
        return Told(broken_rank(path, str(error)))
    links = link(trace)
    facts = trace_facts(trace, links)
    rank = facts_of(trace, path, links, facts)
    return Told(rank, None if rank.rank is not None else _formed(trace, facts, form, 0))


def _shown(path: str, form: str, top: int) -> Any:
    """One file's summary: JSON values, a line of the overview, or text."""
    from trace_util.facts import trace_facts
    from trace_util.gather.places import read_place

    trace = read_place(path, columns="summary")
    return _formed(trace, trace_facts(trace), form, top)


def _formed(trace: Any, facts: Any, form: str, top: int) -> Any:
    import sys

    if form == "json":
        from trace_util.report.summary_json import summary_json

        return summary_json(trace, facts, steps_as_text=True)
    if form == "line":
        from trace_util.report.overview import overview

        return overview(trace, facts)
    from trace_util.report.summary import summary_text
    from trace_util.report.text import style_of

    return summary_text(trace, facts, style_of(sys.stdout), top)


def _show_one(made: Any, arguments: argparse.Namespace) -> None:
    import sys

    from trace_util.report.hints import say
    from trace_util.report.text import shell_path

    if arguments.json:
        from trace_util.report.summary_json import encoded

        sys.stdout.write(encoded(made))
    else:
        sys.stdout.write(made)
        if arguments.traces[0] != "-":
            say(f"next: trace-util explain {shell_path(arguments.traces[0])}")


def _show_many(made: list[Any], jobs: list[JobFacts], as_json: bool, top: int) -> None:
    import sys

    from trace_util.report.hints import say
    from trace_util.report.text import shell_path, style_of

    if as_json:
        from trace_util.report.job_json import job_json
        from trace_util.report.summary_json import encoded

        if made or jobs:
            sys.stdout.write(encoded([*made, *({"job": job_json(job)} for job in jobs)]))
        return
    parts = []
    if made:
        from trace_util.report.overview import overview_text

        parts.append(overview_text(made, style_of(sys.stdout)))
    if jobs:
        from trace_util.report.job import job_summary

        parts += [job_summary(job, style_of(sys.stdout), top) for job in jobs]
    sys.stdout.write("\n".join(parts))
    if made:
        say(f"next: trace-util summary {shell_path(made[0].file)}")
    elif jobs:
        say(f"next: trace-util explain {shell_path(jobs[0].name)}")
