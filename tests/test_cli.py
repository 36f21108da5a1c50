"""The command line in odd surroundings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TRACE = "traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz"


def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m trace_util.cli {command}"
    return subprocess.run(
        ["sh", "-c", program], cwd=ROOT, env={**os.environ, **environment},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["summary", "explain", "check"])
def test_terminal_that_knows_only_ascii_gets_ascii(name):
    done = run(f"{name} {TRACE}", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0 and done.stdout.isascii()
    assert " us" in done.stdout and "?" not in done.stdout


def test_closed_output_is_no_error():
    done = run(f"summary {TRACE} >&-")
    assert done.returncode == 0 and "Traceback" not in done.stderr


def test_reader_that_leaves_is_no_error():
    done = run(f"summary {TRACE} | head -n 1")
    assert done.stdout.startswith("traces/recorded") and "Traceback" not in done.stderr


def test_unknown_command_is_one_line():
    done = run("nosuch")
    assert done.returncode == 2
    assert done.stderr == "error: nosuch: no such command or file; see trace-util --help\n"
