"""Findings about launching, where the number of launches is even."""

from __future__ import annotations

from pathlib import Path

from step_traces import GEMM, MadeTrace

from trace_util.explain import explanation


def launched(folder: Path, kernel_us: float) -> set[str]:
    """The findings of a step with 20 kernels, half of them launched in 4 µs and half in 10."""
    made = MadeTrace()
    made.step(1, 0, 900)
    for k in range(20):
        made.work(GEMM, 2 + 20 * k, 15 + 20 * k, kernel_us)
        made.events[-2]["dur"] = 4 if k % 2 else 10
    return {one.id for one in explanation(made.read(folder)).findings}


def test_tiny_is_told_by_the_median_between_two_launches(tmp_path: Path) -> None:
    assert "tiny-kernels" in launched(tmp_path, 6.9)
    assert "tiny-kernels" not in launched(tmp_path, 7.1)
