"""Deletes from a bucket what its folder no longer has: shown first, asked for, never by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trace_util.outcome import Item, Upload
from trace_util.share.bucket import Hub
from trace_util.share.consent import Ask, Say
from trace_util.share.index_page import write_index
from trace_util.share.packing import Packed
from trace_util.share.selection import TRACE_ENDINGS, Candidate


def kept_paths(prefix: str, files: Sequence[Candidate], packed: Sequence[Packed]) -> set[str]:
    """The remote paths of everything in the folder, also of what could not be sent this time."""
    names = {prefix + one.relative for one in files}
    return names | {f"{name}.gz" for name in names} | {one.remote for one in packed}


def mirrored(
    hub: Hub,
    result: Upload,
    prefix: str,
    kept: set[str],
    *,
    say: Say,
    ask: Ask | None,
    yes: bool,
    apart: tuple[str, ...] = (),
) -> Upload:
    """The result of the upload, after the traces that the folder does not have were deleted.

    Only traces and tables below ``prefix`` are ever considered. Nothing is deleted unless all was
    sent and somebody agreed, on the terminal or with ``yes``. Folders ``apart`` were not
    looked into: nothing is deleted in them either.
    """
    if result.public is None:
        return result
    gone = sorted(
        path
        for path in hub.listing(result.bucket, prefix)
        if path.startswith(prefix)
        and path.endswith((*TRACE_ENDINGS, ".txt"))
        and path not in kept
        and not path.startswith(tuple(prefix + folder for folder in apart))
    )
    for path in gone:
        say(f"only in the bucket: {path}")
    if not gone or result.dry_run:
        return result
    if result.failed:
        say("nothing is deleted, since not everything was sent")
        return result
    if not (yes or (ask is not None and ask(f"Delete these {len(gone)} from {result.bucket}?"))):
        say("nothing is deleted" + ("" if ask else "; add --yes to delete them without a terminal"))
        return result
    refused = hub.delete(result.bucket, gone)
    failed = tuple(Item(None, path, None, None, why) for path, why in refused.items())
    deleted = tuple(path for path in gone if path not in refused)
    write_index(hub, result.bucket, [], say)
    return replace(result, deleted=deleted, failed=result.failed + failed)
