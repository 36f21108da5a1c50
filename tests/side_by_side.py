"""Two processes share the suite: who runs which file, and who waits for whom.

`conftest.py` hands these hooks to pytest-xdist. Serially (``-n 0``, or a file named on the command
line) none of it is in force.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

# Files that share one process with torch in it, and one run of torchrun; then other long ones, so
# that both processes end at about the same time.
WITH_TORCH = (
    "test_lessons.py",
    "test_record.py",
    "test_gated_gemm.py",
    "test_parallel_claims.py",
    "test_merge.py",
)
LONG = ("test_share.py", "test_browser.py", "test_report_browser.py")


class ByFile(LoadFileScheduling):
    """A file at a time for each process, those with torch as if they were one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return WITH_TORCH[0] if Path(file).name in WITH_TORCH else file


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two for folders, none for single files; a machine of one core has no use for two."""
    files = all(".py" in argument for argument in config.args)
    return 0 if files or os.cpu_count() == 1 else 2


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _is_shared(config):
        order = (*WITH_TORCH, *LONG)
        place = {name: at for at, name in enumerate(order)}
        items.sort(key=lambda item: place.get(item.path.name, len(order)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Nothing else runs beside a test that is marked `alone`, or `gpu`."""
    with ExitStack() as stack:
        if _is_shared(item.config):
            alone = any(item.get_closest_marker(name) for name in ("alone", "gpu"))
            folder = item.config._tmp_path_factory.getbasetemp().parent  # of both processes
            stack.enter_context(turn(fcntl.LOCK_EX if alone else fcntl.LOCK_SH, folder))
        return (yield)


def _is_shared(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@contextmanager
def turn(kind: int, folder: Path) -> Iterator[None]:
    """The room, alone or with others, in the order of asking."""
    with open(folder / "queue", "w") as queue, open(folder / "room", "w") as room:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(room, kind)
        fcntl.flock(queue, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(room, fcntl.LOCK_UN)  # whatever process a test forked may hold on to it
