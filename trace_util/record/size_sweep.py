"""One lesson at many sizes: where does the GPU become the bottleneck?"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from torch.profiler import profile
from tqdm import tqdm

from ..devices import device_of
from ..events import TraceError
from ..explain import explanation
from ..facts import trace_facts
from ..links import link
from ..plot.sweep import draw_sweep
from ..reader import read_trace
from ..report import sweep as report
from ..report.text import clean, style_of
from ..steps import sound_steps
from ..tally import middle
from .folders import require_writable
from .output import say, section
from .recorded import look_at, nearest_sweep, nearest_trace, origin
from .run import Run, run_facts
from .save import save, whole_file
from .sharing import share
from .timing import StepTime, step_time

# A CPU takes minutes for what a GPU does in a millisecond; the curve is clear long before.
SLOWEST_STEP_US = 1e5


class Point(NamedTuple):
    """One size: its value, the floating-point operations of a step, and the step."""

    value: int
    flops: float
    step: Callable[[], Any]


# What a lesson hands over, and how it records one of its steps.
Points = Iterable[tuple[int, float, Callable[[], Any]]]
Recording = Callable[[Callable[[], Any]], profile]


def sweep(
    run: Run,
    flag: str,
    name: str,
    points: Points,
    recording: Recording,
) -> None:
    """Time every point, record each as a run of its own, print the table, write JSON and figure.

    ``flag`` is the flag that ``value`` stands for. The traces go to ``<trace_dir>/sweep_<name>/``,
    table and figure beside that folder. Points after a step of more than 0.1 s are left out.
    All are timed before the first is recorded: the profiler slows what runs after it.
    """
    on_cpu = run.device.type == "cpu"
    folder = Path(run.flags.trace_dir) / f"sweep_{'cpu_' if on_cpu else ''}{name}"
    require_writable(folder, "--trace_dir")
    timed = _timed(run, flag, [Point(*point) for point in points])
    measured = [
        _measure(run, folder, flag, point, unprofiled, recording)
        for point, unprofiled in tqdm(timed, desc="recorded", unit="run", disable=None)
    ]
    result = {"run_facts": run_facts(run), "flag": flag, "points": measured}
    section("Sweep")
    print(report.table(result, style_of(sys.stdout)))
    print(report.crossover(result))
    table = _write(folder, result)
    section("Look at it")
    print(look_at(table))
    if on_cpu:
        _point_at_recorded(run, f"sweep_{name}")
    share(run.flags, [folder])
    sys.stdout.flush()


def _timed(run: Run, flag: str, planned: list[Point]) -> list[tuple[Point, StepTime]]:
    """The points up to the first slow one, warmed up and timed."""
    timed: list[tuple[Point, StepTime]] = []
    for point in tqdm(planned, desc=f"--{flag}", unit="size", disable=None):
        for _ in range(3):
            point.step()
        timed.append((point, step_time(point.step, run.device)))
        if timed[-1][1].median > SLOWEST_STEP_US:
            if len(timed) < len(planned):
                say(f"note: stopped at --{flag} {point.value}: a step takes over 0.1 s")
            break
    return timed


def _measure(
    run: Run, folder: Path, flag: str, point: Point, unprofiled: StepTime, recording: Recording
) -> dict[str, Any]:
    flags = argparse.Namespace(**{**vars(run.flags), flag: point.value, "trace_dir": folder})
    one = dataclasses.replace(run, flags=flags, tag=f"{flag}_{point.value}", warm=True)
    prof = recording(point.step)
    saved = save(one, prof, unprofiled=unprofiled, relative_error=None)
    return {"value": point.value, "flops": point.flops, **measured_facts(saved.trace)}


def measured_facts(path: Path) -> dict[str, Any]:
    """The facts of one point, read back from its trace; times in microseconds."""
    trace = read_trace(path)
    links = link(trace)
    facts = trace_facts(trace, links)
    steps = facts.steps
    sound = sound_steps(steps)
    gpu = device_of(trace.header)
    dtype = trace.header.run["flags"]["dtype"]
    recorded = bool(steps) and facts.gpu_activity == "recorded"
    return {
        "trace": f"{path.parent.name}/{path.name}",
        "unprofiled_step_us": trace.header.run["unprofiled_step_us"],
        "profiled_step_us": (facts.median_step_ns or 0) / 1e3,
        "gpu_busy_us": middle([steps[i].gpu_busy_ns for i in sound]) / 1e3 if recorded else None,
        "gpu_busy_share": facts.busy_share,
        "kernels": sorted(s.kernels for s in steps)[len(steps) // 2] if recorded else None,
        "peak_flops_per_s": gpu.peak_flops_per_s(dtype) if gpu else None,
        "regime": explanation(trace, links, facts).regime.name or "not recorded",
    }


def _point_at_recorded(run: Run, tag: str) -> None:
    near = nearest_sweep(run.wanted._replace(tag=tag)) or nearest_trace(run.wanted)
    if near:
        print(f"{look_at(near)}    # {origin(near)}")


def _write(folder: Path, result: dict[str, Any]) -> Path:
    """The table's path, written with the figure beside it."""
    path = folder.with_suffix(".json")
    with whole_file(path) as part:
        part.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\ntable   {clean(str(path))}\ntraces  {clean(str(folder))}/")
    figure = path.with_suffix(".svg")
    try:
        draw_sweep(result, figure)
        print(f"figure  {clean(str(figure))}")
    except TraceError as error:
        say(f"note: {error}")
    return path
