"""What a trace lacks makes no claim true, and meets no expectation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import RECORDED
from trace_edits import (
    CALLS,
    Document,
    broken_copy,
    complete,
    remove,
    remove_all,
    rename,
    scale,
    set_run,
    together,
)

from trace_util.claims import ClaimCheck, check
from trace_util.reader import read_trace
from trace_util.slim import slim_trace

H200 = RECORDED / "nvidia-h200"
LINEAR = H200 / "02_linear" / "1024_32_64_eager.json.gz"
COMPILED = H200 / "01_matmul" / "64_bf16_warm_compile.json.gz"
MLP = H200 / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"
TRITON = H200 / "03_kernels_mlp" / "64_128_768_3072_triton.json.gz"
SMALL = H200 / "01_matmul" / "64_bf16_warm_eager.json.gz"
SPLIT = H200 / "03_simple_mlp" / "1_1_768_3072_eager.json.gz"
RANK = RECORDED / "nvidia-h200-x2" / "05_parallel_mlp" / "64_128_768_3072_tp2_rank0.json.gz"
SLIM = "this copy was slimmed to the GPU's work, and most ops left out"


def claim(path: Path, id: str) -> ClaimCheck:
    return next(one for one in check(read_trace(path)).claims if one.id == id)


def slim(path: Path, folder: Path) -> Path:
    copy = folder / "slim.json"
    if not copy.exists():
        slim_trace(path, copy, "gpu")
    return copy


@pytest.mark.parametrize(
    ("path", "ids"),
    [(LINEAR, ("2.1", "2.2", "2.3")), (COMPILED, ("1.7", "1.9")), (TRITON, ("4.2",))],
)
def test_ops_that_a_slim_copy_left_out_decide_nothing(
    path: Path, ids: tuple[str, ...], tmp_path: Path
) -> None:
    found = check(read_trace(slim(path, tmp_path)), against=())
    reasons = {one.id: one.reason for one in found.claims if one.verdict == "unseen"}
    assert {id: reasons.get(id) for id in ids} == dict.fromkeys(ids, SLIM)


def test_expectations_about_ops_are_not_met_by_a_slim_copy(tmp_path: Path) -> None:
    texts = ['count("aten::copy_") == 0', "cpu_ops < 9", "cpu_us_per_step < 1e9"]
    found = check(read_trace(slim(MLP, tmp_path)), expectations=texts)
    assert [one.holds for one in found.expectations] == [False] * 3
    assert found.expectations[0].reason == f'count("aten::copy_") cannot be known: {SLIM}'
    work = ['count("Memcpy DtoD") == 0', 'count("nvjet*") == 9', "kernels_per_step == 5"]
    found = check(read_trace(slim(MLP, tmp_path)), expectations=work)
    assert [one.holds for one in found.expectations] == [True] * 3


def test_views_are_no_metadata_where_no_launch_was_recorded(tmp_path: Path) -> None:
    found = claim(broken_copy(LINEAR, tmp_path, remove_all(*CALLS)), "2.2")
    assert (found.verdict, found.reason) == (
        "unseen",
        "no launch was recorded, beneath whatever op",
    )


def test_a_compiler_is_not_absent_where_no_op_was_recorded(tmp_path: Path) -> None:
    found = claim(broken_copy(TRITON, tmp_path, remove_all("cpu_op")), "4.2")
    assert found.verdict == "unseen" and found.reason.startswith("no op was recorded")


def test_an_unknown_tile_is_no_other_tile(tmp_path: Path) -> None:
    unknown = rename("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT", "made_up_gemm", "kernel")
    found = claim(broken_copy(MLP, tmp_path, unknown), "3.3")
    assert (found.verdict, found.reason) == (
        "unseen",
        "the names of the GEMMs do not say their tiles",
    )


def without_shapes(document: Document) -> None:
    for event in complete(document, "", "cpu_op"):
        event["args"].pop("Input Dims", None)


def test_work_that_was_not_compared_is_told(tmp_path: Path) -> None:
    found = claim(broken_copy(MLP, tmp_path, without_shapes), "3.3")
    assert (found.verdict, found.reason) == (
        "holds",
        "their work was not compared: no shapes were recorded",
    )


def test_no_number_may_mean_no_finite_output(tmp_path: Path) -> None:
    found = claim(broken_copy(TRITON, tmp_path, set_run(relative_error=None)), "4.5")
    assert (found.verdict, found.reason) == (
        "unseen",
        "no error against float64 was recorded: not measured, or of no finite output",
    )


def test_output_that_is_not_finite_contradicts_the_claim(tmp_path: Path) -> None:
    edit = set_run(relative_error=None, output_finite=False)
    found = claim(broken_copy(TRITON, tmp_path, edit), "4.5")
    assert found.contradicted
    assert found.reason == "the output holds NaN or infinity, and float64's does not"


FIRST = remove("", "kernel", which=0)
SUMS = together(*[remove("splitKreduce", "kernel", which=0)] * 3)


@pytest.mark.parametrize(
    ("path", "edit", "id", "lost"),
    [
        (SMALL, FIRST, "1.1", "a launch"),
        (SPLIT, SUMS, "3.1", "3 launches"),
        (RANK, FIRST, "5.1", "a launch"),
        (RANK, FIRST, "5.3", "a launch"),
    ],
    ids=["1.1", "3.1", "5.1", "5.3"],
)
def test_lost_kernels_leave_no_claim_about_all_of_them_standing(
    path: Path, edit: Callable[[Document], None], id: str, lost: str, tmp_path: Path
) -> None:
    found = claim(broken_copy(path, tmp_path, edit), id)
    assert (found.verdict, found.reason) == (
        "unseen",
        f"the trace lost the kernels of {lost}, which may make it untrue",
    )


def test_lost_kernels_do_not_save_a_claim_that_is_untrue(tmp_path: Path) -> None:
    """What is left is busy for more than a few percent already."""
    longer = scale(40, "kernel")
    edit = together(longer, FIRST)
    assert claim(broken_copy(SMALL, tmp_path, edit), "1.1").contradicted


def one_step(document: Document) -> None:
    """Only what happens before the second step on the CPU, and what that launched."""
    second = complete(document, "ProfilerStep#3", "user_annotation")[0]["ts"]
    early = [e for e in document["traceEvents"] if e.get("ts", 0) < second]
    launched = {e["args"].get("correlation") for e in early if e.get("cat") in CALLS}
    document["traceEvents"] = [
        e
        for e in document["traceEvents"]
        if e.get("ph") != "X"
        or (
            e.get("args", {}).get("correlation") in launched
            if "stream" in e["args"]
            else e in early
        )
    ]


def test_one_run_of_a_kernel_says_nothing_of_its_speed(tmp_path: Path) -> None:
    copy = broken_copy(TRITON, tmp_path, together(one_step, scale(0.5, "kernel")))
    found = claim(copy, "4.4")
    assert found.verdict == "unseen"
    assert found.reason == "not distinguishable: a single sample has no spread, n=1"
