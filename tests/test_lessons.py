"""The lessons, run from the shell on the CPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lesson_runs import ROOT, SMALL_MLP, events_of, run_fresh_lesson, run_lesson, run_ranks
from loopback_hub import loopback_hub

RUNS = {
    "01_matmul": (("--size", "16"), "cpu_16_bf16_cold_eager", "matmul_add"),
    "02_linear": ((), "cpu_1024_32_64_eager", "linear_fwd"),
    "03_simple_mlp": (SMALL_MLP, "cpu_2_16_64_128_eager", "mlp_fwd"),
    "03_kernels_mlp": (SMALL_MLP, "cpu_2_16_64_128_triton", "kernels_mlp_fwd"),
}
STEPS = ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory):
    """Runs each lesson at most once in a test session: name -> (finished process, its folder)."""
    done = {}

    def once(lesson: str):
        if lesson not in done:
            folder = tmp_path_factory.mktemp(lesson)
            flags, _, _ = RUNS[lesson]
            # Once Triton is imported, it no longer asks whether to interpret.
            run = run_fresh_lesson if lesson == "03_kernels_mlp" else run_lesson
            process = run(f"{lesson}.py", *flags, "--trace_dir", str(folder))
            done[lesson] = process, folder
        return done[lesson]

    return once


@pytest.mark.parametrize("lesson", RUNS)
def test_lesson_leaves_trace_and_table(recorded, lesson):
    process, folder = recorded(lesson)
    assert process.returncode == 0, process.stderr
    _, tag, annotation = RUNS[lesson]
    assert sorted(path.name for path in folder.iterdir()) == [f"{tag}.json", f"{tag}.txt"]
    facts, events = events_of(folder / f"{tag}.json")
    assert (facts["lesson"], facts["tag"], facts["annotation"]) == (lesson, tag, annotation)
    names = [event["name"] for event in events]
    assert [name for name in names if name.startswith("ProfilerStep")] == STEPS
    assert names.count(annotation) == 3
    assert "Self CPU" in (folder / f"{tag}.txt").read_text()


@pytest.mark.parametrize("lesson", RUNS)
def test_lesson_says_what_it_recorded_and_what_to_do_next(recorded, lesson):
    process, folder = recorded(lesson)
    trace = folder / f"{RUNS[lesson][1]}.json"
    assert f"trace-util explain {trace}" in process.stdout
    assert "nothing that a GPU does can be seen in this trace" in process.stderr
    twin = [line.split()[2] for line in process.stdout.splitlines() if "/recorded/" in line]
    assert twin and (ROOT / twin[0]).exists()
    assert process.stdout.index("Predict first") < process.stdout.index("Recorded")


@pytest.mark.parametrize("lesson", RUNS)
def test_lesson_is_close_to_float64(recorded, lesson):
    _, folder = recorded(lesson)
    facts, _ = events_of(folder / f"{RUNS[lesson][1]}.json")
    # Two roundings to bf16, of 2**-9 each at most, and some luck between them.
    assert 0 < facts["relative_error"] < 2 * 2**-8
    time_us = facts["unprofiled_step_us"]
    assert 0 < time_us["min"] <= time_us["median"] <= time_us["max"]
    assert time_us["after_profiler"] is (lesson == "01_matmul")


def test_linear_prints_weight_and_bias(recorded):
    process, _ = recorded("02_linear")
    assert "weight  shape (64, 32)  stride (32, 1)" in process.stdout
    assert "bias    shape (64,)  stride (1,)" in process.stdout


def test_linear_transposes_by_metadata_and_has_no_add(recorded):
    _, folder = recorded("02_linear")
    _, events = events_of(folder / "cpu_1024_32_64_eager.json")
    ops = [event["name"] for event in events if event["cat"] == "cpu_op"]
    assert ops.count("aten::t") == ops.count("aten::addmm") == 3
    assert "aten::add" not in ops


def test_kernels_lesson_says_that_it_interprets(recorded):
    process, _ = recorded("03_kernels_mlp")
    assert "Triton's interpreter" in process.stderr


def test_fused_kernel_runs_in_the_interpreter_without_being_told_to(tmp_path):
    """Also where a function of Triton's own library is called, which is there before the lesson."""
    flags = ("--kernel", "fused", "--seq", "8", "--hidden", "128", "--trace_dir", str(tmp_path))
    environment = {"TRITON_INTERPRET": "0"}
    process = run_fresh_lesson("03_kernels_mlp.py", *flags, "--batch=1", environment=environment)
    assert process.returncode == 0, process.stderr
    facts, _ = events_of(tmp_path / "cpu_1_8_768_128_fused.json")
    assert 0 < facts["relative_error"] < 1e-2


def test_trace_gives_no_folder_away(recorded):
    for lesson in RUNS:
        _, folder = recorded(lesson)
        assert str(folder) not in (folder / f"{RUNS[lesson][1]}.json").read_text()


def test_rerun_replaces_its_own_files_and_says_so(recorded):
    _, folder = recorded("02_linear")
    flags = ("--trace_dir", str(folder), "--batch", "8")
    assert "replaced" not in run_lesson("02_linear.py", *flags).stderr
    again = run_lesson("02_linear.py", *flags)
    assert f"replaced the earlier {folder}/cpu_8_32_64_eager.json" in again.stderr
    assert (folder / "cpu_1024_32_64_eager.json").exists()


def test_torchrun_rank_stands_in_the_name(tmp_path):
    flags = ("--size", "8", "--trace-dir", str(tmp_path))
    process = run_lesson(
        "01_matmul.py", *flags, environment={"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "cpu_8_bf16_cold_eager_rank1.json").exists()


@pytest.mark.parametrize(
    ("run", "script", "flags", "tag"),
    [
        (run_lesson, "01_matmul.py", ("--size=16", "--warmup"), "cpu_16_bf16_warm_compile"),
        (run_fresh_lesson, "03_simple_mlp.py", SMALL_MLP, "cpu_2_16_64_128_compile"),
    ],
)
def test_compiled_lesson_shows_dynamo(tmp_path, run, script, flags, tag):
    process = run(script, *flags, "--compile", "--trace_dir", str(tmp_path))
    assert process.returncode == 0, process.stderr
    _, events = events_of(tmp_path / f"{tag}.json")
    names = [event["name"] for event in events]
    assert sum(name.startswith("Torch-Compiled Region") for name in names) == 3
    assert "TorchDynamo Cache Lookup" in names


@pytest.mark.alone
def test_interrupt_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "02_linear.py", "--steps", "100000", "--trace_dir", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdout is not None
    while "Predict first" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in stderr
    assert not list(Path(tmp_path).iterdir())


def test_interrupt_while_torch_loads_is_one_line(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        "import os, signal, time\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    time.sleep(60)  # as torch does where it loads NumPy\n"
    )
    for script in sorted(ROOT.glob("0*.py")):
        stub = {"PYTHONPATH": str(tmp_path)}
        done = run_fresh_lesson(script.name, environment=stub, timeout=30)
        assert (done.returncode, done.stderr) == (130, "error: interrupted\n"), script.name


def test_what_is_printed_can_be_pasted_into_a_shell(tmp_path):
    folder = tmp_path / "my run's \x1b[31mtraces"
    process = run_lesson("01_matmul.py", "--size", "8", "--trace_dir", str(folder))
    assert process.returncode == 0, process.stderr
    assert "\x1b" not in process.stdout + process.stderr
    (command,) = (
        line for line in process.stdout.splitlines() if line.startswith("trace-util open")
    )
    program = command.replace("trace-util open", "ls")
    shell = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert shell.stdout == f"{folder}/cpu_8_bf16_cold_eager.json\n", shell.stderr
    again = run_lesson("01_matmul.py", "--size", "8", "--trace_dir", str(folder))
    assert "replaced the earlier" in again.stderr and "\x1b" not in again.stderr


def test_recorded_trace_is_shown_with_its_own_command(recorded):
    process, _ = recorded("01_matmul")
    (line,) = (line for line in process.stdout.splitlines() if "/recorded/" in line)
    assert line == (
        "trace-util explain traces/recorded/nvidia-h200/01_matmul/64_bf16_cold_eager.json.gz    "
        "# recorded on NVIDIA H200 by: python 01_matmul.py --device cuda --size 64"
    )


def test_trace_is_kept_when_the_reader_of_the_output_leaves(tmp_path):
    with subprocess.Popen(
        [sys.executable, "02_linear.py", "--trace_dir", str(tmp_path)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert [line for line in errors.splitlines() if not line.startswith("note: ")] == []
    assert (tmp_path / "cpu_1024_32_64_eager.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_behind_the_output_is_said(tmp_path):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "02_linear.py", "--trace_dir", str(tmp_path)],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=240, check=False,
        )  # fmt: skip
    assert process.returncode == 1
    errors = [line for line in process.stderr.splitlines() if not line.startswith("note: ")]
    assert errors == ["error: standard output: No space left on device"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_behind_the_help_is_said():
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "01_matmul.py", "--help"],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert process.returncode == 1
    assert process.stderr == "error: standard output: No space left on device\n"


def test_folder_that_looks_like_a_flag_can_be_pasted(tmp_path):
    process = subprocess.run(
        [sys.executable, ROOT / "01_matmul.py", "--size", "8", "--device", "cpu", "--trace_dir=-x"],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    next_steps = [line for line in process.stdout.splitlines() if line.startswith("trace-util ")]
    own = "./-x/cpu_8_bf16_cold_eager.json"
    assert next_steps[:2] == [f"trace-util explain {own}", f"trace-util open {own}"]
    done = subprocess.run(
        [sys.executable, "-m", "trace_util.cli", "summary", own],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"next: trace-util explain {own}\n"


def test_run_without_warm_up_says_what_that_costs(tmp_path):
    flags = ("--size", "8", "--warmup_steps", "0", "--trace_dir", str(tmp_path))
    process = run_lesson("01_matmul.py", *flags)
    assert process.returncode == 0, process.stderr
    assert "note: --warmup_steps 0: the first recorded step also pays" in process.stderr
    assert "Warning" not in process.stderr


def test_parallel_lesson_leaves_a_trace_for_each_rank(parallel_run):
    folder, process = parallel_run
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("Predict first") == 1
    for rank in (0, 1):
        facts, events = events_of(folder / f"cpu_2_4_16_32_tp2_rank{rank}.json")
        names = [event["name"] for event in events]
        assert names.count("gloo:all_reduce") == 3
        assert facts["relative_error"] < 2**-6
        assert facts["command"].startswith("torchrun --nproc_per_node 2 05_parallel_mlp.py")
    twins = [line for line in process.stdout.splitlines() if "traces/recorded/" in line]
    assert not any("/cpu_" in line for line in twins), "what a GPU does is not in those"


@pytest.mark.parametrize("environment", [{}, {"RANK": "0"}, {"RANK": "first", "WORLD_SIZE": "2"}])
def test_parallel_lesson_without_torchrun_is_one_line(environment):
    process = run_lesson("05_parallel_mlp.py", environment=environment)
    assert process.returncode == 2
    assert process.stderr.startswith("error: start it with torchrun --nproc_per_node 2")
    assert process.stderr.count("\n") == 1


def test_wrong_flag_under_torchrun_is_told_once(tmp_path):
    process = run_ranks(tmp_path, "--hidden", "7")
    assert process.returncode != 0
    said = [line for line in process.stderr.splitlines() if "error: argument" in line]
    assert said == [
        "error: argument --hidden: 7 cannot be split over 2 ranks (see 05_parallel_mlp.py --help)"
    ]


def test_sweep_records_every_size_and_says_where_it_stopped(tmp_path):
    flags = ("--sweep", "--dtype", "fp32", "--trace_dir", str(tmp_path), "-b", "mine", "--yes")
    with loopback_hub(tmp_path / "hub") as hub:
        network = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "ada-token", "HF_HUB_OFFLINE": ""}
        process = run_lesson("01_matmul.py", *flags, environment=network)
    assert process.returncode == 0, process.stderr
    result = json.loads((tmp_path / "sweep_cpu_size_fp32_eager.json").read_text())
    values = [point["value"] for point in result["points"]]
    assert values == [64, 128, 256, 512, 1024, 2048, 4096, 8192][: len(values)]
    for point in result["points"]:
        facts, events = events_of(tmp_path / point["trace"])
        assert facts["flags"]["size"] == point["value"]
        assert [e["args"]["Input Dims"][0] for e in events if e["name"] == "aten::mm"] == [
            [point["value"]] * 2
        ] * 3
        assert point["flops"] == 2 * point["value"] ** 3 + point["value"] ** 2
    name = f"{tmp_path.name}/sweep_cpu_size_fp32_eager"
    assert {f"{name}/size_{value}.json.gz" for value in values} <= set(
        hub.buckets["ada/mine"].files
    )
    if len(values) < 8:
        assert f"stopped at --size {values[-1]}" in process.stderr
        assert result["points"][-1]["unprofiled_step_us"]["median"] > 1e5
    assert (tmp_path / "sweep_cpu_size_fp32_eager.svg").read_text().startswith("<svg")
    assert "where the GPU would take over cannot be seen" in process.stdout
    assert "from which --size on" in process.stdout and "FLOP a step" not in process.stdout
    own, recorded = (
        line for line in process.stdout.splitlines() if line.startswith("trace-util plot ")
    )
    table = "sweep_cpu_size_fp32_eager"
    assert own == f"trace-util plot {tmp_path}/{table}.json -o {table}.png"
    assert recorded == (
        "trace-util plot traces/recorded/nvidia-h200/01_matmul/sweep_size_bf16_eager.json "
        "-o sweep_size_bf16_eager.png    "
        "# recorded on NVIDIA H200 by: python 01_matmul.py --device cuda --sweep"
    )
