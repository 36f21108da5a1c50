"""Why a file is no trace: what it is said to be instead."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from conftest import RECORDED

from trace_util.events import TraceError
from trace_util.reader import read_trace


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"null", "JSON, but no trace: it is null, and a trace is an object or a list"),
        (b' "x"\n', "JSON, but no trace: it is a text, and a trace is an object or a list"),
        (b"-1.5e3", "JSON, but no trace: it is a number, and a trace is an object or a list"),
        (b"true", "JSON, but no trace: it is true, and a trace is an object or a list"),
        (b"nulll", 'not JSON, and so no trace (it starts with "nulll")'),
        (b'"x', 'not JSON, and so no trace (it starts with "\\"x")'),
        (b'{"traceEvents": 5}', "its traceEvents is a number and not a list of events"),
        (b'{"traceEvents": null}', "no events; did the schedule reach its active steps?"),
        (b'{"traceEvents": "[]"}', "its traceEvents is a text and not a list of events"),
        (b'{"traceEvents": {"a": [1]}}', "its traceEvents is an object and not a list of events"),
        (b'{"schemaVersion": 1, "x": [1', "cut off in its header, before its first event"),
        (b'{"schemaVersion": 1, "deviceProp', "cut off in its header, before its first event"),
        (b'{"schemaVersion": 1, "x": [1]}', "JSON, but no trace: it has no traceEvents"),
        (b'{"log": {"a": [1', "JSON, but no trace: it has no traceEvents"),
        (b'{"traceEvents": []}', "no events; did the schedule reach its active steps?"),
        (
            gzip.compress(b"x", mtime=0)[:6],
            "a gzip file that is cut off or damaged before its first byte",
        ),
        (gzip.compress(b'{"traceEvents": []}', mtime=0)[:10], "a gzip file that is cut off"),
        (
            gzip.compress(b"", mtime=0),
            "an empty gzip file: an empty trace; was the export interrupted?",
        ),
        (
            '{"traceEvents": []}'.encode("utf-16-le"),
            "UTF-16 text without its mark; save it as UTF-8",
        ),
        ('[{"ph": "X"}]'.encode("utf-16-be"), "UTF-16 text without its mark; save it as UTF-8"),
        (b"\x04\x22\x4d\x18\x64\x40", "compressed with lz4"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "a 7z archive"),
        (b"", "an empty file; was the export interrupted?"),
    ],
    ids=lambda value: repr(value)[:28],
)
def test_what_is_no_trace_is_called_what_it_is(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(TraceError) as error:
        read_trace(path)
    assert str(error.value).startswith(f"{path}: {said}")


TABLES = sorted(RECORDED.rglob("*.txt"))


@pytest.mark.parametrize("beside", [".json.gz", ".json", None])
@pytest.mark.parametrize("table", [TABLES[0], TABLES[-1]], ids=lambda path: path.stem)
def test_a_lesson_s_table_names_the_trace_beside_it(table, beside, tmp_path) -> None:
    path = tmp_path / table.name
    path.write_bytes(table.read_bytes())
    said = "a .json or .json.gz file"
    if beside is not None:
        trace = path.with_suffix(beside)
        trace.write_text("{}")
        said = f"the trace beside it, {trace}"
    with pytest.raises(TraceError) as error:
        read_trace(path)
    assert str(error.value).startswith(
        f"{path}: a profiler's table of operations, not a trace; read"
    )
    assert str(error.value).endswith(said)


def test_every_recorded_table_is_told() -> None:
    assert len(TABLES) > 20
    for path in TABLES:
        with pytest.raises(TraceError, match="table of operations, not a trace; read the trace be"):
            read_trace(path)


TOKEN = "hf_" + "AbCd" * 9


@pytest.mark.parametrize(
    "content",
    [
        TOKEN,
        f"HF_TOKEN={TOKEN}\n",
        f'{{"{TOKEN}": 1, "password=hunter2": 2}}',
        "{" + TOKEN,
        "password: hunter2",
        "words before it " * 20 + TOKEN,
        "a3f9" * 10,  # a key of no known maker
        "postgres://ada:hunter2@host/db",
    ],
)
def test_a_message_quotes_nothing_of_a_file_that_may_hold_a_secret(content, tmp_path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(TraceError) as error:
        read_trace(path)
    said = str(error.value).removeprefix(str(path))
    assert "no trace" in said
    for word in ("hf_", "AbCd", "hunter2", "words", "a3f9", "postgres", "TOKEN"):
        assert word not in said
