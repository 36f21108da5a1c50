"""The text around the events, and what happens where it, or they, cannot be made sense of."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from trace_text import complete, document, kernel, names, native, read, written

from trace_util import document as document_module
from trace_util import salvage
from trace_util.events import TraceError
from trace_util.reader import read_trace

TEXT = native(
    document([kernel(f"k{i}", ts=10 + i) for i in range(20)], note={"a": [1, {"b": "]}"}]})
)
ALL = [f"k{i}" for i in range(20)]


@pytest.mark.parametrize(
    "text",
    [
        "x" + TEXT[1:],
        TEXT.replace('"schemaVersion": 1,', '"schemaVersion": 1'),
        TEXT.replace('"schemaVersion": 1,', '"schemaVersion" 1,'),
        TEXT.replace('"schemaVersion": 1,', "schemaVersion: 1,"),
        TEXT.replace('"schemaVersion": 1,', '"schemaVersion": 1, }}]]'),
        TEXT.replace('"note"', '"note": "never closed,\n "note"'),
        TEXT[TEXT.index('"note"') :],
    ],
    ids=["first byte", "comma", "colon", "bare key", "brackets", "quote", "start missing"],
)
def test_events_are_found_behind_a_broken_header(tmp_path: Path, text: str) -> None:
    trace = read(tmp_path, text)
    assert names(trace) == ALL
    assert trace.repairs or trace.skipped
    assert any("Perfetto will refuse it" in warning for warning in trace.warnings)


def test_header_values_are_mended_or_left_out(tmp_path: Path) -> None:
    text = TEXT.replace(
        '"schemaVersion": 1,', r'"path": "C:\Users", "deep": ' + "[" * 200_000 + "]" * 200_000 + ","
    )
    trace = read(tmp_path, text)
    assert names(trace) == ALL
    assert trace.header.other["path"] == r"C:\Users"
    assert trace.header.other["deep"] is None
    assert trace.header.other["note"] == {"a": [1, {"b": "]}"}]}
    assert trace.repairs == {"illegal escapes": 1}
    assert trace.skipped == {"unreadable header values": 1}


def test_a_huge_header_value_is_not_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_module, "LARGEST_BYTES", 10_000)
    monkeypatch.setattr(document_module, "CHUNK_BYTES", 1000)
    huge = json.dumps({"schema": "1.0", "nodes": [{"id": i} for i in range(400_000)]})
    with pytest.raises(TraceError, match="an execution graph"):
        read_trace(written(tmp_path, huge))
    with_events = huge[:-1] + ', "traceEvents": [' + json.dumps(kernel()) + "]}"
    trace = read_trace(written(tmp_path, with_events))
    assert names(trace) == ["k"]
    assert trace.header.other["nodes"] is None


def test_an_event_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    deep = '{"ph": "X", "ts": 1, "dur": 1, "args": ' + "[" * 200_000 + "]" * 200_000 + "}"
    text = '{"traceEvents": [' + f"{json.dumps(kernel('a'))}, {deep}, {json.dumps(kernel('b'))}]}}"
    trace = read(tmp_path, text)
    assert names(trace) == ["a", "b"]
    assert trace.skipped == {"broken events": 1}


def test_reading_gives_up_after_many_broken_events_in_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(salvage, "_MOST_BROKEN", 5)
    sound, broken = json.dumps(kernel()), '{"ph" "X"}'
    few = f"[{sound}, {broken}, {broken}, {sound}, {broken}, {broken}, {broken}, {sound}]"
    trace = read(tmp_path, few)
    assert names(trace) == ["k"] * 3
    assert trace.skipped == {"broken events": 5}
    many = f"[{sound}, {', '.join([broken] * 20)}, {sound}]"
    trace = read(tmp_path, many)
    assert names(trace) == ["k"]
    assert trace.skipped["broken events"] == 5
    assert trace.skipped["bytes given up on, after too many broken events"] > 100
    assert any("too many broken events" in warning for warning in trace.warnings)


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.7, 0.9])
def test_a_cut_off_file_keeps_all_whole_events(tmp_path: Path, cut: float) -> None:
    text = TEXT[: int(len(TEXT) * cut)]
    whole = text.count("\n  },") + text.endswith("\n  }")
    trace = read(tmp_path, text)
    assert names(trace) == ALL[:whole]
    assert trace.repairs == {"end of the file missing": 1}
    assert sum(trace.skipped.values()) <= 1
    assert any("the end of the file is missing" in warning for warning in trace.warnings)


def test_values_of_odd_types_do_not_lose_the_event(tmp_path: Path) -> None:
    odd = [
        complete(cat=None) | {"cat": None},
        complete(7),  # type: ignore[arg-type]
        complete(args=None),
        complete(args=[1]),
        complete(pid=None, tid={"a": 1}),
        complete(pid=True, tid=1.5),
    ]
    trace = read(tmp_path, odd)
    assert names(trace) == ["op", "7", "op", "op", "op", "op"]
    assert trace.repairs["fields of an unexpected type"] == 6
    assert trace.skipped == {}
    assert all(type(each) in (int, str, bool) for each in (*trace.processes, *trace.threads))


def test_items_that_are_no_events_are_counted(tmp_path: Path) -> None:
    events = [1, None, "text", [kernel()], {"name": "no phase"}, {"ph": 3}, {"ph": "X"}, kernel()]
    trace = read(tmp_path, json.dumps(events))
    assert names(trace) == ["k"]
    assert trace.skipped == {
        "items that are no events": 4,
        "events without a phase": 2,
        "events without a usable start": 1,
    }
    assert trace.events.row.tolist() == [7]


@pytest.mark.parametrize(
    "broken",
    [
        '"env": {"PS1": "a"b", "x": "y"}',
        '"env": {"PS1": "a"b"}, "list": [{"x": "y"}]',
        '"env": "never closed',
        '"env": {"a": ["never closed}',
    ],
)
def test_a_quote_in_the_header_hides_no_events(tmp_path: Path, broken: str) -> None:
    """Whether the text then seems to end within the events, behind them or not at all."""
    for text in (
        TEXT.replace('"schemaVersion": 1', broken),
        TEXT.replace('"schemaVersion": 1', broken).replace('"k7"', '"k"7}"'),
    ):
        trace = read(tmp_path, text)
        assert [name for name in names(trace) if name in ALL] == [
            name for name in ALL if f'"{name}"' in text
        ]
        assert any("Perfetto will refuse it" in warning for warning in trace.warnings)


HUGE = {
    "quotes": ('{"env": {', '"k": "a"b"",', '"z": 0}'),
    "numbers": ('{"env": {', '"k": NaN1,', '"z": 0}'),
    "escapes": ('{"env": "', "x\\q", '"'),
    "one event": (
        '{"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "args": {"x": "',
        'y"z" ',
        '"}}]',
    ),
}


@pytest.mark.parametrize("what", HUGE)
@pytest.mark.alone
def test_mending_takes_no_more_than_it_is_worth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """What is broken and too large to be worth the time is left out unmended."""
    for module in (document_module, salvage):
        monkeypatch.setattr(module, "MENDED_BYTES", 1 << 18)
    begin, part, end = HUGE[what]
    small, large = (
        "".join((begin, part * (size // len(part)), end)) for size in (1 << 17, 1 << 21)
    )
    spent = []
    for text in (small, large):
        began = time.process_time()
        trace = read(tmp_path, f'{text}, "traceEvents": [{json.dumps(kernel("k"))}]}}')
        spent.append(time.process_time() - began)
        assert "k" in names(trace)
    assert sum(trace.skipped.values()) >= 1
    assert spent[1] < 4 * spent[0] + 0.3  # mended as well it would be sixteen times


def test_ten_thousand_broken_events_end_the_reading(tmp_path: Path) -> None:
    event = '{"ph": "X", "name": "a"b", "ts": 1, "dur": 1, "args": {"x": "%s"}}' % ("y" * 100)
    text = '{"traceEvents": [' + ",\n".join([json.dumps(kernel("k")), *[event] * 16_000]) + "]}"
    trace = read(tmp_path, text)
    assert names(trace) == ["k"]
    assert trace.skipped["broken events"] == 10_000
    assert trace.skipped[salvage.GIVEN_UP] > 0
