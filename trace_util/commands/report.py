"""Write one self-contained HTML page: what bounds the run, timeline, steps, kernels with their
names decoded, roofline, claims, comparison, and ways into Perfetto. The page fetches nothing."""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util report traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz \\
    -o linear.html
  trace-util report eager.json compiled.json -o both.html --embed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trace-util report``."""
    from trace_util.argument_types import named

    add = parser.add_argument
    add("traces", metavar="TRACE", nargs="+", type=named, help="a trace; several are compared")
    add("-o", "--output", metavar="FILE", required=True, type=named, help="the page, .html")
    add("--title", default="", help="default: the names of the traces")
    add("--url", action="append", default=[], metavar="URL", help="where a trace's file is online, "
        "for links that open it in Perfetto; once for each trace, in their order")  # fmt: skip
    add("--force", action="store_true", help="replace FILE whatever it is; without it, only a "
        "report that was written here")  # fmt: skip
    add("--embed", action="store_true", help="carry the files in the page, for buttons that open "
        "them in Perfetto; the page then gives away what they give away")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write the page; returns 0."""
    from pathlib import Path

    from trace_util.files import once
    from trace_util.reader import read_trace
    from trace_util.report.hints import say
    from trace_util.report.html.page import report_html
    from trace_util.report.html.request import require_page_name, write_page
    from trace_util.report.replacing import is_page, require_replaceable

    once(args.traces)
    output = Path(args.output)
    require_page_name(output)
    require_replaceable(output, "report", is_page, force=args.force, traces=args.traces)
    traces = [read_trace(path) for path in args.traces]
    text = report_html(traces, urls=args.url, embed=args.embed, title=args.title)
    written = write_page(text, output)
    print(output)
    say(f"{output}: {written / 1000:,.0f} kB; open it in a browser")
    return 0
