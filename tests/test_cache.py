"""Shares of the memory's peak that the L2 cache has a part in."""

from __future__ import annotations

import pytest
from conftest import RECORDED

from trace_util.cli import main
from trace_util.devices import device
from trace_util.explain import explanation
from trace_util.reader import read_trace
from trace_util.report.explain import explanation_json
from trace_util.report.html.roofline import roofline
from trace_util.report.html.subject import subject_of
from trace_util.roofline import KernelRate
from trace_util.work import Work

NOTE = (
    "* more than memory can move in that time, or no more than the L2 cache holds (62.9 MB): part "
    "of it may stay in the cache"
)


def rate(moved, share, held=50, least=False):
    """A kernel that moves so many bytes in as many ns, beside a memory that moves them all."""
    work = Work(size_bytes=moved, is_lower_bound=least)
    peak = moved / (moved * 1e-9) / share
    return KernelRate("k", "op", 1, moved, moved, work, None, peak, held)


@pytest.mark.parametrize(
    ("found", "cached"),
    [
        (rate(1000, 1.01, held=None), True),  # whatever the cache holds
        (rate(1000, 1.01), True),
        (rate(1000, 0.99), False),
        (rate(51, 0.9), False),
        (rate(50, 0.99), True),
        (rate(50, 0.5), True),
        (rate(50, 0.49), False),
        (rate(50, 0.99, held=None), False),
        (rate(50, 0.99, least=True), False),  # it may move more
        (KernelRate("k", None, 1, 1, 1, Work(reason="none")), False),
    ],
)
def test_cache_may_serve_what_fits_and_serves_what_memory_cannot(found, cached):
    assert found.may_be_cached is cached


@pytest.mark.parametrize(
    ("name", "mebibytes"),
    [
        ("Tesla T4", 4),
        ("Tesla V100-SXM2-16GB", 6),
        ("NVIDIA A100-SXM4-80GB", 40),
        ("NVIDIA H100 PCIe", 50),
        ("NVIDIA H200", 60),
        ("NVIDIA B200", 126),
        ("NVIDIA GeForce RTX 4090", 72),
    ],
)
def test_cache_of_a_gpu(name, mebibytes):
    assert device(name).l2_bytes == mebibytes * 2**20


def test_cache_of_other_gpus_is_not_known():
    assert device("AMD Instinct MI300X").l2_bytes is None
    assert device("NVIDIA GeForce RTX 3090").l2_bytes is None


def recorded(batch):
    sweep = RECORDED / "nvidia-h200" / "03_simple_mlp" / "sweep_batch_128_768_3072_eager"
    return str(sweep / f"batch_{batch}.json.gz")


def printed(batch, capsys):
    assert main(["explain", recorded(batch)]) == 0
    return capsys.readouterr().out


def test_share_over_the_peak_has_a_word(capsys):
    text = printed(16, capsys)
    (row,) = [line for line in text.splitlines() if line.startswith("  bf16 mul ")]
    assert float(row.split("TB/s")[1].strip(" *%")) > 100
    assert "TB/s  *" in row
    assert NOTE in " ".join(text.split())


def test_share_that_fits_the_cache_has_a_word_and_others_none(capsys):
    assert "*" in printed(8, capsys)
    assert "*" not in printed(64, capsys)  # 151 MB
    assert "*" not in printed(1, capsys)  # far from the peak


def test_cache_is_in_the_json_and_the_page():
    trace = read_trace(recorded(16))
    found = explanation(trace)
    kernels = explanation_json(trace, found)["kernels"]
    assert {one["words"]: one["may_be_cached"] for one in kernels} == {
        "bf16 GEMM 192x128 (nvjet)": False,
        "bf16 GEMM 96x128 (nvjet)": False,
        "bf16 gelu (ATen)": True,
        "bf16 mul (ATen)": True,
    }
    page = str(roofline(subject_of(trace, 1)))
    assert NOTE in page and page.count(">*") == 3  # two shares and the note
