"""Whether a file may be written over: what this tool made itself, and with --force anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from trace_util.content import require_target
from trace_util.events import TraceError, UsageError

# How the files begin that `plot` and `report` write; all marks stand in the first bytes.
FIGURE_MARKS: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="figure"',
    b"tEXtSoftware\x00trace-util",
)
PAGE_MARKS: Final = (b'<meta name="generator" content="trace-util">',)
_BEGIN_BYTES: Final = 4096


def require_replaceable(
    path: Path,
    what: str,
    is_own: Callable[[Path], bool],
    *,
    force: bool,
    traces: Sequence[str] = (),
) -> None:
    """Return if ``path`` may be written: it is not there, our own ``what``, or ``force`` says so.

    Raises:
        UsageError: it is one of the ``traces`` that are read, or no file at all.
        TraceError: it is there, and of another origin.
    """
    require_target(path)
    if path.exists() and any(os.path.exists(one) and path.samefile(one) for one in traces):
        raise UsageError(f"{path}: is one of the traces; name another file for the {what}")
    if force or not path.is_file() or not path.stat().st_size or is_own(path):
        return
    raise TraceError(
        f"{path}: is there already and no {what} of trace-util; name another file or add --force"
    )


def is_figure(path: Path) -> bool:
    """Whether a file is a figure that was drawn here."""
    return _has_mark(path, FIGURE_MARKS)


def is_page(path: Path) -> bool:
    """Whether a file is a report that was written here."""
    return _has_mark(path, PAGE_MARKS)


def _has_mark(path: Path, marks: tuple[bytes, ...]) -> bool:
    try:
        with path.open("rb") as file:
            begin = file.read(_BEGIN_BYTES)
    except OSError:
        return False
    return any(mark in begin for mark in marks)
