"""Sends packed copies in groups and says of each what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from trace_util.events import TraceError
from trace_util.share.bucket import Hub
from trace_util.share.refusals import Refusal

GROUP_BYTES = 64 << 20
GROUP_FILES = 50


class Parcel(NamedTuple):
    """A copy, its full path in the bucket and its size."""

    copy: Path
    remote: str
    size_bytes: int


def send_all(hub: Hub, bucket: str, parcels: Sequence[Parcel], *, quiet: bool) -> dict[str, str]:
    """Send the parcels; returns, by remote path, why one was not sent.

    A refusal or Ctrl-C ends the sending: what was not reached is reported with the same reason, and
    what the Hub may have stored before its answer got lost is looked up.
    """
    from tqdm import tqdm

    failed: dict[str, str] = {}
    groups = list(_groups(parcels))
    total = sum(parcel.size_bytes for parcel in parcels)
    with tqdm(total=total, unit="B", unit_scale=True, desc="upload", disable=quiet) as bar:
        for number, group in enumerate(groups):
            try:
                failed |= hub.send(bucket, [(one.copy, one.remote) for one in group])
            except KeyboardInterrupt:
                failed |= _not_reached(groups[number:], "interrupted; run it again for the rest")
                break
            except TraceError as refusal:
                failed |= _not_reached(groups[number:], str(refusal))
                break
            bar.update(sum(parcel.size_bytes for parcel in group))
    return failed


def _groups(parcels: Sequence[Parcel]) -> Iterator[list[Parcel]]:
    group: list[Parcel] = []
    size = 0
    for parcel in parcels:
        if group and (len(group) == GROUP_FILES or size + parcel.size_bytes > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(parcel)
        size += parcel.size_bytes
    if group:
        yield group


def _not_reached(groups: Sequence[list[Parcel]], reason: str) -> dict[str, str]:
    return {parcel.remote: reason for group in groups for parcel in group}


def really_there(hub: Hub, bucket: str, wanted: dict[str, str]) -> set[str] | None:
    """Which of the remote paths hold what they should; ``None`` if the Hub cannot be asked.

    ``wanted`` is the content hash of each path.
    """
    try:
        found = hub.hashes(bucket, list(wanted))
    except Refusal:
        return None
    return {path for path, digest in wanted.items() if found.get(path) == digest}
