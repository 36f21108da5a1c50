"""Writes a copy of a trace without host and user names, paths, command lines, environment and
tokens, and proves that the rest is the same. Without OUT it says what the trace gives away.
Values are never shown."""

from __future__ import annotations

import argparse

EXAMPLE = """example:
  trace-util redact traces/02_linear/1024_32_64_eager.json.gz clean.json.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trace-util redact``."""
    parser.add_argument("trace", metavar="IN", help="the trace, or its .txt table")
    parser.add_argument("copy", metavar="OUT", nargs="?", help="the copy; gzipped if named .gz")
    parser.add_argument("--force", action="store_true", help="replace OUT if it is there already")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the copy and print what was found; returns 0."""
    import json
    import sys
    from pathlib import Path

    from trace_util.events import TraceError
    from trace_util.exposure import findings_of
    from trace_util.redact import redact_trace
    from trace_util.report.exposure import findings_json, findings_text

    source = Path(args.trace)
    if args.copy is None:
        findings, facts = findings_of(source), {}
        verdict = "" if findings else "gives nothing away that is known to do so"
    else:
        target = Path(args.copy)
        if target.exists() and not args.force and not target.samefile(source):
            raise TraceError(f"{target}: is there already; name another file or add --force")
        redaction = redact_trace(source, target)
        findings = redaction.findings
        facts = {
            "copy": redaction.target,
            "strings": redaction.strings,
            "strings_changed": redaction.strings_changed,
            "structure_sha256": redaction.structure_sha256,
        }
        verdict = (
            f"{redaction.strings_changed:,} of {redaction.strings:,} strings changed; "
            "everything outside of strings is the same, byte for byte"
        )
    if args.json:
        document = {"trace": args.trace, "findings": findings_json(findings), **facts}
        print(json.dumps(document, indent=2))
        return 0
    print(findings_text(findings), end="")
    if verdict:
        print(f"{args.copy or args.trace}: {verdict}", file=sys.stderr if args.copy else sys.stdout)
    return 0
