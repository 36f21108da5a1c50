"""Reads one large trace with several processes.

The file is cut at what looks like borders between events, and each process reads a stretch. A
stretch that starts at a true border and is read to its very end without a fault ends at a true
border too: so the first stretch, which starts with the file, proves the second, and so on. Where
that proof fails the file is read by one process instead.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from trace_util.batch import BROKEN
from trace_util.document import CUT_OFF, Document
from trace_util.intake import Intake
from trace_util.salvage import GIVEN_UP, LAST_EVENT
from trace_util.sources import Source

# What one process reads in the time that another takes to start (0.2 s).
_START_BYTES: Final = 50_000_000

_PROBE_BYTES: Final = 1 << 20
_BORDER = re.compile(rb'\}(?=\s*,\s*\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args|bp|s)"\s*:)')
_FIRST_BYTE = re.compile(rb"\s*([{\[])")

_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; from trace_util.parallel import serve; serve()"
)


def cores() -> int:
    """How many processes can run at once here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """Another Python process that answers requests, one at a time."""

    def __init__(self) -> None:
        path = [str(Path(__file__).parents[1]), *sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", _PROGRAM, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.terminate()
        self._process.wait()

    def ask(self, *request: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(request, self._process.stdin)
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)  # written by `serve`, of this very module


def serve() -> None:
    """Answer requests from standard input on standard output, until there are no more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not come between the answers
    while True:
        try:
            arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for part in _stretch(*arguments):
            pickle.dump(part, out, 5)
        out.flush()


def _stretch(path: str, columns: str, top: bytes, start: int, end: int) -> Iterator[Any]:
    """What a stretch of a file holds: the state of a document, then that of each column."""
    document = Document(Source(path).stretch(start, end), Intake(columns))
    document.resume(top)
    yield _state(document)
    for column in document.intake.events.columns.values():
        yield column.state()


def _state(document: Document) -> dict[str, Any]:
    return {
        "intake": document.intake.state(),
        "header": document.header,
        "is_closed": document.is_closed,
        "has_two_texts": document.has_two_texts,
        "text_bytes": document.window.text_bytes,
        "lists": document.lists,
        "conflicts": document.conflicts,
    }


def read_in_stretches(source: Source, columns: str, processes: int) -> Document | None:
    """The file read by so many processes; ``None`` where one has to read it alone."""
    borders = list(_borders(source, processes))
    top = _FIRST_BYTE.match(source.stretch_start())
    if top is None or not borders:
        return None
    starts, ends = [0, *borders], [*borders, source.size_bytes or 0]
    with ExitStack() as stack:
        workers = [stack.enter_context(_Worker()) for _ in borders]
        for worker, start, end in zip(workers, starts[1:], ends[1:], strict=True):
            worker.ask(source.path, columns, top[1], start, end)
        document = Document(source.stretch(0, ends[0]), Intake(columns))
        document.read()
        for worker in workers:
            if not _ends_at_border(document):
                return None
            try:
                if not _append(document, worker):
                    return None
            except (EOFError, pickle.UnpicklingError):
                return None
    source.bytes_read = source.size_bytes or 0
    return document


def _borders(source: Source, processes: int) -> Iterator[int]:
    """Where events seem to end near the places that share the work evenly."""
    size = source.size_bytes or 0
    share = max(size - _START_BYTES, size // 2) // processes
    for i in range(1, processes):
        start = size - share * (processes - i)
        border = _BORDER.search(source.stretch_start(start, _PROBE_BYTES))
        if border is None:
            return
        yield start + border.end()


def _ends_at_border(document: Document) -> bool:
    """Whether all text so far was sound, and ended between two events."""
    intake = document.intake
    dropped = intake.skipped.keys() & {BROKEN, LAST_EVENT, GIVEN_UP}
    return not document.is_closed and not dropped and +intake.repairs == Counter({CUT_OFF: 1})


def _append(document: Document, worker: _Worker) -> bool:
    """Append what a worker has read; False where a key of the header stands twice."""
    state = worker.answer()
    if state["header"].keys() & document.header.keys():
        return False
    del document.intake.repairs[CUT_OFF]
    columns = (worker.answer() for _ in document.intake.events.columns)
    document.intake.append(state["intake"], columns)
    document.header.update(state["header"])
    document.is_closed = state["is_closed"]
    document.has_two_texts |= state["has_two_texts"]
    document.window.text_bytes += state["text_bytes"]
    document.conflicts |= state["conflicts"]
    first, *others = state["lists"]  # the list goes on that the text before has broken off in
    document.lists[-1] += first
    document.lists += others
    return True
