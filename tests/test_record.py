"""The recording package, in this process and, for what a reader sees, from the shell."""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from lesson_runs import ROOT, SMALL_MLP, run_fresh_lesson, run_lesson
from torch.profiler import ProfilerActivity, profile, schedule
from warm_torch import run_warm

from trace_util import TraceError
from trace_util.claims import check
from trace_util.events import Kind
from trace_util.facts import trace_facts
from trace_util.reader import read_trace
from trace_util.record import (
    LessonParser,
    begin,
    companion,
    needs_kernel,
    quantity,
    relative_error,
    save,
    size,
    step_time,
)
from trace_util.record.device import (
    choose_device,
    gpu_facts,
    profiler_activities,
    require_compile,
    require_dtype,
)
from trace_util.record.errors import one_line, speak_plainly
from trace_util.record.health import complaints
from trace_util.record.read_back import recorded as read_back_rows
from trace_util.record.recorded import (
    Wanted,
    look_at,
    nearest_sweep,
    nearest_trace,
    or_see,
    origin,
)
from trace_util.record.run import command

RECORDED = "or see a run recorded on a GPU: trace-util explain traces/recorded/nvidia-h200"
GRAPH = f"leave it out, {RECORDED}/03_simple_mlp/1_1_768_3072_eager_cuda_graph.json.gz"
LIGER = f"{RECORDED}/03_kernels_mlp/64_128_768_3072_liger.json.gz"
OTHER_KIND = "or see a run recorded on a GPU, {}: trace-util explain traces/recorded/nvidia-h200"
HUB = OTHER_KIND.format("with Liger's own kernel, of which the Hub's is a build")
NO_GRAPH = OTHER_KIND.format("without a CUDA graph")
CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)


def lesson_parser(folder: Path) -> LessonParser:
    parser = LessonParser("A lesson.", trace_dir=str(folder))
    parser.add_argument("--in_dim", type=size, default=32)
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--compile", action="store_true")
    return parser


def small_run(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str):
    """A run on the CPU, as a script would begin it."""
    monkeypatch.setattr(sys, "argv", ["99_lesson.py", *words])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    parser = lesson_parser(folder)
    flags = parser.parse_args(list(words))
    return begin(parser, flags, annotation="a", variant="eager", tag="t", warm=True)


def recorded(run, steps: int = 5, repeat: int = 1) -> profile:
    x = torch.ones(4, 4)
    plan = schedule(wait=1, warmup=1, active=3, repeat=repeat)
    with profile(activities=run.activities, schedule=plan, acc_events=True) as prof:
        for _ in range(steps):
            x @ x
            prof.step()
    return prof


# Flags


def test_hyphens_and_underscores_mean_the_same(tmp_path):
    parse = lesson_parser(tmp_path).parse_args
    for spelling in (["--in_dim", "7"], ["--in-dim", "7"], ["--in-dim=7"], ["--in_dim=7"]):
        assert parse(spelling).in_dim == 7
    assert parse(["--no-record-shapes"]).record_shapes is False
    assert parse(["--no_record_shapes"]).record_shapes is False
    assert parse(["--trace-dir", "a-b"]).trace_dir == "a-b"


def test_schedule_defaults_to_one_one_three(tmp_path):
    flags = lesson_parser(tmp_path).parse_args([])
    assert (flags.wait, flags.warmup_steps, flags.active, flags.steps) == (1, 1, 3, 5)
    assert flags.record_shapes and not flags.with_stack and not flags.profile_memory


@pytest.mark.parametrize("steps", [1, 4])
def test_too_few_steps_are_refused_with_the_number_needed(tmp_path, capsys, steps):
    with pytest.raises(SystemExit) as exit_:
        lesson_parser(tmp_path).parse_args(["--steps", str(steps)])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert f"{steps} steps are too few for wait=1 + warmup=1 + active=3; at least 5" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", ["0", "-3", "2147483648", "many", "1.5", ""])
def test_size_that_is_none_is_refused_in_one_line(tmp_path, capsys, text):
    with pytest.raises(SystemExit) as exit_:
        lesson_parser(tmp_path).parse_args([f"--in_dim={text}"])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: argument --in_dim:") and error.count("\n") == 1


def test_unusual_flags_stand_in_the_name(tmp_path):
    parser = lesson_parser(tmp_path)
    assert parser.unusual(parser.parse_args([]), "dtype", "compile") == ""
    flags = parser.parse_args(["--dtype", "fp16", "--compile"])
    assert parser.unusual(flags, "dtype", "compile") == "_fp16_compile"


def test_sizes_are_what_to_reduce(tmp_path):
    assert lesson_parser(tmp_path).sizes() == ["--in_dim"]


def test_quantity_has_three_digits():
    assert quantity(38.654705664e9, "FLOP") == "38.7 GFLOP"
    assert quantity(150_994_944, "B") == "151 MB"
    assert quantity(999.9e6, "B") == "1.00 GB"
    assert quantity(8, "B") == "8 B"


LARGE = "9" * 5000


@pytest.mark.parametrize(
    ("flag", "texts"),
    [
        ("--seed", ["9" * 23, "-" + "9" * 23, "nan", "inf", "1.5", "", LARGE, str(2**64)]),
        ("--wait", ["-1", "100001", "nan", LARGE]),
        ("--warmup_steps", ["-1", "100001", "1e3", LARGE]),
        ("--active", ["0", "-1", "100001", "nan", LARGE]),
        ("--steps", ["-1", "100001", "nan", LARGE]),
        ("--in_dim", ["0", str(2**31), "nan", LARGE]),
        ("--trace_dir", ["", "  ", "FILE", "FILE/below", "two\nlines", "a\rb"]),
    ],
)
def test_value_that_no_run_can_have_is_refused_in_one_line(tmp_path, capsys, flag, texts):
    (tmp_path / "file").write_text("")
    for text in texts:
        text = text.replace("FILE", str(tmp_path / "file"))
        with pytest.raises(SystemExit) as exit_:
            lesson_parser(tmp_path).parse_args([f"{flag}={text}"])
        error = capsys.readouterr().err
        assert exit_.value.code == 2, text
        assert error.startswith(f"error: argument {flag}: ") and error.count("\n") == 1
        assert len(error) < 300


@pytest.mark.parametrize("seed", [-(2**63), -1, 0, 2**64 - 1])
def test_every_seed_that_is_taken_is_one_for_torch(tmp_path, seed):
    torch.manual_seed(lesson_parser(tmp_path).parse_args([f"--seed={seed}"]).seed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-b", "bad name!/x/y"], "'bad name!/x/y': not a namespace name"),
        (["-b", ""], "'': not a bucket name"),
        (["-b", "b", "-n", "bad!"], "'bad!': not a namespace name"),
        (["-b", "me/b", "-n", "you"], "names another namespace than --namespace you"),
        (["-n", "me"], "--namespace: says how to upload; name the --bucket too"),
        (["--private"], "--private: says how to upload"),
        (["--redact"], "--redact: says how to upload"),
        (["--yes"], "--yes: says how to upload"),
    ],
)
def test_upload_that_cannot_be_is_refused_before_the_run(tmp_path, capsys, words, said):
    with pytest.raises(SystemExit) as exit_:
        lesson_parser(tmp_path).parse_args(words)
    error = capsys.readouterr().err
    assert exit_.value.code == 2
    assert error.startswith("error: argument ") and said in error and error.count("\n") == 1


def test_missing_token_is_told_before_the_run(tmp_path):
    home = {
        "HF_HOME": str(tmp_path / "hf"),
        "HF_TOKEN": "",
        "HF_TOKEN_PATH": str(tmp_path / "token"),
    }
    flags = ("-b", "bucket", "--trace_dir", str(tmp_path / "t"))
    process = run_lesson("02_linear.py", *flags, environment={**home, "HF_HUB_OFFLINE": ""})
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr.startswith("error: --bucket: no Hugging Face token; run `hf auth login`")
    token = "hf_" + "x" * 34
    process = run_lesson("02_linear.py", *flags, environment={**home, "HF_TOKEN": token})
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr.startswith("error: --bucket: HF_HUB_OFFLINE is set")
    assert not (tmp_path / "t").exists()


def test_upload_that_fails_says_how_to_send_the_trace_later(tmp_path):
    nobody = "http://127.0.0.1:9"
    network = {"HF_TOKEN": "hf_" + "x" * 34, "HF_HUB_OFFLINE": "", "HF_ENDPOINT": nobody}
    folder = tmp_path / "my traces"
    flags = ("-b", "bucket", "-n", "me", "--private", "--trace_dir", str(folder))
    process = run_lesson("02_linear.py", *flags, environment=network)
    trace = folder / "cpu_1024_32_64_eager.json"
    assert process.returncode == 1 and trace.exists()
    note, error = process.stderr.splitlines()[-2:]
    assert note == (
        f"note: nothing is lost; later: trace-util upload '{trace}' -b bucket -n me --private"
    )
    assert error.startswith(f"error: {nobody} cannot be reached")


# Device


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    with pytest.raises(TraceError, match="--device cuda: .*use --device cpu or --device auto"):
        choose_device("cuda")


def test_bf16_on_turing_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla T4")
    with pytest.raises(TraceError, match=r"Tesla T4 \(sm_75\) would emulate it.*--dtype fp16"):
        require_dtype("bf16", CUDA)
    assert require_dtype("fp16", CUDA) is torch.float16


def test_bf16_on_ampere_is_fine(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    assert require_dtype("bf16", CUDA) is torch.bfloat16


def test_bf16_on_amd_is_fine_whatever_its_number(monkeypatch):
    # What ROCm calls a capability is the number of the architecture, as 9.4 of gfx942.
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    monkeypatch.setattr(torch.version, "hip", "6.4.43484")
    assert require_dtype("bf16", CUDA) is torch.bfloat16


@pytest.mark.parametrize(("hip", "vendor"), [(None, "NVIDIA"), ("6.4.43484", "AMD")])
def test_vendor_of_the_gpu_is_told(hip, vendor, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 4))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    monkeypatch.setattr(torch.version, "hip", hip)
    told = {"gpu": "A GPU", "vendor": vendor, "compute_capability": "9.4"}
    assert gpu_facts(CUDA) == told
    assert gpu_facts(CPU) == dict.fromkeys(told)


def test_build_that_cannot_record_the_gpu_is_named(monkeypatch, capsys):
    monkeypatch.setattr(
        "trace_util.record.device.supported_activities", lambda: {ProfilerActivity.CPU}
    )
    assert profiler_activities(CUDA) == [ProfilerActivity.CPU]
    assert "cannot record GPU activity" in capsys.readouterr().err


def test_compile_without_a_compiler_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(TraceError, match=r"--compile: a compiler \(g\+\+.*not on the PATH"):
        require_compile(CPU)
    with pytest.raises(TraceError, match=r"--compile: a compiler \(gcc.*not on the PATH"):
        require_compile(CUDA)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(TraceError, match="CXX=no-such-compiler is not on the PATH"):
        require_compile(CPU)


def test_compile_without_triton_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TraceError, match="--compile: Triton is not installed"):
        require_compile(CUDA)


# Timing and reference


def test_step_time_counts_and_orders(monkeypatch):
    calls = []
    taken = step_time(lambda: calls.append(1), CPU)
    assert taken.clock == "wall" and not taken.after_profiler
    assert len(calls) == taken.n + 2  # one that is not counted, one that tells how many to take
    assert taken.min <= taken.median <= taken.max


def test_slow_step_is_timed_a_few_times():
    import time

    assert step_time(lambda: time.sleep(0.3), CPU).n == 3


def test_relative_error_is_that_of_the_first_rows():
    reference = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    output = torch.tensor([[[3.0, 4.5]], [[9.0, 9.0]]])
    assert relative_error(output, reference) == pytest.approx(0.1)


def test_error_beside_nothing_is_no_number():
    zero, one = torch.zeros(1, 2, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64)
    assert relative_error(zero, zero) == 0
    assert relative_error(one, zero) is None
    assert relative_error(one, one * float("nan")) is None


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_output_that_is_not_finite_is_told_in_the_trace(bad, tmp_path, monkeypatch):
    one = torch.ones(1, 2, dtype=torch.float64)
    error = relative_error(torch.tensor([[1.0, 1.0], [1.0, bad]]), one)
    assert error == float("inf")
    run = small_run(tmp_path, monkeypatch, "--trace_dir", str(tmp_path))
    unprofiled = step_time(lambda: None, CPU)
    saved = save(run, recorded(run), unprofiled=unprofiled, relative_error=error)
    trace = read_trace(saved.trace)
    assert trace.header.run["relative_error"] is None
    assert trace.header.run["output_finite"] is False
    rows = dict(read_back_rows(saved, trace, trace_facts(trace)))
    assert rows["error"] == "no number: the output holds NaN or infinity, and should not"
    saved = save(run, recorded(run), unprofiled=unprofiled, relative_error=0.5)
    assert read_trace(saved.trace).header.run["output_finite"] is True


def test_lesson_whose_output_is_zero_is_recorded_all_the_same(tmp_path):
    # With this seed the only gate is negative, so that ReLU leaves nothing.
    one = ("--batch", "1", "--seq", "1", "--dim", "1", "--hidden", "1", "--activation", "relu")
    process = run_lesson("03_simple_mlp.py", *one, "--trace_dir", str(tmp_path))
    assert process.returncode == 0, process.stderr
    trace = read_trace(tmp_path / "cpu_1_1_1_1_eager_relu.json")
    assert trace.header.run["relative_error"] == 0


# Saving


def test_trace_carries_its_run_and_keeps_its_events(tmp_path, monkeypatch):
    run = small_run(tmp_path, monkeypatch, "--in-dim", "5", "--trace_dir", str(tmp_path))
    prof = recorded(run)
    saved = save(run, prof, unprofiled=step_time(lambda: None, CPU), relative_error=0.5)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cpu_t.json", "cpu_t.txt"]
    trace = read_trace(saved.trace)
    told = trace.header.run
    assert told["command"] == "python 99_lesson.py --in-dim 5"
    assert told["flags"]["in_dim"] == 5 and "trace_dir" not in told["flags"]
    assert told["relative_error"] == 0.5
    assert told["versions"]["torch"] == torch.__version__
    assert trace.header.other["traceName"] == "cpu_t.json"
    mm = [e for e in prof.events() if e.name == "aten::mm"]
    ops = trace.events.is_kind(Kind.CPU_OP)
    assert sum(trace.names[i] == "aten::mm" for i in trace.events.name[ops]) == len(mm) == 3
    assert "aten::mm" in saved.table.read_text()


@pytest.mark.parametrize("name", ['two"q', "back\\slash", "ta\tb", os.fsdecode(b"by\xffte")])
def test_folder_of_any_name_takes_the_trace(name, tmp_path, monkeypatch):
    folder = tmp_path / name
    folder.mkdir()
    run = small_run(tmp_path, monkeypatch, "--trace_dir", str(folder))
    save(run, recorded(run), unprofiled=step_time(lambda: None, CPU), relative_error=None)
    assert sorted(os.listdir(folder)) == ["cpu_t.json", "cpu_t.txt"]
    assert os.listdir(tmp_path) == [name]
    assert json.loads(run.path.read_text())["traceName"] == "cpu_t.json"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), ""),
        (("--device", "cpu"), ""),
        (("--seed", "7"), ", recorded with --seed 0, by this one with --seed 7"),
        (
            ("--with_stack", "--active", "2"),
            ", recorded with --active 3 --no-with_stack, by this one with --active 2 --with_stack",
        ),
        (("--steps", "6"), ", recorded with --steps 5, by this one with --steps 6"),
    ],
)
def test_replaced_trace_is_told_apart_by_its_flags(flags, said, tmp_path, monkeypatch, capsys):
    for more in ((), flags):
        run = small_run(tmp_path, monkeypatch, "--trace_dir", str(tmp_path), *more)
        capsys.readouterr()
        save(run, recorded(run), unprofiled=step_time(lambda: None, CPU), relative_error=None)
    assert capsys.readouterr().err == f"note: replaced the earlier {run.path}{said}\n"


@pytest.mark.parametrize(
    "earlier", [b"", b'{"run_facts": ', b'{"run_facts": {"flags": 3}}', b"\xff"]
)
def test_replaced_file_that_tells_no_flags_is_replaced_all_the_same(
    earlier, tmp_path, monkeypatch, capsys
):
    run = small_run(tmp_path, monkeypatch, "--trace_dir", str(tmp_path))
    run.path.write_bytes(earlier)
    capsys.readouterr()
    save(run, recorded(run), unprofiled=step_time(lambda: None, CPU), relative_error=None)
    assert capsys.readouterr().err == f"note: replaced the earlier {run.path}\n"


def test_failed_export_leaves_the_earlier_trace(tmp_path, monkeypatch):
    run = small_run(tmp_path, monkeypatch, "--trace_dir", str(tmp_path))
    run.path.write_text("an earlier trace")
    prof = recorded(run)

    def full(path: str) -> None:
        Path(path).write_text("{ half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prof, "export_chrome_trace", full)
    with pytest.raises(TraceError, match="cpu_t.json: not written: No space left on device"):
        save(run, prof, unprofiled=step_time(lambda: None, CPU), relative_error=None)
    assert run.path.read_text() == "an earlier trace"
    assert [p.name for p in tmp_path.iterdir()] == ["cpu_t.json"]


@pytest.mark.parametrize("written", [None, '{ "schemaVersion": 1, "traceEvents": [ {"na'])
def test_trace_that_the_profiler_cut_off_is_not_kept(tmp_path, monkeypatch, written):
    run = small_run(tmp_path, monkeypatch, "--trace_dir", str(tmp_path))
    prof = recorded(run)

    def full(path: str) -> None:
        Path(f"{path}.tmp").write_text("{ half")
        if written is not None:
            Path(path).write_text(written)

    monkeypatch.setattr(prof, "export_chrome_trace", full)
    said = "cpu_t.json: not written: the profiler could not write all of it; is the disk full"
    with pytest.raises(TraceError, match=said):
        save(run, prof, unprofiled=step_time(lambda: None, CPU), relative_error=None)
    assert list(tmp_path.iterdir()) == []


def test_command_leaves_out_where_the_trace_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 34)
    words = ["--in_dim=5", "-b", "bucket", "-n", "me", "--trace-dir=x", "--yes", "--compile"]
    monkeypatch.setattr(sys, "argv", ["99_lesson.py", *words])
    run = small_run(tmp_path, monkeypatch, *words)
    assert command(run) == "python 99_lesson.py --in_dim=5 --compile"
    for attached in ("-bbucket", "-nme", "-b=bucket"):
        monkeypatch.setattr(sys, "argv", ["99_lesson.py", attached, "--compile"])
        assert command(run) == "python 99_lesson.py --compile"


# Health


def facts_like(tmp_path, events):
    import json

    path = tmp_path / "t.json"
    path.write_text(json.dumps({"deviceProperties": [{"id": 0}], "traceEvents": events}))
    return trace_facts(read_trace(path))


def x(cat, name, ts, dur, **arguments):
    pid, tid = (0, 7) if cat == "kernel" else (1, 1)
    row = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {**row, "args": arguments}


def gpu_run(tmp_path, monkeypatch):
    run = small_run(tmp_path, monkeypatch)
    return type(run)(**{**vars(run), "device": CUDA})


STEP = [x("user_annotation", f"ProfilerStep#{n}", 100 * n, 90) for n in (2, 3, 4)]
CALLS = [
    x("cuda_runtime", "cudaLaunchKernel", 100 * n + 10 * k, 5, correlation=10 * n + k)
    for n in (2, 3, 4)
    for k in (1, 2)
]
KERNELS = [
    x("kernel", "k", 100 * n + 10 * k + 5, 5, device=0, stream=7, correlation=10 * n + k)
    for n in (2, 3, 4)
    for k in (1, 2)
]


def test_healthy_run_has_no_complaint(tmp_path, monkeypatch):
    run = gpu_run(tmp_path, monkeypatch)
    assert complaints(run, facts_like(tmp_path, STEP + CALLS + KERNELS)) == []


def test_run_without_kernels_is_not_an_idle_gpu(tmp_path, monkeypatch):
    run = gpu_run(tmp_path, monkeypatch)
    (only,) = complaints(run, facts_like(tmp_path, STEP + CALLS))
    assert "no GPU activity was recorded" in only and "another profiler" in only


def test_step_that_lost_kernels_is_named(tmp_path, monkeypatch):
    run = gpu_run(tmp_path, monkeypatch)
    (only,) = complaints(run, facts_like(tmp_path, STEP + CALLS + KERNELS[1:]))
    assert only.startswith("ProfilerStep#2 lost 1 of the kernels of its 2 launches")


def test_partial_window_is_named(tmp_path, monkeypatch):
    run = gpu_run(tmp_path, monkeypatch)
    (only,) = complaints(run, facts_like(tmp_path, STEP[:2] + CALLS[:4] + KERNELS[:4]))
    assert only == "2 of 3 steps were recorded: the window is partial"


# What goes wrong, in one line


def test_out_of_memory_names_the_size_to_reduce():
    gpu = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 TiB. GPU 0 has ...")
    cpu = RuntimeError("[enforce fail at alloc_cpu.cpp:126] DefaultCPUAllocator: can't allocate ")
    for error in (gpu, MemoryError()):
        assert one_line(error, ["--batch", "--dim"]) == "out of memory; reduce --batch or --dim"
    assert one_line(RuntimeError(f"{cpu}memory"), ["--size"]) == "out of memory; reduce --size"


def test_interrupt_beneath_another_error_is_an_interrupt():
    try:
        try:
            raise KeyboardInterrupt
        finally:
            raise AssertionError("Profiler must be initialized before starting trace")
    except AssertionError as error:
        assert one_line(error, []) == "interrupted"


@pytest.mark.parametrize(
    ("environment", "waits"),
    [
        ({"TORCHELASTIC_RUN_ID": "1", "RANK": "2", "LOCAL_RANK": "0"}, False),
        ({"TORCHELASTIC_RUN_ID": "1", "RANK": "1", "LOCAL_RANK": "1"}, True),
        ({"RANK": "1", "LOCAL_RANK": "1"}, False),  # nobody would end it
    ],
)
def test_error_of_one_rank_alone_is_told_after_a_while(environment, waits, monkeypatch, capsys):
    slept = []
    monkeypatch.setattr("trace_util.record.output.time.sleep", slept.append)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    speak_plainly(["--batch"])
    error = TraceError("--dtype bf16: this GPU cannot")
    with pytest.raises(SystemExit) as end:
        sys.excepthook(type(error), error, None)
    assert end.value.code == 1
    assert capsys.readouterr().err == "error: --dtype bf16: this GPU cannot\n"
    assert slept == ([15] if waits else [])


def test_bug_keeps_its_traceback():
    assert one_line(RuntimeError("shapes do not match"), ["--size"]) is None
    assert one_line(KeyError("k"), ["--size"]) is None


@pytest.mark.parametrize(
    ("script", "flags", "said"),
    [
        ("01_matmul.py", ("--device", "cuda"), "--device cuda"),
        ("01_matmul.py", ("--size", "0"), "0 is not between 1 and"),
        ("02_linear.py", ("--dtype", "int4"), "invalid choice"),
        ("01_matmul.py", ("--size", "1000000"), "out of memory; reduce --size"),
        ("03_simple_mlp.py", ("--cuda_graph", *SMALL_MLP), GRAPH),
        ("03_kernels_mlp.py", ("--kernel", "liger"), LIGER),
        ("03_kernels_mlp.py", ("--kernel", "hub"), f"{HUB}/03_kernels_mlp/64_128_768_3072_liger"),
        (
            "03_kernels_mlp.py",
            ("--cuda_graph", "--kernel", "fused"),
            f"{NO_GRAPH}/03_kernels_mlp/64_128_768_3072_fused",
        ),
        ("01_matmul.py", ("--compile_mode", "max-autotune"), "add --compile"),
        ("03_simple_mlp.py", ("--sweep", "batch", "--batch", "64"), "argument --batch: --sweep"),
        ("01_matmul.py", ("--sweep", "--size=64"), "argument --size: --sweep"),
    ],
)
def test_bad_request_is_one_line(tmp_path, script, flags, said):
    process = run_lesson(script, *flags, "--trace_dir", str(tmp_path / "t"))
    assert process.returncode in (1, 2)
    errors = [line for line in process.stderr.splitlines() if not line.startswith("note: ")]
    assert len(errors) == 1 and errors[0].startswith("error: ") and said in errors[0]
    assert not list(tmp_path.glob("t/*"))


def test_unwritable_folder_is_one_line():
    process = run_lesson("02_linear.py", "--trace_dir", "/proc/none")
    assert process.returncode == 1
    assert process.stderr.startswith("error: --trace_dir /proc/none: ")
    assert process.stderr.count("\n") == 1


def test_unwritable_cache_of_the_compiler_is_named(monkeypatch):
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "/proc/none")
            with pytest.raises(TraceError, match=f"{name} /proc/none: .*; choose another folder"):
                require_compile(CPU)


def test_compile_without_a_compiler_is_one_line(tmp_path):
    process = run_lesson(
        "02_linear.py", "--compile", "--trace_dir", str(tmp_path), environment={"PATH": "/none"}
    )
    assert process.returncode == 1
    assert "error: --compile: a compiler" in process.stderr and "leave it out" in process.stderr
    assert "Traceback" not in process.stderr


# The way of the data


def test_only_the_recording_package_imports_torch():
    for path in sorted((ROOT / "trace_util").rglob("*.py")):
        if "record" in path.relative_to(ROOT / "trace_util").parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.split(".")[0] == "torch" for n in names), f"{path} imports torch"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_lesson_on_the_gpu_records_kernels(tmp_path):
    process = run_fresh_lesson(
        "02_linear.py",
        "--trace_dir",
        str(tmp_path),
        environment={"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0")},
    )
    assert process.returncode == 0, process.stderr
    facts = trace_facts(read_trace(tmp_path / "1024_32_64_eager.json"))
    assert [step.kernels for step in facts.steps] == [1, 1, 1]


# Kernels that cannot be had


def test_hub_kernel_without_a_network_is_one_sentence(tmp_path):
    program = (
        "import sys\n"
        "sys.argv = ['03_kernels_mlp.py']\n"
        "from kernels import get_kernel\n"
        "import torch\n"
        "torch.cuda.is_available = lambda: True\n"
        "from trace_util.events import TraceError\n"
        "from trace_util.record import needs_kernel\n"
        "from types import SimpleNamespace as Name\n"
        "from trace_util.record.recorded import Wanted\n"
        "flags = Name(kernel='hub', activation='gelu_tanh')\n"
        "run = Name(flags=flags, wanted=Wanted('03_kernels_mlp', 'hub', '2_16_64_128_hub'))\n"
        "try:\n"
        "    with needs_kernel(run):\n"
        "        get_kernel('kernels-community/liger-kernels', version=2)\n"
        "except TraceError as error:\n"
        "    print(error)\n"
    )
    script = tmp_path / "hub.py"
    script.write_text(program)
    home = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = run_warm(script, environment={**os.environ, **home})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("--kernel hub: ") and done.stdout.count("\n") == 1
    assert f"use --kernel triton, {HUB}" in done.stdout


def run_with(kernel: str, activation: str) -> SimpleNamespace:
    """What the search for a kernel looks at in a run."""
    wanted = Wanted("03_kernels_mlp", kernel, f"64_128_768_3072_{kernel}")
    return SimpleNamespace(
        flags=SimpleNamespace(kernel=kernel, activation=activation), wanted=wanted
    )


@pytest.mark.parametrize(("kernel", "other"), [("triton", "liger"), ("liger", "triton")])
def test_missing_package_names_the_flag_to_use_instead(kernel, other, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    said = f"--kernel {kernel}: .*not installed.*use --kernel {other}"
    with pytest.raises(TraceError, match=said), needs_kernel(run_with(kernel, "gelu_tanh")):
        raise ImportError(kernel)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("liger", "--kernel liger --activation relu: Liger has no relu, only gelu_tanh and silu;"),
        ("hub", "--kernel hub --activation relu: the Hub's kernel is Liger's, which has no relu, "),
    ],
)
def test_activation_that_liger_lacks_is_named(kernel, said, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(TraceError) as error, needs_kernel(run_with(kernel, "relu")):
        pass
    assert str(error.value).startswith(said)


# Recorded runs and companions


@pytest.mark.parametrize(
    ("lesson", "variant", "tag", "name"),
    [
        ("03_simple_mlp", "eager", "64_128_768_3072_eager_cuda_graph",
         "1_1_768_3072_eager_cuda_graph"),
        ("03_simple_mlp", "eager", "cpu_32_128_64_256_eager", "64_128_768_3072_eager"),
        ("03_simple_mlp", "eager", "cpu_2_1_64_256_eager", "1_1_768_3072_eager"),
        ("03_simple_mlp", "compile", "cpu_1_1_768_3072_compile", "64_128_768_3072_compile"),
        ("03_kernels_mlp", "hub", "64_128_768_3072_hub", "64_128_768_3072_liger"),
        ("03_kernels_mlp", "fused", "cpu_2_16_64_256_fused", "64_128_768_3072_fused"),
        ("01_matmul", "eager", "cpu_8_fp32_warm_eager", "64_bf16_warm_eager"),
    ],
)  # fmt: skip
def test_nearest_recorded_trace_is_of_the_same_kind(lesson, variant, tag, name, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(ROOT / f"{lesson}.py")])
    found = nearest_trace(Wanted(lesson, variant, tag))
    assert found is not None and found.name == f"{name}.json.gz"


def test_recorded_sweep_is_found_where_there_is_one(monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(ROOT / "lesson.py")])
    found = nearest_sweep(Wanted("01_matmul", "compile", "sweep_size_fp32_compile"))
    assert found is not None
    assert look_at(found).startswith("trace-util plot ")
    assert look_at(found).endswith(
        "/01_matmul/sweep_size_bf16_eager.json -o sweep_size_bf16_eager.png"
    )
    told = "recorded on NVIDIA H200 by: python 01_matmul.py --device cuda --sweep"
    assert origin(found) == told
    assert nearest_sweep(Wanted("03_kernels_mlp", "triton", "sweep_batch_1")) is None


def test_without_recorded_runs_nothing_is_pointed_at(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "01_matmul.py")])
    assert or_see(Wanted("01_matmul", "eager", "64_bf16_cold_eager")) == ""


def saved_by(variant: str, monkeypatch: pytest.MonkeyPatch, folder: str, *words: str):
    lesson = "03_kernels_mlp" if variant == "triton" else "02_linear"
    monkeypatch.setattr(sys, "argv", [f"{lesson}.py", *words])
    run = SimpleNamespace(variant=variant, lesson=lesson)
    return SimpleNamespace(run=run, trace=Path(folder, lesson, "t.json"))


def test_missing_companion_is_asked_for_by_its_command(monkeypatch):
    needs = "the {} run is needed to compare with; --against names its trace"
    saved = saved_by("eager", monkeypatch, "traces")
    told = companion.in_words(needs.format("compiled"), saved)
    assert told == "the compiled run is needed to compare with: this command with --compile"
    told = companion.in_words(needs.format("eager"), saved_by("compile", monkeypatch, "traces"))
    assert told == "the eager run is needed to compare with: this command without --compile"
    assert companion.in_words("nothing was launched", saved) == "nothing was launched"


@pytest.mark.parametrize("kernel", [("--kernel", "triton"), ("--kernel=triton",), ()])
def test_hand_written_kernel_asks_for_the_mlp_of_its_sizes(kernel, monkeypatch):
    words = ("--batch", "2", *kernel, "--seq", "8")
    missing = "the compiled run of 03_simple_mlp is needed to compare with"
    reason = f"{missing}; --against names its trace"
    mlp = "python 03_simple_mlp.py --batch 2 --seq 8"
    told = companion.in_words(reason, saved_by("triton", monkeypatch, "traces", *words))
    assert told == f"{missing}: {mlp} --compile, then this command again"
    told = companion.in_words(reason, saved_by("triton", monkeypatch, "a/b c", *words))
    assert f"{mlp} '--trace_dir=a/b c/03_simple_mlp' --compile, then" in told


def test_no_claim_speaks_of_a_flag_that_a_lesson_lacks(tmp_path, monkeypatch):
    source = ROOT / "traces/recorded/nvidia-h200"
    for lesson, name, variant in (
        ("02_linear", "1024_32_64_eager", "eager"),
        ("03_kernels_mlp", "64_128_768_3072_triton", "triton"),
    ):
        trace = tmp_path / "alone" / lesson / f"{name}.json.gz"
        trace.parent.mkdir(parents=True)
        shutil.copy(source / lesson / trace.name, trace)
        monkeypatch.setattr(sys, "argv", [f"{lesson}.py"])
        saved = SimpleNamespace(run=SimpleNamespace(variant=variant, lesson=lesson), trace=trace)
        checked = check(read_trace(trace))
        assert any("--against" in claim.reason for claim in checked.claims)
        told = [claim.reason for claim in companion.in_lesson(checked, saved).claims]
        assert not any("--against" in reason for reason in told)
        assert any(reason.startswith("the compiled run") for reason in told)


# Folders


def test_folder_that_a_run_made_and_left_empty_is_gone(tmp_path):
    program = (
        "import sys; from pathlib import Path\n"
        "from trace_util.record.folders import require_writable\n"
        "for name in sys.argv[1:]: require_writable(Path(name), '--trace_dir')\n"
        "Path(sys.argv[1], 'trace').touch()\n"
        "raise KeyboardInterrupt\n"
    )
    script, top = tmp_path / "program.py", tmp_path / "top"
    script.write_text(program)
    (top / "before").mkdir(parents=True)
    names = ("kept/by/a/file", "made/by/it", "before", "before/it")
    run_warm(script, *(top / name for name in names))
    assert sorted(path.name for path in top.iterdir()) == ["before", "kept"]
    assert (top / "kept/by/a/file/trace").exists()
    assert not list((top / "before").iterdir())
