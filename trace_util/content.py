"""The bytes of a trace file, out of and into gzip; gzip is told by content, never by name."""

from __future__ import annotations

import errno
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trace_util.events import TraceError, UsageError

BLOCK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
# What only a write can fail with: the disk is full, the quota used up, the file too large for it.
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_gzip(path: Path) -> bool:
    """Whether a file's content is gzip.

    Raises:
        TraceError: there is no such file.
    """
    try:
        with path.open("rb") as file:
            return file.read(2) == GZIP_MAGIC
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise TraceError(f"{path}: no such file") from None


def blocks(path: Path) -> Iterator[bytes]:
    """The content of a file, decompressed, in blocks of at most ``BLOCK_BYTES``.

    Raises:
        TraceError: the gzip stream ends early or is damaged.
    """
    with gzip.open(path) if is_gzip(path) else path.open("rb") as file:
        try:
            while block := file.read(BLOCK_BYTES):
                yield block
        except EOFError:
            raise TraceError(f"{path}: half-written, its gzip stream ends early") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise TraceError(f"{path}: damaged gzip stream ({error})") from None


def require_rereadable(path: Path) -> None:
    """Return unless a file can be read but once, where it has to be read twice.

    What is not there at all is for the reader to refuse.

    Raises:
        UsageError: it is standard input, a pipe or a device.
    """
    if str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        raise UsageError(
            f"{path}: has to be read twice, and a pipe or a device cannot; save it to a file first"
        )


def require_target(target: Path) -> None:
    """Return if a file of this name can be written without harm to what is no file.

    Raises:
        UsageError: it is standard output, a folder, a pipe or a device.
        TraceError: its folder is not there.
    """
    if str(target) == "-":
        raise UsageError(f"{target}: nothing is written to standard output; name a file")
    if target.is_dir():
        raise UsageError(f"{target}: a folder; name a file in it")
    folder = os.path.realpath(target.parent)
    is_system = folder == "/dev" or folder.startswith(("/proc/", "/dev/fd"))
    if is_system or (target.exists() and not target.is_file()):
        raise UsageError(f"{target}: a pipe or a device, which is never replaced; name a file")
    if not target.parent.is_dir():
        raise TraceError(f"{target}: not written: there is no folder {target.parent}")


@contextmanager
def gzip_writer(file: IO[bytes], level: int = 6) -> Iterator[IO[bytes]]:
    """A stream that compresses into ``file``: the same content gives the same bytes.

    That holds for one version of zlib; with another, a trace is sent once more. Neither the time
    nor a name goes into the header (RFC 1952, fields MTIME and FNAME).
    """
    with gzip.GzipFile(
        filename="", mode="wb", compresslevel=level, fileobj=file, mtime=0
    ) as packed:
        yield packed  # type: ignore[misc]  # GzipFile is an IO[bytes] in all but its declaration


@contextmanager
def atomic_writer(target: Path, level: int = 6) -> Iterator[IO[bytes]]:
    """A stream into ``target``, gzipped if the name ends in ``.gz``.

    The file appears when the block ends, whole; after an error there is none, or the old one.

    Raises:
        UsageError: ``target`` is no file.
        TraceError: it cannot be written.
    """
    require_target(target)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    except OSError as error:
        raise _not_written(target, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            if target.suffix == ".gz":
                with gzip_writer(file, level) as packed:
                    yield packed
            else:
                yield file
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
        temporary.replace(target)
    except OSError as error:
        if error.errno in _UNWRITTEN or error.filename == name:
            raise _not_written(target, error) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _not_written(target: Path, error: OSError) -> TraceError:
    """The failure by the name that the user gave, and not by that of the temporary file."""
    return TraceError(f"{target}: not written: {error.strerror or error}")


def write_atomically(target: Path, content: Iterable[bytes]) -> None:
    """Write all of ``content`` to ``target`` or nothing; gzipped if the name ends in ``.gz``."""
    with atomic_writer(target) as file:
        file.writelines(content)
