"""Traces that come through a pipe: read once, or kept in a file for as long as need be."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import RECORDED
from rank_traces import write_ranks

from trace_util.cli import main
from trace_util.events import TraceError
from trace_util.spool import rereadable

LINEAR = RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz"
TEXT = gzip.decompress(LINEAR.read_bytes())
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


READERS = {
    "summary": [],
    "explain": [],
    "check": [],
    "compare": [str(LINEAR)],
    "link": ["https://example.org/t.json"],
    "plot": ["-o", "OUT"],
    "report": ["-o", "OUT"],
}


@pytest.mark.parametrize("command", READERS)
def test_a_pipe_is_read_once(command: str, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / {"plot": "out.svg", "report": "out.html"}.get(command, "none")
    more = [str(target) if word == "OUT" else word for word in READERS[command]]
    with piped(tmp_path) as pipe:
        assert main([command, str(pipe), *more]) == 0
    told = capsys.readouterr().out
    if target.exists():
        told = target.read_text(encoding="utf-8")
    words = ("ProfilerStep#2", "ProfilerStep%232", "aten::t precedes aten::addmm", "nvjet_sm90")
    assert any(word in told for word in words)


def test_open_hands_over_what_came_through_a_pipe(tmp_path: Path) -> None:
    kept = tmp_path / "spool"
    kept.mkdir()
    with piped(tmp_path) as pipe, trace_util("open", str(pipe), kept=kept) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        with urllib.request.urlopen(address + "trace", timeout=10) as answer:
            assert answer.read() == TEXT
        assert len(list(kept.iterdir())) == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert list(kept.iterdir()) == []


@contextmanager
def trace_util(*arguments: str, kept: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running command that makes its temporary files in ``kept``."""
    with subprocess.Popen(
        [sys.executable, "-m", "trace_util", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=kept.parent,
        env={**os.environ, "TMPDIR": str(kept)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


COPIES = [
    ["redact", "IN"],
    ["redact", "IN", "-o", "OUT"],
    ["redact", "IN", "--force", "OUT"],
    ["slim", "IN", "-o", "OUT", "--keep", "no-python"],
    ["slim", "IN", "--keep", "no-python", "OUT"],
]


@pytest.mark.parametrize("command", COPIES, ids=" ".join)
def test_standard_input_is_copied_like_a_file(command: list[str], tmp_path: Path) -> None:
    kept, file = tmp_path / "spool", tmp_path / "t.json"
    kept.mkdir()
    file.write_bytes(TEXT)
    told = []
    for source in (str(file), "-"):
        words = [{"IN": source, "OUT": "out.json"}.get(word, word) for word in command]
        with trace_util(*words, "--json", "--force", kept=kept) as process:
            out, err = process.communicate(TEXT, timeout=30)
        assert process.returncode == 0, err
        copy = tmp_path / "out.json"
        # A copy names neither what it was made of nor the temporary file.
        assert b"spool" not in out + err
        out = out.replace(f'"{source}"'.encode(), b'"IN"')
        told.append((out, copy.read_bytes() if "OUT" in command else b""))
        copy.unlink(missing_ok=True)
    assert told[0] == told[1]
    assert list(kept.iterdir()) == []


def test_ranks_come_through_pipes(tmp_path: Path) -> None:
    ranks = sorted(write_ranks(tmp_path / "ranks", 2).iterdir())
    folder, kept = tmp_path / "pipes", tmp_path / "spool"
    folder.mkdir()
    kept.mkdir()
    pipe = folder / ranks[1].name
    os.mkfifo(pipe)
    write = "import sys; open(sys.argv[2], 'wb').write(open(sys.argv[1], 'rb').read())"
    with (
        subprocess.Popen([sys.executable, "-c", write, str(ranks[1]), str(pipe)]) as writer,
        trace_util("merge", "-", str(pipe), "-o", "job.json", kept=kept) as process,
    ):
        _, err = process.communicate(ranks[0].read_bytes(), timeout=30)
        writer.kill()
    assert process.returncode == 0, err
    assert list(kept.iterdir()) == []
    assert main(["merge", *map(str, ranks), "-o", str(tmp_path / "same.json")]) == 0
    job, same = ((tmp_path / name).read_text() for name in ("job.json", "same.json"))
    assert job.replace('"-"', f'"{ranks[0].name}"') == same


def test_a_rank_that_is_refused_has_the_name_of_its_pipe(tmp_path: Path) -> None:
    kept = tmp_path / "spool"
    kept.mkdir()
    first, _ = sorted(write_ranks(tmp_path / "ranks", 2).iterdir())
    with trace_util("merge", str(first), "-", "-o", "job.json", kept=kept) as process:
        _, err = process.communicate(b"", timeout=30)
    assert process.returncode == 1
    assert b"(-: an empty file; was the export interrupted?)" in err
    assert list(kept.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_came_through_a_pipe_that_is_interrupted_goes(number: int, tmp_path: Path) -> None:
    kept = tmp_path / "spool"
    kept.mkdir()
    with trace_util("redact", "-", "-o", "out.json", kept=kept) as process:
        assert process.stdin is not None
        process.stdin.write(TEXT)
        process.stdin.flush()
        until = time.monotonic() + 30
        while not list(kept.glob("*/standard-input")) and time.monotonic() < until:
            time.sleep(0.01)
        assert len(list(kept.iterdir())) == 1
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    assert list(kept.iterdir()) == []
    assert not (tmp_path / "out.json").exists()


def test_a_copy_has_one_name(tmp_path: Path, capsys: Capture) -> None:
    assert main(["slim", str(LINEAR), "--keep", "gpu"]) == 2
    assert capsys.readouterr().err == (
        f"error: {LINEAR}: where to? name the copy after it, or after -o\n"
    )
    for command in (["redact"], ["slim", "--keep", "gpu"]):
        assert main([*command, str(LINEAR), "a.json", "-o", "b.json"]) == 2
        assert capsys.readouterr().err == (
            "error: two names for the copy, a.json and b.json; give one\n"
        )


def test_no_room_for_a_pipe_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with (
        open(os.devnull) as nothing,
        pytest.raises(TraceError, match="^-: could not be copied to .*: No space left on device;"),
    ):
        monkeypatch.setattr(sys, "stdin", nothing)
        with rereadable("-"):
            pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["summary", "redact"])
def test_a_closed_standard_input_is_one_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main([command, "-"]) == 1
    assert capsys.readouterr().err == "error: -: standard input is closed\n"


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
