"""What is said of runs without a GPU, and of the ranks of a merged job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import RECORDED
from rank_traces import write_ranks
from trace_edits import broken_copy, remove_all, set_run

from trace_util.cli import main
from trace_util.report.gpu_words import gpu_words

CPU_RANKS = sorted((RECORDED / "cpu-x2" / "05_parallel_mlp").glob("*.json.gz"))
LINEAR = RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz"
Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, *arguments: object) -> str:
    assert main([str(one) for one in arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["explain", "check", "summary"])
def test_a_run_on_the_cpu_has_no_gpu_to_name(command: str, capsys: Capture) -> None:
    head = printed(capsys, command, CPU_RANKS[0]).splitlines()[:4]
    expected = {
        "explain": "(no GPU)",
        "check": "  device   no GPU",
        "summary": "  GPU      none, ",
    }[command]
    assert expected in "\n".join(head)
    assert "named" not in "\n".join(head) and "GPU work" not in "\n".join(head)


def test_a_gpu_without_a_name_is_no_run_on_the_cpu(tmp_path: Path, capsys: Capture) -> None:
    def nameless(document: dict) -> None:  # type: ignore[type-arg]
        document.pop("deviceProperties", None)
        set_run(gpu=None)(document)

    copy = broken_copy(LINEAR, tmp_path, nameless)
    assert "(GPU not named)" in printed(capsys, "explain", copy).splitlines()[0]
    assert "eager, GPU not named" in printed(capsys, "compare", copy, LINEAR)
    assert "  device   GPU not named" in printed(capsys, "check", copy)
    assert gpu_words("NVIDIA \x1b[31mH200", True) == "NVIDIA \\x1b[31mH200"


def test_two_runs_on_the_cpu_are_like_each_other(tmp_path: Path, capsys: Capture) -> None:
    told = printed(capsys, "compare", *CPU_RANKS)
    assert "unlike runs" not in told and told.count("tp2, no GPU") == 2
    assert "saved not known: neither run used a GPU" in told
    told = printed(capsys, "compare", CPU_RANKS[0], LINEAR)
    assert "nothing was launched: the run was on the CPU" in told
    lost = broken_copy(LINEAR, tmp_path, remove_all("kernel", "gpu_memcpy", "gpu_memset"))
    told = " ".join(printed(capsys, "compare", lost, lost).split())
    assert "what the GPU did was not recorded" in told and "no GPU" not in told


def test_steps_of_a_merged_job_are_told_for_each_rank(tmp_path: Path, capsys: Capture) -> None:
    folder, target = write_ranks(tmp_path / "run", 6), tmp_path / "job.json.gz"
    printed(capsys, "merge", folder, "-o", target)
    lines = [line.strip() for line in printed(capsys, "explain", target).splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("profiled"))
    for rank, line in enumerate(lines[first : first + 4]):
        told = line.removeprefix("profiled").strip()
        assert told.startswith(f"rank {rank}: ProfilerStep#2 ")
        assert [word for word in told.split() if "#" in word] == ["ProfilerStep#2", "#3", "#4"]
    assert lines[first + 4] == "and 2 more ranks"
    table = printed(capsys, "summary", target).split("\n  step  ", 1)[1].splitlines()[1:7]
    assert [line.split("  ")[1] for line in table] == [
        f"rank {n}: ProfilerStep#2" for n in range(6)
    ]
    steps = json.loads(printed(capsys, "summary", target, "--json"))["steps"]
    assert [step["rank"] for step in steps] == [f"rank {n}" for n in range(6)] * 3


def test_steps_of_one_rank_need_no_name_for_it(capsys: Capture) -> None:
    told = printed(capsys, "explain", LINEAR)
    assert "  profiled  ProfilerStep#" in told
