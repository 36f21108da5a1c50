"""Folders that a run will write to, tried before it begins."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from pathlib import Path

from ..events import TraceError


def require_writable(folder: Path, told_by: str) -> None:
    """Returns when a file can be written in ``folder``, which is made if it is missing.

    Raises:
        TraceError: it cannot, and why; better now than after the run. ``told_by`` is the flag or
            variable that names the folder.

    What was made here and is empty when the process ends, after Ctrl-C say, is gone again.
    """
    probe = folder / f".probe-{os.getpid()}"
    try:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        atexit.register(_remove_empty, missing)
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise TraceError(f"{told_by} {folder}: {error.strerror}; choose another folder") from None


def _remove_empty(folders: list[Path]) -> None:
    """``folders`` from the inmost outwards."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()
