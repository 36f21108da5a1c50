"""What bounds a run: both sides of every threshold, and the measured ones measured again."""

from __future__ import annotations

import inspect
import json
import re
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from conftest import RECORDED
from step_traces import GEMM, MadeTrace

from trace_util import bounds
from trace_util.device_table import ROWS
from trace_util.findings.idle import idle_causes
from trace_util.findings.launching import gpu_waits, launching
from trace_util.findings.scene import FULL, FULL_LEAVES, LONGEST, SEEN_HIDDEN, Scene, scene_of
from trace_util.reader import read_trace
from trace_util.regime import INFLATION, Regime, regime
from trace_util.report.values import filled

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ON_THE_GPU = {"compute-bound", "memory-bound", "kernel-bound", "copy-bound"}
US = 1000


def timed(median: float, fastest: float | None = None) -> dict[str, Any]:
    """Run facts with the time of a step without the profiler, in microseconds."""
    least = median - 0.01 if fastest is None else fastest
    told = {"median": median, "min": least, "max": median * 2, "n": 100, "clock": "wall"}
    return {"unprofiled_step_us": told}


def even_steps(
    work: float, period: float, collective: float = 0, graph: bool = False, **run: Any
) -> MadeTrace:
    """Three steps that touch: so much of a GEMM in each, and of an all-reduce behind it."""
    made = MadeTrace(**run)
    for i in range(3):
        at = period * i
        made.step(i + 2, at, period)
        made.op("aten::mm", at + 1, 8, (4096, 4096), (4096, 4096))
        call = "cudaGraphLaunch" if graph else "cudaLaunchKernel"
        made.work(GEMM, at + 2, at + 10, work, call=call)
        if collective:
            made.work(NCCL, at + 9, at + 10 + work, collective)
    return made


def scene(made: MadeTrace, folder: Path) -> Scene:
    return scene_of(made.read(folder))


def told(found: Regime) -> str:
    return filled(found.reason, found.values)


def name(made: MadeTrace, folder: Path) -> str | None:
    return regime(scene(made, folder)).name


def waits(made: MadeTrace, folder: Path) -> str:
    """What is said of the GPU's waiting, "" where nothing is."""
    return " ".join(filled(one.claim, one.values) for one in gpu_waits(scene(made, folder)))


# --- against the step without the profiler --------------------------------------------------------


def test_gpu_bounds_a_step_that_it_fills_by_nine_tenths(tmp_path: Path) -> None:
    assert name(even_steps(171, 200, **timed(190)), tmp_path) == "compute-bound"
    assert waits(even_steps(171, 200, **timed(190)), tmp_path) == ""
    less = even_steps(171, 200, **timed(190.2))
    assert name(less, tmp_path) == "overhead-bound"
    assert waits(less, tmp_path).startswith("19.2 µs of each 190 µs step (10.1 %)")
    assert told(regime(scene(less, tmp_path))) == (
        "the GPU works 171 µs of each 190 µs step (89.9 %) and waits for the CPU the rest of it"
    )


def test_work_longer_than_the_step_by_a_tenth_is_of_another_run(tmp_path: Path) -> None:
    found = regime(scene(even_steps(171, 200, **timed(155.5)), tmp_path))
    assert found.name == "compute-bound"
    assert told(found).startswith("the GPU works all the time (171 µs of work a step; a step takes")
    unlike = regime(scene(even_steps(171, 200, **timed(155.4)), tmp_path))
    assert unlike.name == "undecided"
    assert told(unlike) == (
        "the GPU works 171 µs in a recorded step, which without the profiler takes 155 µs in all: "
        "they were not alike, and the GPU's share of a step is not known"
    )


def test_step_that_is_full_at_its_fastest_is_bound_by_neither(tmp_path: Path) -> None:
    varies = "the CPU's speed varies"
    at_best = even_steps(171, 200, **timed(300, fastest=190))
    found = regime(scene(at_best, tmp_path))
    assert found.name == "undecided"
    assert told(found) == (
        "the GPU works 171 µs of each 300 µs step (57.0 %), but fills the fastest, 190 µs; neither "
        "that nor the CPU alone bounds the run: the CPU's speed varies"
    )
    assert waits(at_best, tmp_path).endswith(varies)
    for fastest in (190.1, 250):
        never = even_steps(171, 200, **timed(300, fastest=fastest))
        assert name(never, tmp_path) == "overhead-bound"
        assert varies not in waits(never, tmp_path) != ""


@pytest.mark.parametrize(("period", "bound"), [(170, "compute-bound"), (172, "overhead-bound")])
def test_cpu_that_runs_ahead_is_not_what_the_gpu_waits_for(
    tmp_path: Path, period: float, bound: str
) -> None:
    made = MadeTrace(**timed(300))  # at a lower clock than the recorded steps
    for i in range(3):
        made.step(i + 2, period * i, period - 5)  # the next one begins 5 µs after its end
        made.op("aten::mm", period * i + 1, 8, (4096, 4096), (4096, 4096))
        made.work(GEMM, period * i + 2, 172 * i + 10, 171)
    one = scene(made, tmp_path)
    assert (regime(one).name, one.cpu_runs_ahead) == (bound, bound == "compute-bound")
    costs = {finding.id for finding in launching(one)}
    assert ("gpu-waits" in costs) == (bound == "overhead-bound")
    if one.cpu_runs_ahead:
        assert told(regime(one)).startswith(
            "the GPU works 171 µs of each 300 µs step (57.0 %; the CPU is through one in 170 µs "
            "even with the profiler), 100 % of its time in kernels whose arithmetic"
        )


def test_graph_that_fills_half_a_step_hides_what_the_rest_is(tmp_path: Path) -> None:
    def bound(median: float) -> str | None:
        return name(even_steps(100, 300, graph=True, **timed(median)), tmp_path)

    assert [bound(200), bound(200.1)] == ["undecided", "overhead-bound"]


def test_synchronised_step_is_bound_by_neither(tmp_path: Path) -> None:
    made = even_steps(100, 200, **timed(190))
    for i in range(3):
        made.call("cudaDeviceSynchronize", 200 * i + 20, 150)  # the GPU runs dry at 110
    found = regime(scene(made, tmp_path))
    assert found.name == "undecided"
    assert told(found).endswith("the CPU waits for the GPU, and then the GPU for the CPU")


@pytest.mark.parametrize(("loads", "bound"), [(56, "input-bound"), (44, "overhead-bound")])
@pytest.mark.parametrize("run", [timed(190), {}])
def test_most_of_the_idle_time_tells_input_from_launches(
    loads: float, bound: str, run: dict[str, Any], tmp_path: Path
) -> None:
    """The GPU is idle for 100 of 200 µs, and for so many of them the batch is waited for."""
    made = even_steps(100, 200, **run)
    for i in range(3):
        made.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 200 * i + 120, loads)
    at = scene(made, tmp_path)
    assert idle_causes(at)["input"] == 3 * loads * US
    assert regime(at).name == (bound if run or bound == "input-bound" else "undecided")
    assert bool(waits(made, tmp_path)) == (bound == "overhead-bound" and bool(run))


def test_idle_time_of_a_wide_step_is_no_cause(tmp_path: Path) -> None:
    """The first step waits long for its batch; the others, 200 µs each, for launches."""
    made = MadeTrace(**timed(190))
    for i, at in enumerate((0, 1000, 1200)):
        made.step(i + 2, at, 1000 if i == 0 else 200)
        made.work(GEMM, at + 2, at + 10, 90)
    made.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 200, 700)
    at = scene(made, tmp_path)
    assert idle_causes(at) == {"launches": 2 * 110 * US}
    assert regime(at).name == "overhead-bound"


# --- against the profiled window ------------------------------------------------------------------


def window(share: float, **also: Any) -> MadeTrace:
    """The GPU is busy for that share of a window of three steps of 1600 µs."""
    return even_steps(1600 * share - also.get("collective", 0), 1600, **also)


def test_profiled_window_is_sure_below_a_sixteenth_and_from_nine_tenths_on(tmp_path: Path) -> None:
    shares = (0.0624, 0.0625, 0.8995, 0.9)
    assert [name(window(share), tmp_path) for share in shares] == [
        "overhead-bound", "undecided", "undecided", "compute-bound",
    ]  # fmt: skip


# --- collectives ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("median", "bound"),
    [
        (190, "compute-bound"),  # 171 of 190 are other work
        (190.2, "undecided"),
        (301.1, "undecided"),  # 271 with the collective, of which nobody knows what it is
        (301.2, "overhead-bound"),
    ],
)
def test_collective_may_wait_or_send(median: float, bound: str, tmp_path: Path) -> None:
    made = even_steps(171, 400, collective=100, **timed(median))
    found = regime(scene(made, tmp_path))
    assert found.name == bound
    assert ("at least" in waits(made, tmp_path)) == (bound == "overhead-bound")
    text = {
        "compute-bound": "(90.0 %) besides its collectives, 100 % of that time in kernels whose",
        "undecided": f"the GPU works 171 µs of each {median:.0f} µs step ",
        "overhead-bound": "at most 271 µs of each 301 µs step (90.0 %, waits in collectives inclu",
    }
    assert text[bound] in told(found)
    assert ("one rank does not tell which" in told(found)) == (bound == "undecided")


def test_window_full_of_collectives_is_undecided(tmp_path: Path) -> None:
    found = regime(scene(window(0.95, collective=100), tmp_path))  # 88.75 % other work
    assert (found.name, "but only 88.8 % of it with other" in told(found)) == ("undecided", True)
    assert name(window(0.97, collective=100), tmp_path) == "compute-bound"  # 90.75 %
    assert name(window(0.06, collective=10), tmp_path) == "overhead-bound"


# --- what was recorded ----------------------------------------------------------------------------

ALL = sorted(path for path in RECORDED.rglob("*.json.gz") if "cpu" not in path.name)
ALONE = [path for path in ALL if "05_parallel_mlp" not in path.parts]


def recorded() -> list[Scene]:
    return [scene_of(read_trace(path)) for path in ALONE]


def test_thresholds_are_what_the_recorded_runs_show() -> None:
    shares, hidden = [], []
    for one in recorded():
        assert one.unprofiled_share is not None and one.busy_share
        shares.append(one.unprofiled_share)
        hidden.append(min(1, one.unprofiled_share) / one.busy_share)
    assert ceil(10 * max(hidden)) / 10 == SEEN_HIDDEN < INFLATION
    full = [share for share in shares if share >= FULL]
    assert ceil(100 * (1 - min(full))) / 100 == FULL_LEAVES < 1 - FULL
    assert f"{100 * min(full):.0f} to {100 * max(full):.0f} %" == "92 to 104 %"
    assert max(full) < LONGEST


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_verdict_and_costs_of_a_recorded_run_agree(path: Path) -> None:
    one = scene_of(read_trace(path))
    found, costs = regime(one), {finding.id for finding in launching(one)}
    for value in found.values:
        if value.name == "part":
            assert isinstance(value.amount, float) and value.amount <= LONGEST
    if found.name in ON_THE_GPU:
        assert costs.isdisjoint({"overhead-bound", "gpu-waits", "cuda-graph-absent"})
    if found.name == "overhead-bound":
        assert costs & {"overhead-bound", "gpu-waits"}


def test_points_of_recorded_sweeps_have_the_regimes_of_their_traces() -> None:
    seen = 0
    for table in sorted((RECORDED / "nvidia-h200").rglob("sweep_*.json")):
        for point in json.loads(table.read_text())["points"]:
            one = scene_of(read_trace(table.parent / f"{point['trace']}.gz"))
            assert regime(one).name == point["regime"], point["trace"]
            seen += 1
    assert seen == 16


JOBS = sorted({path.name.partition("_rank")[0] for path in ALL if path not in ALONE})


@pytest.mark.parametrize("job", JOBS)
def test_ranks_of_a_job_do_not_contradict_each_other(job: str) -> None:
    ranks = [path for path in ALL if path.name.startswith(f"{job}_rank")]
    names = {regime(scene_of(read_trace(path))).name for path in ranks}
    assert len(ranks) == 2
    assert len(names - {"undecided"}) <= 1


def test_flops_in_the_time_of_a_byte_are_those_of_the_table() -> None:
    per_byte = [
        1000 * rate / row.gigabytes_per_s
        for row in ROWS
        for dtype, rate in row.teraflops.items()
        if dtype in ("fp32", "tf32", "fp16", "bf16", "fp8")
    ]
    said = re.search(r"do ([\d.]+) to (\d+)\s+# FLOPs", inspect.getsource(bounds))
    assert said is not None
    assert said.groups() == (f"{min(per_byte):.1f}", f"{max(per_byte):.0f}")
