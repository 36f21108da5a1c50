"""Facts of jobs of generated ranks, whose figures are known; grouping, places, stores, commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from make_trace import kernel, mark, op, written
from rank_traces import (
    ADD_US,
    BEGIN_US,
    GEMM_US,
    HIDDEN_US,
    LAST_US,
    REDUCE,
    STEP_US,
    cut_off,
    rank_document,
    write_ranks,
)

from trace_util import read_jobs, sources
from trace_util.cli import main
from trace_util.events import TraceError
from trace_util.gather import engine, places
from trace_util.gather.engine import DIED, Failed, each_done
from trace_util.gather.gathering import Told, gathered, gathered_with, rank_facts, rank_told
from trace_util.gather.places import find_places, local_copy, means_several
from trace_util.gather.store import Store
from trace_util.job.facts import JobFacts, job_facts
from trace_util.job.findings import job_findings, numbers
from trace_util.job.grouping import jobs_of
from trace_util.job.rank import RankFacts, rank_in_name, without_rank
from trace_util.job.spending import OUTSIDE
from trace_util.report.job import job_explanation, job_summary
from trace_util.report.values import filled

US = 1000


def job_of(folder: Path) -> JobFacts:
    (group,), alone = jobs_of(gathered([str(folder)], workers=1))
    assert not alone
    return job_facts(group)


@pytest.fixture
def straggling(tmp_path: Path) -> JobFacts:
    """Four ranks; rank 2 computes 500 µs longer in step 3, rank 1 is 300 late in step 4."""
    how: dict[str, Any] = {"slow": {(2, 3): 500}, "late": {(1, 4): 300}}
    return job_of(write_ranks(tmp_path / "run", 4, **how))


def test_step_of_a_rank_is_work_communication_and_idle(tmp_path: Path) -> None:
    path = write_ranks(tmp_path, 2, slow={(1, 3): 500}) / "rank0.json"
    first, second, third = rank_facts(str(path)).steps
    assert (first.number, first.mark_ns, first.kernels, first.launches) == (
        2, STEP_US * US, 4, 4,
    )  # fmt: skip
    assert first.collectives == 2
    assert first.work_ns == (GEMM_US + ADD_US) * US
    assert first.exposed_ns == LAST_US * US
    assert first.comm_ns == (LAST_US + HIDDEN_US) * US
    # From the mark to the end of the last collective; the GPU begins 100 µs into the step.
    assert first.duration_ns == (BEGIN_US + GEMM_US + ADD_US + LAST_US) * US
    assert first.idle_ns == BEGIN_US * US
    # Rank 0 waits 500 µs for rank 1, and needs as much itself as in the step before.
    assert second.exposed_ns == (LAST_US + 500) * US
    assert second.own_ns == second.work_ns + second.idle_ns
    assert second.duration_ns == (STEP_US + 500) * US and third.duration_ns == STEP_US * US


def test_names_of_kernels_and_ops_say_where_time_went(tmp_path: Path) -> None:
    path = write_ranks(tmp_path, 2, late={(0, 2): 300}) / "rank0.json"
    step = rank_facts(str(path)).steps[0]
    assert [(one.name, one.times, one.total_ns) for one in step.spent] == [
        ("gemm_kernel", 1, GEMM_US * US),
        ("add_kernel", 1, ADD_US * US),
    ]
    host = {one.name: one.total_ns for one in step.host}
    end = BEGIN_US + 300 + GEMM_US + ADD_US + LAST_US
    # The mark without the annotation inside, and without the wait for the GPU.
    assert host[OUTSIDE] == (STEP_US + 300 - 90 - (end - 400)) * US
    assert "cudaStreamSynchronize" not in host
    assert host["forward"] == (90 - 40 - 20 - 4 - 4) * US
    assert host["aten::mm"] == 30 * US and host["cudaLaunchKernel"] == (10 + 5 + 4 + 4) * US


def test_collectives_without_a_correlation_belong_to_the_step_they_follow(tmp_path: Path) -> None:
    document = rank_document(0, 2)
    for event in document["traceEvents"]:
        if event["name"] == REDUCE:
            event["args"]["correlation"] = 0  # as on ROCm
    steps = rank_facts(str(written(document, tmp_path))).steps
    assert [step.collectives for step in steps] == [2, 2, 2]
    assert [step.exposed_ns for step in steps] == [LAST_US * US] * 3


def test_a_rank_on_the_cpu_has_the_collectives_of_its_backend(tmp_path: Path) -> None:
    aside = {"pid": 100, "tid": 7}
    events = [
        mark(1, 0, 1000),
        op(100, 400, "aten::mm"),
        op(500, 10, "c10d::allreduce_"),
        {**op(450, 350, "gloo:all_reduce", **aside), "cat": "user_annotation"},
    ]
    info = {"backend": "gloo", "rank": 0, "world_size": 2}
    path = written({"distributedInfo": info, "traceEvents": events}, tmp_path)
    (step,) = rank_facts(str(path)).steps
    assert (step.work_ns, step.comm_ns, step.exposed_ns) == (400 * US, 350 * US, 300 * US)
    assert (step.duration_ns, step.idle_ns) == (1000 * US, 300 * US)
    spent = {one.name: one.total_ns for one in step.host}
    assert spent[OUTSIDE] == (1000 - 400 - 10 - 300) * US  # waiting in the collective is no cause
    assert "gloo:all_reduce" not in spent


@pytest.mark.parametrize("odd", [-1, 10**12, True, "0", [0]])
def test_numbers_that_no_job_has_are_not_told(tmp_path: Path, odd: Any) -> None:
    document = rank_document(0, 2)
    document["distributedInfo"] |= {"rank": odd, "world_size": odd}
    found = rank_facts(str(written(document, tmp_path, "rank3.json")))
    assert (found.rank, found.world_size) == (3, None)
    assert len(job_facts([found]).missing) == 3  # and not of every number up to it


def test_the_gpu_with_collectives_is_the_ranks_own(tmp_path: Path) -> None:
    document = rank_document(1, 2)
    document["traceEvents"].append(kernel(0, 5000, 77, device=5, name="other"))
    step = rank_facts(str(written(document, tmp_path))).steps[0]
    assert step.work_ns == (GEMM_US + ADD_US) * US


def test_work_queued_before_the_first_step_is_not_its_own(tmp_path: Path) -> None:
    document = rank_document(0, 2)
    document["traceEvents"].append(kernel(-40, 90, None, name="earlier", device=0))
    step = rank_facts(str(written(document, tmp_path))).steps[0]
    assert step.duration_ns == (BEGIN_US - 50 + GEMM_US + ADD_US + LAST_US) * US
    assert step.work_ns == (GEMM_US + ADD_US) * US


def test_without_step_marks_the_window_is_one_step(tmp_path: Path) -> None:
    document = rank_document(0, 2)
    events = [e for e in document["traceEvents"] if not e["name"].startswith("ProfilerStep")]
    facts = rank_facts(str(written({**document, "traceEvents": events}, tmp_path)))
    (step,) = facts.steps
    assert step.number == -1 and step.kernels == 12 and step.collectives == 6
    assert step.exposed_ns == 3 * LAST_US * US
    job = job_facts([facts, facts])
    assert "no step marks" in job_summary(job)


# --- jobs ---------------------------------------------------------------------------------------


def test_slow_rank_is_named_with_its_step_and_its_kernel(straggling: JobFacts) -> None:
    two, three, four = straggling.steps
    assert two.slow is None
    assert three.slow is not None and (three.slow.rank, three.slow.kind) == (2, "work")
    assert three.slow.excess_ns == 500 * US
    assert three.slow.cause is not None and three.slow.cause.name == "gemm_kernel"
    assert (three.slow.cause.ns, three.slow.cause.others_ns) == (1100 * US, 600 * US)


def test_late_rank_is_idle_and_its_cpu_is_outside_any_op(tmp_path: Path) -> None:
    folder = write_ranks(tmp_path, 4, late={(1, 4): 300})
    slow = job_of(folder).steps[2].slow
    assert slow is not None and (slow.rank, slow.kind) == (1, "idle")
    assert slow.excess_ns == 300 * US
    assert slow.cause is not None and slow.cause.name == OUTSIDE
    assert slow.cause.ns - slow.cause.others_ns == 300 * US


def test_shares_of_a_job_are_of_its_ranks_step_time(tmp_path: Path) -> None:
    job = job_of(write_ranks(tmp_path, 2, slow={(1, 2): 300}, steps=1))
    step = BEGIN_US + GEMM_US + ADD_US + 300 + LAST_US
    assert job.steps[0].total_ns == 2 * step * US
    assert job.exposed_share == (2 * LAST_US + 300) / (2 * step)
    assert job.comm_share == (2 * LAST_US + 300 + 2 * HIDDEN_US) / (2 * step)
    assert job.waiting_share == 300 / (2 * step)
    assert job.imbalance == pytest.approx(1100 / 950 - 1)
    assert job.median_step_ns == step * US


def test_small_differences_make_no_straggler(tmp_path: Path) -> None:
    job = job_of(write_ranks(tmp_path, 4, slow={(2, 3): 40}))
    assert all(step.slow is None for step in job.steps)
    assert not [one for one in job_findings(job) if one.id in ("slow-rank", "late-in-steps")]


@pytest.mark.parametrize(("which", "left_out"), [(-1, (4,)), (3, (3, 4))])
def test_a_step_that_lost_a_kernel_blames_no_rank(
    tmp_path: Path, which: int, left_out: tuple[int, ...]
) -> None:
    folder = write_ranks(tmp_path, 4)
    path = folder / "rank1.json"
    document = json.loads(path.read_text())
    reduces = [e for e in document["traceEvents"] if e.get("name") == REDUCE]
    lost = sorted(reduces, key=lambda event: event["ts"])[which]
    document["traceEvents"] = [e for e in document["traceEvents"] if e is not lost]
    path.write_text(json.dumps(document))
    job = job_of(folder)
    assert all(step.slow is None for step in job.steps)
    assert job.incomplete_steps == left_out and job.steps[-1].ranks == (0, 2, 3)
    assert not job.broken and not job.missing


def test_ranks_that_all_differ_make_no_straggler(tmp_path: Path) -> None:
    slow = {(rank, 2): 100 * rank for rank in range(6)}
    assert job_of(write_ranks(tmp_path, 6, slow=slow, steps=1)).steps[0].slow is None


def test_missing_broken_and_cut_off_ranks_are_told_and_left_out(tmp_path: Path) -> None:
    folder = write_ranks(tmp_path / "run", 6, leave_out=(3,), slow={(4, 2): 5000})
    (folder / "rank1.json").write_text("not a trace")
    cut_off(folder / "rank4.json")
    job = job_of(folder)
    assert job.world_size == 6 and job.missing == (3,)
    assert [one.rank for one in job.broken] == [1, 4]
    assert job.broken[0].broken is not None and job.broken[0].broken.startswith("not JSON")
    assert "the end of the file is missing" in (job.broken[1].broken or "")
    assert [one.rank for one in job.sound] == [0, 2, 5]
    assert all(step.ranks == (0, 2, 5) for step in job.steps)
    assert all(step.slow is None for step in job.steps)
    told = job_summary(job)
    assert "3 sound of 6" in told and "missing        3" in told
    assert f"broken: rank 1 ({folder}/rank1.json): not JSON" in told.replace("\n          ", " ")


def test_steps_and_kernels_that_ranks_do_not_share_are_told(tmp_path: Path) -> None:
    folder = write_ranks(tmp_path, 4)
    (folder / "rank3.json").write_text(json.dumps(rank_document(3, 4, steps=2)))
    document = rank_document(2, 4)
    for event in document["traceEvents"]:
        if event["name"] == "add_kernel":
            event["name"] = "mul_kernel"
    (folder / "rank2.json").write_text(json.dumps(document))
    job = job_of(folder)
    assert job.incomplete_steps == (4,) and job.steps[2].ranks == (0, 1, 2)
    assert job.unlike_kernels == (2, 3)  # another name, and fewer of each


def test_findings_say_what_to_do(straggling: JobFacts) -> None:
    found = {one.id: one for one in job_findings(straggling)}
    assert list(found) == ["late-in-steps", "exposed-communication"]
    text = " ".join(job_explanation(straggling).split())
    assert "the others wait 500 µs for rank 2 in 1 of 3 steps (3), too few to call it slow" in text
    assert "its GPU has no work for" in text and "its clocks or its temperature" in text
    claim = filled(found["exposed-communication"].claim, found["exposed-communication"].values)
    assert "waiting for a later rank" in claim


@pytest.mark.parametrize(("slow_in", "name"), [(2, "late-in-steps"), (3, "slow-rank")])
def test_a_rank_is_slow_in_more_than_two_thirds_of_the_steps(
    slow_in: int, name: str, tmp_path: Path
) -> None:
    slow = {(1, 2 + step): 400 for step in range(slow_in)}
    job = job_of(write_ranks(tmp_path, 2, slow=slow, steps=3))
    assert job_findings(job)[0].id == name
    assert ("is the slow one" in job_explanation(job)) == (name == "slow-rank")


def cpu_rank(folder: Path, rank: int, *, matmul: int, idle: int) -> RankFacts:
    """A step of an op and a collective of gloo, after ``idle`` µs of the step without either."""
    reduce = {**op(idle + matmul, 100, "gloo:all_reduce", pid=100, tid=7), "cat": "user_annotation"}
    events = [mark(1, 0, idle + matmul + 100), op(idle, matmul, "aten::mm"), reduce]
    info = {"backend": "gloo", "rank": rank, "world_size": 2}
    folder.mkdir()
    return rank_facts(str(written({"distributedInfo": info, "traceEvents": events}, folder)))


@pytest.mark.parametrize(("matmul", "idle"), [(900, 0), (400, 500)])
def test_nothing_is_said_of_gpus_in_a_job_of_cpu_ranks(
    matmul: int, idle: int, tmp_path: Path
) -> None:
    usual = cpu_rank(tmp_path / "a", 0, matmul=400, idle=0)
    job = job_facts([usual, cpu_rank(tmp_path / "b", 1, matmul=matmul, idle=idle)])
    text = job_explanation(job)
    assert "rank 1 is the slow one in 1 of 1 step" in text
    assert "2 sound of 2, no GPU\n" in text
    assert not {"GPU", "launches", "kernels"} & set(text.replace("no GPU\n", "").split())
    assert "kernels" not in job_summary(job)


def test_text_of_a_job(straggling: JobFacts, tmp_path: Path) -> None:
    assert (
        job_summary(straggling).replace(str(tmp_path), "")
        == """\
job /run/rank*.json
  ranks          4 sound of 4, NVIDIA H200
  step           2.30 ms median of 3 steps (min 1.00, max 2.50 ms), each of its slowest rank
  communication  24.8 % of the ranks' step time; 20.7 % exposed, 10.3 % waiting for a later rank
  imbalance      10.5 % over the mean rank's own time, mean of the steps

ranks, mean of a step; own: without what only waits or communicates
  rank  steps     step      own    work    idle  collectives  exposed  kernels  late in
     0      3  1.93 ms  1.47 ms  700 µs  767 µs       547 µs   467 µs        4        0
     1      3  1.93 ms  1.57 ms  700 µs  867 µs       447 µs   367 µs        4        1
     2      3  1.93 ms  1.63 ms  867 µs  767 µs       380 µs   300 µs        4        1
     3      3  1.93 ms  1.47 ms  700 µs  767 µs       547 µs   467 µs        4        0

steps, on all ranks
  step     time  own median  own max  exposed  late rank, and what takes it longer than the others
    #2  1.00 ms      800 µs   800 µs   20.0 %  -
    #3  2.50 ms     1.80 ms  2.30 ms   23.0 %  2, +500 µs: work, gemm_kernel
    #4  2.30 ms     1.80 ms  2.10 ms   18.5 %  1, +300 µs: idle, outside any op
"""
    )


def test_many_ranks_are_cut_to_the_slow_ones(tmp_path: Path) -> None:
    job = job_of(write_ranks(tmp_path, 16, slow={(11, 3): 500}, steps=2))
    text = job_summary(job, most=3)
    assert "and 13 faster ranks, all with --json" in text
    ranks = text[text.index("\nranks") :].splitlines()[3:6]
    assert any(line.split()[0] == "11" for line in ranks)


@pytest.mark.parametrize(
    ("values", "words"), [([], ""), ([3], "3"), ([5, 1, 2, 3], "1-3, 5"), ([0, 2, 4], "0, 2, 4")]
)
def test_numbers_are_joined(values: list[int], words: str) -> None:
    assert numbers(values) == words


# --- which files are one job --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "rank", "joined"),
    [
        ("run/rank0.json.gz", 0, "run/rank*.json.gz"),
        ("run/trace_rank_12.json", 12, "run/trace_rank_*.json"),
        ("run/Rank-7/trace.json", 7, "run/Rank-*/trace.json"),
        ("rank1/tp2_rank3.json", 3, "rank1/tp2_rank*.json"),
        ("run/frank5.json", None, "run/frank5.json"),
        ("run/trace.json", None, "run/trace.json"),
    ],
)
def test_rank_in_a_name(path: str, rank: int | None, joined: str) -> None:
    assert rank_in_name(path) == rank and without_rank(path) == joined


def rank(path: str, number: int | None, world: int | None = 4, **how: Any) -> RankFacts:
    return RankFacts(path, 1, number, world, **{"start_ns": 10**18, "window_ns": 10**9, **how})


def test_names_group_ranks_and_keep_runs_apart() -> None:
    found = [rank(f"runs/{run}_rank{r}.json", r) for run in "ab" for r in (1, 0)]
    jobs, alone = jobs_of([*found, rank("runs/c_rank0.json", 0), rank("runs/d.json", None)])
    assert [job.name for job in jobs] == ["runs/a_rank*.json", "runs/b_rank*.json"]
    assert [one.rank for one in jobs[0].ranks] == [0, 1]
    assert alone == [4, 5]


def test_ranks_without_names_belong_together_when_recorded_at_once() -> None:
    nodes = [rank(f"job/node{r // 2}/host_{r}.json", r) for r in range(4)]
    later = [rank(f"job/x{r}.json", r, start_ns=2 * 10**18) for r in range(2)]
    (first, second), alone = jobs_of([*nodes, *later, rank("job/y.json", 5, 8)])
    assert first.name == "job" and len(first.ranks) == 4 and len(second.ranks) == 2
    assert alone == [6]


def test_each_cycle_of_a_schedule_is_a_job() -> None:
    cycles = [rank(f"{cycle}.{r}.json", r, 2) for cycle in (1, 2) for r in (0, 1)]
    jobs, alone = jobs_of(cycles)
    assert [[one.path for one in job.ranks] for job in jobs] == [
        ["1.0.json", "1.1.json"],
        ["2.0.json", "2.1.json"],
    ]
    assert not alone


def test_second_trace_of_a_rank_is_listed_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ranks(tmp_path / "run", 4)
    (folder / "rank1.json").write_bytes((folder / "rank2.json").read_bytes())
    for command in ("summary", "explain"):
        assert main([command, str(folder)]) == 0  # a missing rank is told and is no failure
        captured = capsys.readouterr()
        told = f"{folder}/rank2.json: the same rank as {folder}/rank1.json (2); listed apart"
        assert told in captured.err
    assert main(["summary", "--json", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out)[1]["job"]["missing_ranks"] == [1]


# --- places -------------------------------------------------------------------------------------


def test_places_are_folders_globs_and_addresses(tmp_path: Path) -> None:
    folder = write_ranks(tmp_path / "run", 2)
    paths = [str(folder / f"rank{r}.json") for r in (0, 1)]
    assert [one.path for one in find_places([str(folder)])] == paths
    assert [one.path for one in find_places([f"{folder}/rank*.json", paths[0]])] == paths
    by_address = find_places([f"file://{folder}"])
    assert [one.path for one in by_address] == [f"file://{path}" for path in paths]
    assert [one.path for one in find_places([f"file://{folder}/rank[1].json"])] == [
        f"file://{paths[1]}"
    ]
    stamps = {one.stamp for one in find_places([str(folder)])} | {one.stamp for one in by_address}
    assert len(stamps) == 4 and "" not in stamps
    assert means_several([f"file://{folder}"]) and not means_several([f"file://{paths[0]}"])


def test_traces_in_any_file_system_are_read_by_any_executor(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for one in range(2):
        memory.pipe_file(f"/job/rank{one}.json", json.dumps(rank_document(one, 2)).encode())
    with ThreadPoolExecutor(2) as executor:
        found = gathered(["memory://job"], executor)
        (job,) = read_jobs(["memory://job"], executor)
    assert job == job_facts(found, job.name) and len(job.steps) == 3
    assert [one.path for one in found] == ["memory:///job/rank0.json", "memory:///job/rank1.json"]
    assert all(one.broken is None and len(one.steps) == 3 for one in found)
    memory.pipe_file("/job/rank1.json", b"nothing")
    broken = rank_facts("memory:///job/rank1.json")
    assert broken.broken is not None and "trace-util-" not in broken.broken


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nosuch://x/y", "nosuch://x/y: cannot be reached: Protocol not known: nosuch"),
        ("memory://nowhere", "memory://nowhere: no .json or .json.gz file there"),
        ("hf://", "hf://: cannot be reached: "),  # no bucket and no repository named
    ],
)
def test_places_that_are_not_there_are_said(address: str, message: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(TraceError, match=message.replace(".", r"\.")):
        find_places([address])
    with pytest.raises(TraceError), local_copy(address):
        raise AssertionError("was found")


class OfItsClient(Exception):
    """An error of a class that only the client of one service knows."""


def test_whatever_a_client_raises_is_said_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: str) -> None:
        raise OfItsClient("nobody\nlistens")

    monkeypatch.setattr(places, "_file_system", refuse)
    with pytest.raises(TraceError) as caught:
        find_places(["hf://datasets/a/b"])
    assert str(caught.value) == "hf://datasets/a/b: cannot be reached: nobody listens"
    with pytest.raises(TraceError, match="nobody listens"), local_copy("hf://spaces/a/b/c.json"):
        raise AssertionError("was found")


def test_check_reads_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe_file("/one/rank0.json", json.dumps(rank_document(0, 2)).encode())
    assert main(["check", "memory://one/rank0.json", "--expect", "steps == 3"]) == 0
    assert capsys.readouterr().out.startswith("memory://one/rank0.json\n")
    assert main(["check", "memory://one/rank1.json", "--expect", "steps == 3"]) == 1
    assert "memory://one/rank1.json: cannot be reached: no such file" in capsys.readouterr().err


# --- running and resuming -----------------------------------------------------------------------


def length(path: str) -> int:
    """Work for the engine: the size of a file; some names end the process, or fail."""
    name = Path(path).name
    if name.startswith("killer"):
        os._exit(9)
    if name.startswith("bug"):
        raise IndexError("a bug")
    if name == "bars":
        return sources.PROGRESS_BYTES
    return len(path)


def test_a_file_that_kills_its_process_sinks_only_itself() -> None:
    files = ["a", "killer1", "bug", *(f"file{i}" for i in range(12)), "killer2", "bars"]
    found = dict(each_done(length, files, workers=2))
    assert found.pop(16) == sys.maxsize  # one bar for all files, none for each
    assert len(found) == len(files) - 1
    assert found.pop(1) == found.pop(15) == Failed(DIED)
    assert found.pop(2) == Failed("IndexError: a bug")
    assert all(found[index] == len(files[index]) for index in found)


def test_a_pool_that_breaks_between_two_files_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaking(ThreadPoolExecutor):
        """Takes so many files, as a pool does until it hears that a process has died."""

        left = 4

        def submit(self, *work: Any, **how: Any) -> Any:
            if not self.left:
                raise BrokenProcessPool("a child process terminated abruptly")
            self.left -= 1
            return super().submit(*work, **how)

    monkeypatch.setattr(engine, "_processes", Breaking)
    files = [f"file{i}" for i in range(12)]
    assert dict(each_done(length, files, workers=2)) == {i: len(f) for i, f in enumerate(files)}


def test_two_processes_tell_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_ranks(tmp_path / "run", 3, slow={(1, 3): 500})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    alone = gathered([str(folder)], workers=1)
    monkeypatch.setattr(engine, "WORTH_BYTES", 1)
    assert gathered([str(folder)], workers=2) == alone
    assert not list((tmp_path / "cache").rglob("*.jsonl"))  # nothing stays of a job that is done


def test_an_interrupted_job_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_ranks(tmp_path / "run", 4)
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(engine, "WORTH_BYTES", 1)

    def interrupted(path: str) -> Told:
        if path.endswith("rank2.json"):
            raise KeyboardInterrupt
        return rank_told(path)

    with pytest.raises(KeyboardInterrupt):
        gathered_with(interrupted, find_places([str(folder)]), workers=1)
    (kept,) = cache.rglob("*.jsonl")
    done = [json.loads(line)["path"] for line in kept.read_bytes().splitlines()]
    assert done == [str(folder / f"rank{r}.json") for r in range(2)]
    assert sorted(p.name for p in folder.iterdir()) == [f"rank{r}.json" for r in range(4)]
    read: list[str] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, *args: Any, **more: Any) -> Any:
            read.append(args[2])
            return super().submit(*args, **more)

    with Counting(1) as executor:
        found = gathered([str(folder)], executor)
    assert sorted(read + done) == sorted(str(folder / f"rank{r}.json") for r in range(4))
    assert found == gathered([str(folder)], workers=1)
    assert not list(cache.rglob("*.jsonl"))


def test_facts_in_a_named_file_stay_and_follow_the_files(tmp_path: Path) -> None:
    folder = write_ranks(tmp_path / "run", 3)
    (folder / "rank2.json").write_text("broken")
    kept = tmp_path / "facts.jsonl"
    first = gathered([str(folder)], facts_file=kept)
    assert len(kept.read_bytes().splitlines()) == 2  # a broken one is tried again
    with kept.open("ab") as file:
        file.write(b'{"version": "cut o')
    changed = json.dumps(rank_document(1, 3, slow={(1, 2): 700}))
    (folder / "rank1.json").write_text(changed)
    store = Store(kept)
    known = [store.known(place) for place in find_places([str(folder)])]
    assert known[0] == first[0] and known[1:] == [None, None]
    second = gathered([str(folder)], facts_file=kept)
    assert second[0] == first[0] and second[1] != first[1]
    assert second[1].steps[0].work_ns == (GEMM_US + ADD_US + 700) * US
    assert len(kept.read_bytes().splitlines()) == 4


@pytest.mark.parametrize("whole_lines", [0, 1])
def test_full_disk_leaves_no_part_of_a_line(tmp_path: Path, whole_lines: int) -> None:
    """A limit on the size of files stands for the disk: it too takes a part, and then fails."""
    folder = write_ranks(tmp_path / "run", 3)
    kept = tmp_path / "facts.jsonl"
    gathered([str(folder)], facts_file=kept)
    first = kept.read_bytes().splitlines(keepends=True)[0]
    kept.unlink()
    program = (
        "import resource, sys; from trace_util.cli import main;"
        "size = int(sys.argv.pop(1)); resource.setrlimit(resource.RLIMIT_FSIZE, (size, size));"
        "sys.exit(main(sys.argv[1:]))"
    )
    size = str(len(first) * whole_lines + 20)  # -B: nor would it take whole .pyc files
    words = ("summary", str(folder), "--facts", str(kept), "--workers", "1")
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, size, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"error: {kept}: File too large\n"
    if whole_lines:
        assert kept.read_bytes() == first
    else:
        assert not kept.exists()


def test_facts_of_another_version_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_ranks(tmp_path / "run", 2)
    kept = tmp_path / "facts.jsonl"
    gathered([str(folder)], facts_file=kept)
    monkeypatch.setattr("trace_util.gather.store.VERSION", "another")
    assert all(Store(kept).known(place) is None for place in find_places([str(folder)]))


def test_a_file_of_something_else_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine\n")
    with pytest.raises(TraceError, match="is there already and holds no facts"):
        Store(path)
    assert path.read_text() == "mine\n"


# --- commands -----------------------------------------------------------------------------------


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_summary_answers_for_ranks_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ranks(tmp_path / "run", 4, slow={(2, 3): 500})
    (folder / "other.json").write_text(json.dumps(rank_document(0, 1, told=False)))
    code, out, err = told(capsys, "summary", str(folder))
    assert code == 0 and out.startswith("1 trace in ") and "\njob " in out
    code, out, _ = told(capsys, "summary", str(folder), "--json")
    one, job = json.loads(out)
    assert code == 0 and one["kernels"]["count"] == 12
    assert job["job"]["ranks_found"] == 4
    assert [step["slow_rank"] and step["slow_rank"]["rank"] for step in job["job"]["steps"]] == [
        None, 2, None,
    ]  # fmt: skip
    assert job["job"]["steps"][1]["slow_rank"]["excess_us"] == 500


def test_a_broken_rank_fails_the_command_and_not_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ranks(tmp_path / "run", 3)
    cut_off(folder / "rank1.json")
    code, out, _ = told(capsys, "summary", str(folder), "--json")
    (job,) = json.loads(out)
    assert code == 1
    assert [one["rank"] for one in job["job"]["broken"]] == [1]
    assert len(job["job"]["steps"]) == 3


def test_one_rank_is_a_trace_like_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_ranks(tmp_path / "run", 2, leave_out=(1,))
    code, out, _ = told(capsys, "summary", str(folder), "--json")
    (one,) = json.loads(out)
    assert code == 0 and one["kernels"]["count"] == 12


def test_a_cut_off_rank_alone_is_a_trace_like_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ranks(tmp_path / "run", 2, leave_out=(1,))
    cut_off(folder / "rank0.json")
    code, out, _ = told(capsys, "summary", str(folder), "--json")
    (one,) = json.loads(out)
    assert code == 0 and one["repairs"]
    code, out, _ = told(capsys, "explain", str(folder))
    assert code == 0 and "rank0.json" in out


def test_explain_says_who_is_slow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = {(2, number): 500 for number in (2, 3, 4)}
    folder = write_ranks(tmp_path / "run", 4, slow=slow)
    (folder / "other.json").write_text(json.dumps(rank_document(0, 1, told=False)))
    code, out, _ = told(capsys, "explain", str(folder))
    assert code == 0 and "other.json" in out
    assert "rank 2 is the slow one in 3 of 3 steps (2-4): it needs 1.50 ms longer" in out
    code, out, _ = told(capsys, "explain", f"{folder}/rank*", "--json")
    (job,) = json.loads(out)
    assert job["job"]["findings"][0]["id"] == "slow-rank"
    (folder / "rank0.json").write_text("")
    code, out, _ = told(capsys, "explain", f"{folder}/rank*")
    assert code == 1 and "1 trace is broken" in out and "an empty file" in " ".join(out.split())


def test_compare_takes_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = {(1, number): 400 for number in (2, 3, 4)}
    before = write_ranks(tmp_path / "before", 2)
    after = write_ranks(tmp_path / "after", 2, slow=slow)
    code, out, _ = told(capsys, "compare", str(before), str(after))
    assert code == 0
    assert "  slower    ranks 1 (+400 µs)\n" in out
    assert "gemm_kernel: 1 -> 1 times, 600 µs -> 800 µs a step of a rank" in out
    code, out, _ = told(capsys, "compare", str(before), str(after), "--json")
    (one,) = json.loads(out)["differences"]
    assert one["slower_ranks"] == [{"rank": 1, "more_us": 400}]
    assert one["kernels"][0]["after_us"] == 800
    code, out, err = told(capsys, "compare", str(before))
    assert code == 1 and "one job has nothing to be compared with" in err
    both = f"{tmp_path}/*/*.json"
    code, out, err = told(capsys, "compare", both, str(before))
    assert code == 1 and "2 jobs and 0 other traces; name the ranks of one job" in err


def test_compare_takes_a_folder_of_a_few_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        written(rank_document(0, 1, told=False), tmp_path, f"{name}.json")
    code, out, _ = told(capsys, "compare", str(tmp_path))
    assert code == 0 and "B beside A" in out
