"""How long a step takes when no profiler watches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

# Enough samples for a median, within about half a second.
BUDGET_S = 0.5
FEWEST, MOST = 3, 100


class StepTime(NamedTuple):
    """Unprofiled time of one step in microseconds over ``n`` steps, and the clock that took it.

    ``after_profiler`` is true when the profiler had run in this process before. What CUPTI leaves
    behind then still slows each launch: 29 us became 41 us for a 64 x 64 matmul and add (H200,
    torch 2.11, driver 580), so the time is an upper bound.
    """

    median: float
    min: float
    max: float
    n: int
    clock: str
    after_profiler: bool


def step_time(
    step: Callable[[], Any],
    device: torch.device,
    *,
    count: int | None = None,
    after_profiler: bool = False,
) -> StepTime:
    """The time of ``step()`` in steady state, without a profiler.

    On a GPU between two CUDA events on the stream, steps queued back to back: GPU time where the
    kernels outlast their dispatch, CPU time where they do not. On a CPU by wall clock. Steps
    that wait for other ranks need a ``count``: each rank would choose another one by itself.
    """
    step()
    sample = _on_gpu if device.type == "cuda" else _on_cpu
    n = count or _affordable(sample(step, 1)[0])
    taken = sample(step, n)
    clock = "cuda_event" if device.type == "cuda" else "wall"
    return StepTime(statistics.median(taken), min(taken), max(taken), n, clock, after_profiler)


def _affordable(first_us: float) -> int:
    return int(min(MOST, max(FEWEST, BUDGET_S * 1e6 / max(first_us, 1.0))))


def _on_gpu(step: Callable[[], Any], n: int) -> list[float]:
    marks = [
        torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        for _ in range(n + 1)
    ]
    torch.cuda.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    # elapsed_time is in milliseconds, with a resolution of about 0.5 us.
    return [a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:], strict=False)]


def _on_cpu(step: Callable[[], Any], n: int) -> list[float]:
    taken = []
    for _ in range(n):
        begin = time.perf_counter_ns()
        step()
        taken.append((time.perf_counter_ns() - begin) / 1e3)
    return taken
