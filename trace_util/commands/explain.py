"""What bounds this run, which numbers say so, and what to do next.

overhead-bound: the GPU waits for the CPU's launches; compute-bound, memory-bound: for arithmetic or
for memory; communication-bound, copy-bound: for collectives or copies; kernel-bound: for kernels
that the trace does not let one tell apart; undecided: the profiler may be what slows the run.
"""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util explain traces/03_simple_mlp/64_128_768_3072_eager.json
  trace-util explain trace.json.gz --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("trace", metavar="TRACE", help="a trace, or - for stdin")
    parser.add_argument(
        "--top", type=int, default=5, metavar="N", help="kernels in the table (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all of the findings")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation of one trace."""
    import shlex
    import sys

    from trace_util.explain import explanation
    from trace_util.reader import read_trace
    from trace_util.report.explain import explanation_json, explanation_text
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import style_of

    trace = read_trace(arguments.trace)
    found = explanation(trace)
    if arguments.json:
        sys.stdout.write(encoded(explanation_json(trace, found)))
        return 0
    sys.stdout.write(explanation_text(found, style_of(sys.stdout), max(arguments.top, 1)))
    if arguments.trace != "-":
        again = "check" if trace.header.run.get("lesson") else "open"
        print(f"next: trace-util {again} {shlex.quote(arguments.trace)}", file=sys.stderr)
    return 0
