from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import RECORDED

from trace_util import slim
from trace_util.cli import main
from trace_util.events import Kind, TraceError, UsageError
from trace_util.facts import trace_facts
from trace_util.job.rank import incomplete
from trace_util.reader import read_trace
from trace_util.sieve import LOOK, sift
from trace_util.slim import CHOICES, slim_trace


def event(name: str, cat: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    gpu = cat in ("kernel", "gpu_memcpy")
    place = {"pid": 0, "tid": 7} if gpu else {"pid": 9, "tid": 1}
    args = {**({"device": 0, "stream": 7} if gpu else {}), **more}
    return {"ph": "X", "cat": cat, "name": name, **place, "ts": ts, "dur": dur, "args": args}


def hand_made() -> list[dict[str, Any]]:
    """Warm-up from 0, two steps from 100 to 300 with one kernel each, and an end from 400."""
    return [
        {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "python"}},
        event("warm.py(1): run", "python_function", 0, 500),
        event("aten::before", "cpu_op", 10, 20),
        event("aten::early", "cpu_op", 80, 10),
        event("cudaLaunchKernel", "cuda_runtime", 85, 2, correlation=1),
        event("queued", "kernel", 95, 10, correlation=1),
        event("ProfilerStep#2", "user_annotation", 100, 100),
        event("aten::t", "cpu_op", 105, 5),
        event("aten::mm", "cpu_op", 110, 20),
        event("cudaLaunchKernel", "cuda_runtime", 115, 5, correlation=2),
        event("gemm", "kernel", 130, 40, correlation=2),
        event("net.py(3): forward", "python_function", 104, 60),
        event("ProfilerStep#3", "user_annotation", 200, 100),
        event("aten::mm", "cpu_op", 210, 20),
        event("cudaLaunchKernel", "cuda_runtime", 215, 5, correlation=3),
        event("gemm", "kernel", 280, 60, correlation=3),
        event("aten::after", "cpu_op", 400, 20),
        event("cudaLaunchKernel", "cuda_runtime", 405, 5, correlation=4),
        event("late", "kernel", 420, 10, correlation=4),
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 2, "pid": 9, "tid": 1, "ts": 115},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 2, "pid": 0, "tid": 7, "ts": 130},
        {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 5, "pid": 9, "tid": 1, "ts": 110},
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 4, "pid": 9, "tid": 1, "ts": 405},
        {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 450, "s": "g"},
    ]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "whole.json"
    document = {"schemaVersion": 1, "traceEvents": hand_made(), "deviceProperties": [{"id": 0}]}
    path.write_text(json.dumps(document, indent=1))
    return path


def kept(path: Path) -> list[str]:
    """What is left, without the kinds of kernels' numbers: name, and phase where it is not X."""
    events = json.loads(path.read_text())["traceEvents"]
    return [
        e["name"] if e["ph"] == "X" else f"{e['ph']} {e['name']} {e.get('id', '')}" for e in events
    ]


def test_steps_keep_what_runs_in_them_and_what_launched_it(trace, tmp_path):
    slimmed = slim_trace(trace, tmp_path / "out.json", "steps")
    assert kept(tmp_path / "out.json") == [
        "M process_name ", "warm.py(1): run", "aten::early", "cudaLaunchKernel", "queued",
        "ProfilerStep#2", "aten::t", "aten::mm", "cudaLaunchKernel", "gemm", "net.py(3): forward",
        "ProfilerStep#3", "aten::mm", "cudaLaunchKernel", "gemm",
        "s ac2g 2", "f ac2g 2", "s fwdbwd 5", "i Record Window End ",
    ]  # fmt: skip
    assert (slimmed.events, slimmed.kept) == (18, 14)
    # Window 100 to 340; busy 100-105 (queued), 130-170 and 280-340.
    assert slimmed.totals["window_start_ns"] == 100_000
    assert slimmed.totals["window_end_ns"] == 340_000
    assert slimmed.totals["window_busy_ns"] == 105_000
    assert slimmed.totals["kernels_of_steps"] == 2
    assert slimmed.totals["gpu_busy_of_steps_ns"] == 100_000


def test_gpu_keeps_the_work_and_its_launches(trace, tmp_path):
    slimmed = slim_trace(trace, tmp_path / "out.json", "gpu")
    assert kept(tmp_path / "out.json") == [
        "M process_name ", "aten::early", "cudaLaunchKernel", "queued",
        "ProfilerStep#2", "aten::mm", "cudaLaunchKernel", "gemm",
        "ProfilerStep#3", "aten::mm", "cudaLaunchKernel", "gemm",
        "aten::after", "cudaLaunchKernel", "late",
        "s ac2g 2", "f ac2g 2", "s ac2g 4", "i Record Window End ",
    ]  # fmt: skip
    assert slimmed.totals["kernel_count"] == 4
    assert slimmed.totals["kernel_total_ns"] == 120_000
    assert slimmed.totals["launch_count"] == 4


def test_no_python_drops_the_frames_alone(trace, tmp_path):
    slimmed = slim_trace(trace, tmp_path / "out.json", "no-python")
    names = [e["name"] for e in hand_made() if e.get("cat") != "python_function"]
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    assert [e["name"] for e in events] == names
    assert (slimmed.events, slimmed.kept) == (18, 16)


def test_events_are_kept_byte_for_byte_and_the_header_says_so(trace, tmp_path):
    exact = trace.read_text().replace('"ts": 130', '"ts": 1.30e2')
    trace.write_text(exact)
    slim_trace(trace, tmp_path / "out.json.gz", "gpu")
    text = gzip.decompress((tmp_path / "out.json.gz").read_bytes()).decode()
    assert '"ts": 1.30e2' in text
    document = json.loads(text)
    assert document["schemaVersion"] == 1 and document["deviceProperties"] == [{"id": 0}]
    assert document["slimmed"] == {"keep": "gpu", "complete_events": 14, "of": 18}
    by_name = [e for e in json.loads(exact)["traceEvents"] if e["name"] == "gemm"]
    assert [e for e in document["traceEvents"] if e["name"] == "gemm"] == by_name


def test_a_list_stays_a_list(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(hand_made()))
    slim_trace(path, tmp_path / "out.json", "no-python")
    events = json.loads((tmp_path / "out.json").read_text())
    assert isinstance(events, list) and len(events) == len(hand_made()) - 2


@pytest.mark.parametrize("keep", CHOICES)
@pytest.mark.parametrize(
    "name",
    [
        "t4-with-stack-steps", "b200-same-stream-overlaps", "mi250-rocm", "npu-top-level-list",
        "2022-vocabulary", "h200/03_eager", "h200/02_compile",
    ],
)  # fmt: skip
def test_totals_of_real_traces_are_unchanged(shared_traces, tmp_path, name, keep):
    source, target = shared_traces / f"{name}.json.gz", tmp_path / "out.json.gz"
    whole = read_trace(source)
    before = trace_facts(whole)
    if keep == "steps" and not before.steps:
        with pytest.raises(TraceError, match="has no step marks to choose by; --keep gpu"):
            slim_trace(source, target, keep)
        return
    slimmed = slim_trace(source, target, keep)
    after = trace_facts(read_trace(target))
    assert after.window_ns == before.window_ns
    assert after.window_busy_ns == before.window_busy_ns
    assert [s.duration_ns for s in after.steps] == [s.duration_ns for s in before.steps]
    assert [s.kernels for s in after.steps] == [s.kernels for s in before.steps]
    if keep != "steps":
        assert after.kernels == before.kernels and after.launches == before.launches
        assert after.gpu_busy_ns == before.gpu_busy_ns
        assert after.queue_delay == before.queue_delay
    python = int(whole.events.is_kind(Kind.PYTHON).sum())
    assert slimmed.kept <= slimmed.events == len(whole.events)
    if keep == "no-python":
        assert slimmed.kept == slimmed.events - python


def test_recorded_traces_slim_to_less(tmp_path):
    source = RECORDED / "nvidia-h200" / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"
    slimmed = slim_trace(source, tmp_path / "out.json.gz", "gpu")
    assert slimmed.kept < slimmed.events and slimmed.slim_bytes < slimmed.size_bytes


def test_a_copy_that_lost_an_event_is_not_kept(trace, tmp_path, monkeypatch):
    def lossy(source, target, codes, wanted, note):
        codes = codes.copy()
        codes[np.flatnonzero(codes != LOOK)[-1]] = 0
        return sift(source, target, codes, wanted, note)

    monkeypatch.setattr(slim, "sift", lossy)
    with pytest.raises(TraceError, match="the number of its events came out different"):
        slim_trace(trace, tmp_path / "out.json", "no-python")
    assert not (tmp_path / "out.json").exists()


def test_a_copy_whose_proof_is_interrupted_is_not_kept(trace, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("trace_util.slim._proved", interrupted)
    with pytest.raises(KeyboardInterrupt):
        slim_trace(trace, tmp_path / "slim.json", "gpu")
    assert not (tmp_path / "slim.json").exists()


def test_a_total_that_changed_is_noticed(trace, tmp_path, monkeypatch):
    def too_few(trace, links, facts, keep):
        mask = np.ones(len(trace.events), dtype=bool)
        mask[[trace.name_of(i) == "gemm" for i in range(len(trace.events))]] = False
        return mask

    monkeypatch.setattr(slim, "_chosen", too_few)
    said = "window end came out different from those of .*, so the copy is not kept"
    with pytest.raises(TraceError, match=said):
        slim_trace(trace, tmp_path / "out.json", "gpu")
    assert list(tmp_path.iterdir()) == [trace]


def test_what_cannot_be_slimmed_is_said(tmp_path):
    cpu = tmp_path / "cpu.json"
    cpu.write_text(json.dumps({"traceEvents": [event("aten::mm", "cpu_op", 1, 2)]}))
    with pytest.raises(TraceError, match="no GPU work was recorded; --keep no-python may help"):
        slim_trace(cpu, tmp_path / "out.json", "gpu")
    with pytest.raises(TraceError, match="has no step marks .*; --keep no-python needs none"):
        slim_trace(cpu, tmp_path / "out.json", "steps")
    with pytest.raises(TraceError, match="not a choice; keep one of steps, gpu, no-python"):
        slim_trace(cpu, tmp_path / "out.json", "all")
    with pytest.raises(UsageError, match="is the trace itself"):
        slim_trace(cpu, cpu, "no-python")
    assert list(tmp_path.iterdir()) == [cpu]


def test_command(trace, tmp_path, capsys):
    out = str(tmp_path / "out.json")
    assert main(["slim", str(trace), out, "--keep", "gpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{out}: ") and lines[0].endswith(", 14 of 18 events")
    assert lines[1:] == [
        "the same in both, as read back:",
        "  window                  240 µs",
        "  steps                   2",
        "  kernels of the steps    2",
        "  GPU busy of the steps   100 µs",
        "  GPU busy in the window  105 µs",
        "  kernels                 4",
        "  kernel time             120 µs",
        "  launches                4",
    ]
    assert main(["slim", str(trace), out, "--keep", "gpu"]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["slim", str(trace), out, "--keep", "gpu", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"]["kernel_count"] == 4


@pytest.mark.parametrize("keep", CHOICES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_copy_of_a_cut_off_trace_says_so(keep, packed, trace, tmp_path, capsys):
    source, target, again = (tmp_path / name for name in ("cut.json", "copy.json", "again.json"))
    data = trace.read_bytes()
    if packed:
        data = gzip.compress(data, 0)
    source.write_bytes(data[: int(len(data) * 0.85)])
    assert main(["slim", str(source), str(target), "--keep", keep, "--json"]) == 0
    out, err = capsys.readouterr()
    flaw = json.loads(out)["incomplete"]
    assert "missing" in flaw or "cut off" in flaw
    assert f"note: {source}: {flaw}" in err
    assert main(["slim", str(target), str(again), "--keep", "no-python"]) == 0
    for copy in (target, again):
        capsys.readouterr()
        assert main(["summary", str(copy)]) == 0
        assert "a copy of what was left of a file that was cut off" in "".join(capsys.readouterr())


def test_a_copy_of_a_whole_trace_says_nothing_of_that(trace, tmp_path, capsys):
    assert main(["slim", str(trace), str(tmp_path / "copy.json"), "--keep", "gpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["incomplete"] is None
    assert read_trace(tmp_path / "copy.json").warnings == ()


def test_what_is_left_is_counted_whatever_was_read_of_it(trace, tmp_path):
    """A summary's columns leave Python frames out; they could be read all the same."""
    cut = tmp_path / "cut.json"
    cut.write_bytes(trace.read_bytes()[:-200])
    flaws = {incomplete(read_trace(cut, columns=columns)) for columns in ("all", "summary")}
    assert len(flaws) == 1 and None not in flaws
