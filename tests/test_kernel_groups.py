"""Kernels that read the same: one row, where their rates do not tell them apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from step_traces import ADD, GEMM, MadeTrace

from trace_util.explain import explanation
from trace_util.report.explain import explanation_text

UNKNOWN = "void cudnn::cnn::wgrad_alg0_engine<float, {}, 5, 5, 3, 3, 3, false, 512>(int)"
SIZES = (1024, 2048, 4096, 8192)


def of_shapes(folder: Path, *sizes: int, first: str = GEMM, other: str = GEMM) -> tuple:
    made = MadeTrace()
    made.step(2, 0, 1000)
    for i, size in enumerate(sizes):
        made.op("aten::mm", 10 + 20 * i, 15, (size, size), (size, size))
        made.work(other if i else first, 12 + 20 * i, 100 + 100 * i, 10 + 10 * i)
    found = explanation(made.read(folder))
    return found.groups, explanation_text(found)


def test_a_few_shapes_of_known_rates_stand_apart_and_say_why(tmp_path: Path) -> None:
    groups, text = of_shapes(tmp_path, *SIZES[:2])
    assert [(one.count, one.total_ns) for one in groups] == [(1, 20_000), (1, 10_000)]
    assert "rows that read the same differ in their shapes" in text


def test_many_shapes_are_one_row_of_all_their_work_and_time(tmp_path: Path) -> None:
    (group,), text = of_shapes(tmp_path, *SIZES)
    assert (group.count, group.total_ns, group.median_ns) == (4, 100_000, 25_000)
    work = sum(2 * size**3 for size in SIZES)
    assert group.flops_per_s == pytest.approx(work / 100e-6)
    assert group.compute_share == pytest.approx(work / 100e-6 / 989.4e12, rel=0.01)
    assert "rates of several shapes are those of all their work and time" in text


def test_full_names_that_read_the_same_are_one_row(tmp_path: Path) -> None:
    made = MadeTrace()
    made.step(2, 0, 1000)
    for i in range(3):
        made.op("aten::cudnn_convolution_backward", 10 + 20 * i, 15)
        made.work(UNKNOWN.format(i), 12 + 20 * i, 100 + 100 * i, 30)
    made.op("aten::add", 80, 15, (64, 64), (64, 64))
    made.work(ADD, 82, 500, 40)
    found = explanation(made.read(tmp_path))
    assert len(found.kernels) == 4
    assert [(one.count, one.total_ns) for one in found.groups] == [(3, 90_000), (1, 40_000)]
    (row,) = [line for line in explanation_text(found).splitlines() if "69.2 %" in line]
    assert row.split()[-2:] == ["-", "-"]


def test_largest_kernels_of_a_real_trace_come_first(shared_traces: Path) -> None:
    from trace_util.reader import read_trace

    found = explanation(read_trace(shared_traces / "2021-vocabulary-resnet50.json.gz"))
    words = [one.words for one in found.groups]
    assert len(words) == len(set(words)) == 30
    assert (words[0], found.groups[0].count) == ("fp32 convolution (cuDNN)", 972)
    assert sum(one.total_ns for one in found.groups) == found.facts.kernel_total_ns
