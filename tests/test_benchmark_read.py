"""The benchmark of readers: its large trace is sound, and its readers find the same in it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RECORDED, ROOT

from trace_util.events import Kind
from trace_util.reader import read_trace

BENCHMARKS = ROOT / "benchmarks"
RECORDED_TRACE = RECORDED / "nvidia-h200" / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "1.json"
    maker = [
        sys.executable,
        str(BENCHMARKS / "large_trace.py"),
        str(RECORDED_TRACE),
        str(path),
        "1",
    ]
    subprocess.run(maker, check=True)
    return path


def test_large_trace_repeats_the_recorded_one(large: Path) -> None:
    recorded, trace = read_trace(RECORDED_TRACE), read_trace(large)
    assert 1_000_000 <= large.stat().st_size < 1_100_000
    assert trace.repairs == trace.skipped == {}
    kernels = trace.events.is_kind(Kind.KERNEL)
    once = int(recorded.events.is_kind(Kind.KERNEL).sum())
    copies, rest = divmod(int(kernels.sum()), once)
    assert copies > 10 and rest == 0
    correlations = trace.events.correlation[kernels]
    assert len(set(correlations.tolist())) == len(correlations)
    steps = [name for name in trace.names if name.startswith("ProfilerStep#")]
    assert len(steps) == 3 * copies
    assert trace.header.run == recorded.header.run


def test_readers_find_the_same_events(large: Path) -> None:
    found = {}
    for name in ("ours", "ours-summary", "chunked", "json"):
        command = [sys.executable, str(BENCHMARKS / "readers.py"), name, str(large)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found[name] = json.loads(done.stdout)["events"]
    assert len(set(found.values())) == 1, found


def test_table_has_a_row_for_each_reader(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("read_benchmark", BENCHMARKS / "read.py")
    assert spec is not None and spec.loader is not None
    read = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(read)
    results = read.compare(large, ["ours", "json"], 2, Path("unused"))
    lines = read.table("1 MB", results).splitlines()
    assert [line.split("|")[1].strip() for line in lines] == [
        "1 MB",
        "---",
        "trace_util, all columns",
        "json.load",
    ]
    assert lines[2].endswith("| 1.00 | 1.00 |")
    assert all(0 < each["seconds"] < 60 and each["peak_mib"] > 5 for each in results.values())
