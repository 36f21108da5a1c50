"""Writes a copy of a trace that is small enough to share, and proves what it keeps unchanged.

What is kept is kept byte for byte, and the copy's header says that it is not all.
"""

from __future__ import annotations

import argparse

EXAMPLE = """what --keep can be:
  steps      what runs while the recorded steps do, and what launched it
  gpu        GPU work, the calls and the ops that launched it, annotations; other ops are dropped
  no-python  everything but the Python frames

examples:
  trace-util slim big.json.gz small.json.gz --keep no-python
  zcat big.json.gz | trace-util slim - -o small.json.gz --keep gpu
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trace-util slim``."""
    from trace_util.copy_arguments import add_copy_arguments

    add_copy_arguments(parser, "the trace", needed=True)
    parser.add_argument("--keep", required=True, choices=("steps", "gpu", "no-python"))
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the copy and print the totals that are the same; returns 0."""
    import json
    import sys
    from dataclasses import replace
    from pathlib import Path

    from trace_util import content
    from trace_util.copy_arguments import copy_named
    from trace_util.events import TraceError, UsageError
    from trace_util.report.hints import say
    from trace_util.report.slim import slim_json, slim_text
    from trace_util.slim import slim_trace
    from trace_util.spool import rereadable

    copy = copy_named(args)
    if copy is None:
        raise UsageError(f"{args.trace}: where to? name the copy after it, or after -o")
    given, target = Path(args.trace), Path(copy)
    content.require_target(target)
    if target.exists() and not args.force and not (given.exists() and target.samefile(given)):
        raise TraceError(f"{target}: is there already; name another file or add --force")
    with rereadable(args.trace) as source:
        slimmed = replace(slim_trace(source, target, args.keep), source=args.trace)
    if args.json:
        print(json.dumps(slim_json(slimmed), indent=2))
    else:
        print(slim_text(slimmed), end="")
    if slimmed.incomplete:
        say(f"note: {args.trace}: {slimmed.incomplete}; the copy is of what is there")
    if slimmed.slim_bytes >= slimmed.size_bytes:
        print("the copy is not smaller: there was little to leave out", file=sys.stderr)
    return 0
