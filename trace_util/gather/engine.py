"""Where the work on many files runs: this machine's cores, a Dask cluster, or any executor.

An executor is anything that has the interface of ``concurrent.futures.Executor``: Dask's
(``Client.get_executor``), MPI's (``mpi4py.futures.MPIPoolExecutor``), Ray's, a pool of threads.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from trace_util import sources
from trace_util.events import TraceError
from trace_util.parallel import cores

Result = TypeVar("Result")

# Below this much to read, starting processes takes longer than reading.
WORTH_BYTES = 64_000_000
# What gzip saves on traces: 8 to 20 times, from 10 MB to 1 GB files of this kind.
GZIP_RATIO = 10
ANSWER_S = 10
DIED = "the process that read it died; was it out of memory?"


class Failed(NamedTuple):
    """What became of a file for which there is no result."""

    reason: str


def each_done(
    work: Callable[[str], Result],
    files: Sequence[str],
    executor: Executor | None = None,
    workers: int | None = None,
) -> Iterator[tuple[int, Result | Failed]]:
    """What ``work`` returns for each file with the file's position, in the order in which they end.

    Without an executor the machine's cores share the files, ``workers`` of them; with one worker
    the work is done here. Only the paths and the results travel, so that both must be picklable.
    A process that dies is replaced, and its file tried once more alone.
    """
    if executor is not None:
        yield from _elsewhere(executor, work, files)
        return
    workers = min(workers or cores(), len(files))
    if workers < 2:
        for index, file in enumerate(files):
            yield index, _tried(work, file)
        return
    suspects: list[int] = []
    yield from _on_cores(work, files, workers, suspects)
    for index in suspects:  # alone, so that a file can only sink itself
        with _processes(1) as pool:
            try:
                yield index, pool.submit(_tried, work, files[index]).result()
            except BrokenProcessPool:
                yield index, Failed(DIED)


def worth_processes(sizes: Sequence[tuple[str, int]]) -> bool:
    """Whether starting processes pays for files of these names and sizes in bytes."""
    return sum(size * (GZIP_RATIO if name.endswith(".gz") else 1) for name, size in sizes) > (
        WORTH_BYTES
    )


def _tried(work: Callable[[str], Result], file: str) -> Result | Failed:
    try:
        return work(file)
    except Exception as error:  # noqa: BLE001 - one file must not sink the others
        return Failed(_said(error))


def _processes(workers: int) -> ProcessPoolExecutor:
    # A fresh interpreter: a fork of a process with threads may hang.
    spawn = get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin_process)


def _begin_process() -> None:
    """In a new process: no bar beside that of all files, and Ctrl-C is for the first process."""
    sources.PROGRESS_BYTES = sys.maxsize
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _on_cores(
    work: Callable[[str], Result], files: Sequence[str], workers: int, suspects: list[int]
) -> Iterator[tuple[int, Result | Failed]]:
    """Results as they come; the files at work when a process died are added to ``suspects``."""
    todo = deque(range(len(files)))
    while todo:
        running: dict[Future[Any], int] = {}
        with _processes(workers) as pool:
            broken = False
            while not broken and (todo or running):
                while todo and len(running) <= workers and not broken:
                    try:
                        running[pool.submit(_tried, work, files[todo[0]])] = todo[0]
                        todo.popleft()
                    except BrokenProcessPool:  # by another file, since the last one ended
                        broken = True
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    index = running.pop(future)
                    try:
                        yield index, future.result()
                    except BrokenProcessPool:
                        broken = True
                        suspects.append(index)
        suspects.extend(running.values())


def _elsewhere(
    executor: Executor, work: Callable[[str], Result], files: Sequence[str]
) -> Iterator[tuple[int, Result | Failed]]:
    waiting = {executor.submit(_tried, work, file): index for index, file in enumerate(files)}
    for future in as_completed(waiting):
        try:
            yield waiting[future], future.result()
        except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever the engine raises
            yield waiting[future], Failed(_said(error))


def _said(error: BaseException) -> str:
    """An error in one line; one that is no refusal says what kind it is."""
    text = " ".join(str(error).split())
    if isinstance(error, TraceError):
        return text
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """The executor of a Dask cluster, ``None`` without an address.

    Raises:
        TraceError: Dask is not installed, or no scheduler answers there.
    """
    if address is None:
        yield None
        return
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise TraceError("--scheduler: needs Dask; install the extra `cluster`") from None
    _require_answer(address)
    try:
        client = distributed.Client(address, timeout=ANSWER_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = " ".join(str(error).split()) or "no answer"
        raise TraceError(f"--scheduler {address}: no scheduler answers there: {said}") from None
    try:
        # A task whose worker dies is run elsewhere, by the scheduler (its `allowed-failures`).
        yield client.get_executor(pure=False)
    finally:
        client.close()


def _require_answer(address: str) -> None:
    """Returns when something listens there; Dask itself would try for ten seconds, and be loud."""
    found = urlsplit(address)
    try:
        if found.scheme not in ("tcp", "tls", "ucx", "ws", "wss") or not found.port:
            raise ValueError("write tcp://HOST:8786")
        socket.create_connection((found.hostname or "", found.port), ANSWER_S).close()
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error) or "no answer"
        raise TraceError(f"--scheduler {address}: no scheduler answers there: {said}") from None


@contextmanager
def progress(total: int, noun: str = "trace") -> Iterator[Callable[[], None]]:
    """A function to call once for each file that is done; draws a bar on terminals only."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {noun}s", desc="reading", leave=False) as bar:
        yield lambda: bar.update()
