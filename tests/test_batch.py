"""Events that were read one by one, and are taken in together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from trace_text import complete, document, names, read

from trace_util.batch import BROKEN, Batch
from trace_util.intake import Intake
from trace_util.reader import read_trace
from trace_util.slim import slim_trace


def texts_of(kinds: str) -> list[str]:
    """Events: sound (s), to be mended (m), beyond mending (x)."""
    return [
        json.dumps(complete(f"{kind}{i}", ts=100 + i))
        .replace('"m', '"m "q" ')
        .replace('"x', '"x" ')
        for i, kind in enumerate(kinds)
    ]


def test_rows_are_those_of_the_file_whatever_is_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for kinds in (
        "sxmmxxs",
        "xxsx",
        "m",
        *("".join(rng.choice(list("smx"), 60)) for _ in range(20)),
    ):
        trace = read(tmp_path, f"[{', '.join(texts_of(kinds))}]")
        kept = [i for i, kind in enumerate(kinds) if kind != "x"]
        assert trace.events.row.tolist() == kept, kinds
        assert trace.events.start_ns.tolist() == [(100 + i) * 1000 for i in kept], kinds
        assert trace.skipped.get(BROKEN, 0) == kinds.count("x"), kinds
        assert trace.repairs.get("unescaped quotes", 0) == 2 * kinds.count("m"), kinds


def test_a_copy_of_a_broken_file_holds_the_events_that_were_chosen(tmp_path: Path) -> None:
    texts = texts_of("xsmxxsxm")
    frames = [json.dumps(complete(f"f{i}", "python_function", ts=i)) for i in range(3)]
    source = tmp_path / "broken.json"
    text = ", ".join([frames[0], *texts[:4], frames[1], *texts[4:], frames[2]])
    source.write_text(json.dumps(document([]))[:-2] + text + "]}")
    slim_trace(source, tmp_path / "slim.json", "no-python")
    assert names(read_trace(tmp_path / "slim.json")) == ["s1", 'm "q" 2', "s5", 'm "q" 7']


def test_broken_events_are_taken_in_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at a time they took more than half of the time that reading such a file took."""
    calls = []
    add = Intake.add

    def counted(self: Intake, text: bytes | memoryview, gaps: Sequence[int] = ()) -> None:
        add(self, text, gaps)
        calls.append(len(text))

    monkeypatch.setattr(Intake, "add", counted)
    trace = read(tmp_path, f"[{', '.join(texts_of('smxsxm' * 500))}]")
    assert len(trace.events) == 2000
    assert len(calls) <= 3


def test_an_event_that_is_refused_after_all_is_left_out_alone() -> None:
    class Picky(Intake):
        def add(self, text: bytes | memoryview, gaps: Sequence[int] = ()) -> None:
            if b"no" in bytes(text):
                raise msgspec.DecodeError("no")
            super().add(text, gaps)

    intake = Picky()
    batch = Batch(intake)
    for name in ("a", None, None, "no", "b", None, "no", "c", None):
        if name is None:
            batch.leave_out("left out")
        else:
            batch.hold(f"[{json.dumps(complete(name))}]".encode())
    batch.flush()
    assert intake.events.columns["row"].array().tolist() == [0, 4, 7]
    assert intake.rows == 9
    assert intake.skipped == {"left out": 4, BROKEN: 2}


def test_a_row_of_odd_types_does_not_upset_a_copy(tmp_path: Path) -> None:
    odd = [{"ph": "i", "name": 5}, {"ph": "M", "cat": [1]}, 7, {"ph": "f", "ts": {}}]
    source = tmp_path / "odd.json"
    source.write_text(json.dumps(document([complete("a"), *odd, complete("b")])))
    assert slim_trace(source, tmp_path / "slim.json", "no-python").kept == 2
    assert names(read_trace(tmp_path / "slim.json")) == ["a", "b"]
