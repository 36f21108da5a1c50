"""Writes a copy of a trace without host and user names, paths, command lines, environment and
tokens, and proves that the rest is the same. Without OUT it says what the trace gives away.
Values are never shown."""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util redact traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz \\
    clean.json.gz
  zcat trace.json.gz | trace-util redact - -o clean.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trace-util redact``."""
    from trace_util.copy_arguments import add_copy_arguments

    add_copy_arguments(parser, "the trace, or its .txt table", needed=False)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the copy and print what was found; returns 0."""
    import json
    from pathlib import Path

    from trace_util import content
    from trace_util.copy_arguments import copy_named
    from trace_util.events import TraceError
    from trace_util.exposure import findings_of
    from trace_util.reader import read_trace
    from trace_util.redact import redact_trace
    from trace_util.report.exposure import findings_json, findings_text
    from trace_util.report.hints import say
    from trace_util.report.text import clean
    from trace_util.report.units import counted
    from trace_util.spool import rereadable

    copy = copy_named(args)
    given, target = Path(args.trace), Path(copy or "")
    if copy:
        content.require_target(target)
    own = given.exists() and target.exists() and target.samefile(given)
    if copy and target.exists() and not (args.force or own):
        raise TraceError(f"{target}: is there already; name another file or add --force")
    with rereadable(args.trace) as source:
        if source.suffix != ".txt":
            read_trace(source, columns="summary")  # refuses what is no trace
        if copy is None:
            findings, facts = findings_of(source), {}
            verdict = "" if findings else "gives nothing away that is known to do so"
        else:
            redaction = redact_trace(source, target)
            findings = redaction.findings
            facts = {
                "copy": redaction.target,
                "strings": redaction.strings,
                "strings_changed": redaction.strings_changed,
                "numbers_changed": redaction.numbers_changed,
                "structure_sha256": redaction.structure_sha256,
            }
            numbers = redaction.numbers_changed
            but = f", but for {counted(numbers, 'secret number')}, now 0" if numbers else ""
            verdict = (
                f"{redaction.strings_changed:,} of {redaction.strings:,} strings changed; "
                f"everything outside of strings is the same, byte for byte{but}"
            )
    if args.json:
        document = {"trace": args.trace, "findings": findings_json(findings), **facts}
        print(json.dumps(document, indent=2))
        return 0
    print(findings_text(findings), end="")
    if verdict:
        line = f"{copy or args.trace}: {verdict}"
        if copy:
            say(line)
        else:
            print(clean(line))
    return 0
