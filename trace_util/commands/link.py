"""Print the Perfetto link of a trace that is already online, opening on the finding.

The finding is worked out from the local copy; nothing is sent or fetched. The address has to be one
that anybody can fetch without a login and without a '?' in it.
"""

from __future__ import annotations

import argparse

EXAMPLE = """example:
  trace-util link traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz \\
    https://huggingface.co/buckets/me/traces/resolve/02_linear/1024_32_64_eager.json.gz"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments to ``parser``."""
    from trace_util.argument_types import named

    parser.add_argument("trace", metavar="TRACE", type=named, help="the local copy of the trace")
    parser.add_argument(
        "url", metavar="URL", help="where the same file is online, quoted as URLs are"
    )
    parser.add_argument("--json", action="store_true", help="print url and link as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the link; returns 0."""
    import json

    from trace_util.highlights import focus_on
    from trace_util.perfetto import public_link
    from trace_util.reader import read_trace
    from trace_util.report.hints import say
    from trace_util.report.oddities import repairs_warning

    trace = read_trace(args.trace)
    link = public_link(args.url, focus_on(trace))
    if warning := repairs_warning(trace):
        say(f"warning: {args.trace}: {warning}")
    if args.json:
        print(json.dumps({"url": args.url, "link": link}))
    else:
        print(link)
    return 0
