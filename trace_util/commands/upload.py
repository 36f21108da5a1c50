"""Sends traces and their .txt tables to a Hugging Face bucket and prints a Perfetto link for each.

Traces are sent gzipped, and only those that the bucket does not have yet. One that has another
content there is replaced only if that is agreed, on the terminal or with --yes; nothing else in the
bucket is deleted, unless --mirror asks for it. The bucket's page, README.md, gets one line a trace,
with its lesson, GPU, versions, verdict and link; a page of somebody's own stays as it is.

What is public or gives somebody away is said before anything leaves the machine; a file with a
token in it stops the upload. Each link is tried as a stranger would; one that does not open ends
the command with exit code 1.
"""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util upload traces -b traces
  trace-util upload traces/02_linear -b my-team/traces --private --yes
  trace-util -b my-bucket -f ./traces --dry-run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trace-util upload``."""
    from trace_util.argument_types import named

    parser.add_argument(
        "paths", metavar="PATH", nargs="*", type=named, help="folders and traces to send"
    )
    parser.add_argument(
        "-b",
        "--bucket",
        "--bucket-name",
        required=True,
        help="NAME, in your own namespace, or NAMESPACE/NAME",
    )
    parser.add_argument(
        "-f", "--folder-path", metavar="FOLDER", type=named, help="one more way to name PATH"
    )
    parser.add_argument("-n", "--namespace", help="the user or organisation that has the bucket")
    parser.add_argument("--token", help="default: HF_TOKEN, or what `hf auth login` saved")
    parser.add_argument("--private", action="store_true", help="create the bucket private")
    parser.add_argument("--yes", "-y", action="store_true", help="agree to all that is asked")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, only")
    parser.add_argument("--prefix", default="", metavar="FOLDER", help="folder in the bucket")
    parser.add_argument("--no-gzip", action="store_true", help="send the files as they are")
    parser.add_argument("--redact", action="store_true", help="send cleaned copies")
    parser.add_argument(
        "--mirror",
        action="store_true",
        help="delete from the bucket the traces that PATH lacks: shows them and asks",
    )
    parser.add_argument(
        "--no-delete", action="store_true", help="accepted; nothing is deleted without --mirror"
    )
    parser.add_argument("--no-color", action="store_true", help="plain text, as with NO_COLOR")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Upload and report; returns 0 if nothing failed and every link that was tried opens."""
    import json
    import sys

    from trace_util.events import UsageError
    from trace_util.report.text import style_of
    from trace_util.report.upload import upload_json, upload_text
    from trace_util.share import upload_traces

    paths = [*args.paths, *([args.folder_path] if args.folder_path else [])]
    if not paths:
        raise UsageError("no folder given: trace-util upload FOLDER -b BUCKET")
    if args.mirror and args.no_delete:
        raise UsageError("--mirror deletes and --no-delete does not: choose one")
    upload = upload_traces(
        paths,
        args.bucket,
        namespace=args.namespace,
        token=args.token,
        private=args.private,
        yes=args.yes,
        redact=args.redact,
        prefix=args.prefix,
        gzip=not args.no_gzip,
        dry_run=args.dry_run,
        mirror=args.mirror,
        quiet=not sys.stderr.isatty(),
    )
    if args.json:
        print(json.dumps(upload_json(upload), indent=2))
    else:
        style = style_of(sys.stdout)
        print(
            upload_text(upload, style._replace(colour=style.colour and not args.no_color)), end=""
        )
    if upload.index_url:
        print(f"all traces of {upload.bucket}: {upload.index_url}", file=sys.stderr)
    return 0 if upload.ok else 1
