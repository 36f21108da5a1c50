"""Traces that come through a pipe: read once, or refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import RECORDED

from trace_util.cli import main

LINEAR = RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz"
COPY = "import gzip, sys; open(sys.argv[2], 'wb').write(gzip.open(sys.argv[1]).read())"
Capture = pytest.CaptureFixture[str]


@contextmanager
def piped(folder: Path) -> Iterator[Path]:
    """A named pipe through which a trace comes, once."""
    pipe = folder / "pipe.json"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", COPY, str(LINEAR), str(pipe)]) as writer:
        try:
            yield pipe
        finally:
            writer.kill()


@pytest.mark.parametrize("command", ["summary", "explain", "check", "plot"])
def test_a_pipe_is_read_once(command: str, tmp_path: Path, capsys: Capture) -> None:
    more = ["-o", str(tmp_path / "figure.svg")] if command == "plot" else []
    with piped(tmp_path) as pipe:
        assert main([command, str(pipe), *more]) == 0
    told = capsys.readouterr().out
    if command == "plot":
        told = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert "ProfilerStep#2" in told or "aten::t precedes aten::addmm" in told


def test_open_refuses_a_pipe_which_it_would_hand_over_later(
    tmp_path: Path, capsys: Capture
) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    assert main(["open", str(pipe), "--no-browser"]) == 2
    assert "has to be read twice, and a pipe cannot" in capsys.readouterr().err


def test_standard_input_has_no_next_command(capsys: Capture) -> None:
    with LINEAR.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "trace_util", "summary", "-"],
            stdin=stream,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "ProfilerStep#2" in done.stdout and "next:" not in done.stderr
