"""Sends what was recorded to a bucket, and tells before the run what would be in the way."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..events import TraceError
from ..report import text
from .output import is_first_rank, say, section


def require_login(flags: argparse.Namespace) -> None:
    """Returns when nothing known on this machine keeps ``--bucket`` from being served.

    Raises:
        TraceError: there is no token, or the client was told to stay offline.
    """
    if flags.bucket is None or not is_first_rank():
        return
    from ..share.bucket import current_token, is_offline

    later = "or leave --bucket out and send the trace later with trace-util upload"
    if is_offline():
        raise TraceError(f"--bucket: HF_HUB_OFFLINE is set, so nothing is sent; unset it, {later}")
    if current_token(None) is None:
        raise TraceError(
            f"--bucket: no Hugging Face token; run `hf auth login` or set HF_TOKEN, {later}"
        )


def share(flags: argparse.Namespace, paths: Sequence[Path]) -> None:
    """Upload the paths as ``--bucket`` asks, and print the links; nothing without ``--bucket``.

    In the bucket they lie where ``trace-util upload traces`` would put them. Exits with code 1 when
    something was not sent or its link does not open.

    Raises:
        TraceError: nothing could be sent. The files are kept, which is said.
    """
    if flags.bucket is None:
        return
    from ..report.upload import upload_text
    from ..share import upload_traces

    section("Share")
    try:
        upload = upload_traces(
            paths,
            flags.bucket,
            namespace=flags.namespace,
            private=flags.private,
            yes=flags.yes,
            redact=flags.redact,
            root=paths[0].resolve().parents[1],
            quiet=not sys.stderr.isatty(),
        )
    except TraceError:
        say(f"note: nothing is lost; later: {_upload_command(flags, paths[0])}")
        raise
    print(upload_text(upload, text.style_of(sys.stdout)))
    if not upload.ok:
        raise SystemExit(1)


def _upload_command(flags: argparse.Namespace, path: Path) -> str:
    words = ["-b", flags.bucket]
    words += ["-n", flags.namespace] if flags.namespace else []
    words += [f"--{name}" for name in ("private", "yes", "redact") if getattr(flags, name)]
    return f"trace-util upload {text.shell_path(path)} {' '.join(map(text.shell_word, words))}"
