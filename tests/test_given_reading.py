"""Faults that people reported in public, as small files: what the reader makes of each.

The names of the tests carry the row of the collection of cases (A: odd JSON and wrong files, B:
size and gzip, E: times, H and I: vocabularies and instants, J: many writers).
"""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from trace_text import complete, document, kernel, launch, names, native, read, step, written

from trace_util import cautions
from trace_util.events import Kind, TraceError
from trace_util.explain import explanation
from trace_util.facts import trace_facts
from trace_util.reader import read_trace
from trace_util.report.explain import explanation_text


def text_of(*events: dict[str, object]) -> str:
    return json.dumps(document(events))


def assert_perfetto_refuses(warnings: tuple[str, ...]) -> None:
    assert any("Perfetto will refuse it" in warning for warning in warnings)


def test_a01_windows_path_with_single_backslashes(tmp_path: Path) -> None:
    path = r"C:\Users\new\torch\x.py(7): f"
    text = text_of(kernel("PATH"), step()).replace("PATH", path)
    trace = read(tmp_path, text)
    assert names(trace) == [path, "ProfilerStep#2"]
    assert trace.repairs == {"illegal escapes": 2}  # \U and \x; its \n and \t are legal JSON
    assert_perfetto_refuses(trace.warnings)


def test_a01_windows_path_whose_backslashes_are_legal_escapes(tmp_path: Path) -> None:
    path = r"C:\new\torch\bin\f.py(7): f"
    trace = read(tmp_path, text_of(kernel("PATH"), step()).replace("PATH", path))
    assert names(trace) == [path, "ProfilerStep#2"]
    assert trace.repairs == {"paths with unescaped backslashes": 1}
    assert trace.warnings == ()  # it is sound JSON, and Perfetto opens it


def test_a01_sound_escapes_beside_an_illegal_one_keep_their_meaning(tmp_path: Path) -> None:
    sound = 'a\\b "c"\n\u00e9'
    text = text_of(kernel("PATH"), complete(sound)).replace("PATH", r"D:\x")
    assert names(read(tmp_path, text)) == [r"D:\x", sound]


def test_a02_raw_control_characters_mark_the_name_as_damaged(tmp_path: Path) -> None:
    text = text_of(complete("BAD", "python_function"), step(), kernel())
    trace = read(tmp_path, text.replace("BAD", "fo\x01\x02o\nbar"))
    assert names(trace) == ["fo\ufffdo\ufffdbar", "ProfilerStep#2", "k"]
    assert trace.repairs == {"raw control characters": 2}  # stretches of them
    assert_perfetto_refuses(trace.warnings)


def test_a04_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    text = text_of(kernel("BAD"), step()).encode().replace(b"BAD", b"x\xff\xfey")
    trace = read(tmp_path, text)
    assert names(trace) == ["x\ufffd\ufffdy", "ProfilerStep#2"]
    assert trace.repairs == {"bytes that are not UTF-8": 2}
    assert_perfetto_refuses(trace.warnings)


def test_a06_legacy_list_of_a_build_without_kineto(tmp_path: Path) -> None:
    events = [
        complete(f"op{i}", None, ts=i, dur=1, pid="CPU functions", tid=0) for i in range(1, 4)
    ]
    trace = read(tmp_path, json.dumps(events))
    assert names(trace) == ["op1", "op2", "op3"]
    assert trace.processes == ("CPU functions",)
    assert trace.events.start_ns.tolist() == [1000, 2000, 3000]
    assert trace.events.is_kind(Kind.CPU_OP).all()
    assert [(op.name, op.count, op.self_ns) for op in trace_facts(trace).ops] == [
        (f"op{i}", 1, 1000) for i in (1, 2, 3)
    ]
    assert "3 CPU ops in 3.00 µs of CPU time" in explanation_text(explanation(trace))
    assert trace.header.device_properties == ()


def test_a07_two_ops_named_unknown_stay_two_events(tmp_path: Path) -> None:
    trace = read(tmp_path, [complete("unknown", ts=1), complete("unknown", ts=9)])
    assert names(trace) == ["unknown", "unknown"]
    assert trace.events.row.tolist() == [0, 1]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (POINTER, "a Git LFS pointer"),
        ('{"schema":"1.0.1","nodes":[]}', "an execution graph"),
        ("", "an empty file"),
        ("  \n", "nothing but blanks"),
        ("\0" * 5000, "nothing but zero bytes"),
        ("{}", "an empty JSON object: no traceEvents"),
        ("[]", "an empty JSON list: no events"),
        ("null", "JSON, but no trace: it is null"),
        ('{"traceEvents":null}', "no events; did the schedule reach its active steps?"),
        ('{"traceEvents":[]}', "no events; did the schedule reach its active steps?"),
        ('{"traceEvents":{}}', "its traceEvents is an object and not a list of events"),
        ('{"version": 8, "frames": [{"x": 1}, {"x": 2}]}', 'its keys: "version", "frames"'),
        ('[{"type": "click"}, {"type": "goto"}]', "without one complete event"),
        ('{"type":"click"}\n{"type":"goto"}\n', 'its keys: "type"'),
        ('{"ph":"X","ts":1}\n{"ph":"X","ts":2}\n', "one event a line"),
        ("<!DOCTYPE html><html>", "an HTML page"),
        ("Entry not found", 'it starts with "Entry not found"'),
        ("PK\x03\x04abc", "a zip archive"),
        ("SQLite format 3\0", "an SQLite database"),
        ('{"traceEvents":[{"ph":"B","ts":1},{"ph":"E","ts":2}]}', "no complete events, only"),
    ],
)
def test_a09_what_is_no_trace_is_refused_in_one_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = written(tmp_path, text, "kineto_trace.json")
    with pytest.raises(TraceError) as error:
        read_trace(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert sentence in message
    assert "\n" not in message


def test_b01_gzip_is_told_by_content(tmp_path: Path) -> None:
    text = text_of(kernel(), step()).encode()
    halves = gzip.compress(text[:50]) + gzip.compress(text[50:])
    for name, content in {
        "plain.json.gz": text,
        "zipped.json": gzip.compress(text),
        "members.json.gz": halves,
        "twice.json.gz": gzip.compress(gzip.compress(text)),
        "padded.json.gz": gzip.compress(text) + b"\0" * 512,
    }.items():
        trace = read_trace(written(tmp_path, content, name))
        assert names(trace) == ["k", "ProfilerStep#2"], name
        assert trace.warnings == (), name


def test_b01_gzip_of_nothing_is_an_empty_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="an empty gzip file: an empty trace"):
        read_trace(written(tmp_path, gzip.compress(b""), "t.json.gz"))


def test_b03_python_frames_take_little_memory_in_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "stacks.json"
    with path.open("w") as file:
        file.write('{"traceEvents": [\n')
        for number in (2, 3, 4):
            for i in range(100_000):
                frame = f'"name": "x.py({i % 50}): f{i}", "pid": 1, "tid": 1, "ts": {i}.5, "dur": 1'
                file.write('{"ph": "X", "cat": "python_function", ' + frame + "},\n")
            file.write(json.dumps(step(number, ts=number * 1000)) + ",\n")
        file.write(json.dumps(kernel()) + "\n]}\n")
    read_trace(written(tmp_path, text_of(kernel())))  # imports and tables
    tracemalloc.start()
    trace = read_trace(path, columns="summary")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert names(trace) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4", "k"]
    assert trace.skipped == {"Python frames (no part of a summary)": 300_000}
    assert trace.phases == {"X": 300_004}
    assert peak < 10 << 20  # of a file of 33 MB


def test_b04_a_large_file_comes_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cautions, "LARGE_BYTES", 500)
    assert read(tmp_path, [kernel()]).warnings == ()
    (warning,) = read(tmp_path, [kernel()] * 10).warnings
    assert "trace_processor server http" in warning
    assert "gzip" in warning


def test_e01_events_with_neither_start_nor_duration_are_left_out(tmp_path: Path) -> None:
    good = [kernel(ts=10**12 + i) for i in range(4)]
    trace = read(tmp_path, good + [kernel(ts=0, dur=0)] * 4)
    assert trace.events.start_ns.tolist() == [(10**12 + i) * 1000 for i in range(4)]
    assert trace.skipped == {"events with start and duration 0": 4}
    assert "events with start and duration 0: 4" in trace.warnings[0]


def test_e02_impossible_times_are_left_out_and_listed(tmp_path: Path) -> None:
    now = 10**12
    events = [
        kernel("good", ts=now),
        kernel("negative", ts=now, dur=-5),
        kernel("long", ts=now, dur=9.2e15),
        kernel("ahead", ts=now + 10**16),
        kernel("good too", ts=now + 7),
    ]
    trace = read(tmp_path, events)
    assert names(trace) == ["good", "good too"]
    assert trace.skipped == {
        "events with a negative duration": 1,
        "events longer than a day": 1,
        "events that start more than a year from the others": 1,
    }
    assert "negative" in trace.warnings[0]


def test_e02_a_start_of_zero_days_before_the_others(tmp_path: Path) -> None:
    events = [kernel(ts=10**12), kernel("zero", ts=0, dur=3), kernel(ts=10**12 + 9)]
    trace = read(tmp_path, events)
    assert names(trace) == ["k", "k"]
    assert trace.skipped == {"events without a start time (0)": 1}


def test_e04_child_that_ends_half_a_nanosecond_after_its_parent(tmp_path: Path) -> None:
    text = text_of(complete("parent", ts="P", dur=10), complete("child", ts="C", dur=8.0005))
    text = text.replace('"P"', "7100000000000.000").replace('"C"', "7100000000002.000")
    trace = read(tmp_path, text)
    assert trace.events.end_ns.tolist() == [7100000000010000, 7100000000010000]


def test_e04_the_same_times_on_two_bases(tmp_path: Path) -> None:
    base = 1790857026000000000
    here = read(tmp_path, [kernel(ts=5144730587508.195)], baseTimeNanoseconds=base)
    there = read(tmp_path, [kernel(ts=5144730586508.195)], baseTimeNanoseconds=base + 1_000_000)
    absolute = [int(t.events.start_ns[0]) + (t.header.base_time_ns or 0) for t in (here, there)]
    assert absolute == [base + 5144730587508195] * 2


def test_e04_many_durations_of_zero_are_normal(tmp_path: Path) -> None:
    start = 1623142623460016
    trace = read(tmp_path, [kernel(ts=start + i, dur=0) for i in range(5)])
    assert trace.events.duration_ns.tolist() == [0] * 5
    assert trace.skipped == {}


def test_h03_vocabulary_of_2021(tmp_path: Path) -> None:
    events = [
        complete("ProfilerStep#2", "Operator", 0, 100, args={"external id": 1}),
        complete("cudaLaunchKernel", "Runtime", 5, 2, args={"correlation": 1, "external id": 1}),
        complete("k", "Kernel", 10, 5, pid=0, tid="stream 7", args={"correlation": 1, "stream": 7}),
        complete("Memcpy", "Memcpy", 16, 5, pid=0, tid="stream 7 ", args={"bytes": 8}),
    ]
    found = read(tmp_path, events).events
    assert found.kind.tolist() == [Kind.CPU_OP, Kind.RUNTIME, Kind.KERNEL, Kind.MEMCPY]
    assert found.device.tolist() == [-1, -1, 0, 0]
    assert found.stream.tolist() == [-1, -1, 7, 7]
    assert found.external_id.tolist() == [1, 1, -1, -1]
    assert found.correlation.tolist() == [-1, 1, 1, -1]


@pytest.mark.parametrize("phase", ["i", "I"])
def test_i02_memory_instants_do_not_count_for_time(tmp_path: Path, phase: str) -> None:
    memory = {"ph": phase, "s": "t", "name": "[memory]", "pid": 100, "tid": 100, "ts": 12}
    events = [memory | {"args": {"Device Id": -1 + i, "Bytes": -512 * i}} for i in range(5)]
    trace = read(tmp_path, [*events, kernel()])
    assert names(trace) == ["k"]
    assert trace.phases == {phase: 5, "X": 1}
    assert trace.skipped == {}


def two_ranks() -> tuple[str, str]:
    a = native(document([complete(f"a{i}", ts=100 + i) for i in range(50)]))
    b = native(document([kernel(f"b{i}", ts=100 + i, pid=1) for i in range(50)]))
    return a, b


def test_j01_second_half_of_one_file_in_the_middle_of_another(tmp_path: Path) -> None:
    a, b = two_ranks()
    trace = read(tmp_path, a[: a.index('"a25"') + 3] + b[b.index('b30"') + 8 :])
    assert names(trace) == [f"a{i}" for i in range(25)] + [f"b{i}" for i in range(31, 50)]
    assert trace.skipped == {"broken events": 1}
    assert any("two writers" in warning for warning in trace.warnings)


def test_j01_every_splice_is_told_but_one_that_happens_to_be_sound_json(tmp_path: Path) -> None:
    a, b = two_ranks()
    cut = a.index('"a25"') + 3
    for start in range(b.index('b30"'), b.index('b31"')):
        text = a[:cut] + b[start:]
        trace = read(tmp_path, text)
        try:
            sound = len(json.loads(text)["traceEvents"])
        except ValueError:
            assert any("two writers" in warning for warning in trace.warnings), start
            assert len(trace.events) in (25 + 18, 25 + 19)
        else:
            assert len(trace.events) == sound


def test_j01_a_short_trace_written_over_a_longer_one(tmp_path: Path) -> None:
    a, b = two_ranks()
    trace = read(tmp_path, a[: a.index(",\n  {", 2000)] + "]}" + b[-400:])
    assert set(name[0] for name in names(trace)) == {"a"}
    assert trace.skipped == {"bytes after the end of the trace": 399}
    assert any("two writers" in warning for warning in trace.warnings)


def test_j03_absent_rank_is_normal(tmp_path: Path) -> None:
    trace = read(tmp_path, [launch(), kernel()])
    assert trace.header.distributed == {}
    assert trace.warnings == ()
