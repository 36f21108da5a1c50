"""The claims of the tensor-parallel lesson: on generated ranks, on gloo's, and on recorded ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import RECORDED
from make_trace import kernel, op, written
from rank_traces import REDUCE, rank_document

from trace_util.claims import Check, check
from trace_util.events import TraceError
from trace_util.merge import merge_traces
from trace_util.reader import read_trace

GEMM = "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
SIZES = {"batch": 2, "seq": 4, "dim": 16, "hidden": 64}
RECORDINGS = sorted(RECORDED.glob("*/05_parallel_mlp/*_rank*.json.gz"))


def rank(number: int, **edits: Any) -> dict[str, Any]:
    """A rank of the lesson: the generated one with one all-reduce a step and the lesson's facts."""
    document = rank_document(number, 2)
    chunks = edits.get("chunks", 1)
    hidden_one = {
        e["args"]["correlation"] for e in document["traceEvents"] if chunks == 1 and _hidden(e)
    }
    events = [
        event
        for event in document["traceEvents"]
        if event.get("args", {}).get("correlation") not in hidden_one
    ]
    for event in events:
        if event["name"] == "gemm_kernel":
            event["name"] = edits.get("gemm", GEMM)
        if event["name"] == "aten::mm":
            event["args"] |= {
                "Input Dims": [[8, 16], [16, 32]],
                "Input type": ["c10::BFloat16", "c10::BFloat16"],
            }
    down = {"Input Dims": [[8, 32], [32, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    more = op(45, 4, "aten::mm", pid=1000 + number, tid=1000 + number)
    more["args"] = down
    run = {
        "lesson": "05_parallel_mlp",
        "variant": "tp2",
        "annotation": "forward",
        "device": "cuda",
        "flags": {**SIZES, "batch": SIZES["batch"] * chunks, "chunks": chunks, "dtype": "bf16"},
    }
    return {**document, "run_facts": run, "traceEvents": [*events, more, *edits.get("more", ())]}


def _hidden(event: dict[str, Any]) -> bool:
    return bool(event["name"] == REDUCE and event["dur"] == 80)


def checked(folder: Path, *ranks: dict[str, Any], **how: Any) -> Check:
    for number, document in enumerate(ranks):
        written(document, folder, f"2_4_16_64_tp2_rank{number}.json")
    return check(read_trace(folder / "2_4_16_64_tp2_rank0.json"), **how)


def verdicts(found: Check) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in found.claims}


def test_all_claims_hold_on_ranks_that_do_as_the_lesson_says(tmp_path: Path) -> None:
    found = checked(tmp_path, rank(0), rank(1))
    held = dict.fromkeys(("5.1", "5.2", "5.3", "5.4", "5.5"), "holds")
    assert verdicts(found) == {**held, "5.6": "unseen"}
    assert found.beside == (str(tmp_path / "2_4_16_64_tp2_rank1.json"),)
    shares = {one.what: one.value for one in found.claims[2].evidence}
    assert shares["in collectives"] == 3 * 200_000 and shares["of that with no other work"] == 1
    assert found.facts["collectives_per_step"] == (1, 1, 1)
    assert found.facts["exposed_communication_us_per_step"] == (200, 200, 200)


def failing(found: Check) -> dict[str, str]:
    return {claim.id: claim.reason for claim in found.claims if claim.verdict == "differs"}


@pytest.mark.parametrize("name", ["ncclDevKernel_AllGather_RING_LL(x)", REDUCE])
def test_a_second_collective_contradicts_the_first_claim(tmp_path: Path, name: str) -> None:
    second = kernel(50, 10, 1, name=name, device=0, stream=20)
    found = failing(checked(tmp_path, rank(0, more=[second]), rank(1)))
    assert "5.1" in found and found["5.1"].startswith("collectives in ProfilerStep#2: ")
    assert "5.2" in found  # and it begins before the product


def test_work_beside_the_all_reduce_contradicts_the_third(tmp_path: Path) -> None:
    beside = kernel(800, 150, 2, name="add_kernel", device=0)
    found = failing(checked(tmp_path, rank(0, more=[beside]), rank(1)))
    assert found["5.3"] == "other work runs during a part of it"


def test_claims_of_a_run_in_chunks(tmp_path: Path) -> None:
    found = checked(tmp_path, rank(0, chunks=2), rank(1, chunks=2))
    held = dict.fromkeys(("5.1", "5.2", "5.4", "5.5", "5.6"), "holds")
    assert verdicts(found) == {**held, "5.3": "unseen"}
    shares = {one.what: one.value for one in found.claims[5].evidence}
    assert shares["in collectives"] == 3 * 280_000  # of which the 80 beside the add are hidden
    assert shares["of that with no other work"] == pytest.approx(200 / 280)


def test_chunks_that_hide_nothing_contradict_the_sixth(tmp_path: Path) -> None:
    documents = [rank(0), rank(1)]
    for document in documents:
        document["run_facts"]["flags"]["chunks"] = 2
    found = failing(checked(tmp_path, *documents))
    assert found["5.1"] == "collectives in ProfilerStep#2: 1 allreduce"
    assert found["5.6"] == "no other work runs meanwhile"


def test_an_all_reduce_before_the_product_of_its_chunk_contradicts_the_second(
    tmp_path: Path,
) -> None:
    early = kernel(30, 10, 3, name=REDUCE, device=0, stream=20)
    document = rank(0, chunks=2, more=[early])
    events = document["traceEvents"]
    events.remove(next(event for event in events if _hidden(event)))
    found = failing(checked(tmp_path, document, rank(1, chunks=2)))
    assert found["5.2"] == "an all-reduce of ProfilerStep#2 begins before its product"


def test_other_kernels_on_another_rank_contradict_the_fourth(tmp_path: Path) -> None:
    found = failing(checked(tmp_path, rank(0), rank(1, gemm=GEMM.replace("256x128", "128x256"))))
    assert list(found) == ["5.4"] and found["5.4"].startswith("rank 1 differs in nvjet_")


def test_another_split_contradicts_the_fifth(tmp_path: Path) -> None:
    document = rank(0)
    document["run_facts"]["flags"]["hidden"] = 128
    found = failing(checked(tmp_path, document, rank(1)))
    assert found["5.5"] == "the products have other shapes"


def test_a_rank_alone_cannot_show_the_fourth(tmp_path: Path) -> None:
    found = checked(tmp_path, rank(0))
    assert verdicts(found)["5.4"] == "unseen"
    other = read_trace(written(rank(1), tmp_path, "elsewhere.json"))
    assert verdicts(checked(tmp_path, rank(0), against=[other]))["5.4"] == "holds"
    assert verdicts(checked(tmp_path, rank(0), rank(1), against=[]))["5.4"] == "unseen"


def test_a_broken_rank_beside_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "2_4_16_64_tp2_rank1.json").write_text("not a trace")
    with pytest.raises(TraceError):
        read_trace(tmp_path / "2_4_16_64_tp2_rank1.json")
    assert verdicts(checked(tmp_path, rank(0)))["5.4"] == "unseen"


def test_guesses_about_communication_are_marked(tmp_path: Path) -> None:
    written(rank(0), tmp_path, "a_rank0.json")
    found = check(
        read_trace(tmp_path / "a_rank0.json"),
        guesses=["collectives_per_step=1"],
        expectations=["exposed_share_per_step <= 0.2", "communication_us_per_step == 200"],
    )
    assert found.guesses[0].holds and all(one.holds for one in found.expectations)


def test_collectives_of_a_merged_job_are_not_those_of_one_rank(tmp_path: Path) -> None:
    paths = [written(rank(number), tmp_path, f"a_rank{number}.json") for number in (0, 1)]
    merge_traces([str(path) for path in paths], tmp_path / "job.json")
    job = read_trace(tmp_path / "job.json")
    found = check(job, expectations=["collectives_per_step <= 9", "kernels_per_step >= 1"])
    assert found.facts["collectives_per_step"] == (None,) * 6
    told, kernels = found.expectations
    assert not told.holds and "check each rank's trace" in told.reason
    assert kernels.holds


def test_claims_hold_over_gloo(gloo_ranks: Path) -> None:
    found = check(read_trace(gloo_ranks / "cpu_2_4_16_32_tp2_rank0.json"))
    assert verdicts(found) == {
        "5.1": "holds", "5.2": "holds", "5.3": "holds", "5.4": "unseen", "5.5": "holds",
        "5.6": "unseen",
    }  # fmt: skip
    assert [Path(one).name for one in found.beside] == ["cpu_2_4_16_32_tp2_rank1.json"]


def test_the_lesson_prints_its_claims(parallel_run: tuple[Path, Any]) -> None:
    _, process = parallel_run
    assert (
        "5.1   one all-reduce a step, in chunks one for each, and no other communication"
        in process.stdout
    )


@pytest.mark.skipif(not RECORDINGS, reason="the parallel lesson has not been recorded")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_recorded_ranks_tell_their_run(path: Path) -> None:
    content = json.loads(gzip.decompress(path.read_bytes()))
    facts, told = content["run_facts"], content["distributedInfo"]
    assert path.with_name(path.name.replace(".json.gz", ".txt")).exists()
    assert facts["tag"] == path.name.removesuffix(".json.gz")
    assert facts["command"].startswith("torchrun --nproc_per_node")
    on_gpu = not path.name.startswith("cpu_")
    assert facts["device"] == ("cuda" if on_gpu else "cpu") and facts["relative_error"] < 2**-6
    assert bool(facts["gpu"]) == bool(facts["versions"]["driver"]) == on_gpu
    assert told["backend"] == ("nccl" if on_gpu else "gloo")
    assert path.name.endswith(f"_rank{told['rank']}.json.gz")
    for rank in range(told["world_size"]):
        assert path.with_name(path.name.replace(f"rank{told['rank']}", f"rank{rank}")).exists()


@pytest.mark.skipif(not RECORDINGS, reason="the parallel lesson has not been recorded")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_claims_on_recorded_ranks(path: Path) -> None:
    found = check(read_trace(path))
    assert not found.contradicted, [claim.reason for claim in found.contradicted]
    unseen = {"5.3" if "_chunks" in path.name else "5.6"}
    unseen |= {"5.4"} if path.name.startswith("cpu_") else set()  # it compares kernels
    expected = {claim: "unseen" if claim in unseen else "holds" for claim in verdicts(found)}
    assert found.beside and verdicts(found) == expected


@pytest.mark.parametrize("odd", [{"hidden": "64"}, {"seq": [4]}, {"dim": {}}, {"batch": 0}])
def test_sizes_that_are_none_leave_the_fifth_unseen(tmp_path: Path, odd: dict[str, Any]) -> None:
    documents = [rank(0), rank(1)]
    for one in documents:
        one["run_facts"]["flags"] |= odd
    assert verdicts(checked(tmp_path, *documents))["5.5"] == "unseen"


@pytest.mark.parametrize("ranks", [0, -2, "2", None])
def test_no_number_of_ranks_leaves_the_fifth_unseen(tmp_path: Path, ranks: Any) -> None:
    documents = [rank(0), rank(1)]
    for one in documents:
        one["distributedInfo"]["world_size"] = ranks
    assert verdicts(checked(tmp_path, *documents))["5.5"] == "unseen"


def test_steps_without_a_kernel_leave_the_fourth_unseen(tmp_path: Path) -> None:
    documents = [rank(0), rank(1)]
    for one in documents:
        for event in one["traceEvents"]:
            if event["name"].startswith("ProfilerStep"):
                event["ts"] += 100_000
    assert verdicts(checked(tmp_path, *documents))["5.4"] == "unseen"
