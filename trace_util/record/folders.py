"""Folders that a run will write to, tried before it begins."""

from __future__ import annotations

import os
from pathlib import Path

from ..events import TraceError


def require_writable(folder: Path, told_by: str) -> None:
    """Returns when a file can be written in ``folder``, which is made if it is missing.

    Raises:
        TraceError: it cannot, and why; better now than after the run. ``told_by`` is the flag or
            variable that names the folder.
    """
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise TraceError(f"{told_by} {folder}: {error.strerror}; choose another folder") from None
