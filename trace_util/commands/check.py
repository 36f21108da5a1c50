"""A lesson's claims against a trace: each holds, differs on this GPU, or cannot be seen, with the
events that prove it. Marks guesses, and tests expectations as a gate for continuous integration.

Runs of the same lesson in another variant that lie beside the trace are compared with it. The exit
code is 1 when a claim is contradicted without a known reason, or a guess or an expectation fails,
and 2 when one of them makes no sense: an unknown fact, a typing error.
Expectations of a file that is cut off or damaged, or whose kernels were lost or name no launch,
fail unjudged.
count("NAME") is about whole names, in their case: count("nvjet*") is about all that begin so, and
count("*gemm*") about all that hold it. A kernel may be called as summary and explain print it, too.
It counts work on the GPU, or, where none is called so, what the CPU did, ops within an op of the
same name too. A share is 0 to 1, or has a %.
Facts that can be named are those under "facts" in the JSON output.
"""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util check traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz
  trace-util check traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz \\
    --guess kernels_per_step=3
  trace-util check trace.json --expect 'kernels_per_step <= 5' \\
    --expect 'count("Memcpy DtoD") == 0' --expect 'gpu_busy_share >= 0.6'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from trace_util.argument_types import named

    add = parser.add_argument
    add("trace", metavar="TRACE", type=named, help="a trace file, its address, or - for stdin")
    add("--lesson", metavar="NAME", help="whose claims; default: as the trace says, 02_linear")
    add(
        "--against",
        metavar="OTHER",
        type=named,
        action="append",
        help="the same run in another variant; default: those beside TRACE; may be repeated",
    )
    add("--alone", action="store_true", help="compare with no other trace")
    add(
        "--guess",
        metavar="FACT=VALUE",
        action="append",
        default=[],
        help="marked against the trace: counts must be equal, times and shares within a quarter",
    )
    add(
        "--expect",
        metavar="EXPRESSION",
        action="append",
        default=[],
        help="a comparison that must hold; facts of a step in every step",
    )
    add(
        "--claim",
        metavar="ID",
        action="append",
        default=[],
        help="judge this claim alone, such as 2.1; may be repeated",
    )
    add(
        "--allow-incomplete",
        action="store_true",
        help="judge expectations although the file is cut off or damaged",
    )
    add("--json", action="store_true", help="print the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the check; returns 1 when it does not pass."""
    import sys

    from trace_util.claims import check
    from trace_util.events import UsageError
    from trace_util.gather.places import read_place
    from trace_util.report.check import check_json, check_text, claims_text, failing_lines
    from trace_util.report.hints import say
    from trace_util.report.summary_json import encoded
    from trace_util.report.text import style_of

    trace = read_place(args.trace)
    against = [read_place(path) for path in args.against or ()]
    found = check(
        trace,
        args.lesson,
        args.guess,
        args.expect,
        against if args.against or args.alone else None,
        allow_incomplete=args.allow_incomplete,
    )
    if not (found.claims or found.guesses or found.expectations):
        told = f"{found.lesson} has no claims" if found.lesson else "it does not say its lesson"
        raise UsageError(f"{args.trace}: {told}; give --lesson, --guess or --expect")
    if args.claim:
        found = found.only(args.claim)
    if args.json:
        print(encoded(check_json(found)), end="")
    else:
        text = claims_text if args.claim and not (args.guess or args.expect) else check_text
        print(text(found, style_of(sys.stdout)), end="")
    sys.stdout.flush()
    for hint in (hint for one in found.expectations for hint in one.hints):
        say(f"note: {hint}")
    for line in failing_lines(found):
        say(f"failed: {line}")
    return 0 if found.passed else 1
