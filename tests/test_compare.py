"""Two or more runs side by side: what stayed, what was fused, what that saves, what is faster."""

from __future__ import annotations

import gzip
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from conftest import RECORDED
from msgspec.structs import replace
from trace_edits import (
    GPU,
    broken_copy,
    complete,
    load,
    put_in,
    remove,
    remove_all,
    rename,
    set_run,
    together,
    unlink,
)

from trace_util.cli import main
from trace_util.compare import Comparison, Difference, TransferUse, comparison
from trace_util.compare.traffic import moved_bytes
from trace_util.events import TraceError
from trace_util.facts import trace_facts
from trace_util.ranges import Range, distinction
from trace_util.reader import read_trace
from trace_util.report.compare import compare_text
from trace_util.report.compare_json import compare_json
from trace_util.report.text import Style

H200 = RECORDED / "nvidia-h200"
MM, ADDMM = (H200 / "01_matmul" / f"4096_bf16_warm_{v}.json.gz" for v in ("eager", "compile"))
LINEAR, COMPILED_LINEAR = (
    H200 / "02_linear" / f"1024_32_64_{v}.json.gz" for v in ("eager", "compile")
)
MLP, COMPILED_MLP = (
    H200 / "03_simple_mlp" / f"64_128_768_3072_{v}.json.gz" for v in ("eager", "compile")
)
TRITON, LIGER, FUSED = (
    H200 / "03_kernels_mlp" / f"64_128_768_3072_{v}.json.gz" for v in ("triton", "liger", "fused")
)
SMALL, GRAPH = (
    H200 / "03_simple_mlp" / f"1_1_768_3072_eager{v}.json.gz" for v in ("", "_cuda_graph")
)
TENSOR = 64 * 128 * 3072 * 2  # bytes of the [8192, 3072] bf16 intermediate


def compared(*paths: Path, baseline: int = 0) -> Comparison:
    return comparison([read_trace(path) for path in paths], baseline)


def beside(before: Path, after: Path) -> Difference:
    (found,) = compared(before, after).differences
    return found


def names(uses: Any) -> list[str]:
    return [use.name for use in uses]


def test_compiled_linear_has_the_very_same_kernel() -> None:
    found = beside(LINEAR, COMPILED_LINEAR)
    assert found.kernels.all_same
    assert found.bytes_saved == 0
    gone = {row.name: row.before for row in found.rows if not row.after}
    assert gone == {"aten::linear": 1, "aten::t": 1, "aten::transpose": 1, "aten::as_strided": 1}
    came = {row.name for row in found.rows if not row.before}
    assert came == {
        "TorchDynamo Cache Lookup", "Torch-Compiled Region", "Pregraph bytecode",
        "AOTDispatcher Runtime Wrapper Prologue", "Call CompiledFxGraph",
    }  # fmt: skip
    assert all(row.of_compiler for row in found.rows if not row.before)
    assert found.unlike == ()


@pytest.mark.parametrize(
    ("after", "kernel"),
    [
        (COMPILED_MLP, "triton_poi_fused__unsafe_view_gelu_mul_0"),
        (TRITON, "_geglu_forward_kernel"),
        (LIGER, "_geglu_tanh_forward_kernel"),
    ],
)
def test_gelu_and_mul_became_one_kernel(after: Path, kernel: str) -> None:
    found = beside(MLP, after)
    (fused,) = found.fused
    assert fused.match.ops == ("gelu", "mul")
    assert fused.match.whole.name == kernel
    assert [part.computed.name.functor for part in fused.match.parts] == [
        "GeluCUDAKernelImpl",
        "MulFunctor",
    ]
    (kept,) = fused.intermediates
    assert (kept.tensor.dims, kept.tensor.dtype) == ((64, 128, 3072), "bf16")
    assert (kept.tensor.size_bytes, kept.count) == (TENSOR, 1)
    assert found.bytes_saved == 2 * TENSOR


@pytest.mark.parametrize("after", [COMPILED_MLP, TRITON, LIGER])
def test_gemms_keep_their_names(after: Path) -> None:
    found = beside(MLP, after)
    assert [(one.before.name, one.before.count, one.after.count) for one in found.kernels.same] == [
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", 2, 2),
        ("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT", 1, 1),
    ]
    assert not (found.kernels.replaced or found.kernels.only_before or found.kernels.only_after)


def test_hand_written_kernel_brings_no_compiler() -> None:
    assert not [row for row in beside(MLP, TRITON).rows if row.of_compiler]


def test_kernel_of_gate_up_and_activation_saves_three_intermediates() -> None:
    if not FUSED.is_file():
        pytest.skip("the fused kernel has not been recorded")
    found = beside(MLP, FUSED)
    (fused,) = found.fused
    assert set(fused.match.ops) == {"mm", "gelu", "mul"}
    assert sum(kept.count for kept in fused.intermediates) == 3
    assert found.bytes_saved is not None and found.bytes_saved >= 6 * TENSOR


def test_bias_copied_before_the_gemm_takes_back_what_was_saved() -> None:
    found = beside(MM, ADDMM)
    (fused,) = found.fused
    assert fused.match.ops == ("mm", "add")
    assert fused.match.told_by == "the op that launched it"
    (kept,) = fused.intermediates
    assert kept.saved_bytes == 2 * 4096 * 4096 * 2
    assert found.bytes_saved == 0  # the Memcpy DtoD of the bias moves as many


def test_reverse_of_a_fusion_is_a_split() -> None:
    found = beside(COMPILED_MLP, MLP)
    (split,) = found.split
    assert split.match.whole.name == "triton_poi_fused__unsafe_view_gelu_mul_0"
    assert found.bytes_saved == -2 * TENSOR
    assert not found.fused


def test_kernel_that_computes_the_same_replaces() -> None:
    found = beside(COMPILED_MLP, TRITON)
    (pair,) = found.kernels.replaced
    assert pair.after.name == "_geglu_forward_kernel"
    assert found.bytes_saved == 0


def test_gemm_of_another_tile_replaces(tmp_path: Path) -> None:
    copy = broken_copy(COMPILED_MLP, tmp_path, rename("_192x128_64x5", "_128x128_64x6", "kernel"))
    (pair,) = beside(MLP, copy).kernels.replaced
    assert pair.changed == ("tile", "stages")


def test_unknown_kernel_is_told_by_what_vanished(tmp_path: Path) -> None:
    edit = rename("_geglu_forward_kernel", "my_activation", "kernel")
    found = beside(MLP, broken_copy(TRITON, tmp_path, edit))
    (fused,) = found.fused
    assert (fused.match.told_by, fused.match.ops) == ("what vanished", ("gelu", "mul"))
    assert found.bytes_saved == 2 * TENSOR


def test_kernel_run_less_often_is_the_same_and_left_over(tmp_path: Path) -> None:
    def once_less(document: dict[str, Any]) -> None:
        gone = complete(document, "_256x128_", "kernel")[::2]
        document["traceEvents"] = [e for e in document["traceEvents"] if e not in gone]

    found = beside(MLP, broken_copy(MLP, tmp_path, once_less))
    same = {one.before.name: (one.before.count, one.after.count) for one in found.kernels.same}
    assert same["nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"] == (2, 1)
    assert [(use.name, use.count) for use in found.kernels.only_before] == [
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", 1)
    ]


def test_graph_replay_has_no_ops_and_one_launch() -> None:
    found = compared(SMALL, GRAPH)
    (difference,) = found.differences
    assert difference.kernels.all_same
    assert [run.launches for run in found.runs] == [6, 1]
    assert difference.unlike == ("CUDA graph: no and yes",)
    assert difference.step.differs


def test_shapes_that_were_not_recorded_leave_bytes_unknown(tmp_path: Path) -> None:
    def without_shapes(document: dict[str, Any]) -> None:
        for event in document["traceEvents"]:
            for key in ("Input Dims", "Input type", "Input Strides"):
                event.get("args", {}).pop(key, None)

    found = beside(broken_copy(MLP, tmp_path, without_shapes), COMPILED_MLP)
    assert found.fused
    assert (found.bytes_saved, found.bytes_reason) == (None, "shapes were not recorded")


def test_bytes_follow_the_recorded_dtype(tmp_path: Path) -> None:
    def in_fp32(document: dict[str, Any]) -> None:
        for event in document["traceEvents"]:
            types = event.get("args", {}).get("Input type")
            if types:
                event["args"]["Input type"] = [t.replace("c10::BFloat16", "float") for t in types]

    assert beside(broken_copy(MLP, tmp_path, in_fp32), COMPILED_MLP).bytes_saved == 4 * TENSOR


def test_unlike_runs_are_compared_with_a_warning(tmp_path: Path) -> None:
    found = beside(H200 / "01_matmul" / "64_bf16_warm_eager.json.gz", ADDMM)
    assert found.unlike == ("size: 64 and 4096",)
    assert not found.fused
    assert names(use.before for use in found.kernels.replaced) == [
        "nvjet_sm90_tst_64x8_64x16_1x4_h_bz_NNT"
    ]
    other_gpu = broken_copy(ADDMM, tmp_path, set_run(gpu="NVIDIA L4"))
    assert beside(MM, other_gpu).unlike == ("GPU: NVIDIA H200 and NVIDIA L4",)
    assert beside(MM, other_gpu).fused


def test_run_without_gpu_work_is_compared_with_a_warning(tmp_path: Path) -> None:
    copy = broken_copy(MLP, tmp_path, remove_all(*GPU))
    found = compared(MLP, copy)
    (difference,) = found.differences
    assert any("what the GPU did was not recorded" in text for text in difference.unlike)
    assert found.runs[1].kernels is None
    assert difference.gpu.differs is None
    assert difference.bytes_saved is None


def test_trace_without_steps_is_counted_as_a_whole(tmp_path: Path) -> None:
    def unmark(document: dict[str, Any]) -> None:
        document["traceEvents"] = [
            e for e in document["traceEvents"] if not str(e.get("name")).startswith("ProfilerStep")
        ]

    found = compared(MLP, broken_copy(COMPILED_MLP, tmp_path, unmark))
    assert not found.by_step
    assert [run.kernels for run in found.runs] == [15, 12]
    busy = [trace_facts(read_trace(run.path)).gpu_busy_ns for run in found.runs]
    assert [run.times.gpu and run.times.gpu.median_ns for run in found.runs] == busy
    assert [run.times.cpu for run in found.runs] == [None, None], "which is that of a step"
    (difference,) = found.differences
    assert "no step marks" in difference.unlike[0]
    assert difference.bytes_saved == 3 * 2 * TENSOR


def test_step_that_lost_kernels_is_left_out(tmp_path: Path) -> None:
    lossy = broken_copy(MLP, tmp_path, remove("GeluCUDA", "kernel", which=2))
    found = compared(MLP, lossy)
    before, after = found.runs
    assert (before.kernels, after.kernels) == (5, 5)
    assert after.times.gpu and after.times.gpu.count == 2
    assert (before.incomplete, after.busy_share) == ((), None)
    assert after.incomplete == ("ProfilerStep#4 lost kernels: left out of the figures",)
    (one,) = found.differences
    assert one.kernels.all_same and one.rows == ()
    assert "warning  ProfilerStep#4 lost kernels" in compare_text(found)
    assert compare_json(found)["warnings"] == [
        {"run": 1, "unlike": [], "incomplete": list(after.incomplete)}
    ]


def test_gpu_time_without_launches_is_not_compared(tmp_path: Path) -> None:
    found = compared(MLP, broken_copy(MLP, tmp_path, unlink(*GPU)))
    (one,) = found.differences
    reason = "21 GPU events name no launch, and so no step"
    assert (one.gpu.differs, one.gpu.reason) == (None, reason)
    assert (one.bytes_saved, one.bytes_reason) == (None, reason)
    assert found.runs[1].times.gpu is None
    assert found.runs[1].incomplete == (f"{reason}: the GPU figures of a step are too low",)


def test_cut_file_is_compared_with_a_warning_and_no_conclusion(tmp_path: Path) -> None:
    whole = gzip.decompress(MLP.read_bytes())
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    for paths, run in (((MLP, cut), 1), ((cut, MLP), 0)):
        found = compared(*paths)
        (one,) = found.differences
        assert (one.cpu.differs, one.gpu.differs, one.bytes_saved) == (None, None, None)
        told = [entry for entry in compare_json(found)["warnings"] if entry["run"] == run]
        assert "the file is cut off" in told[0]["incomplete"][0]
        assert "warning  the file is cut off" in compare_text(found)


def test_three_runs_are_each_beside_the_baseline() -> None:
    found = compared(COMPILED_MLP, MLP, TRITON, baseline=1)
    assert [one.index for one in found.differences] == [0, 2]
    assert [len(one.fused) for one in found.differences] == [1, 1]


def test_one_trace_or_no_such_baseline_is_refused() -> None:
    with pytest.raises(TraceError, match="give two or more"):
        compared(MLP)
    with pytest.raises(TraceError, match="no trace 2 among 2"):
        compared(MLP, TRITON, baseline=2)


def test_trace_beside_itself_is_not_distinguishable() -> None:
    found = beside(MLP, MLP)
    assert found.kernels.all_same
    assert (found.rows, found.unlike, found.bytes_saved) == ((), (), 0)
    assert [one.differs for one in (found.unprofiled, found.cpu, found.gpu)] == [False] * 3


@pytest.mark.parametrize(
    ("a", "b", "differs", "reason"),
    [
        (
            Range(10, 9, 11, 3),
            Range(13, 12, 14, 3),
            None,
            "too few samples to tell, n=3",
        ),
        (Range(10, 9, 11, 4), Range(13, 12, 14, 4), True, "ranges do not overlap, n=4"),
        (Range(10, 9, 11, 3), Range(12, 11, 14, 3), False, "ranges overlap, n=3"),
        (Range(10, 9, 99, 100), Range(12, 11, 14, 100), True, "below all samples"),
        (Range(10, 9, 99, 19), Range(12, 11, 14, 100), False, "ranges overlap, n=19"),
        (Range(12, 11, 14, 100), Range(10, 9, 99, 100), True, "below all samples"),
        (Range(10, 9, 99, 100), Range(12, 10, 14, 100), False, "ranges overlap, n=100"),
        (Range(10, 10, 10, 1), Range(20, 20, 20, 9), None, "a single sample has no spread, n=1"),
        (None, Range(20, 20, 20, 9), None, "not measured in both"),
    ],
)
def test_distinction(a: Range | None, b: Range | None, differs: bool | None, reason: str) -> None:
    found = distinction(a, b)
    assert found.differs is differs
    assert reason in found.reason


def test_copy_moves_its_bytes_twice_and_a_memset_once() -> None:
    copied, set_to = (TransferUse("", 1, 100, is_memset) for is_memset in (False, True))
    assert [moved_bytes([copied]), moved_bytes([set_to]), moved_bytes([copied, set_to])] == [
        200, 100, 300,
    ]  # fmt: skip
    assert moved_bytes([copied, TransferUse("", 1, None, True)]) is None


def parts(few: int, many: int) -> bool | None:
    """What is said of so many samples below so many others."""
    return distinction(Range(10, 9, 11, few), Range(13, 12, 14, many)).differs


def test_few_samples_part_by_chance() -> None:
    # Of the orders that equal samples come in, two part them, whose number C(a + b, a) / 2 is here.
    enough = {
        (2, 6): 14,
        (2, 7): 18,
        (2, 8): 22.5,
        (3, 3): 10,
        (3, 4): 17.5,
        (3, 5): 28,
        (4, 4): 35,
    }
    assert {pair: parts(*pair) for pair in enough} == {
        pair: True if one_in >= 20 else None for pair, one_in in enough.items()
    }
    assert [parts(n, n) for n in (2, 3, 4)] == [None, None, True]


def test_upper_bound_is_not_compared_with_a_clean_time(tmp_path: Path) -> None:
    told = load(MLP)["run_facts"]["unprofiled_step_us"]
    late = broken_copy(
        MLP, tmp_path / "a", set_run(unprofiled_step_us={**told, "after_profiler": True})
    )
    clean = broken_copy(
        MLP, tmp_path / "b", set_run(unprofiled_step_us={**told, "after_profiler": False})
    )
    assert beside(clean, late).unprofiled.differs is None
    assert "upper bound" in beside(clean, late).unprofiled.reason
    wall = broken_copy(MLP, tmp_path / "c", set_run(unprofiled_step_us={**told, "clock": "wall"}))
    assert "unlike clocks, cuda_event and wall" in beside(MLP, wall).unprofiled.reason


def test_text_at_a_fixed_width(tmp_path: Path) -> None:
    text = compare_text(_steady(tmp_path), Style(width=80))
    # The window, and so the share of it, is that of the recording.
    assert re.sub(r" +(?:[\d.]+ %|busy)$", "", text, flags=re.MULTILINE) == TEXT


def _steady(tmp_path: Path) -> Comparison:
    """Recorded traces with times of their own, so that a new recording changes no text."""

    def edit(gpu: float, step: float):  # type: ignore[no-untyped-def]
        def times(document: dict[str, Any]) -> None:
            for event in complete(document, "", "kernel"):
                event["dur"] = gpu
            for event in complete(document, "", "gpu_memset"):
                event["dur"] = 0.5
            for event in complete(document, "mlp_fwd", "user_annotation"):
                event["dur"] = step

        spread = {"median": step, "min": step - 1, "max": step + 10, "n": 100}
        told = {**spread, "clock": "cuda_event", "after_profiler": False}
        return together(times, set_run(unprofiled_step_us=told))

    eager = read_trace(broken_copy(MLP, tmp_path / "a", edit(10, 200)))
    compiled = read_trace(broken_copy(COMPILED_MLP, tmp_path / "b", edit(8, 100)))
    return comparison([replace(eager, path="eager.json"), replace(compiled, path="compile.json")])


TEXT = """\
A  eager.json
   03_simple_mlp, eager, NVIDIA H200, the baseline
B  compile.json
   03_simple_mlp, compile, NVIDIA H200

  a step of  unprofiled (min to max)     CPU      GPU  kernels  launches  copies  memsets
  A eager        200 (199 to 210) µs  200 µs  51.0 µs        5         5       0        2
  B compile       100 (99 to 110) µs  100 µs  33.0 µs        4         4       0        2

B beside A
  step      200 µs to 100 µs (-50.0 %) without the profiler; distinguishable:
            ranges do not overlap, n=100
  CPU       200 µs to 100 µs (-50.0 %) with the profiler; too few samples to
            tell, n=2
  GPU       51.0 µs to 33.0 µs (-35.3 %); too few samples to tell, n=2
  same      nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT (2 a step),
            nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT (1 a step)
  fused     gelu and mul became triton_poi_fused__unsafe_view_gelu_mul_0 (told
            by its name); a 50.3 MB intermediate, [64, 128, 3072] bf16, no
            longer makes a round trip through the GPU's memory; 10.0 µs + 10.0
            µs became 8.00 µs
  CPU rows  gone: aten::linear 3, aten::t 3, aten::transpose 3, aten::as_strided
            3, aten::matmul 3, aten::reshape 3, aten::view 3, aten::_unsafe_view
            3, aten::gelu 1, aten::mul 1
  CPU rows  come: triton_poi_fused__unsafe_view_gelu_mul_0 1
  CPU rows  come with torch.compile: TorchDynamo Cache Lookup 1, Torch-Compiled
            Region 1, Pregraph bytecode 1, AOTDispatcher Runtime Wrapper
            Prologue 1, Call CompiledFxGraph 1
  bytes     101 MB fewer a step go through the GPU's memory
"""


def test_json_has_the_documented_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(MLP), str(COMPILED_MLP), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) >= {"runs", "kernels", "ops", "per_step", "bytes_saved", "distinguishable"}
    assert set(told["kernels"]) == {"same", "replaced", "fused", "split", "only_in"}
    assert told["bytes_saved"] == [None, 2 * TENSOR]
    (fused,) = told["kernels"]["fused"]
    assert (fused["run"], fused["ops"]) == (1, ["gelu", "mul"])
    assert fused["intermediates"][0]["bytes"] == TENSOR
    assert [run["variant"] for run in told["runs"]] == ["eager", "compile"]
    assert [run["kernels"] for run in told["per_step"]] == [5, 4]
    assert told["distinguishable"][0] is None
    assert set(told["distinguishable"][1]["gpu"]) == {"differs", "change", "reason"}
    assert {"run": 1, "name": "aten::t", "before": 3, "after": 0, "of_compiler": False} in told[
        "ops"
    ]


def test_baseline_may_be_another_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(TRITON), "--baseline", str(MLP), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runs"][told["baseline"]]["variant"] == "eager"
    assert main(["compare", str(MLP), str(TRITON), "--baseline", str(TRITON), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["baseline"] == 1


def test_single_trace_is_wrong_usage_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(MLP)]) == 2
    error = capsys.readouterr().err
    assert error == f"error: {MLP}: has nothing to be compared with; give two or more\n"


def test_standard_input_cannot_be_both(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("compare - -", "plot - - -o x.svg", "report - - -o x.html"):
        assert main(command.split()) == 2
        said = "error: -: standard input can be read once; save it to a file first\n"
        assert capsys.readouterr().err == said


def test_foreign_traces_are_compared_without_a_traceback(shared_traces: Path) -> None:
    traces = []
    for path in sorted(shared_traces.glob("*.json*")):
        try:
            traces.append(read_trace(path))
        except TraceError:
            continue
    for a, b in combinations(traces, 2):
        if a.size_bytes < 100_000 and b.size_bytes < 100_000:
            assert compare_text(comparison([a, b]))
    assert compare_text(comparison(traces[:1] + traces[-6:]))


def test_our_kernel_with_another_activation_is_told_by_the_flags(tmp_path: Path) -> None:
    def silu(document: dict[str, Any]) -> None:
        document["run_facts"]["flags"]["activation"] = "silu"
        for event in document["traceEvents"]:
            event["name"] = str(event.get("name", "")).replace("GeluCUDAKernelImpl", "silu_kernel")

    eager = broken_copy(MLP, tmp_path / "a", silu)
    (fused,) = beside(eager, broken_copy(TRITON, tmp_path / "b", silu)).fused
    assert fused.match.ops == ("silu", "mul")


def test_times_that_lie_far_apart_keep_their_digits(tmp_path: Path) -> None:
    told = {"median": 35500, "min": 98.2, "max": 55100, "n": 50, "clock": "wall"}
    wide = read_trace(broken_copy(MLP, tmp_path, set_run(unprofiled_step_us=told)))
    text = compare_text(comparison([wide, read_trace(MLP)]))
    assert "35.5 ms (98.2 µs to 55.1 ms)" in text


LINEAR = H200 / "02_linear" / "1024_32_64_eager.json.gz"
SMALL_MM = H200 / "01_matmul" / "64_bf16_warm_eager.json.gz"


def unlike(*paths: Path) -> tuple[str, ...]:
    return comparison([read_trace(path) for path in paths]).differences[0].unlike


def test_lessons_of_two_workloads_are_unlike_runs() -> None:
    assert unlike(SMALL_MM, LINEAR)[0] == "lesson: 01_matmul and 02_linear"
    assert unlike(MLP, H200 / "03_kernels_mlp" / "64_128_768_3072_triton.json.gz") == ()


def nameless(document: dict[str, Any]) -> None:
    """Of no lesson: without run facts and without the lesson's annotation."""
    document.pop("run_facts")
    document["traceEvents"] = [
        one for one in document["traceEvents"] if one.get("cat") not in ("user_annotation",)
        or one["name"].startswith("ProfilerStep")
    ]  # fmt: skip


def test_foreign_runs_of_other_ops_are_unlike_and_nothing_of_them_is_fused(tmp_path: Path) -> None:
    mm, mlp = (broken_copy(one, tmp_path / one.name, nameless) for one in (SMALL_MM, MLP))
    found = comparison([read_trace(mlp), read_trace(mm)])
    (one,) = found.differences
    assert one.unlike[0] == "ops: 2 names in both, 9 and 1 in one alone"
    assert [run.run.variant for run in found.runs] == [None, None], "nothing says that it is eager"
    assert (one.fused, one.split) == ((), ())
    assert unlike(mm, mm) == ()


def test_stacks_in_one_run_alone_are_told(tmp_path: Path) -> None:
    stacks = broken_copy(MLP, tmp_path, put_in("train.py(3): f", "aten::mm", "python_function"))
    assert unlike(MLP, stacks) == ("Python stacks recorded: no and yes",)


def test_public_runs_of_two_models_are_no_fusion(shared_traces: Path) -> None:
    names = ("t4-with-stack-steps.json.gz", "2021-vocabulary-resnet50.json.gz")
    (one,) = comparison([read_trace(shared_traces / name) for name in names]).differences
    assert one.unlike[0] == "ops: 7 names in both, 3 and 72 in one alone"
    assert (one.fused, one.split) == ((), ())
    pair = [read_trace(shared_traces / f"compare-{letter}.json.gz") for letter in "ab"]
    assert not [text for text in comparison(pair).differences[0].unlike if "ops" in text]
