"""The text of two traces in one file, cut at any byte: told, and the events around it are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from trace_text import complete, document, kernel, names, native, read

from trace_util.cautions import TWO_WRITERS
from trace_util.events import Trace


def pair(letter: str, i: int) -> list[dict[str, object]]:
    """An op and a kernel, with strings, numbers and lists to cut."""
    args = {"Input Dims": [[4, 5], []], "Input type": ["float", ""], "Fwd thread id": 1}
    name = f"void {letter}k{i}<float, (int)4>(X, no)"
    return [
        complete(f"aten::{letter}{i}<int, 4>", ts=100 + i, args=args),
        kernel(name, ts=100 + i, args={"grid": [1, 2, 3], "device": 0}),
    ]


def compact(trace: dict[str, object]) -> str:
    return json.dumps(trace, separators=(",", ":"))


def two_texts(layout: Callable[[dict[str, object]], str], count: int = 4) -> tuple[str, str]:
    header = {"deviceProperties": [{"id": 0, "name": "GPU"}], "trace_id": "A"}
    a, b = ([each for i in range(count) for each in pair(letter, i)] for letter in "ab")
    return layout(document(a, **header)), layout(document(b, **header))


def event_around(text: str, what: str) -> range:
    at = text.index(what)
    return range(text.rindex("{", 0, at), text.index("aten", text.index("void", at)))


def is_told(trace: Trace) -> bool:
    return TWO_WRITERS in trace.warnings


def is_sound(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("layout", [native, compact, json.dumps])
@pytest.mark.parametrize("behind", ["aten::a1", '"pid"', '"ts"', 'args"', "void ak1"])
def test_every_splice_behind_a_key_or_within_a_text_is_told(
    tmp_path: Path, layout: Callable[[dict[str, object]], str], behind: str
) -> None:
    a, b = two_texts(layout)
    cut = a.index(behind, a.index("aten::a1") - 2) + len(behind)
    for start in event_around(b, "aten::b2")[::3]:
        text = a[:cut] + b[start:]
        trace = read(tmp_path, text)
        assert is_told(trace) or is_sound(text), (a[cut - 20 : cut], b[start : start + 40])


@pytest.mark.parametrize("layout", [native, compact, json.dumps])
def test_a_whole_trace_behind_the_start_of_another(
    tmp_path: Path, layout: Callable[[dict[str, object]], str]
) -> None:
    """Wherever the first writer stopped, all events of the second are there."""
    a, b = two_texts(layout)
    for cut in event_around(a, "aten::a1"):
        trace = read(tmp_path, a[:cut] + b)
        found = names(trace)
        assert sum("aten::b" in name or "void b" in name for name in found) == 8, a[:cut][-40:]
        assert sum("aten::a" in name or "void a" in name for name in found) >= 2
        assert is_told(trace), a[:cut][-40:]


def test_an_argument_named_like_the_list_of_events_is_no_other_trace(tmp_path: Path) -> None:
    inner = {"traceEvents": [complete("inner")], "schemaVersion": 1}
    events = [
        complete("a"),
        complete("b", args=inner),
        complete("c", pid=[1]),
        {"name": "no phase"},
    ]
    trace = read(tmp_path, events)
    assert names(trace) == ["a", "b", "c"]
    assert trace.warnings == ()


def test_events_behind_a_list_that_a_splice_has_closed_are_counted(tmp_path: Path) -> None:
    event = json.dumps(complete("a"))
    text = f'{{"traceEvents": [{event}, 5], []], "Input type": ["x"]}}}}, {event}, {event}]}}'
    trace = read(tmp_path, text)
    assert names(trace) == ["a"]
    assert trace.skipped["bytes after the end of the trace"] > 2 * len(event)
    assert is_told(trace)


def test_a_mended_event_that_says_a_thing_twice_is_of_two_texts(tmp_path: Path) -> None:
    event = '{"ph": "X", "name": "a", "ts": 1, "dur": , "pid": 1, %s"tid": 2}'
    trace = read(tmp_path, f"[{event % ''}, {event % ''}, {json.dumps(complete())}]")
    assert not is_told(trace)
    doubled = event % '"ts": 5, '
    trace = read(tmp_path, f"[{event % ''}, {doubled}, {json.dumps(complete())}]")
    assert trace.skipped == {"broken events": 1, "events without a usable duration": 1}
    assert is_told(trace)
