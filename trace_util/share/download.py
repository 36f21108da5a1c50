"""A file of a bucket to this machine, with the user's token where there is one."""

from __future__ import annotations

from pathlib import Path

from trace_util.share.address import file_address
from trace_util.share.bucket import Hub, current_token


def download(address: str, folder: str | Path, *, token: str | None = None) -> Path:
    """The path, in ``folder``, of a copy of the file at ``hf://buckets/NAMESPACE/BUCKET/PATH``.

    A public bucket needs no token. The web address of the file will do as well.

    Raises:
        TraceError: no such file, no right to read it, or no way to the Hub.
    """
    wanted = file_address(address)
    target = Path(folder) / Path(wanted.path).name
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.part")
    try:
        Hub(current_token(token)).fetch(wanted.bucket, wanted.path, unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target
