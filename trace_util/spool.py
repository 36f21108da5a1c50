"""What comes through a pipe, kept in a file for as long as it is read more than once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trace_util.content import BLOCK_BYTES, require_rereadable
from trace_util.events import TraceError
from trace_util.sources import STDIN, standard_input


def is_pipe(path: str) -> bool:
    """Whether a path is standard input or a pipe, as that of ``<(zcat …)`` is."""
    return path == STDIN or Path(path).is_fifo()


@contextmanager
def rereadable(path: str) -> Iterator[Path]:
    """A file with what is at ``path``, to be read as often as one likes.

    A pipe is copied into a folder that only its owner can read and that is gone afterwards, Ctrl-C
    included; errors within that name the copy name the pipe instead.

    Raises:
        UsageError: it is a device.
        TraceError: the pipe cannot be read, or there is no room for its copy.
    """
    if not is_pipe(path):
        require_rereadable(Path(path))
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="trace-util-") as folder:
        copy = Path(folder) / ("standard-input" if path == STDIN else Path(path).name)
        with _opened(path) as pipe:
            _keep(pipe, copy, path)
        try:
            yield copy
        except TraceError as error:
            raise type(error)(str(error).replace(str(copy), path)) from None


def _opened(path: str) -> BinaryIO:
    try:
        return standard_input() if path == STDIN else open(path, "rb", buffering=0)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def _keep(pipe: BinaryIO, copy: Path, path: str) -> None:
    try:
        with copy.open("wb") as file:
            shutil.copyfileobj(pipe, file, BLOCK_BYTES)
    except OSError as error:
        raise TraceError(
            f"{path}: could not be copied to {copy.parent} to be read twice: "
            f"{error.strerror or error}; TMPDIR names another place"
        ) from error
