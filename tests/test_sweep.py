"""The sweep's table, its crossover and its figure, from a result that was made by hand."""

from __future__ import annotations

import json
import math
import re
from argparse import Namespace
from itertools import combinations

import pytest
from make_trace import call, kernel, mark, written

from trace_util.cli import main
from trace_util.plot.scene import Box
from trace_util.plot.sweep import draw_sweep, sweep_scene
from trace_util.report.sweep import crossover, flops_per_s, table
from trace_util.report.text import Style


def point(value: int, step_us: float, busy_us: float | None, regime: str) -> dict:
    return {
        "value": value,
        "flops": 2 * value**3,
        "unprofiled_step_us": {"median": step_us, "min": step_us - 1, "max": step_us + 1, "n": 9},
        "profiled_step_us": 2 * step_us,
        "gpu_busy_us": busy_us,
        "gpu_busy_share": None,
        "kernels": None if busy_us is None else 2,
        "peak_flops_per_s": 1e15,
        "regime": regime,
    }


RESULT = {
    "flag": "size",
    "run_facts": {"command": "python x.py", "gpu": "a GPU", "versions": {"torch": "9"}},
    "points": [
        point(1000, 20.0, 2.0, "overhead-bound"),
        point(2000, 40.0, 16.0, "overhead-bound"),
        point(4000, 256.0, 250.0, "compute-bound"),
    ],
}


def test_rate_is_work_by_time_without_the_profiler():
    assert flops_per_s(RESULT["points"][2]) == pytest.approx(128e9 / 256e-6)


def test_table_has_a_line_for_each_size():
    lines = table(RESULT).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["1,000", "2,000", "4,000"]
    assert lines[3].split() == [
        "4,000", "256.0", "255.0", "257.0", "512.0", "250.0", "2", "500", "50.0", "%",
        "compute",
    ]  # fmt: skip
    narrow = table(RESULT, Style(width=80)).splitlines()  # without least and most
    assert narrow[3].split() == [
        "4,000",
        "256.0",
        "512.0",
        "250.0",
        "2",
        "500",
        "50.0",
        "%",
        "compute",
    ]
    assert max(map(len, narrow)) <= 80 < max(map(len, lines)) <= 100


def test_crossover_names_the_sizes_of_each_regime():
    said = "overhead-bound at --size 1000 to 2000, then compute-bound at --size 4000"
    assert crossover(RESULT) == said


def test_without_a_gpu_there_is_no_crossover():
    cpu = {**RESULT, "points": [point(8, 1.5, None, "not recorded")]}
    assert "cannot be seen" in crossover(cpu)


def test_figure_is_the_same_every_time_and_names_where_it_is_from(tmp_path):
    for name in ("a.svg", "b.svg"):
        draw_sweep(RESULT, tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    texts = "\n".join(re.findall(r"<text[^>]*>(.*?)</text>", first.decode()))
    told = ("a step without the profiler", "GPU busy", "overhead-bound", "a GPU · torch 9",
            "1,000", "peak 1,000 TFLOP/s")  # fmt: skip
    for said in told:
        assert said in texts, said


def test_figure_lays_no_text_on_another_and_each_point_in_its_place():
    scene = sweep_scene(RESULT)
    for a, b in combinations(scene.labels, 2):
        assert not a.bounds.meets(b.bounds), (a.text, b.text)
    dots = [s for s in scene.shapes if isinstance(s, Box) and s.title.startswith("2,000: ")]
    assert [dot.title.split(": ")[1] for dot in dots] == ["80", "16", "40", "400"]
    profiled, busy, step, _ = (dot.y + dot.height / 2 for dot in dots)
    assert profiled < step < busy, "more time lies higher"
    ten, hundred = (
        next(label.y for label in scene.labels if label.text == text) - 3.5
        for text in ("10", "100")
    )
    assert step == pytest.approx(ten + (hundred - ten) * math.log10(4), abs=0.1)
    # A factor of two is as long anywhere on a logarithmic axis.
    assert step - profiled == pytest.approx((busy - step) * math.log(2) / math.log(2.5), abs=0.02)


def test_plot_command_draws_a_sweep_and_prints_its_table(tmp_path, capsys):
    path = tmp_path / "sweep_size.json"
    path.write_text(json.dumps(RESULT))
    assert main(["plot", str(path), "-o", str(tmp_path / "sweep.svg")]) == 0
    said = capsys.readouterr().out
    assert table(RESULT) in said and crossover(RESULT) in said
    assert "overhead-bound" in (tmp_path / "sweep.svg").read_text()
    path.write_text('{"flag": 1, "points": 2}')
    assert main(["plot", str(path), "-o", str(tmp_path / "none.svg")]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_point_has_the_median_of_two_steps(tmp_path):
    pytest.importorskip("torch")
    from trace_util.record.size_sweep import measured_facts

    told = {"median": 61.5, "min": 60, "max": 70, "n": 20}
    run = {"flags": {"dtype": "bf16"}, "unprofiled_step_us": told}
    events = [mark(1, 0, 50), call(1, 1, 1), kernel(10, 10, 1)]
    events += [mark(2, 50, 50), call(51, 1, 2), kernel(60, 20, 2)]
    found = measured_facts(written({"run_facts": run, "traceEvents": events}, tmp_path))
    assert (found["gpu_busy_us"], found["kernels"]) == (15.0, 1)


def test_no_size_is_timed_after_the_profiler_has_run(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    from trace_util.record import size_sweep
    from trace_util.record.run import Run
    from trace_util.record.timing import StepTime

    order = []
    cpu = torch.device("cpu")
    times = {1: 5.0, 2: 6.0, 3: 2e5, 4: 9e5}  # the third takes over 0.1 s, and none comes after it

    def timed(step, device):
        order.append(("timed", step()))
        return StepTime(times[step()], 1, 9, 3, "wall", False)

    def recorded(run, folder, flag, point, unprofiled, recording):
        order.append(("recorded", point.value))
        return RESULT["points"][0] | {"value": point.value}

    monkeypatch.setattr(size_sweep, "step_time", timed)
    monkeypatch.setattr(size_sweep, "_measure", recorded)
    monkeypatch.setattr(size_sweep, "run_facts", lambda run: RESULT["run_facts"])
    flags = Namespace(trace_dir=str(tmp_path), bucket=None)
    run = Run("01_matmul", "eager", "matmul_add", "x", False, flags, cpu, torch.float32, [])
    points = [(value, 2.0, lambda value=value: value) for value in times]
    size_sweep.sweep(run, "size", "size_fp32_eager", points, lambda step: None)
    assert order == [
        *(("timed", value) for value in (1, 2, 3)),
        *(("recorded", value) for value in (1, 2, 3)),
    ]
