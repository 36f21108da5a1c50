"""Writes the page that was asked for."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from trace_util.events import TraceError, UsageError


def require_page_name(path: Path) -> None:
    """Return if the name is that of a page.

    Raises:
        UsageError: it is not.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: a report is an .html; name one")


def write_page(text: str, path: Path) -> int:
    """The bytes written; the file appears whole or not at all.

    Raises:
        TraceError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    content = text.encode("utf-8", "backslashreplace")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        raise TraceError(f"{path}: not written: {error.strerror or error}") from None
    finally:
        # A read-only file system refuses this too, and would be told by this name.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return len(content)
