"""The same work on many files, on all cores where it is worth it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from trace_util.events import TraceError

Result = TypeVar("Result")

# Below this much to read, starting processes takes longer than reading.
WORTH_BYTES = 64_000_000
# What gzip saves on traces: 8 to 20 times, from 10 MB to 1 GB files of this kind.
GZIP_RATIO = 10


def each_file(
    work: Callable[[str], Result], files: Sequence[str], workers: int | None = None
) -> Iterator[tuple[str, Result | TraceError]]:
    """Each file with what ``work`` returns for it, or with the error that it was refused with.

    In order. ``work`` and its results must be picklable; other exceptions are passed on.
    """
    workers = min(workers or _cores(), len(files))
    if workers < 2 or sum(map(_bytes_to_read, files)) < WORTH_BYTES:
        for file in files:
            yield file, _tried(work, file)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A fresh interpreter: a fork of a process with threads may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(_tried, work, file) for file in files]
        for file, one in zip(files, waiting, strict=True):
            yield file, one.result()


def _tried(work: Callable[[str], Result], file: str) -> Result | TraceError:
    try:
        return work(file)
    except TraceError as error:
        return error


def _cores() -> int:
    # Python 3.13 has os.process_cpu_count; containers often allow fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _bytes_to_read(file: str) -> int:
    try:
        size = os.stat(file).st_size
    except OSError:
        return 0
    return size * GZIP_RATIO if file.endswith(".gz") else size
