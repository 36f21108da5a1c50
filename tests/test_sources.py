"""Where traces come from: names to files, and files to text."""

from __future__ import annotations

import gzip
import io
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from trace_util import sources
from trace_util.events import TraceError
from trace_util.files import trace_files
from trace_util.sources import Source

TEXT = b'{"traceEvents": [' + b", ".join(b'{"ph": "X", "i": %d}' % i for i in range(5000)) + b"]}"


def text_of(path: Path) -> tuple[bytes, dict[str, int]]:
    source = Source(path)
    return b"".join(source.blocks()), dict(source.notes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.json", "a.json.gz", "deep/er/c.pt.trace.json.gz", "notes.txt", "d.json.tmp"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}")
    return tmp_path


def relative(paths: list[str], folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path in paths]


def test_folder_is_searched_within(folder: Path) -> None:
    assert relative(trace_files([str(folder)]), folder) == [
        "a.json.gz",
        "b.json",
        "deep/er/c.pt.trace.json.gz",
    ]


def test_glob_and_file_and_stdin_in_their_order_and_once(folder: Path) -> None:
    targets = ["-", str(folder / "b.json"), str(folder / "*.json*"), str(folder / "**" / "*.gz")]
    assert trace_files(targets)[0] == "-"
    assert relative(trace_files(targets)[1:], folder) == [
        "b.json",
        "a.json.gz",
        "d.json.tmp",
        "deep/er/c.pt.trace.json.gz",
    ]


def test_name_with_glob_signs_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run [1]*?.json"
    path.write_bytes(b"{}")
    assert trace_files([str(path)]) == [str(path)]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("missing.json", "missing.json: no such file or folder"),
        ("*.none", "*.none: no file matches"),
        ("empty", "empty: no .json or .json.gz file in this folder"),
    ],
)
def test_targets_that_name_no_file(tmp_path: Path, target: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError) as error:
        trace_files([str(tmp_path / target)])
    assert str(error.value) == str(tmp_path / message)


def test_plain_and_gzip_and_nested_gzip(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for content in (
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(gzip.compress(TEXT)),
        b"".join(gzip.compress(TEXT[i : i + 7000]) for i in range(0, len(TEXT), 7000)),
    ):
        path.write_bytes(content)
        assert text_of(path) == (TEXT, {})


def test_gzip_with_a_name_and_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with path.open("wb") as raw, gzip.GzipFile("name.json", "wb", fileobj=raw) as file:
        file.write(TEXT)
    assert text_of(path) == (TEXT, {})


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 1000])
def test_small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", block_bytes)
    text = TEXT[:900]
    path = tmp_path / "t"
    for content in (text, gzip.compress(text), gzip.compress(text[:50]) + gzip.compress(text[50:])):
        path.write_bytes(content)
        assert text_of(path) == (text, {})


def test_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT)
    assert text_of(path) == (TEXT, {"byte order mark": 1})
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        mark = b"" if encoding == "utf-16" else "\ufeff".encode(encoding)
        path.write_bytes(mark + '{"é": "\U0001f600"}'.encode(encoding))
        assert text_of(path) == ('{"é": "\U0001f600"}'.encode(), {"UTF-16 text": 1})


def test_gzip_cut_off_gives_all_that_is_there(tmp_path: Path) -> None:
    whole = gzip.compress(TEXT)
    path = tmp_path / "t"
    for cut in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 30):
        path.write_bytes(whole[:cut])
        text, notes = text_of(path)
        assert TEXT.startswith(text)
        # An inflater may hold back the last symbols until it has seen what follows.
        assert len(zlib.decompressobj(31).decompress(whole[:cut])) - len(text) < 300
        assert notes == {"gzip stream cut off": 1}


@pytest.mark.parametrize("is_fast", [True, False])
def test_gzip_damage_gives_all_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_fast: bool
) -> None:
    if is_fast:
        pytest.importorskip("isal", reason="the extra `fast` is not installed")
    else:
        monkeypatch.setattr(sources, "_fastest_inflaters", lambda: zlib)
    noise = random.Random(3).randbytes(200_000).hex().encode()
    whole = gzip.compress(noise)
    path = tmp_path / "t"
    path.write_bytes(whole[:-8] + b"\0\0\0\0" + whole[-4:])
    assert text_of(path) == (noise, {"damaged gzip data": 1})  # the checksum alone is wrong
    at = len(whole) // 2
    path.write_bytes(whole[:at] + b"\xff" * 1000 + whole[at + 1000 :])
    text, notes = text_of(path)
    assert notes == {"damaged gzip data": 1}
    common = len(os.path.commonprefix([text, noise]))
    assert common > len(noise) * 0.49


def test_bytes_behind_the_gzip_stream(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(gzip.compress(TEXT) + b"\0" * 100)
    assert text_of(path) == (TEXT, {"bytes after the gzip stream": 100})


def test_a_bomb_is_inflated_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    sizes = [len(block) for block in Source(path).blocks()]
    assert sum(sizes) == 50_000_000
    assert max(sizes) <= sources.BLOCK_BYTES


def test_standard_input(tmp_path: Path) -> None:
    program = (
        "from trace_util.reader import read_trace; "
        "t = read_trace('-'); print(len(t.events), t.size_bytes)"
    )
    event = b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}'
    for content in (event, gzip.compress(event)):
        done = subprocess.run(
            [sys.executable, "-c", program], input=content, capture_output=True, check=True
        )
        assert done.stdout.split() == [b"1", str(len(content)).encode()]


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="gone.json: No such file or directory"):
        Source(tmp_path / "gone.json")
    with pytest.raises(TraceError, match="a folder, not a trace"):
        Source(tmp_path)


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write(b'[1, 2]')"]):
        assert trace_files([str(pipe)]) == [str(pipe)]
        assert b"".join(Source(pipe).blocks()) == b"[1, 2]"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_terminals_for_large_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    path.write_bytes(TEXT)
    shown = []
    for stream, least in ((Terminal(), 1000), (Terminal(), 10**6), (io.StringIO(), 1000)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(sources, "PROGRESS_BYTES", least)
        assert text_of(path)[0] == TEXT
        shown.append("reading" in stream.getvalue())
    assert shown == [True, False, False]
