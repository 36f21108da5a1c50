"""Several processes read what one process reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trace_text import complete, document, kernel, launch, names, native, rows, written

from trace_util import parallel, reader
from trace_util.events import Trace
from trace_util.parallel import read_in_stretches
from trace_util.reader import read_trace
from trace_util.sources import Source


def events(count: int, prefix: str) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for i in range(count):
        args = {"Input Dims": [[i % 5]], "Input type": ["int"], "External id": i}
        made.append(complete(f"{prefix}{i % 50}", ts=1000 + i, dur=0.5, tid=i % 3, args=args))
        made.append(launch(ts=1000 + i, dur=0.25, correlation=i))
        made.append(kernel(f"k{prefix}{i % 7}", 1000.125 + i, 0.75, i))
        made.append(
            {"ph": "s", "id": i, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"}
        )
    return made


@pytest.fixture(scope="module")
def trace_text() -> dict[str, object]:
    """A trace whose second half has names, shapes and processes that the first half has not."""
    head = {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "a"}}
    tail = head | {"pid": 2}
    end = {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 9999}
    made = [head, *events(1500, "first"), *events(1500, "second"), tail, end]
    return document(made, deviceProperties=[{"name": "GPU"}])


def assert_same(a: Trace, b: Trace) -> None:
    assert rows(a) == rows(b)
    for field in ("header", "phases", "process_names", "thread_names", "repairs", "skipped"):
        assert getattr(a, field) == getattr(b, field), field
    assert (a.names, a.shapes, a.launches) == (b.names, b.shapes, b.launches)
    assert (a.path, a.size_bytes, a.warnings) == (b.path, b.size_bytes, b.warnings)


@pytest.mark.parametrize("layout", [native, json.dumps, lambda t: json.dumps(t["traceEvents"])])
def test_stretches_make_the_same_trace(tmp_path: Path, trace_text: dict, layout) -> None:  # type: ignore[no-untyped-def, type-arg]
    path = written(tmp_path, layout(trace_text))
    alone = read_trace(path, processes=1)
    assert_same(alone, read_trace(path, processes=2))
    stretches = read_in_stretches(Source(path), "all", 3)
    assert stretches is not None
    assert len(stretches.intake.events) == len(alone.events)


def test_summary_in_stretches(tmp_path: Path, trace_text: dict) -> None:  # type: ignore[type-arg]
    path = written(tmp_path, native(trace_text))
    one, two = (read_trace(path, columns="summary", processes=n) for n in (1, 2))
    assert_same(one, two)


def test_large_plain_files_are_read_by_two_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(reader, "LARGE_BYTES", 1000)
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    monkeypatch.setattr(parallel, "read_in_stretches", lambda *args: asked.append(args[1:]))
    read_trace(written(tmp_path, json.dumps(document([kernel()] * 3))))
    assert asked == []
    read_trace(written(tmp_path, json.dumps(document([kernel()] * 30))))
    assert asked == [("all", 2)]


def test_a_border_inside_an_argument_is_found_out(tmp_path: Path) -> None:
    """The file is cut inside a list of dicts that look like events; one process reads it then."""
    inner = [{"ph": "X", "name": f"inner{i}", "ts": 1, "dur": 1} for i in range(20_000)]
    path = written(
        tmp_path,
        json.dumps(document([kernel("a"), complete("b", args={"list": inner}), kernel("c")])),
    )
    assert read_in_stretches(Source(path), "all", 2) is None
    assert names(read_trace(path, processes=2)) == ["a", "b", "c"]


@pytest.mark.parametrize("where", [0.2, 0.6])
def test_a_broken_file_is_read_the_same(tmp_path: Path, trace_text: dict, where: float) -> None:  # type: ignore[type-arg]
    text = native(trace_text)
    at = int(len(text) * where)
    path = written(tmp_path, text[:at] + text[at + 1000 :])
    one, two = (read_trace(path, processes=n) for n in (1, 2))
    assert_same(one, two)
    assert one.warnings


def test_gzip_is_read_by_one_process(tmp_path: Path) -> None:
    import gzip

    path = written(tmp_path, gzip.compress(json.dumps(document([kernel()])).encode()))
    assert names(read_trace(path, processes=2)) == ["k"]


@pytest.mark.parametrize(
    "behind", ['"traceEvents": [%s]', '"traceEvents": 0', '"deviceProperties": []']
)
def test_what_stands_twice_is_told_the_same(tmp_path: Path, trace_text: dict, behind: str) -> None:  # type: ignore[type-arg]
    text = json.dumps(trace_text)[:-1] + ", " + behind.replace("%s", json.dumps(kernel())) + "}"
    path = written(tmp_path, text)
    alone = read_trace(path, processes=1)
    assert "stands 2 times, with 12,00" in alone.warnings[0] or "unlike values" in alone.warnings[0]
    assert_same(alone, read_trace(path, processes=2))
