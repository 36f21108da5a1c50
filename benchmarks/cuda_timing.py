"""Times on a CUDA device, unprofiled: events around whole runs of steps, the variants in turn."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Step = Callable[[], object]

# A run begins with an idle GPU that waits for a launch, some 0.1 ms: a run must be far longer.
RUN_US = 20_000.0
LEAST_STEPS, MOST_STEPS = 2, 200


class Times(NamedTuple):
    """Microseconds a step: median, least and most of `n` runs."""

    median: float
    min: float
    max: float
    n: int


def summary(samples_us: Sequence[float]) -> Times:
    return Times(statistics.median(samples_us), min(samples_us), max(samples_us), len(samples_us))


def race(variants: Mapping[str, Sequence[Step]], runs: int = 9) -> dict[str, Times]:
    """The step time of every variant. A variant is one step for each set of inputs.

    A run is some 20 milliseconds of steps back to back, the sets in turn, between two events. The
    variants take turns run by run, so that a change of the GPU's clock or temperature meets all of
    them alike.
    """
    steps = {name: _steps_a_run(sets) for name, sets in variants.items()}
    samples: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(runs):
        for name, sets in variants.items():
            samples[name].append(_run_us(sets, steps[name]) / steps[name])
    return {name: summary(times) for name, times in samples.items()}


def cold(step: Step, runs: int = 60) -> Times:
    """The time of one step that finds the L2 cache full of another tensor, written just before."""
    size = 4 * torch.cuda.get_device_properties().L2_cache_size
    elsewhere = torch.empty(size, dtype=torch.uint8, device="cuda")
    step()
    samples = []
    for _ in range(runs):
        elsewhere.zero_()
        samples.append(_run_us([step], 1, wait=False))
    return summary(samples)


def captured(step: Step) -> Step:
    """A CUDA graph of one step, as a step. Its output is overwritten by every replay."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = step()

    def replay() -> object:
        graph.replay()
        return output

    return replay


def kernels_of(step: Step) -> list[str]:
    """The names of the kernels that one step runs, copies and fills apart. Profiled, so untimed."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profiler:
        step()
        torch.cuda.synchronize()
    names = [e.name for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    return [name for name in names if not name.startswith(("Memset", "Memcpy"))]


def copy_tb_s() -> float:
    """The device's copy rate, bytes read plus bytes written: the best of three sizes."""
    return max(_copied_tb_s(mebibytes << 20) for mebibytes in (256, 1024, 4096))


def _copied_tb_s(size: int) -> float:
    source = torch.empty(size, dtype=torch.uint8, device="cuda").random_(256)
    target = torch.empty_like(source)
    times = race({"copy": [lambda: target.copy_(source)]})
    return 2 * size / times["copy"].median / 1e6


def gemm_tflop_s(dtype: torch.dtype, size: int = 8192) -> float:
    """The rate of a large square matrix product of random numbers through PyTorch."""
    a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    out: Tensor = torch.empty(size, size, device="cuda", dtype=dtype)
    times = race({"gemm": [lambda: torch.mm(a, b, out=out)]})
    return 2 * size**3 / times["gemm"].median / 1e6


def _steps_a_run(sets: Sequence[Step]) -> int:
    """How many steps make a run, a multiple of the sets where that is not too many."""
    for step in sets:
        step()
    torch.cuda.synchronize()
    once_us = _run_us(sets, len(sets)) / len(sets)
    steps = min(MOST_STEPS, max(LEAST_STEPS, round(RUN_US / once_us)))
    return max(1, steps // len(sets)) * len(sets)


def _run_us(sets: Sequence[Step], steps: int, wait: bool = True) -> float:
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if wait:
        torch.cuda.synchronize()
    before.record()
    for i in range(steps):
        sets[i % len(sets)]()
    after.record()
    torch.cuda.synchronize()
    return before.elapsed_time(after) * 1e3
