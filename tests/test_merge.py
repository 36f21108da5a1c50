"""Ranks merged into one trace: counts, links, ids, clocks, steps, and the real Perfetto UI."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import RECORDED
from make_trace import annotation, frame, mark, op, written
from perfetto_ui import chromium, events_of, query, screenshot, shown, slices, slices_of, ui_server
from rank_traces import BASE_NS, GEMM_US, STEP_US, cut_off, rank_document, write_ranks

from trace_util.cli import main
from trace_util.clocks import End, Shift, clock_shift
from trace_util.events import GPU_KINDS, TraceError
from trace_util.facts import trace_facts
from trace_util.gaps import Cause
from trace_util.links import link
from trace_util.merge import Merged, merge_traces, step_numbers
from trace_util.reader import read_trace
from trace_util.reading import reading_of
from trace_util.renumbering import ID_STRIDE
from trace_util.report.merge import merge_text


def merged(folder: Path, **how: Any) -> tuple[Path, Merged]:
    target = folder.parent / "job.json.gz"
    return target, merge_traces(sorted(map(str, folder.iterdir())), target, **how)


def test_every_event_is_there_once_with_its_rank(tmp_path: Path) -> None:
    folder = write_ranks(tmp_path / "run", 3, slow={(1, 3): 500})
    target, told = merged(folder)
    each = [read_trace(path) for path in sorted(folder.iterdir())]
    assert [one.events for one in told.ranks] == [len(trace.events) for trace in each]
    found = read_trace(target)
    assert len(found.events) == sum(len(trace.events) for trace in each)
    assert not found.repairs and not found.skipped and not found.warnings
    assert sorted(found.process_names.values()) == sorted(
        name for r in range(3) for name in (f"rank {r}: python", f"rank {r}: GPU {r}")
    )
    for rank, trace in enumerate(each):
        own = [
            index
            for index, process in enumerate(found.processes)
            if found.process_names[process].startswith(f"rank {rank}:")
        ]
        mine = np.isin(found.events.process, own)
        assert Counter(found.events.duration_ns[mine].tolist()) == Counter(
            trace.events.duration_ns.tolist()
        )


def test_gpu_work_stays_with_the_calls_of_its_own_rank(tmp_path: Path) -> None:
    """Correlation ids repeat across ranks, as in every job."""
    target, _ = merged(write_ranks(tmp_path / "run", 3))
    trace = read_trace(target)
    links = link(trace)
    gpu = np.flatnonzero(trace.events.is_kind(*GPU_KINDS))
    assert len(gpu) == 3 * 12 and (links.launch[gpu] >= 0).all()
    rank_of = {p: trace.process_names[p].partition(":")[0] for p in trace.processes}
    for row in gpu.tolist():
        call = int(links.launch[row])
        ranks = {rank_of[trace.processes[int(trace.events.process[at])]] for at in (row, call)}
        assert len(ranks) == 1
    facts = trace_facts(trace)
    assert facts.kernel_count == 36 and facts.unlinked_gpu_events == 0
    assert [step.kernels for step in facts.steps] == [4] * 9


def test_ids_and_processes_are_kept_apart(tmp_path: Path) -> None:
    target, _ = merged(write_ranks(tmp_path / "run", 3))
    events = events_of(target)
    arrows: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] in "sf":
            arrows.setdefault(event["id"], []).append(event)
    assert all(len(pair) == 2 and len({e["ph"] for e in pair}) == 2 for pair in arrows.values())
    assert {id // ID_STRIDE for id in arrows} == {0, 1, 2}
    calls = [e["args"]["correlation"] for e in events if e["name"] == "cudaLaunchKernel"]
    assert len(calls) == len(set(calls)) == 36
    ops = [e["args"]["External id"] for e in events if e["name"] == "aten::mm"]
    assert len(set(ops)) == 9


def test_other_kinds_of_ids_are_kept_apart_too(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    more = [
        {"ph": "b", "cat": "c", "name": "n", "pid": 1, "tid": 1, "ts": 5, "id": "0x1f"},
        {"ph": "n", "cat": "c", "name": "n", "pid": 1, "tid": 1, "ts": 6, "id2": {"global": "g"}},
        {
            **frame(1, 2),
            "args": {"Python id": 7, "Python parent id": 3, "text": '"correlation": 5'},
        },
        {**op(7, 1), "args": {"correlation": 0, "External id": 9, "Ev Idx": 4}},
        {"ph": "i", "s": "t", "name": "mark", "pid": 1, "tid": 1, "ts": 8},
    ]
    for rank in range(2):
        written({"traceEvents": [op(0, 1), *more]}, folder, f"rank{rank}.json")
    events = [e for e in events_of(merged(folder)[0]) if e["pid"] >= 2000]
    by_phase = {e["ph"]: e for e in events}
    assert by_phase["b"]["id"] == "1:0x1f" and by_phase["n"]["id2"] == {"global": "1:g"}
    args = next(e["args"] for e in events if e["name"].startswith("train.py"))
    assert args == {
        "Python id": ID_STRIDE + 7,
        "Python parent id": ID_STRIDE + 3,
        "text": '"correlation": 5',
    }
    args = next(e["args"] for e in events if "Ev Idx" in e.get("args", {}))
    assert args == {"correlation": 0, "External id": ID_STRIDE + 9, "Ev Idx": ID_STRIDE + 4}
    assert by_phase["i"]["s"] == "t"


def test_ids_of_odd_kinds_are_kept_apart_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    flow = {"ph": "s", "cat": "c", "name": "n", "pid": 1, "tid": 1, "ts": 5}
    more = [
        flow | {"id": "DIGITS"},
        flow | {"id": [1, "a"]},
        flow | {"id2": "of global kind"},
        flow | {"id2": {"local": {"global": 1}}},
        {**op(7, 1), "args": {"correlation": "DIGITS"}},
    ]
    for rank in range(2):
        path = written({"traceEvents": [op(0, 1), *more]}, folder, f"rank{rank}.json")
        path.write_text(path.read_text().replace('"DIGITS"', "7" * 5000))
    target, told = merged(folder)
    assert [one.events for one in told.ranks] == [2, 2]
    with gzip.open(target, "rt") as file:
        text = file.read()
    assert text.count(f'"1:{"7" * 5000}"') == 1
    assert """"id":"1:[1, 'a']\"""" in text
    assert text.count('"id2":"of global kind"') == text.count('{"local": {"global": 1}}') == 2
    assert text.count('"correlation": ' + "7" * 5000) == 2


def test_clocks_are_brought_together_by_the_ends_of_collectives(tmp_path: Path) -> None:
    slow = {(2, 3): 300}
    folder = write_ranks(tmp_path / "run", 3, slow=slow)
    ahead = rank_document(1, 3, clock_us=5000.25, slow=slow)
    (folder / "rank1.json").write_text(json.dumps(ahead))
    target, told = merged(folder)
    zero, one, two = told.ranks
    assert (zero.shift.shift_ns, two.shift.shift_ns) == (0, 0)
    assert one.shift == Shift(-5_000_250, 6, 0)
    text = merge_text(told)
    assert "rank 1      39     -5.00 ms            6" in text
    trace = read_trace(target)
    starts = [step.start_ns for step in link(trace).steps]
    assert starts[0::3] == starts[1::3] == starts[2::3]  # all ranks' steps begin together again
    assert starts[0] + (trace.header.base_time_ns or 0) == BASE_NS


def test_shift_is_the_median_of_the_steps_that_match() -> None:
    reference = [End(1, "allreduce", 100), End(2, "allreduce", 200), End(3, "allreduce", 300)]
    rank = [
        End(1, "allreduce", 1100),
        End(2, "allreduce", 1203),
        End(3, "allgather", 1300),  # another collective: the step tells nothing
        End(4, "allreduce", 1400),
    ]
    assert clock_shift(reference, rank) == Shift(-1002, 2, 3)
    assert clock_shift(reference, rank[2:]) == Shift(0, 0, 0)


def test_what_may_be_spread_is_not_shifted(tmp_path: Path) -> None:
    assert Shift(-40, 6, 50).shift_ns == 0 and Shift(-51, 6, 50).shift_ns == -51
    assert Shift(7, 1, 0).shift_ns == 7


def test_times_since_1970_with_decimals_are_exact(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for rank, start in enumerate(("1712195495519761.132", "1712195495519762.135")):
        text = (
            '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, '
            f'"ts": {start}, "dur": 1.001}}, {{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, '
            f'"tid": 1, "ts": "{start}", "dur": "0.5"}}]}}'
        )
        (folder / f"rank{rank}.json").write_text(text)
    trace = read_trace(merged(folder)[0])
    absolute = trace.events.start_ns + (trace.header.base_time_ns or 0)
    assert absolute.tolist() == [1712195495519761132] * 2 + [1712195495519762135] * 2
    assert trace.events.start_ns.max() < 10**9 and trace.events.duration_ns.tolist() == [
        1001, 500, 1001, 500,
    ]  # fmt: skip


def test_chosen_steps_only_and_all_that_they_launched(tmp_path: Path) -> None:
    folder = write_ranks(tmp_path / "run", 2, steps=4)
    target, told = merged(folder, steps=[3, 5])
    trace = read_trace(target)
    facts = trace_facts(trace)
    assert [step.number for step in facts.steps] == [3, 3, 5, 5]
    assert [step.kernels for step in facts.steps] == [4] * 4
    assert facts.kernel_count == 16 and facts.unlinked_gpu_events == 0
    arrows = [e for e in events_of(target) if e["ph"] in "sf"]
    assert len(arrows) == 2 * 2 * 2
    assert [one.events for one in told.ranks] == [len(trace.events) / 2] * 2
    with pytest.raises(TraceError, match="no rank has one of these; the traces have #2 to #5"):
        merged(folder, steps=[7])


def test_gpu_work_after_its_step_is_kept_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for rank in range(2):
        document = rank_document(rank, 2, steps=2)
        for event in document["traceEvents"]:
            if event["name"] == "gemm_kernel":
                event["ts"] += STEP_US  # queued: it runs while the next step is on the CPU
        document["traceEvents"].append(annotation(5 * STEP_US, 1, "later"))
        written(document, folder, f"rank{rank}.json")
    trace = read_trace(merged(folder, steps=[2])[0])
    gemms = [i for i in range(len(trace.events)) if trace.name_of(i) == "gemm_kernel"]
    assert trace.events.duration_ns[gemms].tolist() == [GEMM_US * 1000] * 2
    assert "later" not in trace.names


@pytest.mark.parametrize(
    ("text", "steps"), [("3", [3]), ("2-4", [2, 3, 4]), ("2-3,7", [2, 3, 7]), ("#5", [5])]
)
def test_step_numbers(text: str, steps: list[int]) -> None:
    assert step_numbers(text) == steps


@pytest.mark.parametrize("text", ["", "a", "4-2", "1--2", "-3"])
def test_what_is_no_step_number_is_said(text: str) -> None:
    with pytest.raises(TraceError, match="write 3, 2-4 or 2-4,7"):
        step_numbers(text)


def test_several_traces_of_one_rank_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for at_us, name in enumerate(("a", "b")):
        written(rank_document(0, 2, clock_us=at_us), folder, f"{name}.json")
    _, told = merged(folder)
    assert [one.label for one in told.ranks] == ["rank 0 (a, 0)", "rank 0 (b, 1)"]


def test_a_real_rank_beside_itself_has_all_twice(tmp_path: Path, shared_traces: Path) -> None:
    content = json.loads(gzip.decompress((shared_traces / "nccl-rank.json.gz").read_bytes()))
    folder = tmp_path / "run"
    folder.mkdir()
    for rank in range(2):
        content["distributedInfo"]["rank"] = rank
        written(content, folder, f"rank{rank}.json")
    once, twice = (
        trace_facts(read_trace(path)) for path in (folder / "rank0.json", merged(folder)[0])
    )
    for name in ("kernel_count", "kernel_total_ns", "launch_count", "unlinked_gpu_events"):
        assert getattr(twice, name) == 2 * getattr(once, name), name
    assert [one.busy_ns for one in twice.devices] == 2 * [once.devices[0].busy_ns]


# --- the command --------------------------------------------------------------------------------


def test_command_writes_the_file_and_prints_the_shifts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ranks(tmp_path / "run", 2)
    (folder / "rank1.json").write_text(json.dumps(rank_document(1, 2, clock_us=-70)))
    target = tmp_path / "job.json"
    assert main(["merge", str(folder), "-o", str(target), "--steps", "2-3"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1:] == [
        "  track   events  clock shift  collectives  agree within  file",
        "  rank 0      26    reference            6          0 µs  rank0.json",
        "  rank 1      26     +70.0 µs            6          0 µs  rank1.json",
    ]
    assert err == f"next: trace-util open {target}\n"
    assert main(["merge", str(folder), "-o", str(target)]) == 1
    assert "is there already; name another file or add --force" in capsys.readouterr().err
    assert main(["merge", str(folder), "-o", str(target), "--force", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["clock_shift_us"] for one in told["ranks"]] == [0, 70]


def test_a_clock_that_is_far_away_is_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for clock_us, asked in ((-900_000, False), (-37_400_000, True)):
        folder = write_ranks(tmp_path / str(asked), 2)
        (folder / "rank1.json").write_text(json.dumps(rank_document(1, 2, clock_us=clock_us)))
        assert main(["merge", str(folder), "-o", str(tmp_path / f"{asked}.json")]) == 0
        told = capsys.readouterr().out
        assert ("rank 1: its clock is 37.4 s away; is it a rank of the same run?" in told) is asked


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("where", ["rank0.json rank1.json", "rank*.json", "."])
def test_an_input_is_never_written_over(where, force, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    before = Path("rank1.json").read_bytes()
    assert main(["merge", *where.split(), "-o", "./rank1.json", *force]) == 2
    said = "error: rank1.json: is one of the traces; name another file for the job\n"
    assert capsys.readouterr().err == said
    assert Path("rank1.json").read_bytes() == before


@pytest.mark.parametrize("name", ["job.json", "job.json.gz"])
def test_an_earlier_job_among_the_traces_is_replaced_and_not_merged(
    name, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    for _ in range(2):
        assert main(["merge", "*.json*", "-o", name, "--force", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [one["label"] for one in told["ranks"]] == ["rank 0", "rank 1"]


def test_copies_of_one_recording_are_no_job(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    Path("again.json").write_bytes(Path("rank0.json").read_bytes())
    assert main(["merge", "rank0.json", "rank1.json", "again.json", "-o", "job.json"]) == 1
    said = "rank0.json: the same recording as again.json; give each rank of a job once"
    other = "again.json: the same recording as rank0.json; give each rank of a job once"
    assert capsys.readouterr().err in (f"error: {said}\n", f"error: {other}\n")
    assert not Path("job.json").exists()


def test_one_trace_named_twice_is_wrong_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    for named in (["rank0.json"], ["rank0.json", "./rank0.json"]):
        assert main(["merge", *named, "-o", "job.json"]) == 2
        said = "error: rank0.json: one trace is no job; give the ranks of one, two or more\n"
        assert capsys.readouterr().err == said


def test_runs_of_different_workloads_are_no_job(tmp_path, capsys):
    folder = RECORDED / "nvidia-h200" / "03_simple_mlp"
    runs = [str(folder / f"64_128_768_3072_{way}.json.gz") for way in ("eager", "compile")]
    assert main(["merge", *runs, "-o", str(tmp_path / "job.json")]) == 1
    assert capsys.readouterr().err == (
        "error: merge: these are runs of 03_simple_mlp eager and of 03_simple_mlp compile, and not "
        "the ranks of one job; trace-util compare compares them, trace-util plot lays them below "
        "each other\n"
    )


def test_runs_with_different_flags_are_no_job(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(RECORDED / "nvidia-h200-x2" / "05_parallel_mlp")
    runs = ("64_128_768_3072_tp2_rank0.json.gz", "2048_128_768_3072_tp2_rank1.json.gz")
    target = tmp_path / "job.json"
    assert main(["merge", *runs, "-o", str(target)]) == 1 and not target.exists()
    assert capsys.readouterr().err == (
        f"error: merge: {runs[0]} ran with --batch 64 and {runs[1]} with --batch 2048, so they are "
        "not the ranks of one job; trace-util compare compares them, trace-util plot lays them "
        "below each other\n"
    )


def test_ranks_of_jobs_of_two_sizes_are_no_job(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    Path("rank2.json").write_text(json.dumps(rank_document(2, 4)))
    assert main(["merge", "rank0.json", "rank2.json", "-o", "job.json"]) == 1
    assert capsys.readouterr().err == (
        "error: merge: rank0.json is of 2 ranks and rank2.json of 4, so they are of two jobs; "
        "merge each by itself\n"
    )


@pytest.mark.parametrize("odd", [[2], {"a": 1}, "two", 2.5, None, True])
def test_what_ranks_tell_of_their_job_may_be_anything(odd, tmp_path, monkeypatch):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    for rank in range(2):
        document = rank_document(rank, 2)
        document["distributedInfo"]["world_size"] = odd
        document["run_facts"] = {"lesson": odd, "flags": odd}
        Path(f"rank{rank}.json").write_text(json.dumps(document))
    assert main(["merge", "rank0.json", "rank1.json", "-o", "job.json"]) == 0


def test_a_job_is_not_merged_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 3))
    ranks = [f"rank{rank}.json" for rank in range(3)]
    assert main(["merge", *ranks[:2], "-o", "job.json.gz"]) == 0
    capsys.readouterr()
    said = "job.json.gz: is a merged job already; give the traces of its ranks instead"
    assert main(["merge", "job.json.gz", "rank1.json", "-o", "two.json"]) == 1
    assert said in capsys.readouterr().err and not Path("two.json").exists()
    assert main(["merge", "job.json.gz", *ranks, "-o", "two.json", "--json"]) == 1
    told = capsys.readouterr()
    assert told.err == f"error: {said}\n" and json.loads(told.out)["refused"] == [said]
    assert [one["label"] for one in json.loads(told.out)["ranks"]] == ["rank 0", "rank 1", "rank 2"]


def test_a_job_is_compared_as_what_its_ranks_ran(tmp_path, capsys):
    ranks = sorted((RECORDED / "nvidia-h200-x2" / "05_parallel_mlp").glob("64_128*_rank?.json.gz"))
    job = tmp_path / "job.json"
    merge_traces(list(map(str, ranks)), job)
    assert main(["compare", str(job), str(ranks[0])]) == 0
    told = capsys.readouterr().out
    assert "   05_parallel_mlp, tp2, merged of 2 ranks, NVIDIA H200, the baseline\n" in told
    assert "\n  A merged  " in told and "\n  B tp2  " in told
    assert "  warning   unlike runs: ranks in the trace: 2 and 1\n" in told
    assert main(["compare", str(job), str(ranks[0]), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["variant"], run["merged_ranks"]) for run in runs] == [("tp2", 2), ("tp2", None)]
    assert main(["check", str(job)]) == 0
    assert "05_parallel_mlp, tp2 (from its ranks' run facts)" in capsys.readouterr().out


def test_a_job_has_the_wide_first_steps_of_its_ranks(tmp_path):
    folder = RECORDED / "nvidia-h200-x2" / "05_parallel_mlp"
    ranks = sorted(folder.glob("2048_*_chunks4_rank?.json.gz"))
    job = tmp_path / "job.json"
    merge_traces(list(map(str, ranks)), job)
    alone = [trace_facts(read_trace(path)).gaps.by_cause().get(Cause.PROFILER) for path in ranks]
    assert [found and found[0] for found in alone] == [None, 1]
    assert trace_facts(read_trace(job)).gaps.by_cause()[Cause.PROFILER][0] == 1


def test_a_job_says_of_its_run_what_all_of_its_ranks_say(tmp_path):
    paths = sorted(write_ranks(tmp_path / "ranks", 2).iterdir())
    both = {"lesson": "05_parallel_mlp", "variant": "tp2", "flags": {"batch": 8}}
    for path, warm in zip(paths, (True, False), strict=True):
        document = json.loads(path.read_text())
        path.write_text(json.dumps({**document, "run_facts": {**both, "warm": warm}}))
    job, _ = merged(tmp_path / "ranks")
    run = reading_of(read_trace(job)).run
    assert (run.variant, run.problem, run.warm, run.ranks) == ("tp2", {"batch": 8}, None, 2)
    document = json.loads(paths[1].read_text())
    del document["run_facts"]  # of a rank that does not say, nothing is taken to be so
    paths[1].write_text(json.dumps(document))
    job, _ = merged(tmp_path / "ranks")
    run = reading_of(read_trace(job)).run
    assert (run.variant, run.problem, run.ranks) == (None, {}, 2)


def test_links_in_a_circle_are_no_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    Path("circle.json").symlink_to("circle.json")
    assert main(["merge", "rank0.json", "rank1.json", "-o", "circle.json"]) == 0
    assert main(["merge", "rank0.json", "circle.json/x", "-o", "job.json"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: circle.json/x: ")


def test_a_refused_rank_does_not_sink_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ranks(tmp_path / "run", 4)
    (folder / "rank1.json").write_text("no trace")
    cut_off(folder / "rank2.json")
    target = tmp_path / "job.json.gz"
    assert main(["merge", str(folder), "-o", str(target)]) == 1
    out, err = capsys.readouterr()
    assert f"error: {folder}/rank1.json: not JSON" in err
    assert f"error: {folder}/rank2.json: broken: the end of the file is missing" in err
    assert "3 ranks" in out and "rank 2" in out  # what is there of it
    assert len(read_trace(target).events) > 2 * 39


def test_a_broken_rank_is_named_and_the_job_remembers_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ranks(tmp_path / "run", 2)
    cut_off(folder / "rank1.json")
    target = tmp_path / "job.json.gz"
    assert main(["merge", str(folder), "-o", str(target), "--json"]) == 1
    out, err = capsys.readouterr()
    broken = [one["incomplete"] for one in json.loads(out)["ranks"]]
    assert broken[0] is None and broken[1].startswith("the end of the file is missing; ")
    assert f"{folder}/rank1.json: broken: {broken[1]}; rank 1 ends there in the job" in err
    (said,) = read_trace(target).warnings
    assert said.startswith("a copy of what was left of a file that was cut off or damaged")
    whole = merged(write_ranks(tmp_path / "other", 2))[0]
    assert read_trace(whole).warnings == ()


def test_an_unfinished_file_is_never_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_ranks(tmp_path / "run", 2)
    target = tmp_path / "job.json.gz"
    target.write_bytes(b"old")

    def changed(one: Any, *rest: Any) -> int:
        raise TraceError(f"{one.path}: did it change?")

    monkeypatch.setattr("trace_util.merge._rewritten", changed)
    with pytest.raises(TraceError, match="did it change"):
        merge_traces(sorted(map(str, folder.iterdir())), target)
    assert target.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job.json.gz", "run"]


def test_a_file_that_changes_in_between_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_ranks(tmp_path / "run", 2)
    looks = iter(range(9))

    def done() -> None:
        if next(looks) == 1:  # both were looked at
            written({"traceEvents": [mark(2, 0, 5)]}, folder, "rank1.json")

    with pytest.raises(TraceError, match="did it change"):
        merged(folder, done=done)
    assert not (tmp_path / "job.json.gz").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [({}, "is one"), ({"rank1.json": "{}"}, "an empty JSON object"), ({"rank1.json": None}, None)],
)
def test_two_traces_make_a_job(
    tmp_path: Path, files: dict[str, str | None], message: str | None
) -> None:
    folder = write_ranks(tmp_path / "run", 2, leave_out=(1,))
    for name, text in files.items():
        (folder / name).write_text(text or json.dumps(rank_document(1, 2)))
    if message is None:
        assert len(merged(folder)[1].ranks) == 2
        return
    with pytest.raises(TraceError, match=message):
        merged(folder)


# --- in the real Perfetto UI --------------------------------------------------------------------


def _recorded() -> list[Path]:
    """Ranks recorded on GPUs, a list for each run."""
    return sorted({p.with_name(p.name.replace("_rank0", "_rank*")) for p in RECORDED.glob(
        "*/05_parallel_mlp/*_rank0.json.gz")})  # fmt: skip


def launch_arrows(path: Path) -> int:
    """The launches that lead to work: a wait for an event starts an arrow that ends nowhere."""
    events = [event for event in events_of(path) if event.get("cat") == "ac2g"]
    starts, ends = ({e["id"] for e in events if e["ph"] == phase} for phase in "sf")
    return len(starts & ends)


@pytest.mark.browser
def test_perfetto_shows_every_slice_of_every_rank(tmp_path: Path, gloo_ranks: Path) -> None:
    generated = write_ranks(tmp_path / "generated", 3, slow={(1, 3): 500}, late={(2, 4): 300})
    jobs = {"generated": sorted(generated.iterdir()), "gloo": sorted(gloo_ranks.glob("*.json"))}
    for pattern in _recorded():
        jobs[pattern.name.partition("_rank")[0]] = sorted(pattern.parent.glob(pattern.name))
    files = {}
    for name, paths in jobs.items():
        files[f"{name}.json.gz"] = tmp_path / f"{name}.json.gz"
        merge_traces([str(path) for path in paths], files[f"{name}.json.gz"])
    with ui_server(files) as address, chromium() as browser:
        page = browser.new_page()  # one, which has the UI compiled after the first job
        for name, paths in jobs.items():
            page.goto("about:blank")
            page.goto(f"{address}/#!/?url={address}/files/{name}.json.gz")
            shown(page)
            wanted = sum((slices_of(path) for path in paths), Counter[tuple[str, int]]())
            assert slices(page) == wanted, name
            lost = query(
                page,
                "select name, value from stats where value > 0 and "
                "severity in ('error', 'data_loss')",
            )
            assert lost == [], name
            names = {str(row[0]) for row in query(page, "select name from process")}
            for rank in range(len(paths)):
                assert any(one.startswith(f"rank {rank}: ") for one in names), names
            arrows = sum(map(launch_arrows, paths))
            ((drawn,),) = query(page, "select count(*) from flow")
            assert int(drawn or 0) == arrows, name
            screenshot(page, f"merged-{name}")
