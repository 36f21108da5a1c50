"""What several test modules share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from subprocess import CompletedProcess

import hypothesis
import pytest
from lesson_runs import run_ranks
from side_by_side import (  # noqa: F401
    pytest_collection_modifyitems,
    pytest_runtest_protocol,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
)

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "traces" / "recorded"

# A shell's background job ignores Ctrl-C, and so would every process that the tests start and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What is printed is asserted at the width of a pipe; pytest-xdist sets the width of a terminal.
os.environ.pop("COLUMNS", None)

# The tests start hundreds of processes; without this each would compile what it imports, torch for
# ten seconds and more.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch counts the cores for itself

# An example takes as long as the machine is busy; tests that mean to measure are marked `alone`.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """A folder of public real-world traces that is laid beside some checkouts, not part of this."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip("the folder of public traces is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def parallel_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, CompletedProcess[str]]:
    """A folder with the traces of two ranks of the parallel lesson, and its finished process."""
    folder = tmp_path_factory.mktemp("ranks")
    small = ("--dim", "16", "--hidden", "32", "--batch", "2", "--seq", "4")
    return folder, run_ranks(folder, *small)


@pytest.fixture(scope="session")
def gloo_ranks(parallel_run: tuple[Path, CompletedProcess[str]]) -> Path:
    """A folder with the traces of two ranks, recorded here on the CPU over gloo."""
    folder, process = parallel_run
    assert process.returncode == 0, process.stderr
    return folder
