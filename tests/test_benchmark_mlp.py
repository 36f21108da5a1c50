from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import mlp, mlp_report, mlp_roofline  # noqa: E402

RESULTS = sorted((ROOT / "benchmarks" / "results").glob("mlp_*.json"))


def _times(median):
    return {"median": median, "min": median - 1, "max": median + 1, "n": 15}


def _row(variant, us, shape="BERT-base", tokens=8192, dim=768, hidden=3072):
    return {
        "shape": shape,
        "dim": dim,
        "hidden": hidden,
        "tokens": tokens,
        "variant": variant,
        "step_us": _times(us),
        "kernels": 2 if variant.startswith("fused") else 4,
        "relative_error": None if variant == "three GEMMs" else 2e-3,
        "plan": None,
    }


def _pointwise(variant, us):
    return {
        "variant": variant,
        "replayed_us": _times(us),
        "cold_us": _times(us + 5),
        "bytes": 6 * 8192 * 3072,
        "relative_error": 1.7e-3,
    }


@pytest.fixture
def result():
    seed = {
        "eager": 250,
        "compile default": 220,
        "compile reduce-overhead": 210,
        "compile max-autotune": 230,
        "liger": 240,
        "triton": 205,
        "fused": 168,
        "fused graph": 165,
        "three GEMMs": 180,
    }
    one = {
        "eager": 100,
        "compile default": 80,
        "compile reduce-overhead": 20,
        "liger": 110,
        "fused": 60,
        "fused graph": 10,
    }
    return {
        "benchmark": "mlp",
        "command": "python benchmarks/mlp.py",
        "date": "2026-11-30",
        "gpu": "NVIDIA TEST",
        "dtype": "bfloat16",
        "run_us": 20_000.0,
        "versions": {"torch": "2.11.0"},
        "ceilings": {"copy_tb_s": 4.0, "gemm_tflop_s": 800.0},
        "pointwise": [
            _pointwise(name, us)
            for name, us in (
                ("eager", 70),
                ("compile default", 42),
                ("liger", 48),
                ("triton", 40),
            )
        ],
        "mlp": [_row(name, us) for name, us in seed.items()]
        + [_row(name, us, tokens=1) for name, us in one.items()]
        + [
            _row(name, us, "Gemma 2B", 2048, 2048, 16384)
            for name, us in (("eager", 800), ("compile default", 600), ("fused", 625))
        ],
    }


def test_goals_compare_with_the_best_of_the_others(result):
    goals = {goal.goal: goal for goal in mlp_report.goals(result)}
    assert goals["GeGLU [8192, 3072], µs"].measured == 40
    assert not goals["GeGLU [8192, 3072], µs"].met
    assert goals["GeGLU: Liger / ours"].measured == 1.2
    assert goals["MLP, 8192 tokens: best compile mode / fused"].measured == 210 / 168
    assert goals["MLP, 8192 tokens: best compile mode / fused"].met
    assert goals["MLP, 8192 tokens: fused / three cuBLAS GEMMs"].measured == 168 / 180
    assert goals["MLP, 8192 tokens: best compile mode / fused graph"].measured == 210 / 165
    many = "2 shapes, 2048 and 8192 tokens: best compile mode / ours"
    assert goals[f"{many}, least"].measured == 600 / 625
    assert not goals[f"{many}, least"].met
    mean = goals[f"{many}, geometric mean"].measured
    assert mean == pytest.approx(math.sqrt(210 / 165 * 600 / 625))
    assert goals["batch 1: eager / fused graph"].measured == 10
    assert goals["batch 1: compile without graphs / fused graph"].measured == 8


def test_a_goal_without_measurements_is_not_met(result):
    result["mlp"] = []
    goals = mlp_report.goals(result)
    assert [goal.goal for goal in goals if goal.met] == [
        "GeGLU: Liger / ours",
        "GeGLU: Inductor / ours",
    ]


def test_traffic_counts_the_trips_of_the_intermediates():
    ends = 2 * (2 * 10 * 3 + 3 * 3 * 7)  # x and the result, three weights; two bytes each
    trips = {"eager": 8, "eager graph": 8, "compile default": 6, "liger": 6, "fused graph": 2}
    for variant, count in trips.items():
        row = _row(variant, 1, tokens=10, dim=3, hidden=7)
        assert mlp_report.traffic_bytes(row) == ends + 2 * count * 10 * 7


def test_cells_hold_rates_and_their_share_of_the_ceilings(result):
    cells = dict(zip(mlp_report.MLP_HEAD, mlp_report.mlp_cells(result)[6], strict=True))
    assert cells["variant"] == "fused" and cells["kernels"] == "2"
    assert cells["TFLOP/s"] == "690.3"  # 6 * 8192 * 768 * 3072 operations in 168 µs
    assert cells["of GEMM"] == "86%"
    assert cells["best other / this"] == "1.25"
    pointwise = mlp_report.pointwise_cells(result)[3]
    assert pointwise == ("triton", "40.0", "39.0", "41.0", "15", "45.0", "3.77", "94%", "1.7e-03")


def test_report_of_a_file_needs_no_gpu(result, tmp_path):
    source, figure = tmp_path / "result.json", tmp_path / "roofline.svg"
    source.write_text(json.dumps(result))
    command = [sys.executable, str(ROOT / "benchmarks" / "mlp.py"), "--from", str(source)]
    shown = subprocess.run(
        [*command, "--figure", str(figure)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout
    assert "NVIDIA TEST" in shown and "The whole MLP, forward" in shown and "not met" in shown
    last = json.loads(shown.splitlines()[-1])
    assert last["mlp"] == result["mlp"] and last["goals"][0]["wanted"] == 39
    assert figure.read_text().count("<path") > 10
    markdown = mlp_report.markdown(result)
    assert "`python benchmarks/mlp.py` on an NVIDIA TEST" in markdown
    assert (
        "| BERT-base | 8192 | 250.0 | 220.0 | 210.0 | 230.0 | 240.0 | 205.0 | 168.0 | - |"
        in markdown
    )


def test_command_names_no_folders():
    arguments = [
        "--tokens",
        "1",
        "--output",
        "/home/me/x.json",
        "--figure=/home/me/x.svg",
        "--seed",
        "3",
    ]
    assert mlp.command(arguments) == "python benchmarks/mlp.py --tokens 1 --seed 3"


def test_without_a_gpu_it_says_so(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    pytest.importorskip("triton", reason="Triton is not installed here")
    with pytest.raises(SystemExit, match="no CUDA GPU: use --from FILE"):
        mlp.measured(mlp.parsed([]))


def test_a_figure_of_nothing_is_refused(result, tmp_path):
    result["mlp"] = []
    with pytest.raises(ValueError, match="nothing to draw"):
        mlp_roofline.draw_roofline(result, tmp_path / "roofline.svg")


@pytest.mark.skipif(not RESULTS, reason="no results are recorded")
def test_readme_holds_the_latest_recorded_result():
    readme = (ROOT / "benchmarks" / "README.md").read_text()
    assert mlp_report.markdown(json.loads(RESULTS[-1].read_text())) in readme


@pytest.mark.skipif(not RESULTS, reason="no results are recorded")
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_recorded_results_are_right_and_complete(path):
    recorded = json.loads(path.read_text())
    assert recorded["gpu"] and recorded["command"] and recorded["versions"]["torch"]
    for row in recorded["mlp"]:
        assert row["step_us"]["n"] >= 5
        assert row["variant"] == "three GEMMs" or row["relative_error"] < 1e-2
        fused = row["variant"] in ("fused", "fused graph") and row["plan"]["kernels"] == "fused"
        if fused and row["tokens"] >= 2048:  # for fewer, cuBLAS may split down's sum: one more
            assert row["kernels"] == 2


def test_tables_fit_a_terminal(result):
    shown = io.StringIO()
    console = Console(file=shown, width=80)
    for table in mlp_report.tables(result, 80):
        console.print(table)
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80 and "…" not in shown.getvalue()
    assert all(f" {row['variant']} " in shown.getvalue() for row in result["mlp"])
