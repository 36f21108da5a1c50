"""What a trace file says, as columns: layouts, vocabularies, times, header."""

from __future__ import annotations

import json
import tracemalloc
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from conftest import RECORDED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, astuple
from trace_text import (
    LAYOUTS,
    complete,
    document,
    kernel,
    launch,
    names,
    native,
    read,
    rows,
    written,
)

from trace_util import event_list, sources
from trace_util.events import GPU_KINDS, Kind, LaunchShape, Shapes, TraceError
from trace_util.reader import read_trace
from trace_util.wholeness import why_incomplete

EAGER = RECORDED / "nvidia-h200" / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"

# Names and arguments that look like borders between events, and are none.
TRAPS = [
    complete('}, {"ph": "X", "name": "inner"'),
    complete("}\n  },\n  {\n    "),
    complete("}, {"),
    complete("}] , "),
    complete(']}, "traceEvents": ['),
    complete('quote " backslash \\ end \\'),
    complete(
        "nested", args={"list": [{"ph": "X"}, {"ph": "X", "name": "}"}, {}], "d": {"e": [{}, {}]}}
    ),
    complete("empty", args={}),
    complete("unicode é 漢字 \u2028 \U0001f600"),
]


def test_columns_of_a_kernel_and_its_launch(tmp_path: Path) -> None:
    args = {
        "External id": 9,
        "device": 1,
        "stream": 20,
        "correlation": 77,
        "registers per thread": 40,
        "shared memory": 4096,
        "grid": [2, 3, 4],
        "block": [128, 1, 1],
        "est. achieved occupancy %": 50,
    }
    gemm = complete("gemm", "kernel", 30.5, 7.25, pid=1, tid=20, args=args)
    trace = read(tmp_path, [launch(20.001, 2.5, correlation=77), gemm])
    events = trace.events
    assert names(trace) == ["cudaLaunchKernel", "gemm"]
    assert events.row.tolist() == [0, 1]
    assert events.start_ns.tolist() == [20_001, 30_500]
    assert events.duration_ns.tolist() == [2_500, 7_250]
    assert events.end_ns.tolist() == [22_501, 37_750]
    assert events.kind.tolist() == [Kind.RUNTIME, Kind.KERNEL]
    assert [trace.categories[i] for i in events.category] == ["cuda_runtime", "kernel"]
    assert [trace.processes[i] for i in events.process] == [100, 1]
    assert [trace.threads[i] for i in events.thread] == [100, 20]
    assert events.device.tolist() == [-1, 1]
    assert events.stream.tolist() == [-1, 20]
    assert events.correlation.tolist() == [77, 77]
    assert events.external_id.tolist() == [-1, 9]
    assert events.launch.tolist() == [-1, 0]
    assert trace.launches == (LaunchShape((2, 3, 4), (128, 1, 1), 40, 4096, 50.0),)


def test_shapes_of_an_op_are_json_texts_whatever_the_layout(tmp_path: Path) -> None:
    args = {
        "Concrete Inputs": ["", "1"],
        "Input type": ["float", "Scalar"],
        "Input Strides": [[5, 1], []],
        "Input Dims": [[4, 5], []],
    }
    trace_text = document([complete("aten::add", args=args), complete("aten::add", args=args)])
    for layout in LAYOUTS.values():
        trace = read(tmp_path, layout(trace_text))
        assert trace.shapes == (
            Shapes("[[4, 5], []]", '["float", "Scalar"]', "[[5, 1], []]", '["", "1"]'),
        )
        assert trace.events.shapes.tolist() == [0, 0]


def test_sizes_are_kept_of_copies_and_memsets_only(tmp_path: Path) -> None:
    size = {"bytes": 5_000_000_000}
    events = [
        complete("Memcpy HtoD", "gpu_memcpy", pid=0, tid=7, args=size),
        complete("Memset", "gpu_memset", pid=0, tid=7, args={"bytes": 12}),
        kernel(),
        complete("aten::copy_", args=size),
    ]
    assert read(tmp_path, events).events.size_bytes.tolist() == [5_000_000_000, 12, -1, -1]


def test_phases_are_counted_and_only_complete_events_kept(tmp_path: Path) -> None:
    flow = {"ph": "s", "id": 1, "pid": 0, "tid": 0, "ts": 1, "cat": "ac2g", "name": "ac2g"}
    memory = {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "args": {"Bytes": -4}}
    events = [flow, complete(), flow | {"ph": "f"}, memory, complete(), memory | {"ph": "Q"}]
    trace = read(tmp_path, events)
    assert trace.phases == {"X": 2, "s": 1, "f": 1, "i": 1, "Q": 1}
    assert trace.events.row.tolist() == [1, 4]
    assert not trace.skipped


def test_names_of_processes_and_threads_and_the_end_of_the_recording(tmp_path: Path) -> None:
    def meta(name: str, pid: int | str, tid: int | str, value: str) -> dict[str, object]:
        return {"name": name, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": {"name": value}}

    end = {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1234.5678}
    events = [
        meta("process_name", 7, 0, "python"),
        meta("thread_name", 0, 7, "stream 7 "),
        meta("process_labels", 0, 0, "GPU 15"),
        {"name": "process_labels", "ph": "M", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
        complete(),
        end,
    ]
    trace = read(tmp_path, events)
    assert trace.process_names == {7: "python"}
    assert trace.thread_names == {(0, 7): "stream 7 "}
    assert trace.header.record_end_ns == 1_234_568


def test_header_before_among_and_behind_the_events(tmp_path: Path) -> None:
    header = {
        "deviceProperties": [{"id": 0, "name": "GPU }, {"}, {"id": 1, "name": ""}],
        "baseTimeNanoseconds": 1790857026000000000,
        "distributedInfo": {"rank": 3},
        "run_facts": {"lesson": "01_matmul"},
        "traceName": 'a "traceEvents": [ inside',
    }
    trace_text = document([complete(), kernel()], **header)
    for name in ("native", "indent 2", "events first", "events in the middle"):
        found = read(tmp_path, LAYOUTS[name](trace_text)).header
        assert [each["name"] for each in found.device_properties] == ["GPU }, {", ""]
        assert found.base_time_ns == 1790857026000000000
        assert found.distributed == {"rank": 3}
        assert found.run == {"lesson": "01_matmul"}
        assert found.other["schemaVersion"] == 1


def test_empty_and_absent_device_properties(tmp_path: Path) -> None:
    assert read(tmp_path, [complete()]).header.device_properties == ()
    assert read(tmp_path, [complete()], deviceProperties=[]).header.device_properties == ()
    assert read(tmp_path, [complete()], deviceProperties=None).header.device_properties == ()


@pytest.mark.parametrize("chunk_bytes", [64, 257, 1000, 1 << 19])
def test_layouts_and_traps_give_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    monkeypatch.setattr(event_list, "CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(sources, "BLOCK_BYTES", max(chunk_bytes // 3, 1))
    usual = [complete(f"op {i}", ts=100 + i) for i in range(30)]
    trace_text = document([*TRAPS, *usual, *TRAPS, kernel()], deviceProperties=[{"a": 1}, {"b": 2}])
    expected = [event["name"] for event in trace_text["traceEvents"]]
    reference = rows(read(tmp_path, json.dumps(trace_text)))
    for name, layout in LAYOUTS.items():
        trace = read(tmp_path, layout(trace_text))
        assert names(trace) == expected, name
        assert trace.events.row.tolist() == list(range(len(expected))), name
        assert rows(trace) == reference, name
        assert (trace.repairs, trace.skipped, trace.warnings) == ({}, {}, ()), name


def test_recorded_trace_is_the_same_in_every_layout(tmp_path: Path) -> None:
    reference = read_trace(EAGER)
    assert reference.events.is_kind(*GPU_KINDS).sum() > 0
    import gzip

    trace_text = json.loads(gzip.decompress(EAGER.read_bytes()))
    for name, layout in LAYOUTS.items():
        assert rows(read(tmp_path, layout(trace_text))) == rows(reference), name


def test_an_event_longer_than_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_list, "CHUNK_BYTES", 200)
    long = complete("long", args={"list": [{"x": i} for i in range(2000)], "text": "}, {" * 2000})
    trace = read(tmp_path, [complete("a"), long, complete("b"), long, complete("c")])
    assert names(trace) == ["a", "long", "b", "long", "c"]
    assert not trace.repairs
    assert not trace.skipped


VOCABULARIES = [
    ("Operator", "Runtime", "Kernel", "Memcpy", "Memset"),
    ("cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset"),
    ("CPU_OP", "CUDA_RUNTIME", "KERNEL", "GPU_MEMCPY", "GPU_MEMSET"),
]


@pytest.mark.parametrize("categories", VOCABULARIES)
def test_kinds_in_every_vocabulary(tmp_path: Path, categories: tuple[str, ...]) -> None:
    trace = read(tmp_path, [complete(cat=category) for category in categories])
    assert trace.events.kind.tolist() == [
        Kind.CPU_OP,
        Kind.RUNTIME,
        Kind.KERNEL,
        Kind.MEMCPY,
        Kind.MEMSET,
    ]


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("cuda_driver", Kind.DRIVER),
        ("xpu_runtime", Kind.RUNTIME),
        ("mtia_runtime", Kind.RUNTIME),
        ("mtia_ccp_events", Kind.KERNEL),
        ("privateuse1_driver", Kind.DRIVER),
        ("gpu_user_annotation", Kind.GPU_ANNOTATION),
        ("user_annotation", Kind.USER_ANNOTATION),
        ("python_function", Kind.PYTHON),
        ("cuda_sync", Kind.SYNC),
        ("overhead", Kind.OVERHEAD),
        ("Trace", Kind.BOOKKEEPING),
        ("never heard of", Kind.OTHER),
        (None, Kind.OTHER),
    ],
)
def test_kind_of_a_category(tmp_path: Path, category: str | None, kind: Kind) -> None:
    assert read(tmp_path, [complete(cat=category)]).events.kind.tolist() == [kind]


def test_kind_is_decided_by_category_and_not_by_name(tmp_path: Path) -> None:
    events = [complete("cudaLaunchKernel", "kernel"), complete("Memcpy HtoD", "cpu_op")]
    assert read(tmp_path, events).events.kind.tolist() == [Kind.KERNEL, Kind.CPU_OP]


def test_rows_on_which_the_profiler_keeps_its_books(tmp_path: Path) -> None:
    span = complete("PyTorch Profiler (0)", "cpu_op", pid="Spans", tid="PyTorch Profiler")
    trace = read(tmp_path, [complete(), span, complete(pid="CPU functions"), complete(pid="")])
    assert trace.events.kind.tolist() == [
        Kind.CPU_OP,
        Kind.BOOKKEEPING,
        Kind.CPU_OP,
        Kind.BOOKKEEPING,
    ]


def test_device_and_stream_without_arguments_are_the_row(tmp_path: Path) -> None:
    events = [
        complete(cat="Kernel", pid=3, tid="stream 7 "),
        complete(cat="gpu_user_annotation", pid=2, tid=20),
        complete(cat="cuda_sync", pid=0, tid=1, args={"device": 0, "stream": 4294967295}),
        complete(cat="cuda_runtime", args={"stream": "0x55d0", "device": 5}),
        complete(cat="kernel", pid="odd", tid="odd"),
        complete(cat="kernel", pid="9" * 5000, tid="stream " + "9" * 30),
    ]
    trace = read(tmp_path, events)
    assert trace.events.device.tolist() == [3, 2, 0, -1, -1, -1]
    assert trace.events.stream.tolist() == [7, 20, -1, -1, -1, -1]


def test_both_spellings_of_external_id(tmp_path: Path) -> None:
    events = [
        kernel(args={"external id": 4}),
        kernel(args={"External id": 5}),
        kernel(args={"External id": "6"}),
        kernel(args={"External id": 2**40}),
        kernel(),
    ]
    assert read(tmp_path, events).events.external_id.tolist() == [4, 5, 6, 2**40, -1]


def test_odd_correlations(tmp_path: Path) -> None:
    values = [0, -1, 2**31, 2**80, None, "12", "x", 3.0, [1]]
    trace = read(tmp_path, [kernel(correlation=value) for value in values])
    assert trace.events.correlation.tolist() == [0, -1, 2**31, -1, -1, 12, -1, 3, -1]


def test_grids_as_text_and_in_part(tmp_path: Path) -> None:
    events = [
        kernel(args={"grid": "[128, 1, 1]", "block": [64, 2, 1]}),
        kernel(args={"grid": "none", "block": None, "registers per thread": 8}),
    ]
    assert read(tmp_path, events).launches == (
        LaunchShape((128, 1, 1), (64, 2, 1), None, None, None),
        LaunchShape(None, None, 8, None, None),
    )


def test_last_of_two_equal_keys_counts(tmp_path: Path) -> None:
    text = json.dumps(document([kernel()])).replace('"dur": 5', '"dur": 5, "dur": 6')
    text = text.replace('"schemaVersion": 1', '"schemaVersion": 1, "schemaVersion": 2')
    trace = read(tmp_path, text)
    assert trace.events.duration_ns.tolist() == [6000]
    assert trace.header.other["schemaVersion"] == 2
    assert trace.repairs == {"duplicate header keys": 1}


def test_comma_behind_the_last_event(tmp_path: Path) -> None:
    text = json.dumps(document([kernel("a"), kernel("b")]))[:-2] + ",\n]}"
    trace = read(tmp_path, text)
    assert names(trace) == ["a", "b"]
    assert trace.repairs == {"stray commas": 1}
    assert trace.skipped == {}


def test_list_of_events_that_is_never_closed(tmp_path: Path) -> None:
    """As the trace event format allows, for a writer that crashed."""
    for end in ("", ",", ",\n"):
        trace = read(
            tmp_path, "[" + json.dumps(kernel("a")) + ",\n" + json.dumps(kernel("b")) + end
        )
        assert names(trace) == ["a", "b"]
        assert trace.repairs == {"end of the file missing": 1}
        assert trace.skipped == {}


LISTS = [
    (["[A, B]", "[A]"], [2, 1]),
    (["[A, B]", "[]"], [2, 0]),
    (["[]", "[A]"], [0, 1]),
    (["[A, B]", "null"], [2, 0]),
    (["null", "[A]"], [0, 1]),
    (["[A]", "[B, B]", "[A, A, A]"], [1, 2, 3]),
]


@pytest.mark.parametrize(("lists", "counts"), LISTS, ids=str)
def test_every_list_of_events_is_read_and_counted(
    tmp_path: Path, lists: list[str], counts: list[int]
) -> None:
    """JSON's own readers keep the last of them, Perfetto (v52) reads them all."""
    made = {"A": json.dumps(complete("a")), "B": json.dumps(kernel("b", 20))}
    members = ', "x": 1, '.join(f'"traceEvents": {each}' for each in lists)
    text = f"{{{members}}}".replace("A", "$A").replace("B", "$B")
    text = text.replace("$A", made["A"]).replace("$B", made["B"])
    trace = read(tmp_path, text)
    assert len(trace.events) == sum(counts)
    assert trace.repairs["further values of traceEvents"] == len(lists) - 1
    told = f"stands {len(lists)} times, with {' and '.join(map(str, counts))} events: all are read"
    assert told in trace.warnings[0]
    assert not any("two writers" in warning for warning in trace.warnings)
    assert "traceEvents" not in trace.header.other
    assert why_incomplete(trace) == "its traceEvents stands more than once"


def test_a_list_of_events_without_a_comma_before_it_is_of_another_text(tmp_path: Path) -> None:
    event = json.dumps(complete())
    text = f'{{"traceEvents": [{event}], "x": "cut off {{"traceEvents": [{event}]}}'
    trace = read(tmp_path, text)
    assert len(trace.events) == 2
    assert any("two writers" in warning for warning in trace.warnings)


def test_unlike_values_of_one_header_key_are_told(tmp_path: Path) -> None:
    header = '"rank": {"a": 1}, "same": [1], "same": [1], "rank": {"a": 2}'
    trace = read(tmp_path, f'{{{header}, "traceEvents": [{json.dumps(complete())}]}}')
    assert trace.header.other["rank"] == {"a": 2}
    assert trace.repairs == {"duplicate header keys": 2}
    assert trace.warnings == (
        'its header gives unlike values to one key ("rank"): the last is taken, as JSON is read',
    )


def test_a_doubled_header_key_that_may_be_a_secret_is_not_quoted(tmp_path: Path) -> None:
    key = "hf_" + "AbCd" * 9
    trace = read(tmp_path, f'{{"{key}": 1, "{key}": 2, "traceEvents": [{json.dumps(complete())}]}}')
    assert "unlike values to one key (1 key)" in trace.warnings[0]


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        ("5144730587508.195", 5144730587508195),
        ("8796093022207.999", 8796093022207999),
        ("8796093022208.001", 8796093022208001),
        ("1712195495519761.132", 1712195495519761132),
        ("1623142623460016", 1623142623460016000),
        ('"1704161511420306.491"', 1704161511420306491),
        ('"1704161511420306"', 1704161511420306000),
        ("0.001", 1),
        ("-12.345", -12345),
        ("1e3", 1000000),
        ("1.5E-1", 150),
        ('"0e30"', 0),
        ("7100000000000.0005", 7100000000000000),
        ("7100000000000.0016", 7100000000000002),
        ("999999999999.00051", 999999999999001),
        ("12.0004999999999", 12000),
        ("12.0005000000001", 12001),
    ],
)
def test_times_are_exact(tmp_path: Path, ts: str, expected: int) -> None:
    text = json.dumps(document([complete(ts="T")])).replace('"T"', ts)
    assert read(tmp_path, text).events.start_ns.tolist() == [expected]


def microseconds(low: int, high: int) -> st.SearchStrategy[str]:
    """Times as files spell them: whole, with a few decimals, or in tiny parts."""
    whole = st.integers(low, high)
    decimals = st.integers(0, 999)
    return st.one_of(
        whole.map(str),
        st.builds(lambda w, d: f"{w}.{d:03}", whole, decimals),
        st.builds(lambda w, d: f"{w}.{d:03}".rstrip("0").rstrip("."), whole, decimals),
    )


FINE = st.builds(
    lambda w, d, n: f"{w}.{d:0{n}}"[:24],
    st.integers(0, 2**41),
    st.integers(0, 10**9),
    st.integers(9, 14),
)
EVENT = st.fixed_dictionaries(
    {
        "ts": st.one_of(
            microseconds(0, 10**6),
            microseconds(2**42, 2**43 - 1),
            microseconds(10**15, 2 * 10**15),
            FINE,
        ),
        "dur": st.one_of(
            microseconds(0, 1000), FINE.map(lambda text: text[-6:].lstrip("0.") or "0")
        ),
        "cat": st.sampled_from(["kernel", "cpu_op", "cuda_runtime", "gpu_memcpy", "odd"]),
        "name": st.one_of(st.sampled_from(["a", "}, {", "]}"]), st.text(max_size=8)),
        "pid": st.one_of(st.integers(0, 3), st.sampled_from(["CPU functions", "7"])),
        "tid": st.one_of(st.integers(0, 2**40), st.just("stream 7 ")),
        "quoted": st.booleans(),
    }
)


@given(
    events=st.lists(EVENT, min_size=1, max_size=12),
    layout=st.sampled_from(sorted(LAYOUTS)),
    chunk_bytes=st.sampled_from([100, 1000, 1 << 19]),
)
@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_columns_equal_a_slow_reference_over_decimals(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    events: list[dict[str, str]],
    layout: str,
    chunk_bytes: int,
) -> None:
    monkeypatch.setattr(event_list, "CHUNK_BYTES", chunk_bytes)
    written_events = []
    for i, event in enumerate(events):
        mark = f"@{i}ts@" if not event["quoted"] else f"quoted@{i}ts@"
        written_events.append(
            {"ph": "X"}
            | {k: event[k] for k in ("cat", "name", "pid", "tid")}
            | {"ts": mark, "dur": f"@{i}dur@"}
        )
    text = LAYOUTS[layout](document(written_events))
    for i, event in enumerate(events):
        text = text.replace(f'"@{i}ts@"', event["ts"]).replace(
            f'"quoted@{i}ts@"', f'"{event["ts"]}"'
        )
        text = text.replace(f'"@{i}dur@"', event["dur"])
    reference = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    reference = reference if isinstance(reference, list) else reference["traceEvents"]
    expected = [
        (
            _nanoseconds(event["ts"]),
            _nanoseconds(event["dur"]),
            event["name"],
            event["cat"],
            event["tid"],
        )
        for event in reference
    ]
    kept = _without_impossible(expected)
    if not kept:
        return
    trace = read(tmp_path, text)
    found = trace.events
    got = [
        (int(start), int(duration), trace.names[n], trace.categories[c], trace.threads[t])
        for start, duration, n, c, t in zip(
            found.start_ns, found.duration_ns, found.name, found.category, found.thread, strict=True
        )
    ]
    assert len(got) + sum(trace.skipped.values()) == len(expected)
    # A name may lose a control character on the way; all else is to be equal.
    assert [each[:2] + each[3:] for each in got] == [each[:2] + each[3:] for each in kept]
    assert [len(each[2]) for each in got] == [len(each[2]) for each in kept]


def _nanoseconds(value: Decimal | str) -> int:
    return int((Decimal(value) * 1000).to_integral_value())


def _without_impossible(
    events: list[tuple[int, int, str, str, str]],
) -> list[tuple[int, int, str, str, str]]:
    """The rules of ``trace_util.impossible``, event by event."""
    day, year = 86400 * 10**9, 365 * 86400 * 10**9
    starts = [start for start, *_ in events]
    timed = [start for start in starts if start]
    spread = max(starts) - min(starts) > day
    middle = int(np.median(timed)) if timed else 0
    return [
        event
        for event in events
        if not (event[0] == 0 and event[1] == 0)
        and event[1] <= day
        and not (spread and abs(event[0] - middle) > year)
        and not (spread and abs(middle) > day and event[0] == 0)
    ]


def test_three_decimals_are_exact_throughout_a_whole_month_of_clock(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    expected = rng.integers(2 * 10**15, 8_796_000_000_000_000, 20_000)
    events = ",".join(
        f'{{"ph":"X","cat":"kernel","name":"k","ts":{t // 1000}.{t % 1000:03},"dur":0.001}}'
        for t in expected.tolist()
    )
    trace = read(tmp_path, f'{{"traceEvents":[{events}]}}')
    assert np.array_equal(trace.events.start_ns, expected)
    assert not trace.skipped


def test_summary_columns_hold_what_a_summary_needs(tmp_path: Path) -> None:
    events = [
        complete(args={"Input Dims": [[1]], "External id": 3}),
        complete("frame", "python_function"),
        launch(),
        kernel(args={"correlation": 1, "grid": [1, 1, 1], "device": 0, "stream": 7}),
    ]
    path = written(tmp_path, json.dumps(document(events)))
    full, brief = read_trace(path), read_trace(path, columns="summary")
    assert names(full) == ["op", "frame", "cudaLaunchKernel", "k"]
    assert names(brief) == ["op", "cudaLaunchKernel", "k"]
    assert brief.skipped == {"Python frames (no part of a summary)": 1}
    assert full.skipped == {}
    assert brief.phases == full.phases == {"X": 4}
    kept = np.array([0, 2, 3])
    for column in ("start_ns", "duration_ns", "kind", "device", "stream", "correlation"):
        assert np.array_equal(getattr(brief.events, column), getattr(full.events, column)[kept])
    for column in ("row", "external_id", "shapes", "launch"):
        assert getattr(brief.events, column).tolist() == [-1, -1, -1]


def test_unknown_set_of_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="expected 'all' or 'summary'"):
        read_trace(written(tmp_path, "[]"), columns="some")


def test_columns_cannot_be_changed(tmp_path: Path) -> None:
    trace = read(tmp_path, [kernel()])
    for column in astuple(trace.events):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_small_values_take_small_columns(tmp_path: Path) -> None:
    events = read(tmp_path, [kernel(correlation=i, name=f"k{i % 300}") for i in range(1000)]).events
    sizes = {name: column.dtype.itemsize for name, column in asdict(events).items()}
    assert sizes["category"] == sizes["kind"] == sizes["process"] == sizes["stream"] == 1
    assert sizes["name"] == sizes["correlation"] == 2
    assert sizes["start_ns"] == sizes["duration_ns"] == 8
    assert events.size_bytes.strides == (0,)  # no event has a size, so the column takes no memory


def test_memory_follows_the_columns_and_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    args = {"External id": 1, "padding": "x" * 150, "device": 0, "stream": 7}
    with path.open("w") as file:
        file.write('{"traceEvents": [')
        for i in range(100_000):
            event = kernel(f"k{i % 100}", ts=i, correlation=i, args=args | {"correlation": i})
            file.write(json.dumps(event) + ",\n")
        file.write(json.dumps(kernel()) + "]}")
    read_trace(EAGER)  # imports and tables
    tracemalloc.start()
    trace = read_trace(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(trace.events) == 100_001
    assert path.stat().st_size > 30_000_000
    assert peak < 14 << 20


RIGHT = {
    # events, complete, kernels, names of kernels, their time in ns, GPU busy time in ns
    "nccl-rank": (40573, 26933, 2700, 70, 162_532_340, 157_500_014),
    "b200-same-stream-overlaps": (24656, 22355, 768, 29, 10_862_916, 11_596_482),
    "2021-vocabulary-resnet50": (75718, 44666, 8772, 67, 591_532_000, 603_558_000),
    "mi250-rocm": (220, 113, 14, 12, 110_881, 149_042),
}


@pytest.mark.parametrize("name", RIGHT)
def test_public_traces_to_the_nanosecond(shared_traces: Path, name: str) -> None:
    trace = read_trace(shared_traces / f"{name}.json.gz")
    events = trace.events
    kernels, gpu = events.is_kind(Kind.KERNEL), events.is_kind(*GPU_KINDS)
    assert (
        sum(trace.phases.values()),
        trace.phases["X"],
        int(kernels.sum()),
        len(np.unique(events.name[kernels])),
        int(events.duration_ns[kernels].sum()),
        _union(events.start_ns[gpu], events.end_ns[gpu]),
    ) == RIGHT[name]
    assert (trace.repairs, trace.skipped) == ({}, {})


def _union(start: np.ndarray, end: np.ndarray) -> int:
    """The length of the union of intervals, one after the other."""
    total, reach = 0, -(2**62)
    for a, b in sorted(zip(start.tolist(), end.tolist(), strict=True)):
        total += max(0, b - max(a, reach))
        reach = max(reach, b)
    return total


def test_every_public_trace_is_read_or_refused(shared_traces: Path) -> None:
    refused = []
    for path in sorted([*shared_traces.glob("*.json*"), *shared_traces.glob("h200/*.gz")]):
        try:
            trace = read_trace(path)
        except TraceError as error:
            refused.append((path.name, str(error)))
            continue
        assert len(trace.events) == trace.phases["X"]
        assert not trace.repairs
        assert not trace.warnings
    assert [name for name, _ in refused] == [
        "not-a-trace-execution-graph.json.gz",
        "not-a-trace-lfs-pointer.json",
    ]


def test_string_times_and_tasks_without_category_of_an_npu(shared_traces: Path) -> None:
    trace = read_trace(shared_traces / "npu-top-level-list.json.gz")
    first = trace.events.start_ns[0]
    assert int(first) == 1704161511420306491
    assert int(trace.events.is_kind(Kind.KERNEL).sum()) == 276
    assert int(trace.events.is_kind(Kind.RUNTIME).sum()) == 382


def test_waiting_streams_of_mtia_are_no_work(shared_traces: Path) -> None:
    trace = read_trace(shared_traces / "mtia-no-kernel-category.json.gz")
    kernels = trace.events.is_kind(Kind.KERNEL)
    found = {trace.names[i] for i in trace.events.name[kernels]}
    assert found == {"dma_request", "remote", "merge", "pe_exe"}
    assert set(trace.events.device[kernels].tolist()) == {17}


def test_path_and_size_are_those_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, native(document([kernel()])))
    trace = read_trace(path)
    assert trace.path == str(path)
    assert trace.size_bytes == path.stat().st_size
