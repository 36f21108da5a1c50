"""The facts of recorded traces against what others make of the same run: PyTorch's own tables."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
import torch
from conftest import RECORDED
from torch.profiler import ProfilerActivity, profile

from trace_util.facts import trace_facts
from trace_util.reader import read_trace

TRACES = sorted(p for p in RECORDED.glob("*/*/*.json.gz") if not p.name.startswith("cpu_"))
needs_recorded = pytest.mark.skipif(not TRACES, reason="no trace was recorded on a GPU yet")


def test_ops_agree_with_the_profilers_own_averages(tmp_path: Path) -> None:
    layer = torch.nn.Linear(16, 32)
    data = torch.randn(8, 16)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for _ in range(5):
            torch.nn.functional.gelu(layer(data)).sum()
    recorded.export_chrome_trace(str(tmp_path / "cpu.json"))
    ops = {op.name: op for op in trace_facts(read_trace(tmp_path / "cpu.json")).ops}
    averages = {one.key: one for one in recorded.key_averages() if one.key in ops}
    assert {"aten::linear", "aten::addmm", "aten::gelu", "aten::t"} <= set(averages)
    assert set(averages) == set(ops)
    for name, one in averages.items():
        assert ops[name].count == one.count
        assert ops[name].total_ns == pytest.approx(one.cpu_time_total * 1000, abs=one.count)
        assert ops[name].self_ns == pytest.approx(one.self_cpu_time_total * 1000, abs=5 * one.count)


@needs_recorded
@pytest.mark.parametrize("path", TRACES, ids=lambda path: "/".join(path.parts[-2:])[:-8])
def test_gpu_figures_of_recorded_traces_agree_with_plain_counting(path: Path) -> None:
    facts = trace_facts(read_trace(path))
    content = json.loads(gzip.decompress(path.read_bytes()))
    events = [e for e in content["traceEvents"] if e["ph"] == "X"]
    kernels = [e for e in events if e["cat"] == "kernel"]
    assert facts.kernel_count == len(kernels)
    assert facts.kernel_total_ns == pytest.approx(sum(e["dur"] for e in kernels) * 1000, abs=1)
    calls = {
        e["args"]["correlation"] for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")
    }
    work = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    # A GPU that is behind still runs what was launched before the recording began.
    earlier = [e for e in work if e["args"]["correlation"] not in calls]
    assert (facts.lost_launches, facts.unlinked_gpu_events) == (0, len(earlier))
    assert len(facts.steps) == content["run_facts"]["schedule"]["active"]
    launched = len(kernels) - sum(e["cat"] == "kernel" for e in earlier)
    assert sum(step.kernels for step in facts.steps) == launched
    assert facts.busy_share is not None and 0 < facts.busy_share < 1
    told = content["run_facts"]["unprofiled_step_us"]
    assert facts.unprofiled_step is not None
    assert facts.unprofiled_step.median_ns == told["median"] * 1000


@needs_recorded
@pytest.mark.parametrize("path", TRACES, ids=lambda path: "/".join(path.parts[-2:])[:-8])
def test_kernel_times_agree_with_the_table_saved_beside_the_trace(path: Path) -> None:
    table = path.with_name(path.name.replace(".json.gz", ".txt"))
    if not table.is_file():
        pytest.skip("no table beside this trace")
    (total,) = re.findall(r"Self CUDA time total: ([\d.]+)(us|ms)", table.read_text())
    told_us = float(total[0]) * (1000 if total[1] == "ms" else 1)
    facts = trace_facts(read_trace(path))
    moved = sum(one.total_ns for one in (*facts.copies, *facts.memsets))
    assert (facts.kernel_total_ns + moved) / 1000 == pytest.approx(told_us, rel=2e-3)
