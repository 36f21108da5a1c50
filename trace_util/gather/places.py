"""Where traces lie: this machine, a Hugging Face bucket, or whatever fsspec can reach.

An address has a scheme (``hf://buckets/NAMESPACE/BUCKET/PREFIX``, ``s3://…``, ``gs://…``); anything
else is a path. A file that is elsewhere is copied into a temporary folder while it is read, one at
a time for each process.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from trace_util.events import Trace, TraceError
from trace_util.files import ENDINGS, STDIN, Say, trace_files

if TYPE_CHECKING:
    from pathlib import Path

HUB = "hf://buckets/"

# What fsspec reads an address with, by its scheme (fsspec.registry, version 2024.6). None of them
# is part of the extra `cluster`: each brings the client of one service.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "abfs": "adlfs",
    "az": "adlfs",
    "sftp": "paramiko",
    "ssh": "paramiko",
}


class Place(NamedTuple):
    """A file to read. The stamp is another one when the content is; "" where that is not known."""

    path: str
    size_bytes: int = 0
    stamp: str = ""


def is_address(text: str) -> bool:
    """Whether a text is an address rather than a path."""
    return "://" in text and not os.path.exists(text)


def means_several(targets: Sequence[str]) -> bool:
    """Whether the targets can stand for more than one file."""
    if len(targets) != 1:
        return True
    if is_address(targets[0]):
        return not targets[0].lower().endswith(ENDINGS) or glob.has_magic(targets[0])
    return os.path.isdir(targets[0]) or (
        glob.has_magic(targets[0]) and not os.path.exists(targets[0])
    )


def find_places(targets: Sequence[str], say: Say = lambda _: None) -> list[Place]:
    """The files that the targets name, each once: paths, folders, globs, addresses of either.

    ``say`` is told of what lies among them and is no trace, though it looks like one.

    Raises:
        TraceError: a target names no file, or its place cannot be reached.
    """
    found: dict[str, Place] = {}
    for target in targets:
        if target.startswith(HUB):
            places = _in_bucket(target)
        elif is_address(target):
            places = _by_fsspec(target)
        else:
            places = map(_here, trace_files([target], say))
        found |= {place.path: place for place in places}
    return list(found.values())


def _here(path: str) -> Place:
    try:
        told = os.stat(path)
    except OSError:
        return Place(path)
    return Place(path, told.st_size, f"{told.st_size}:{told.st_mtime_ns}" if path != STDIN else "")


def _in_bucket(address: str) -> Iterator[Place]:
    from trace_util.share.address import bucket_name
    from trace_util.share.bucket import Hub, current_token

    namespace, _, rest = address[len(HUB) :].partition("/")
    name, _, wanted = rest.partition("/")
    if not namespace or not name:
        raise TraceError(f"{address}: names no bucket; write {HUB}NAMESPACE/BUCKET/PREFIX")
    bucket = str(bucket_name(f"{namespace}/{name}"))
    if wanted.lower().endswith(ENDINGS) and not glob.has_magic(wanted):
        yield Place(f"{HUB}{bucket}/{wanted}")
        return
    hub = Hub(current_token(None))
    folder = wanted.rstrip("/")
    if glob.has_magic(folder):
        folder = folder[: glob.escape(folder).index("[")].rpartition("/")[0]
        paths = [p for p in hub.listing(bucket, folder) if fnmatch.fnmatchcase(p, wanted)]
    else:
        paths = [p for p in hub.listing(bucket, folder) if p.lower().endswith(ENDINGS)]
    if not paths:
        raise TraceError(f"{address}: no {' or '.join(ENDINGS)} file there")
    stamps = hub.hashes(bucket, paths)
    for path in sorted(paths):
        yield Place(f"{HUB}{bucket}/{path}", stamp=stamps.get(path, ""))


def _by_fsspec(address: str) -> Iterator[Place]:
    with _reaching(address):
        system, path = _file_system(address)
        if glob.has_magic(path):
            paths = system.glob(path)
        elif system.isdir(path):
            paths = [each for each in system.find(path) if each.lower().endswith(ENDINGS)]
        else:
            paths = [path] if system.exists(path) else []
        if not paths:
            raise TraceError(f"{address}: no {' or '.join(ENDINGS)} file there")
        for each in sorted(paths):
            size = system.info(each).get("size")
            yield Place(system.unstrip_protocol(each), size or 0, system.ukey(each))


@contextmanager
def local_copy(path: str) -> Iterator[str]:
    """A path on this machine for a path or an address; a copy is gone afterwards.

    Raises:
        TraceError: it cannot be had; errors within that name the copy name the address instead.
    """
    if not is_address(path):
        yield path
        return
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="trace-util-") as folder:
        copy = _fetched(path, Path(folder))
        try:
            yield str(copy)
        except TraceError as error:
            raise TraceError(str(error).replace(str(copy), path)) from None


def read_place(path: str, *, columns: str = "all", processes: int | None = None) -> Trace:
    """The trace at a path or an address, by the name that the user gave it."""
    from trace_util.reader import read_trace

    with local_copy(path) as file:
        return replace(read_trace(file, columns=columns, processes=processes), path=path)


def _fetched(address: str, folder: Path) -> Path:
    if address.startswith(HUB):
        from trace_util.share.download import download

        return download(address, folder)
    with _reaching(address):
        system, path = _file_system(address)
        target = folder / (path.rstrip("/").rpartition("/")[2] or "trace.json")
        system.get_file(path, str(target))
        return target


def _file_system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise TraceError(
            f"{address}: reading from there needs fsspec; install the extra `cluster`"
        ) from None
    system, path = url_to_fs(address)
    return system, path


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    """Inside, what fails to reach a place is an error about that place."""
    try:
        yield
    except TraceError:
        raise
    except ImportError as error:  # fsspec knows the scheme, and the package for it is missing
        package = _PACKAGES.get(address.partition("://")[0])
        needs = f"the package {package}; pip install {package}" if package else str(error)
        raise TraceError(f"{address}: reading from there needs {needs}") from None
    except Exception as error:  # each client of a service raises errors of its own classes
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        said = "no such file" if isinstance(error, FileNotFoundError) else " ".join(text.split())
        raise TraceError(f"{address}: cannot be reached: {said}") from None
