"""Two or more traces of one workload: which kernels stayed, were fused, replaced or vanished, which
CPU rows came and went, and whether a step's time differs by more than its spread.

Times are those without the profiler where the traces carry them, and those of the trace besides.
Unlike runs are compared with a warning that says what differs.
"""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util compare traces/03_simple_mlp/64_128_768_3072_eager.json \\
    traces/03_simple_mlp/64_128_768_3072_compile.json
  trace-util compare compiled.json liger.json --baseline eager.json --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="trace files, two or more")
    parser.add_argument(
        "--baseline",
        metavar="TRACE",
        help="what the others are compared with, one of them or another; default: the first",
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the comparison; returns 0."""
    import sys

    from trace_util.compare import comparison
    from trace_util.reader import read_trace
    from trace_util.report.compare import compare_text
    from trace_util.report.compare_json import compare_json
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import style_of

    paths = list(args.traces)
    if args.baseline and args.baseline not in paths:
        paths.insert(0, args.baseline)
    baseline = paths.index(args.baseline) if args.baseline else 0
    found = comparison([read_trace(path) for path in paths], baseline)
    if args.json:
        print(encoded(compare_json(found)), end="")
    else:
        print(compare_text(found, style_of(sys.stdout)), end="")
    return 0
