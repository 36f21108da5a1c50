"""What stands between two events and should not, or is missing there: no event is lost by it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from trace_text import LAYOUTS, complete, document, kernel, names, read

from trace_util import event_list, salvage
from trace_util.events import Trace
from trace_util.intake import Intake

COUNT = 12
EVENTS = [complete(f"a{i}", ts=10 + i, args={"x": {"y": [1, {}]}}) for i in range(COUNT)]
ALL = [f"a{i}" for i in range(COUNT)]

JUNK = {
    "byte order mark": "\ufeff",
    "form feed": "\f",
    "no-break space": "\u00a0",
    "a hole in the file": "\0" * 5000,
    "semicolon": ";",
    "line comment": "// the second half\n",
    "block comment": "/* { [ */",
    "log line": "[W501 18:00:00 profiler.cpp:77] WARNING: ]} \n",
    "conflict": "<<<<<<< HEAD\n",
    "a word": "NaN}",
    "half an event": '"ts": 5, "args": {"x": 1}}',
}


def with_between(text: str, between: str, position: int) -> str:
    """The text with something put in before an event."""
    at = text.rindex("{", 0, text.index(f'"a{position}"'))
    return text[:at] + between + text[at:]


@pytest.mark.parametrize("layout", ["native", "one line", "compact", "a top-level list"])
@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("chunk_bytes", [300, 1 << 20])
def test_events_around_junk_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, junk: str, layout: str, chunk_bytes: int
) -> None:
    monkeypatch.setattr(event_list, "CHUNK_BYTES", chunk_bytes)
    text = LAYOUTS[layout](document(EVENTS, note=[1]))
    for position in (0, 5, COUNT - 1):
        trace = read(tmp_path, with_between(text, JUNK[junk], position))
        assert names(trace) == ALL, position
        assert trace.skipped == {"broken events": 1}, position
        assert "missing commas" not in trace.repairs
        assert any("the text breaks off and goes on" in warning for warning in trace.warnings)


def commas_in(trace: Trace) -> tuple[int, int]:
    return trace.repairs.get("stray commas", 0), trace.repairs.get("missing commas", 0)


@pytest.mark.parametrize("layout", ["native", "one line", "compact", "a top-level list"])
@pytest.mark.parametrize("chunk_bytes", [300, 1 << 20])
def test_commas_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, chunk_bytes: int
) -> None:
    monkeypatch.setattr(event_list, "CHUNK_BYTES", chunk_bytes)
    text = LAYOUTS[layout](document(EVENTS))
    assert commas_in(read(tmp_path, text)) == (0, 0)
    for position in (0, 1, 7):
        trace = read(tmp_path, with_between(text, ", ,", position))
        assert (names(trace), commas_in(trace)) == (ALL, (2, 0)), position
        assert "Perfetto will refuse it" in trace.warnings[0]
    at = text.index(",", text.index("}", text.index('"a4"')))
    trace = read(tmp_path, text[:at] + " " + text[at + 1 :])
    assert (names(trace), commas_in(trace)) == (ALL, (0, 1))
    assert trace.skipped == {}


def test_events_without_any_comma_between_them(tmp_path: Path) -> None:
    lines = "\n".join(map(json.dumps, EVENTS * 300))
    trace = read(tmp_path, f'{{"traceEvents": [{lines}], "note": 1}}')
    assert names(trace) == ALL * 300
    assert trace.repairs == {"missing commas": 300 * COUNT - 1}
    assert trace.header.other == {"note": 1}


def test_an_event_before_one_that_is_nested_too_deeply_and_cut_off(tmp_path: Path) -> None:
    trace = read(tmp_path, f"[{json.dumps(kernel('k'))}, " + "[" * 100_000)
    assert names(trace) == ["k"]
    assert trace.skipped == {"event cut off at the end of the file": 1}


def test_thousands_of_short_lists_are_not_each_looked_for_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    add = Intake.add

    def counted(self: Intake, text: bytes | memoryview, gaps: Sequence[int] = ()) -> None:
        given.append(len(text))
        add(self, text, gaps)

    monkeypatch.setattr(Intake, "add", counted)
    member = f'"traceEvents": [{json.dumps(kernel("k"))}]'
    trace = read(tmp_path, "{" + ", ".join([member] * 3000) + "}")
    assert len(trace.events) == 3000
    assert trace.repairs == {"further values of traceEvents": 2999}
    assert sum(given) < 3000 * 2 * salvage.STRETCH_BYTES


@pytest.mark.parametrize("number", ["1e999", "1" + "0" * 5000])
@pytest.mark.parametrize("key", ["pid", "tid", "name"])
def test_a_number_too_large_to_be_read_loses_no_event(
    tmp_path: Path, number: str, key: str
) -> None:
    events = [kernel("a", args={"stream": 9}) | {key: "N"}, kernel("b")]
    trace = read(tmp_path, json.dumps(events).replace('"N"', number))
    assert len(trace.events) == 2
    assert trace.events.stream.tolist()[0] == 9
    assert trace.skipped == {}
    assert trace.repairs == {"fields of an unexpected type": 1}
