"""What traces hold: window, steps, GPU busy time, kernels, launches, ops, copies, oddities."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """examples:
  trace-util summary traces/02_linear/1024_32_64_eager.json
  trace-util summary traces/recorded --json > summaries.json
  trace-util summary "runs/rank*.json.gz"
  zcat trace.json.gz | trace-util summary -
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "traces", metavar="TRACE", nargs="+", help="a trace, a folder, a pattern, or - for stdin"
    )
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="rows of each table (default: 10)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON; a list for anything but one file"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the summaries; 1 if any file was refused, which is said on stderr as well."""
    import sys
    from functools import partial

    from trace_util.events import TraceError
    from trace_util.files import means_many, trace_files
    from trace_util.pool import each_file

    many = means_many(arguments.traces)
    form = "json" if arguments.json else "line" if many else "text"
    work = partial(_summary, form=form, top=max(arguments.top, 1))
    made: list[Any] = []
    refused = False
    for file, one in each_file(work, trace_files(arguments.traces)):
        if isinstance(one, TraceError):
            refused = True
            print(f"error: {' '.join(str(one).split())}", file=sys.stderr)
            if arguments.json:
                made.append({"file": file, "error": str(one)})
        else:
            made.append(one)
    if made:
        _show(made, form, many, file)
    return 1 if refused else 0


def _summary(file: str, form: str, top: int) -> Any:
    """One file's summary: JSON values, a line of the overview, or text."""
    import sys

    from trace_util.facts import trace_facts
    from trace_util.reader import read_trace

    trace = read_trace(file, columns="summary")
    facts = trace_facts(trace)
    if form == "json":
        from trace_util.report.summary_json import summary_json

        return summary_json(trace, facts)
    if form == "line":
        from trace_util.report.overview import overview

        return overview(trace, facts)
    from trace_util.report.summary import summary_text
    from trace_util.report.text import style_of

    return summary_text(trace, facts, style_of(sys.stdout), top)


def _show(made: list[Any], form: str, many: bool, file: str) -> None:
    import shlex
    import sys

    if form == "json":
        from trace_util.report.summary_json import encoded

        sys.stdout.write(encoded(made if many else made[0]))
    elif form == "line":
        from trace_util.report.overview import overview_text
        from trace_util.report.text import style_of

        sys.stdout.write(overview_text(made, style_of(sys.stdout)))
        print(f"next: trace-util summary {shlex.quote(made[0].file)}", file=sys.stderr)
    else:
        sys.stdout.write(made[0])
        print(f"next: trace-util explain {shlex.quote(file)}", file=sys.stderr)
