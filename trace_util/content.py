"""The bytes of a trace file, out of and into gzip; gzip is told by content, never by name."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trace_util.events import TraceError

BLOCK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"


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
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
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
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(target: Path, content: Iterable[bytes]) -> None:
    """Write all of ``content`` to ``target`` or nothing; gzipped if the name ends in ``.gz``."""
    with atomic_writer(target) as file:
        file.writelines(content)
