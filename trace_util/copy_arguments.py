"""The arguments of commands that write a copy of a trace: what is read, and where the copy goes."""

from __future__ import annotations

import argparse

from trace_util.argument_types import named


def add_copy_arguments(parser: argparse.ArgumentParser, what: str, *, needed: bool) -> None:
    """Declare IN, and OUT, which may as well follow ``-o``; :func:`copy_named` says which it is."""
    add = parser.add_argument
    add("trace", metavar="IN", type=named, help=f"{what}, or - for stdin")
    # With nargs="?" argparse would give it up at the first flag: `IN --force OUT` would be refused.
    copy = add("copy", metavar="OUT" if needed else "[OUT]", type=named,
               help="the copy; gzipped if named .gz")  # fmt: skip
    copy.required = False
    add("-o", "--output", metavar="FILE", type=named, help="the same as OUT")
    add("--force", action="store_true", help="replace OUT if it is there already")


def copy_named(args: argparse.Namespace) -> str | None:
    """The name of the copy, ``None`` where there is none.

    Raises:
        UsageError: there are two.
    """
    from trace_util.events import UsageError

    if args.copy and args.output:
        raise UsageError(f"two names for the copy, {args.copy} and {args.output}; give one")
    copy: str | None = args.copy or args.output
    return copy
