"""Every claim of the lessons on every recorded trace, and on copies that break it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import RECORDED
from trace_edits import (
    CALLS,
    GPU,
    Document,
    broken_copy,
    complete,
    load,
    put_in,
    remove,
    remove_all,
    rename,
    scale,
    set_run,
    together,
    twice,
)

from trace_util.claims import LESSON_CLAIMS, Check, check
from trace_util.claims.verdict import ClaimCheck
from trace_util.events import TraceError
from trace_util.reader import read_trace
from trace_util.reading import reading_of

H200 = RECORDED / "nvidia-h200"

# Claims by verdict on each recorded trace. Those that rest on measured times alone (1.10 at size
# 64, 3.8, 4.4) have tests of their own: a new recording may decide them otherwise.
EXPECTED = {
    "01_matmul/64_bf16_cold_eager": ("1.1 1.3 1.4 1.6 1.8 1.11", "1.5", "1.2 1.7 1.9"),
    "01_matmul/64_bf16_warm_eager": ("1.1 1.3 1.4 1.8 1.11", "1.5", "1.2 1.6 1.7 1.9"),
    "01_matmul/64_bf16_cold_compile": ("1.1 1.7 1.8 1.9 1.11", "1.5", "1.2 1.3 1.4 1.6"),
    "01_matmul/64_bf16_warm_compile": ("1.1 1.7 1.8 1.9 1.11", "1.5", "1.2 1.3 1.4 1.6"),
    "01_matmul/4096_bf16_warm_eager": ("1.2 1.3 1.4 1.10 1.11", "1.5", "1.1 1.6 1.7 1.8 1.9"),
    "01_matmul/4096_bf16_warm_compile": ("1.2 1.7 1.9 1.10 1.11", "1.5", "1.1 1.3 1.4 1.6 1.8"),
    "02_linear/1024_32_64_eager": ("2.1 2.2 2.3 2.4 2.5 2.6", "", ""),
    "02_linear/1024_32_64_compile": ("2.3 2.4 2.5 2.6", "", "2.1 2.2"),
    "03_simple_mlp/64_128_768_3072_eager": ("3.1 3.2 3.3 3.6 3.7", "3.4", "3.5"),
    "03_simple_mlp/64_128_768_3072_compile": ("3.3 3.5 3.6 3.7", "3.4", "3.1 3.2"),
    "03_simple_mlp/1_1_768_3072_eager": ("3.2", "3.1 3.3 3.4", "3.5 3.6 3.7"),
    "03_simple_mlp/1_1_768_3072_eager_cuda_graph": ("", "3.1 3.3", "3.2 3.4 3.5 3.6 3.7"),
    "03_kernels_mlp/64_128_768_3072_triton": ("4.1 4.2 4.3 4.5", "", ""),
    "03_kernels_mlp/64_128_768_3072_liger": ("4.1 4.2 4.3 4.5", "", ""),
    "03_kernels_mlp/64_128_768_3072_fused": ("4.2 4.5", "4.1 4.3", "4.4"),
}
MEASURED = {"1.10", "3.8", "4.4"}


def recorded(name: str) -> Path:
    path = H200 / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} has not been recorded")
    return path


def checked(path: Path, **options: object) -> Check:
    return check(read_trace(path), **options)  # type: ignore[arg-type]


def verdicts(found: Check) -> dict[str, str]:
    return {
        claim.id: "contradicted" if claim.contradicted else claim.verdict for claim in found.claims
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_claims_on_recorded_trace(name: str) -> None:
    found = checked(recorded(name))
    expected = {
        claim: verdict
        for verdict, claims in zip(("holds", "differs", "unseen"), EXPECTED[name], strict=True)
        for claim in claims.split()
    }
    got = verdicts(found)
    assert {claim: got[claim] for claim in expected} == expected
    assert set(got) - set(expected) <= MEASURED
    assert found.lesson == name.split("/")[0]
    assert found.passed


def test_every_recorded_trace_is_expected() -> None:
    names = {f"{p.parent.name}/{p.name[:-8]}" for p in H200.glob("0*/*.json.gz")}
    assert names <= set(EXPECTED)


def test_claims_have_the_numbers_of_their_lesson() -> None:
    counts = {lesson: [claim.id for claim in claims] for lesson, claims in LESSON_CLAIMS.items()}
    assert counts == {
        "01_matmul": [f"1.{n}" for n in range(1, 12)],
        "02_linear": [f"2.{n}" for n in range(1, 7)],
        "03_simple_mlp": [f"3.{n}" for n in range(1, 9)],
        "03_kernels_mlp": [f"4.{n}" for n in range(1, 6)],
        "05_parallel_mlp": [f"5.{n}" for n in range(1, 7)],
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_every_verdict_has_its_reason_or_evidence(name: str) -> None:
    for claim in checked(recorded(name)).claims:
        if claim.verdict == "unseen":
            assert claim.reason
        else:
            assert claim.evidence, claim.id
        if claim.verdict == "differs":
            assert claim.reason


COLD_MM = "01_matmul/64_bf16_cold_eager"
ONE_MM = "01_matmul/64_bf16_warm_eager"
ONE_ADDMM = "01_matmul/64_bf16_warm_compile"
LARGE = "01_matmul/4096_bf16_warm_eager"
LINEAR, COMPILED_LINEAR = "02_linear/1024_32_64_eager", "02_linear/1024_32_64_compile"
MLP, COMPILED_MLP = (f"03_simple_mlp/64_128_768_3072_{v}" for v in ("eager", "compile"))
TRITON = "03_kernels_mlp/64_128_768_3072_triton"
QUERY = "cudaOccupancyMaxActiveBlocksPerMultiprocessor"

# What breaks a copy -> the claims that must fail, and no others.
BROKEN = {
    "the add's kernel removed": (ONE_MM, remove("CUDAFunctor_add", "kernel"), "1.4"),
    "the GEMM removed": (ONE_MM, remove("nvjet", "kernel"), "1.4"),
    "the GPU busy": (COLD_MM, scale(7, "kernel"), "1.1"),
    "mm renamed": (ONE_MM, rename("aten::mm", "aten::bmm"), "1.3"),
    "add before matmul": (ONE_MM, rename("aten::add", "aten::sub"), "1.3"),
    "a third kernel": (ONE_MM, rename("CUDAFunctor_add", "CUDAFunctor_mul"), "1.4"),
    "a query before the add": (ONE_MM, put_in(QUERY, "aten::add", "cuda_runtime", 0.01), "1.5"),
    "no closing synchronise": (ONE_MM, rename("cudaDeviceSynchronize", "cudaGetDevice"), "1.11"),
    "a synchronise too early": (LARGE, scale(0.5, "cuda_runtime"), "1.11"),
    "a fast GPU": (LARGE, scale(0.01, "kernel"), "1.2"),
    "an add put in": (ONE_ADDMM, put_in("aten::add", "aten::addmm"), "1.7"),
    "the copy removed": (ONE_ADDMM, remove("Memcpy DtoD"), "1.7"),
    "another tile": (ONE_ADDMM, rename("_64x8_", "_64x16_", "kernel"), "1.7"),
    "no prologue": (ONE_ADDMM, rename("AOTDispatcher", "Dispatcher"), "1.9"),
    "no cache lookup": (ONE_ADDMM, remove("TorchDynamo Cache Lookup"), "1.9"),
    "an add beside the linear": (LINEAR, put_in("aten::add", "linear_fwd", at=0.01), "2.3"),
    "the linear's kernel removed": (LINEAR, remove("nvjet", "kernel"), "2.3"),
    "a launch in the transpose": (
        LINEAR,
        put_in("cudaLaunchKernel", "aten::as_strided", "cuda_runtime", correlation=987654),
        "2.2",
    ),
    "no transpose": (LINEAR, rename("aten::t", "aten::numpy_T"), "2.1 2.2"),
    "another layout": (LINEAR, rename("_TNT", "_NNT", "kernel"), "2.4 2.5"),
    "no bias in the name": (LINEAR, rename("_bias", "", "kernel"), "2.3 2.4"),
    "a transpose in the compiled run": (COMPILED_LINEAR, put_in("aten::t", "linear_fwd"), "2.4"),
    "the GELU's kernel removed": (MLP, remove("GeluCUDA", "kernel"), "3.1"),
    "one tile for all": (
        MLP,
        rename("192x128_64x5_1x2_h_bz_coopB", "256x128_64x4_1x2_h_bz_coopA", "kernel"),
        "3.3 3.6",
    ),
    "another walk": (MLP, rename("aten::_unsafe_view", "aten::clone"), "3.2"),
    "a query before the GELU": (MLP, put_in(QUERY, "aten::gelu", "cuda_runtime", 0.01), "3.4"),
    "the fused kernel removed": (COMPILED_MLP, remove("triton_poi", "kernel"), "3.5"),
    "the GELU not fused": (
        COMPILED_MLP,
        rename("triton_poi_fused__unsafe_view_gelu_mul_0", "triton_poi_fused_mul_0"),
        "3.5 3.7",
    ),
    "other GEMMs": (COMPILED_MLP, rename("_192x128_", "_128x128_", "kernel"), "3.6"),
    "the hand-written kernel removed": (TRITON, remove("_geglu", "kernel"), "4.1"),
    "Dynamo beside it": (TRITON, put_in("TorchDynamo Cache Lookup", "kernels_mlp_fwd"), "4.2"),
    "GEMMs unlike eager's": (TRITON, rename("_192x128_", "_128x128_", "kernel"), "4.3"),
    "a wrong result": (TRITON, set_run(relative_error=0.5), "4.5"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_broken_copy_fails_exactly_its_claims(what: str, tmp_path: Path) -> None:
    name, edit, failing = BROKEN[what]
    path = recorded(name)
    before = verdicts(checked(path))
    found = checked(broken_copy(path, tmp_path, edit))
    after = verdicts(found)
    assert {claim for claim, verdict in after.items() if verdict == "contradicted"} == set(
        failing.split()
    )
    changed = {claim for claim in before if before[claim] != after[claim]}
    # What a kernel that is gone might have shown; test_claims_unseen.py is about these.
    unknown = {one.id for one in found.claims if "which may make it untrue" in one.reason}
    assert changed - MEASURED - unknown == set(failing.split())


def test_query_before_the_gemm_only_is_what_was_published(tmp_path: Path) -> None:
    query = together(*(put_in_step(QUERY, "aten::mm", step) for step in range(3)))
    found = checked(broken_copy(recorded(ONE_MM), tmp_path, query))
    assert verdicts(found)["1.5"] == "holds"


def put_in_step(name: str, inside: str, step: int):  # type: ignore[no-untyped-def]
    def edit(document) -> None:  # type: ignore[no-untyped-def]
        events = [e for e in document["traceEvents"] if e.get("name") == inside]
        around = sorted(events, key=lambda event: event["ts"])[step]
        document["traceEvents"].append(
            {**around, "name": name, "cat": "cuda_runtime", "dur": 0.5, "args": {}}
            | {"ts": around["ts"] + 1}
        )

    return edit


def test_no_query_on_a_gpu_where_that_is_not_known(tmp_path: Path) -> None:
    on_a100 = set_run(compute_capability="8.0")
    found = checked(broken_copy(recorded(ONE_MM), tmp_path, on_a100))
    assert [claim.id for claim in found.contradicted] == ["1.5"]
    assert not found.passed


def test_cpu_run_shows_only_what_the_cpu_does(tmp_path: Path) -> None:
    on_cpu = together(remove_all(*GPU, *CALLS), set_run(device="cpu", gpu=None))
    found = checked(broken_copy(recorded(ONE_MM), tmp_path, on_cpu))
    assert {claim for claim, verdict in verdicts(found).items() if verdict == "holds"} == {"1.3"}
    assert "nothing was launched: the run was on the CPU" in {c.reason for c in found.claims}
    assert found.passed


def test_cpu_time_on_a_cpu_is_no_cost_of_dispatch(tmp_path: Path) -> None:
    on_cpu = together(remove_all(*GPU, *CALLS), set_run(device="cpu", gpu=None))
    eager = broken_copy(recorded(ONE_MM), tmp_path / "a", on_cpu)
    compiled = broken_copy(recorded(ONE_ADDMM), tmp_path / "b", on_cpu)
    found = check(read_trace(eager), against=[read_trace(compiled)])
    (dearer,) = (claim for claim in found.claims if claim.id == "1.8")
    assert dearer.verdict == "unseen"
    assert "holds its arithmetic too" in dearer.reason


def dearer(eager: Path, compiled: Path) -> ClaimCheck:
    found = check(read_trace(eager), against=[read_trace(compiled)])
    return next(claim for claim in found.claims if claim.id in ("1.8", "2.6"))


def decided_by(claim: ClaimCheck) -> str:
    return next(str(one.value) for one in claim.evidence if one.what == "decided by")


def cheap_under_the_profiler(document: Document) -> None:
    """The compiled steps take the CPU a tenth of their time while the profiler runs."""
    scale(0.1, "user_annotation", "cpu_op", "cuda_runtime", "cuda_driver")(document)


def test_unprofiled_time_decides_the_cpu_side_where_the_gpu_waits(tmp_path: Path) -> None:
    claim = dearer(
        recorded(LINEAR), broken_copy(recorded(COMPILED_LINEAR), tmp_path, cheap_under_the_profiler)
    )
    assert claim.verdict == "holds"
    assert decided_by(claim).startswith("the time without the profiler, which is the CPU's")
    assert claim.reason == (
        "the profiled medians say the opposite; they hold the profiler's own cost (too few samples "
        "to tell, n=2)"
    )


def test_agreeing_figures_need_no_note() -> None:
    claim = dearer(recorded(LINEAR), recorded(COMPILED_LINEAR))
    assert (claim.verdict, claim.reason) == ("holds", "")
    assert decided_by(claim).startswith("the time without the profiler")


def test_profiled_time_decides_the_cpu_side_where_no_other_was_recorded(tmp_path: Path) -> None:
    bare = together(set_run(unprofiled_step_us=None), twice)
    eager = broken_copy(recorded(LINEAR), tmp_path / "a", bare)
    compiled = broken_copy(recorded(COMPILED_LINEAR), tmp_path / "b", bare)
    claim = dearer(eager, compiled)
    assert claim.verdict == "holds"
    assert decided_by(claim) == (
        "the profiled time, since the time without the profiler was not recorded in both runs"
    )
    cheap = broken_copy(compiled, tmp_path / "c", cheap_under_the_profiler)
    assert dearer(eager, cheap).contradicted


def test_two_profiled_steps_decide_nothing(tmp_path: Path) -> None:
    bare = set_run(unprofiled_step_us=None)
    eager = broken_copy(recorded(LINEAR), tmp_path / "a", bare)
    compiled = broken_copy(recorded(COMPILED_LINEAR), tmp_path / "b", bare)
    claim = dearer(eager, compiled)
    assert claim.verdict == "unseen"
    assert claim.reason == "not distinguishable: too few samples to tell, n=2"


def test_no_small_op_where_the_gpu_does_not_wait() -> None:
    (claim,) = (one for one in checked(recorded(LARGE)).claims if one.id == "1.8")
    assert claim.verdict == "unseen"
    assert claim.reason == "this run's size is 4096, no small op; --size 64 shows it"


def test_contradicting_figures_of_the_recorded_pair_are_told() -> None:
    """Under the profiler the compiled step is cheaper, without it dearer."""
    (claim,) = (one for one in checked(recorded(ONE_MM)).claims if one.id == "1.8")
    eager, compiled = (one.value for one in claim.evidence[:2])
    assert isinstance(eager, float) and isinstance(compiled, float)
    assert claim.reason.startswith("the profiled medians say the opposite") == (compiled < eager)


def test_lost_gpu_activity_is_not_an_idle_gpu(tmp_path: Path) -> None:
    found = checked(broken_copy(recorded(ONE_MM), tmp_path, remove_all(*GPU)))
    (busy,) = (claim for claim in found.claims if claim.id == "1.1")
    assert busy.verdict == "unseen"
    assert busy.reason == "kernels were launched, but what the GPU did was not recorded"


def test_unprofiled_step_decides_whether_compiling_is_faster(tmp_path: Path) -> None:
    path = recorded(COMPILED_MLP)
    eager = checked(recorded(MLP)).facts["unprofiled_step.min_us"]
    assert isinstance(eager, float)

    def compiled(median: float, low: float, high: float) -> str:
        told = {"median": median, "min": low, "max": high, "n": 100, "clock": "cuda_event"}
        edit = set_run(unprofiled_step_us=told)
        return verdicts(checked(broken_copy(path, tmp_path, edit)))["3.8"]

    assert compiled(eager * 0.9, eager * 0.8, eager * 5) == "holds"
    assert compiled(eager * 1.001, eager * 0.8, eager * 5) == "unseen"
    # The recorded window is too busy for an overhead-bound step of that length to be known.
    assert compiled(eager * 9, eager * 8.5, eager * 10) == "differs"
    assert compiled(eager * 1.5, eager * 1.45, eager * 1.6) == "contradicted"


def test_hand_written_kernel_beside_inductors(tmp_path: Path) -> None:
    def with_steps(edit, factor: float) -> str:  # type: ignore[no-untyped-def]
        ours = broken_copy(
            recorded(TRITON), tmp_path / "a", together(scale(factor, "kernel"), edit)
        )
        theirs = broken_copy(recorded(COMPILED_MLP), tmp_path / "b", edit)
        found = check(read_trace(ours), against=[read_trace(theirs)])
        return verdicts(found)["4.4"]

    def as_it_is(document: Document) -> None:
        pass

    assert [with_steps(twice, 0.1), with_steps(twice, 10)] == ["differs", "holds"]
    assert with_steps(as_it_is, 0.1) == "unseen"  # three runs of each kernel are no proof


def test_compute_bound_is_what_explain_calls_so(tmp_path: Path) -> None:
    """The kernels are made shorter than the CPU's dispatch, so that the share decides."""
    short = scale(0.4, "kernel")
    gpu = reading_of(read_trace(broken_copy(recorded(LARGE), tmp_path, short))).gpu_step()
    assert gpu is not None

    def verdict(step_us: float) -> str:
        told = {"median": step_us, "min": step_us, "max": step_us, "n": 100, "clock": "wall"}
        edit = together(short, set_run(unprofiled_step_us=told))
        return verdicts(checked(broken_copy(recorded(LARGE), tmp_path, edit)))["1.2"]

    full = gpu.median_ns / 1000 / 0.9
    assert [verdict(full * 0.999), verdict(full * 1.001)] == ["holds", "contradicted"]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("bf16", 4 / 256), ("fp16", 4 / 2048), ("fp32", 4 / 2048)]
)
def test_output_may_be_four_roundings_off(dtype: str, tolerance: float, tmp_path: Path) -> None:
    flags = load(recorded(TRITON))["run_facts"]["flags"] | {"dtype": dtype}

    def verdict(error: float) -> str:
        edit = set_run(relative_error=error, flags=flags)
        return verdicts(checked(broken_copy(recorded(TRITON), tmp_path, edit)))["4.5"]

    assert [verdict(tolerance), verdict(tolerance * 1.001)] == ["holds", "contradicted"]


def test_no_run_beside_leaves_comparisons_unseen() -> None:
    found = check(read_trace(recorded(LINEAR)), against=())
    hidden = {claim.id: claim.reason for claim in found.claims if claim.verdict == "unseen"}
    assert set(hidden) == {"2.4", "2.6"}
    assert "--against" in hidden["2.4"]


def test_unlike_run_beside_is_not_compared() -> None:
    trace = read_trace(recorded("01_matmul/64_bf16_warm_eager"))
    found = check(trace, against=[read_trace(recorded("01_matmul/4096_bf16_warm_compile"))])
    (dearer,) = (claim for claim in found.claims if claim.id == "1.8")
    assert (dearer.verdict, dearer.reason) == ("unseen", "the runs are unlike: size: 64 and 4096")


def test_lesson_given_by_hand() -> None:
    found = check(read_trace(recorded(LINEAR)), lesson="01_matmul", against=())
    assert found.lesson_from == "--lesson"
    assert [claim.id for claim in found.claims][0] == "1.1"
    with pytest.raises(TraceError, match="no such lesson; one of 01_matmul, 02_linear"):
        check(read_trace(recorded(LINEAR)), lesson="04_attention")


def test_plain_export_is_recognised_by_its_annotation(shared_traces: Path) -> None:
    found = {
        path.name: (checked(path).lesson, checked(path).run.variant)
        for path in sorted((shared_traces / "h200").glob("*.gz"))
    }
    assert found == {
        "01_4096_warm_eager.json.gz": ("01_matmul", "eager"),
        "01_64_cold_eager.json.gz": ("01_matmul", "eager"),
        "01_64_warm_eager.json.gz": ("01_matmul", "eager"),
        "02_compile.json.gz": ("02_linear", "compile"),
        "02_eager.json.gz": ("02_linear", "eager"),
        "03_compile.json.gz": ("03_simple_mlp", "compile"),
        "03_eager.json.gz": ("03_simple_mlp", "eager"),
        "03_liger.json.gz": ("03_kernels_mlp", "liger"),
    }


def test_plain_exports_have_the_published_column(shared_traces: Path) -> None:
    folder = shared_traces / "h200"
    eager, compiled = (folder / f"03_{v}.json.gz" for v in ("eager", "compile"))
    found = check(read_trace(compiled), against=[read_trace(eager)])
    assert verdicts(found) == {
        "3.1": "unseen", "3.2": "unseen", "3.3": "holds", "3.4": "differs",
        "3.5": "holds", "3.6": "holds", "3.7": "holds", "3.8": "unseen",
    }  # fmt: skip
    sizes = [e.value for c in found.claims for e in c.evidence if e.unit == "bytes"]
    assert sizes == [64 * 128 * 3072 * 2]
    liger = check(
        read_trace(folder / "03_liger.json.gz"),
        against=[read_trace(eager), read_trace(compiled)],
    )
    assert verdicts(liger) == {
        "4.1": "holds", "4.2": "holds", "4.3": "holds", "4.4": "holds", "4.5": "unseen",
    }  # fmt: skip


def test_foreign_traces_are_checked_without_a_traceback(shared_traces: Path) -> None:
    for path in sorted(shared_traces.glob("*.json*")):
        try:
            trace = read_trace(path)
        except TraceError:
            continue
        for lesson in (None, *LESSON_CLAIMS):
            found = check(trace, lesson=lesson, expectations=["kernels_per_step >= 0"])
            assert len(found.claims) == len(LESSON_CLAIMS.get(lesson or "", ()))


def test_run_beside_is_found_by_its_tag(tmp_path: Path) -> None:
    assert [Path(path).name for path in checked(recorded(LINEAR)).beside] == [
        "1024_32_64_compile.json.gz"
    ]
    found = checked(recorded(TRITON)).beside
    assert [Path(path).parent.name for path in found] == ["03_simple_mlp", "03_simple_mlp"]
    cold = checked(recorded("01_matmul/64_bf16_cold_eager")).beside
    assert [Path(path).name for path in cold] == [
        "64_bf16_cold_compile.json.gz",
        "64_bf16_warm_eager.json.gz",
    ]


def test_run_beside_on_another_gpu_is_left_alone(tmp_path: Path) -> None:
    compiled = broken_copy(recorded(COMPILED_LINEAR), tmp_path, set_run(gpu="NVIDIA L4"))
    found = checked(compiled.with_name("1024_32_64_eager.json.gz"))
    assert found.beside == ()
    assert verdicts(found)["2.4"] == "unseen"


def test_unreadable_file_beside_is_left_alone(tmp_path: Path) -> None:
    compiled = broken_copy(recorded(COMPILED_LINEAR), tmp_path, set_run())
    compiled.write_bytes(b"no trace")
    assert checked(compiled.with_name("1024_32_64_eager.json.gz")).beside == ()


def test_wait_that_a_warm_run_has_too_is_not_laid_to_the_cold_start() -> None:
    found = checked(recorded("01_matmul/64_bf16_cold_eager"))
    (claim,) = (one for one in found.claims if one.id == "1.6")
    first, later, warm_first, warm_later = (one.value for one in claim.evidence)
    assert first * warm_later < 2 * warm_first * later  # type: ignore[operator]
    assert claim.reason.endswith("beside its own later ones: the cold start is not the cause")


@pytest.mark.parametrize(
    ("later_by_us", "reason"),
    [
        (12, "the first step waits longer than the later ones, but not 2 times as long"),
        (30, "the first step waits no longer than the later ones"),
    ],
)
def test_wait_is_compared_with_the_later_steps(
    later_by_us: int, reason: str, tmp_path: Path
) -> None:
    def earlier(document: Document) -> None:
        for name in ("ProfilerStep#3", "matmul_add"):
            event = complete(document, name, "user_annotation")[name == "matmul_add"]
            event["ts"], event["dur"] = event["ts"] - later_by_us, event["dur"] + later_by_us

    found = checked(broken_copy(recorded("01_matmul/64_bf16_cold_eager"), tmp_path, earlier))
    (claim,) = (one for one in found.claims if one.id == "1.6")
    assert (claim.verdict, claim.reason) == ("differs", reason)


def test_wait_that_a_warm_run_lacks_may_be_the_cold_start(tmp_path: Path) -> None:
    def earlier(document: Document) -> None:
        for name in ("ProfilerStep#2", "matmul_add"):
            event = complete(document, name, "user_annotation")[0]
            event["ts"], event["dur"] = event["ts"] - 200, event["dur"] + 200

    cold = recorded("01_matmul/64_bf16_cold_eager")
    found = checked(broken_copy(cold, tmp_path, earlier))
    (claim,) = (one for one in found.claims if one.id == "1.6")
    assert (claim.verdict, claim.reason) == ("holds", "")
