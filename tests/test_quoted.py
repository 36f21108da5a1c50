"""Figures that the lessons and the findings quote are those of the recorded runs."""

from __future__ import annotations

import gzip
import json
import re

from conftest import RECORDED, ROOT
from step_traces import full_steps, unprofiled

from trace_util.explain import explanation
from trace_util.reader import read_trace
from trace_util.report.units import duration


def unprofiled_ns(name):
    document = json.loads(gzip.decompress((RECORDED / "nvidia-h200" / name).read_bytes()))
    return document["run_facts"]["unprofiled_step_us"]["median"] * 1000


def test_gain_of_a_graph_is_the_recorded_one_without_the_profiler(tmp_path):
    made = full_steps(**unprofiled(400))
    for step in range(3):
        made.work("add_kernel", 200 * step + 40, 200 * step + 197, 1)
    findings = explanation(made.read(tmp_path)).findings
    (told,) = [one.threshold for one in findings if one.id == "cuda-graph-absent"]
    graph = unprofiled_ns("03_simple_mlp/1_1_768_3072_eager_cuda_graph.json.gz")
    eager = unprofiled_ns("03_simple_mlp/1_1_768_3072_eager.json.gz")
    plain = duration(eager).removesuffix(" µs")
    assert f"a graph took {duration(graph)} where eager took {plain} (" in told


def test_time_for_a_launch_is_what_explain_prints():
    path = RECORDED / "nvidia-h200" / "01_matmul" / "64_bf16_warm_eager.json.gz"
    trace = read_trace(str(path))
    (told,) = [one for one in explanation(trace).findings if one.id == "overhead-bound"]
    (each,) = [value.amount for value in told.values if value.name == "each"]
    (quoted,) = re.findall(
        r"it is ([\d.]+) us: `trace-util explain`", (ROOT / "01_matmul.py").read_text()
    )
    assert f"{quoted} µs" == duration(each)
