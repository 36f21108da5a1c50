"""The benchmark of readers: its large trace is sound, and its readers find the same in it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("read_benchmark", BENCHMARKS / "read.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_table_has_a_row_for_each_reader(large: Path, read: Any) -> None:
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


def test_command_line_is_timed_beside_its_libraries(large: Path, read: Any) -> None:
    found = read.command_line.waits(large, 2)
    rows = [line.split("|")[1:-1] for line in read.command_line.table(found).splitlines()[2:]]
    assert [row[0].strip(" `") for row in rows] == [
        "python -c pass",
        "python -c 'import msgspec, numpy'",
        "trace-util --help",
        "trace-util summary ONE_EVENT --json",
        "trace-util summary TEN_MB --json",
        "trace-util summary TEN_MB",
    ]
    assert all(each["runs"] == 2 and 0 < each["processor_s"] < 60 for each in found.values())
    # Neither Python nor `--help` loads NumPy, which takes the most of a summary of little.
    least = [each["processor_s_min"] for each in found.values()]
    assert max(least[0], least[2]) < min(least[3:])
    assert rows[1][-1].split() == ["1.00", "(1.00)"]
    seconds = [each["seconds"] for each in found.values()]
    times = [row[-1].split()[0] for row in rows]
    assert times == [f"{each / seconds[1]:.2f}" for each in seconds]
