"""Summaries: exact texts at a fixed width, JSON against figures worked out from decimals."""

from __future__ import annotations

import gzip
import io
import json
import math
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from make_trace import (
    Event,
    annotation,
    call,
    complete,
    kernel,
    mark,
    memset,
    op,
    trace_of,
    written,
)

from trace_util.cli import main
from trace_util.facts import trace_facts
from trace_util.files import trace_files
from trace_util.gather.places import means_several
from trace_util.reader import read_trace
from trace_util.report.overview import Overview, overview_text
from trace_util.report.summary import summary_text
from trace_util.report.summary_json import encoded, summary_json, us
from trace_util.report.text import (
    Style,
    clean,
    columns_of,
    name_column,
    number_column,
    shortened,
    style_of,
    table,
    wrapped,
)
from trace_util.report.units import counted, duration, share, size, unit_for


def lesson() -> list[Event]:
    """Three steps of one product and one addition each, the first of them wide."""
    events = []
    for step, start in enumerate((0, 200, 260)):
        length = 190 if step == 0 else 50
        late = start + length - 30
        first = 10 * step + 1
        events += [
            mark(step + 2, start, length),
            annotation(start + 5, length - 10, "matmul_add"),
            op(late, 10, "aten::mm"),
            call(late + 2, 2, first, name="cudaMemsetAsync"),
            call(late + 5, 3, first + 1, name="cuLaunchKernelEx", category="cuda_driver"),
            op(late + 12, 8, "aten::add"),
            call(late + 14, 2.5, first + 2),
            memset(late + 10, 1, first, bytes=4),
            kernel(late + 11.5, 5 + step / 8, first + 1, name="nvjet_tst_64x8_h_bz_NNT"),
            kernel(late + 20, 1.25, first + 2, name="add_kernel"),
        ]
    return [*events, call(320, 9, 90, name="cudaDeviceSynchronize")]


HEADER = {
    "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
    "cuda_runtime_version": 13000,
    "distributedInfo": {"nccl_version": "2.27.5"},
    "run_facts": {
        "command": "python 01_matmul.py",
        "versions": {"python": "3.12.3", "torch": "2.11.0", "triton": None},
        "unprofiled_step_us": {"median": 17.5, "min": 17, "max": 21, "n": 50},
    },
}


@pytest.fixture
def lesson_file(tmp_path: Path) -> Path:
    return written({**HEADER, "traceEvents": lesson()}, tmp_path, "lesson.json")


TEXT = """\
FILE
  file     4.41 kB, 31 events, 31 complete
  GPU      NVIDIA H200, torch 2.11.0
  command  python 01_matmul.py
  window   310 µs, ProfilerStep#2 to ProfilerStep#4 and its GPU work
  GPU busy 22.1 µs, 7.1 % of the window; 1 device, 1 stream
  launches 6 of kernels; until the GPU starts: min 6.00 µs, median 6.25 µs, max 6.50 µs
  step     17.5 µs unprofiled (median), 50.0 µs with the profiler (median mark)

  steps: 3, median mark 50.0 µs
  step            CPU mark µs  GPU busy µs  kernels  memsets  copies  launches
  ProfilerStep#2        190.0         7.25        2        1       0         2
  ProfilerStep#3         50.0         7.38        2        1       0         2
  ProfilerStep#4         50.0         7.50        2        1       0         2

  kernels: 6 (2 names), 19.1 µs added up
  kernel                   count  total µs   share  min µs  median   max
  nvjet_tst_64x8_h_bz_NNT      3     15.38  80.4 %    5.00    5.12  5.25
  add_kernel                   3      3.75  19.6 %    1.25    1.25  1.25

  launch calls: 9 calls
  launch call       count  total µs  kernels  copies  memsets
  cuLaunchKernelEx      3      9.00        3       0        0
  cudaLaunchKernel      3      7.50        3       0        0
  cudaMemsetAsync       3      6.00        0       0        3

  CPU ops: 6 (2 names)
  CPU op     count  total µs  self  launches  GPU µs
  aten::mm       3      30.0  15.0         6   18.38
  aten::add      3      24.0  16.5         3    3.75

  annotations: 3
  annotation  count  total µs  min µs  median    max
  matmul_add      3       260    40.0    40.0  180.0

  copies: 0; memsets: 3
  copy or memset   count  total µs  bytes
  Memset (Device)      3      3.00   12 B

  the CPU waited for the GPU: 1 call, the profiler's closing flush among them
  call                   count  total µs  min µs  median   max
  cudaDeviceSynchronize      1      9.00    9.00    9.00  9.00

  GPU gaps, by cause            count  total µs
  the profiler itself               1     170.0
  the CPU had not launched yet      3     106.2
  the trace does not show why       6      11.6

  categories: cuda_runtime 7, cpu_op 6, kernel 6, user_annotation 6, cuda_driver 3,
              gpu_memset 3

  to know:
    - ProfilerStep#2 (190 µs): over twice the median step of 50.0 µs; compare the others.
"""


def test_summary_text_of_a_lesson() -> None:
    trace = trace_of(*lesson(), **HEADER)
    found = summary_text(trace, trace_facts(trace), Style(width=90)).replace(trace.path, "FILE")
    assert found == TEXT


def test_versions_come_from_the_header_where_the_run_tells_none() -> None:
    trace = trace_of(kernel(), cuda_driver_version=12020, hip_runtime_version=70226015)
    assert "not named in the trace, cuda driver 12.2, hip runtime 7.2.26015" in summary_text(
        trace, trace_facts(trace)
    )


def test_summary_text_shows_the_top_rows_and_counts_the_rest() -> None:
    trace = trace_of(*lesson())
    found = summary_text(trace, trace_facts(trace), top=1)
    assert "  aten::mm      3" in found and "aten::add" not in found
    assert "  and 1 more; --top 2 shows all" in found


def test_summary_text_of_a_cpu_trace_claims_nothing_of_a_gpu() -> None:
    trace = trace_of(op(0, 10), op(12, 3, "aten::add"))
    found = summary_text(trace, trace_facts(trace))
    assert "GPU busy nothing was launched: CPU only" in found
    assert "0.0 %" not in found and "idle" not in found


def test_summary_text_without_recorded_kernels_claims_nothing_of_a_gpu() -> None:
    trace = trace_of(op(0, 10), call(2, 3))
    found = summary_text(trace, trace_facts(trace))
    assert "GPU busy not recorded" in found
    assert "GPU activity was not recorded: 1 launch but no kernel." in found


def test_names_cannot_steer_the_terminal() -> None:
    trace = trace_of(op(0, 10, "evil\x1b[2Jname"), kernel(name="k\x07\n"))
    found = summary_text(trace, trace_facts(trace))
    assert "\x1b" not in found and "\x07" not in found
    assert "evil" in found


@pytest.mark.parametrize(
    "event",
    [
        kernel(0, 0),
        kernel(5, 0),
        mark(2, 5, 0),
        complete("Trace", "PyTorch Profiler (0)", 0, 10, "Spans", "x"),
        complete("python_function", "f", 1, 5),
        complete("gpu_user_annotation", "a", 1, 5, 0, 7),
        complete("cuda_sync", "Stream Sync", 1, 5, 0, 7),
        complete("no such category", "a", 1, 5),
        complete("", "f", 1, 5, "CPU functions", "t"),
        complete("overhead", "Activity Buffer Request", 1, 5, -1, 0),
        op(0, 9, pid=1.5),
        call(0, 1, 2**62),
        call(0, 1, -5, name=""),
        kernel(1, 1, None, device=2**40, stream=-1),
    ],
    ids=lambda event: event["cat"] or "none",
)
def test_trace_of_a_single_odd_event_has_a_summary(event: Event) -> None:
    trace = trace_of(event)
    facts = trace_facts(trace)
    assert "1 event, 1 complete" in summary_text(trace, facts)
    assert json.loads(encoded(summary_json(trace, facts)))["complete_events"] == 1


# --- JSON ---------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["summary", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out, parse_float=Decimal)


def test_json_has_the_promised_fields(
    lesson_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = as_json(capsys, str(lesson_file))
    assert code == 0
    assert found["file"] == str(lesson_file) and found["gpu"] == "NVIDIA H200"
    assert found["events_total"] == found["complete_events"] == 31
    assert (found["cpu_ops"], found["launches"], found["copies"]) == (6, 6, 0)
    kernels = found["kernels"]
    assert (kernels["count"], kernels["distinct_names"]) == (6, 2)
    assert kernels["total_us"] == Decimal("19.125")
    assert {k: kernels["by_name"][0][k] for k in ("name", "count", "total_us")} == {
        "name": "nvjet_tst_64x8_h_bz_NNT",
        "count": 3,
        "total_us": Decimal("15.375"),
    }
    spread = [kernels["by_name"][0][f"{k}_us"] for k in ("min", "median", "max")]
    assert spread == [5, Decimal("5.125"), Decimal("5.25")]
    assert found["gpu_busy_us"] == Decimal("22.125") and found["window_us"] == 310
    assert math.isclose(found["gpu_busy_share"], 22.125 / 310)
    step = found["steps"][1]
    assert {k: step[k] for k in ("name", "start_us", "duration_us", "kernels", "launches")} == {
        "name": "ProfilerStep#3",
        "start_us": 200,
        "duration_us": 50,
        "kernels": 2,
        "launches": 2,
    }
    assert step["gpu_busy_us"] == Decimal("7.375")
    assert [device["busy_us"] for device in found["devices"]] == [Decimal("22.125")]
    assert found["categories"]["cpu_op"] == 6
    assert found["repairs"] == {} and found["skipped"] == {}
    assert found["warnings"] == [
        "ProfilerStep#2 (190 µs): over twice the median step of 50.0 µs; compare the others."
    ]
    assert found["versions"] == {
        "python": "3.12.3",
        "torch": "2.11.0",
        "cuda_runtime": "13.0",
        "nccl": "2.27.5",
    }
    assert found["unprofiled_step"]["median_us"] == Decimal("17.5")


def test_json_keeps_nanoseconds_that_a_double_cannot_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = json.dumps(kernel("AT", 1.001)).replace('"AT"', "1712195495519761.132")
    path = tmp_path / "absolute.json"
    path.write_text(f'{{"traceEvents": [{event}]}}', encoding="utf-8")
    _, out, _ = run(capsys, str(path), "--json")
    assert '"window_start_us": 1712195495519761.132' in out


def test_json_of_a_cpu_trace_has_no_zero_for_what_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written({"traceEvents": [op(0, 10)]}, tmp_path)
    _, found = as_json(capsys, str(path))
    assert found["gpu"] is None and found["gpu_busy_us"] is None and found["gpu_busy_share"] is None
    assert (found["kernels"]["count"], found["launches"], found["devices"]) == (0, 0, [])


def test_half_a_nanosecond_of_a_median_is_written_out() -> None:
    assert us(1500.5) == Decimal("1.5005") and us(3) == Decimal("0.003") and us(None) is None


# --- real traces: worked out from decimals, by hand and once ------------------------------------

# file -> events, complete, kernels, distinct names, sum of kernel time and GPU busy time in µs,
# launches, steps
RIGHT = {
    "nccl-rank": (40573, 26933, 2700, 70, "162532.340", "157500.014", 2700, 3),
    "b200-same-stream-overlaps": (24656, 22355, 768, 29, "10862.916", "11596.482", 768, 0),
    "2021-vocabulary-resnet50": (75718, 44666, 8772, 67, "591532", "603558", 8772, 6),
    "mi250-rocm": (220, 113, 14, 12, "110.881", "149.042", 14, 2),
}


@pytest.mark.parametrize("name", RIGHT)
def test_real_traces_give_the_right_answers(
    name: str, shared_traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = as_json(capsys, str(shared_traces / f"{name}.json.gz"))
    events, complete_events, kernels, names, total, busy, launches, steps = RIGHT[name]
    assert (found["events_total"], found["complete_events"]) == (events, complete_events)
    assert (found["kernels"]["count"], found["kernels"]["distinct_names"]) == (kernels, names)
    assert found["kernels"]["total_us"] == Decimal(total)
    assert found["gpu_busy_us"] == Decimal(busy)
    assert (found["launches"], len(found["steps"])) == (launches, steps)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("nccl-rank", {"cudaLaunchKernel": 2550, "cudaLaunchKernelExC": 150}),
        ("b200-same-stream-overlaps", {"cudaLaunchKernel": 367, "cuLaunchKernelEx": 220}),
        ("mi250-rocm", {"hipLaunchKernel": 12, "hipExtModuleLaunchKernel": 2}),
    ],
)
def test_real_traces_have_their_launches_by_name(
    name: str, calls: dict[str, int], shared_traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = as_json(capsys, str(shared_traces / f"{name}.json.gz"))
    counts = {one["name"]: one["count"] for one in found["launch_calls"]}
    assert counts.items() >= calls.items()


def test_every_public_trace_is_read_or_refused_in_one_sentence(
    shared_traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = as_json(capsys, str(shared_traces))
    assert code == 1
    refused = {
        Path(one["file"]).name.split(".")[0]: one["error"] for one in found if "error" in one
    }
    assert set(refused) == {"not-a-trace-execution-graph", "not-a-trace-lfs-pointer"}
    assert all("\n" not in why for why in refused.values())
    for one in found:
        if "error" not in one:
            assert one["window_us"] > 0
            assert one["gpu_busy_share"] is None or 0 < one["gpu_busy_share"] <= 1
            for device in one["devices"]:
                assert device["window_busy_share"] <= 1


@pytest.mark.parametrize("name", ["t4-with-stack-steps", "b200-same-stream-overlaps", "nccl-rank"])
def test_columns_of_a_summary_suffice_for_one(name: str, shared_traces: Path) -> None:
    path = shared_traces / f"{name}.json.gz"
    brief, full = (trace_facts(read_trace(path, columns=c)) for c in ("summary", "all"))
    for fact in ("kernels", "ops", "annotations", "launches", "copies", "devices", "queue_delay"):
        assert getattr(brief, fact) == getattr(full, fact)
    assert brief.window_ns == full.window_ns and brief.gaps.by_cause() == full.gaps.by_cause()
    assert [s.cpu_ns for s in brief.steps] == [s.cpu_ns for s in full.steps]


def test_figures_of_the_lessons_on_an_h200(
    shared_traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = as_json(capsys, str(shared_traces / "h200"))
    told = {
        Path(one["file"]).name.split(".")[0]: (
            round(one["gpu_busy_in_window_us"], 1),
            round(one["window_us"]),
            {step["kernels"] for step in one["steps"]},
        )
        for one in found
    }
    assert told == {
        "01_4096_warm_eager": (Decimal("590.2"), 709, {2}),
        "01_64_cold_eager": (Decimal("8.3"), 436, {2}),
        "01_64_warm_eager": (Decimal("8.4"), 302, {2}),
        "02_compile": (Decimal("8.1"), 678, {1}),
        "02_eager": (Decimal("8.1"), 387, {1}),
        "03_compile": (Decimal("621.7"), 1188, {4}),
        "03_eager": (Decimal("701.4"), 910, {5}),
        "03_liger": (Decimal("631.7"), 1765, {4}),
    }


# --- the command --------------------------------------------------------------------------------


def test_command_prints_text_and_the_next_command(
    lesson_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, str(lesson_file))
    assert code == 0
    assert out.startswith(f"{lesson_file}\n  file     ")
    assert err == f"next: trace-util explain {lesson_file}\n"


def test_command_reads_standard_input(lesson_file: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "trace_util.cli", "summary", "-", "--json"],
        input=gzip.compress(lesson_file.read_bytes()),
        capture_output=True,
        check=True,
    )
    assert json.loads(told.stdout)["kernels"]["count"] == 6


def test_folder_and_glob_and_many_files_give_lists(
    lesson_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lesson_file.parent / "ranks"
    folder.mkdir()
    (folder / "one.json.gz").write_bytes(gzip.compress(lesson_file.read_bytes()))
    (folder / "notes.txt").write_text("not looked at")
    for argument in (str(folder), str(folder / "*.json.gz")):
        _, found = as_json(capsys, argument)
        assert [Path(one["file"]).name for one in found] == ["one.json.gz"]
    _, found = as_json(capsys, str(folder), str(lesson_file), str(lesson_file))
    assert [Path(one["file"]).name for one in found] == ["one.json.gz", "lesson.json"]


def test_overview_of_many_files(lesson_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lesson_file.parent
    written({"traceEvents": [op(0, 10)]}, folder, "cpu.json")
    (folder / "broken.json").write_text("no trace at all")
    code, out, err = run(capsys, str(folder))
    assert code == 1
    assert out == (
        f"2 traces in {folder}/\n"
        "trace   GPU   events  steps   window  GPU busy  kernels  to know\n"
        "cpu     -          1      0  10.0 µs         -        0        1\n"
        "lesson  H200      31      3   310 µs     7.1 %        6        1\n"
    )
    refused, hint = err.splitlines()
    assert refused.startswith(f"error: {folder}/broken.json: ")
    assert hint == f"next: trace-util summary {folder}/cpu.json"


@pytest.mark.parametrize("where", [".", "./", "*.json"])
def test_overview_of_the_folder_that_one_is_in(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("alpha.json", "beta.json"):
        written({"traceEvents": [op(0, 10)]}, tmp_path, name)
    monkeypatch.chdir(tmp_path)
    _, out, _ = run(capsys, where)
    title, _, one, two = out.splitlines()
    assert (title, one.split()[0], two.split()[0]) == ("2 traces", "alpha", "beta")


def test_overview_calls_traces_by_what_their_folders_do_not_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("run1", "run2"):
        (tmp_path / name).mkdir()
        written({"traceEvents": [op(0, 10)]}, tmp_path / name, "cpu.json")
    _, out, _ = run(capsys, str(tmp_path))
    title, _, one, two = out.splitlines()
    assert title == f"2 traces in {tmp_path}/"
    assert (one.split()[0], two.split()[0]) == ("run1/cpu", "run2/cpu")


@pytest.mark.parametrize(
    "names",
    [
        [f"lesson/sweep_batch_128_768_3072_{how}/batch_{n}" for how in "ab" for n in (1, 2)],
        [f"{where}/a_folder_with_a_name_that_is_long_enough/{n}" for where in "ab" for n in (1, 2)],
        [f"lesson/run_{where}_of_a_folder/{'same' * 12}" for where in "ab"],
    ],
)
def test_long_paths_of_an_overview_can_be_told_apart(names: list[str]) -> None:
    shape = Overview("", "NVIDIA A100-SXM4-80GB", 10**6, 30, 10**9, 10**6, 0.01, 10**4, 3)
    text = overview_text([replace(shape, file=f"{name}.json") for name in names], Style(width=80))
    shown = [line.split()[0] for line in text.splitlines()[-len(names) :]]
    assert all("…" in name for name in shown) and len(set(shown)) == len(names)


def test_refused_files_are_entries_with_an_error(
    lesson_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = lesson_file.parent / "a_empty.json"
    empty.write_text("")
    code, found = as_json(capsys, str(empty), str(lesson_file))
    assert code == 1
    assert set(found[0]) == {"file", "error"} and found[1]["kernels"]["count"] == 6
    code, out, err = run(capsys, str(empty))
    assert (code, out) == (1, "") and err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("gone.json", "gone.json: no such file or folder"),
        ("gone*.json", "gone*.json: no file matches"),
        (".", ".: no .json or .json.gz file in this folder"),
    ],
)
def test_nothing_there_is_said(
    argument: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, argument) == (1, "", f"error: {message}\n")


def test_a_file_with_a_pattern_as_its_name_is_a_file(tmp_path: Path) -> None:
    path = written({"traceEvents": [op(0, 10)]}, tmp_path, "run[1].json")
    assert trace_files([str(path)]) == [str(path)]
    assert not means_several([str(path)]) and means_several([str(tmp_path)])


def test_starting_loads_neither_torch_nor_what_takes_long(lesson_file: Path) -> None:
    slow = "torch huggingface_hub tqdm pandas matplotlib asyncio rich"
    # Tables are drawn by rich, which takes as long to import as a large trace to read.
    for more, names, loaded in (
        (["--json"], f"{slow} json pathlib urllib shlex shutil tempfile inspect", []),
        ([], slow, ["rich"]),
    ):
        program = (
            "import argparse, dataclasses, msgspec, numpy, sys; needed = set(sys.modules); "
            "from trace_util.cli import main; main(sys.argv[1:]); "
            "new = sys.modules.keys() - needed; loaded = {name.split('.')[0] for name in new}; "
            f"print(sorted(loaded & set('{names}'.split())), 'numpy.ma' in new, "
            "'trace_util.kernel_names' in new, file=sys.stderr)"
        )
        told = subprocess.run(
            [sys.executable, "-c", program, "summary", str(lesson_file), *more],
            capture_output=True,
            text=True,
            check=True,
        )
        # Kernel names are only decoded where a long one must fit into a table.
        assert told.stderr.splitlines()[-1] == f"{loaded} False False"


# --- texts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "not known"),
        (0, "0 µs"),
        (7, "7 ns"),
        (999, "999 ns"),
        (1000, "1.00 µs"),
        (8321, "8.32 µs"),
        (436158, "436 µs"),
        (999_999, "1.00 ms"),
        (12_345_678, "12.3 ms"),
        (999_600_000, "1.00 s"),
        (43_348_556_000, "43.3 s"),
        (7_200_000_000_000, "7,200 s"),
    ],
)
def test_durations_have_three_digits(ns: float | None, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (None, "not known"),
        (0, "0 %"),
        (1, "100 %"),
        (0.236, "23.6 %"),
        (0.0002, "0.02 %"),
        (1e-7, "< 0.001 %"),
        (0.9996, "99.96 %"),
        (0.9999999, "> 99.999 %"),
    ],
)
def test_shares_are_never_rounded_to_all_or_nothing(part: float | None, text: str) -> None:
    assert share(part) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(None, "-"), (0, "0 B"), (512, "512 B"), (999_500, "1.00 MB"), (50_331_648, "50.3 MB")],
)
def test_sizes_are_decimal(size_bytes: int | None, text: str) -> None:
    assert size(size_bytes) == text


def test_numbers_below_each_other_share_a_unit() -> None:
    unit = unit_for([8321, 436_158, None, 0])
    assert (unit.name, unit.number(8321), unit.number(436_158)) == ("µs", "8.32", "436.16")
    assert (unit.number(None), unit.number(0)) == ("-", "0")


def test_counts_have_their_noun() -> None:
    assert (counted(1, "kernel"), counted(2700, "kernel")) == ("1 kernel", "2,700 kernels")
    assert counted(2, "launch", "launches") == "2 launches"


def test_long_names_keep_their_start_and_some_of_their_end() -> None:
    assert shortened("a" * 30 + "b" * 30, 20) == "a" * 14 + "…" + "b" * 5
    assert shortened("short", 20) == "short"
    assert columns_of(shortened("日本語のカーネル名" * 5, 21)) <= 21


def test_clean_names_are_one_printable_line() -> None:
    assert clean("a\tb\nc\x1b\u202e") == r"a\tb\nc\x1b\u202e"
    assert clean("größer µs") == "größer µs"


def test_table_is_never_wider_than_asked() -> None:
    columns = [name_column("name"), number_column("count"), name_column("op")]
    rows = [("n" * 90, "12,345", "o" * 40), ("short", "1", "日本")]
    for width in (50, 70, 200):
        lines = table(columns, rows, Style(width=width)).splitlines()
        assert max(map(columns_of, lines)) <= width
        assert "12,345" in lines[1]
    assert table(columns, []).split() == ["name", "count", "op"]


def test_wrapped_lines_hang_below_their_first_word() -> None:
    assert wrapped("one two three four", Style(width=14), 2, "- ") == (
        "  - one two\n    three four"
    )


def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert style_of(Terminal()).colour
    assert style_of(io.StringIO()) == Style(width=100, colour=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not style_of(Terminal()).colour
    monkeypatch.setenv("COLUMNS", "72")
    assert style_of(io.StringIO()).width == 72


def test_steps_spelled_out_at_once_are_the_same_json_in_less_memory() -> None:
    trace = trace_of(*(mark(i, 10 * i, 9.125 + i % 3) for i in range(2000)))
    facts = trace_facts(trace)
    taken = []
    for as_text in (False, True):
        tracemalloc.start()
        made = summary_json(trace, facts, steps_as_text=as_text)
        taken.append((tracemalloc.get_traced_memory()[0], encoded(made)))
        tracemalloc.stop()
    assert taken[0][1] == taken[1][1]
    assert len(json.loads(taken[1][1])["steps"]) == 2000
    assert taken[1][0] < 0.6 * taken[0][0]
