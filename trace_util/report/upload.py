"""What an upload did, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from trace_util.outcome import Item, Upload
from trace_util.report.text import PLAIN, Style
from trace_util.report.units import counted

_MOST_LINES = 30  # of what was left out; --json has all


def upload_json(upload: Upload) -> dict[str, Any]:
    """The bucket, whether it is public, and the files sent, skipped and failed.

    ``link`` of a file is there only if it was not seen to fail, and ``reason`` says how it did.
    ``unknown`` says why a dry run could not ask for the bucket, if it could not.
    """
    return {
        "bucket": upload.bucket,
        "public": upload.public,
        **({"unknown": upload.unknown} if upload.unknown else {}),
        "sent": [_item_json(item) for item in upload.sent],
        "skipped": [_item_json(item) for item in upload.skipped],
        "failed": [_item_json(item) for item in upload.failed],
    }


def _item_json(item: Item) -> dict[str, Any]:
    return {name: value for name, value in asdict(item).items() if name != "opens"}


def upload_text(upload: Upload, style: Style = PLAIN) -> str:
    """One line a file, with its link below it where it has one, and a line that counts them."""
    lines = []
    for label, items in (("sent", upload.sent), ("skipped", upload.skipped)):
        lines += _lines(label, items, style)
    lines += _lines("failed", upload.failed, style)
    lines += [f"deleted  {path}" for path in upload.deleted]
    visibility = {True: ", public", False: ", private", None: ""}[upload.public]
    dry = "dry run, " if upload.dry_run else ""
    counts = f"{len(upload.sent)} sent, {len(upload.skipped)} skipped, {len(upload.failed)} failed"
    if upload.unopened:
        lost = len(upload.unopened)
        counts += f"; {counted(lost, 'link')} {'does' if lost == 1 else 'do'} not open"
    return "\n".join([*lines, style.bold(f"{upload.bucket}{visibility}: {dry}{counts}")]) + "\n"


def _lines(label: str, items: Sequence[Item], style: Style) -> list[str]:
    linked = [item for item in items if item.link]
    others = [item for item in items if not item.link]
    lines = []
    for item in [*linked, *others[:_MOST_LINES]]:
        name = item.remote or item.path or ""
        reason = f": {item.reason}" if item.reason else ""
        shown = f"{label:<9}{name}{reason}"
        lines.append(style.warn(shown) if label == "failed" or item.opens is False else shown)
        if item.link:
            lines.append(f"{'':9}{item.link}")
    if len(others) > _MOST_LINES:
        lines.append(f"{label:<9}and {len(others) - _MOST_LINES} more; --json lists all")
    return lines
