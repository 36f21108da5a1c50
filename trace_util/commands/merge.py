"""The traces of many ranks as one file, for one view of the job in Perfetto: tracks named by rank,
ids kept apart, clocks aligned on the ends of the collectives that the ranks share. Traces that say
themselves that they are of different runs (other flags, another number of ranks) make no job, and a
job that is merged already is refused."""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util merge rank*.json.gz -o job.json.gz
  trace-util merge runs/7 -o job.json.gz --steps 2-3
  trace-util merge <(zstdcat rank0.json.zst) <(zstdcat rank1.json.zst) -o job.json.gz
  trace-util open job.json.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trace-util merge``."""
    from trace_util.argument_types import named
    from trace_util.gather.arguments import WHERE

    add = parser.add_argument
    add("traces", metavar="WHERE", nargs="+", type=named, help=f"the ranks' traces; each "
        f"{WHERE}, or - for stdin")  # fmt: skip
    add(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        type=named,
        help="the job; gzipped if named .gz",
    )
    add("--steps", metavar="N-M", help="keep these steps only, by their numbers: 3, 2-4 or 2-4,7")
    add("--force", action="store_true", help="replace FILE if it is there already")
    add("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the file and print the shifts; 1 if a trace is refused or broken, said on stderr."""
    import os
    import sys
    from pathlib import Path

    from trace_util import content
    from trace_util.events import TraceError, UsageError
    from trace_util.gather.arguments import places_meant
    from trace_util.gather.engine import progress
    from trace_util.gather.places import means_several
    from trace_util.merge import is_merged, merge_traces, step_numbers
    from trace_util.report.hints import say
    from trace_util.report.merge import merge_json, merge_text
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import shell_path, style_of

    target = Path(args.output)
    content.require_target(target)
    steps = step_numbers(args.steps) if args.steps else None
    paths = [place.path for place in places_meant(args.traces)]
    files = {os.path.realpath(path): path for path in reversed(paths)}  # each once
    is_among = files.pop(os.path.realpath(target), None) is not None
    others = list(reversed(files.values()))
    if is_among and not is_merged(target):
        raise UsageError(f"{target}: is one of the traces; name another file for the job")
    # One file that is named twice is one trace; a folder that holds no more is refused as it is.
    if len(others) == 1 and not any(means_several([where]) for where in args.traces):
        raise UsageError(f"{others[0]}: one trace is no job; give the ranks of one, two or more")
    if target.exists() and not args.force:
        raise TraceError(f"{target}: is there already; name another file or add --force")
    with progress(2 * len(others)) as done:
        merged = merge_traces(others, target, steps=steps, done=done)
    broken = [one for one in merged.ranks if one.incomplete]
    for reason in merged.refused:
        say(f"error: {reason}")
    for one in broken:
        say(f"error: {one.path}: broken: {one.incomplete}; {one.label} ends there in the job")
    if args.json:
        print(encoded(merge_json(merged)), end="")
    else:
        print(merge_text(merged, style_of(sys.stdout)), end="")
        say(f"next: trace-util open {shell_path(merged.target)}")
    return 1 if merged.refused or broken else 0
