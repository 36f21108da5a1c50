"""Traces and facts at a prompt and in a notebook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from trace_util.facts import trace_facts
from trace_util.reader import read_trace

EAGER = (
    Path(__file__).parents[1]
    / "traces/recorded/nvidia-h200/03_simple_mlp/64_128_768_3072_eager.json.gz"
)


def test_reprs_are_one_short_line() -> None:
    trace = read_trace(EAGER)
    facts = trace_facts(trace)
    assert repr(trace.events) == f"<Events: {len(trace.events)}>"
    assert repr(trace).startswith("<Trace 64_128_768_3072_eager.json.gz: ")
    assert repr(trace).endswith(", 03_simple_mlp on NVIDIA H200>")
    assert repr(facts).startswith("<Facts: window ")
    assert repr(facts).endswith("15 kernels, 3 steps>")
    assert all(len(repr(one)) < 160 and "\n" not in repr(one) for one in (trace, facts))
    assert str(EAGER.parent) not in repr(trace)


def test_cells_show_tables_with_decoded_names() -> None:
    trace = read_trace(EAGER)
    assert "<td" in trace._repr_html_()
    assert "python 03_simple_mlp.py" in trace._repr_html_()
    shown = trace_facts(trace)._repr_html_()
    assert shown.count("<tr>") == 1 + 4
    assert "GEMM" in shown and "nvjet_sm90" not in shown


def test_cells_escape_what_comes_from_a_trace(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    path = tmp_path / f"{name.replace('/', '')}.json"
    event = {"ph": "X", "cat": "kernel", "name": name, "ts": 1, "dur": 2, "pid": 0, "tid": 7}
    path.write_text(json.dumps({"run_facts": {"command": name}, "traceEvents": [event]}))
    trace = read_trace(path)
    for shown in (trace._repr_html_(), trace_facts(trace)._repr_html_()):
        assert "<img" not in shown
        assert "&lt;img" in shown


def test_looking_at_a_trace_is_all_that_loads_the_reports() -> None:
    code = (
        "import sys; from trace_util.facts import Facts; "
        "print([name for name in sys.modules if name.startswith('trace_util.report')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
