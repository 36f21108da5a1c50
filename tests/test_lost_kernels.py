"""A trace whose every step lost kernels: nothing is concluded from the GPU time that is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import RECORDED
from trace_edits import Document, broken_copy, set_run, together

from trace_util.claims import check
from trace_util.compare import comparison
from trace_util.explain import Explanation, explanation
from trace_util.reader import read_trace
from trace_util.report.values import filled

H200 = RECORDED / "nvidia-h200"
MLP = H200 / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"
MATMUL = H200 / "01_matmul" / "4096_bf16_warm_eager.json.gz"


def without_gemms(document: Document) -> None:
    document["traceEvents"] = [
        event
        for event in document["traceEvents"]
        if not (event.get("cat") == "kernel" and event["name"].startswith("nvjet"))
    ]


def told(found: Explanation) -> str:
    return filled(found.regime.reason, found.regime.values)


@pytest.mark.parametrize("timed", [True, False])
def test_no_regime_is_told_from_what_is_left(timed: bool, tmp_path: Path) -> None:
    edit = without_gemms if timed else together(without_gemms, set_run(unprofiled_step_us=None))
    found = explanation(read_trace(broken_copy(MLP, tmp_path, edit)))
    assert found.regime.name == "undecided"
    assert told(found) == (
        "9 launches have no kernel in the trace, one or more in every step: the GPU's share of a "
        "step is not known"
    )
    (lost,) = [one for one in found.findings if one.id == "kernels-lost"]
    assert filled(lost.claim, lost.values) == (
        "9 launches have no kernel in the trace (ProfilerStep#2, ProfilerStep#3, ProfilerStep#4): "
        "the GPU figures are too low"
    )
    assert {one.id for one in found.findings if one.kind.value == "cost"} == set()


def test_gpu_time_is_not_compared(tmp_path: Path) -> None:
    traces = [read_trace(MLP), read_trace(broken_copy(MLP, tmp_path, without_gemms))]
    (one,) = comparison(traces).differences
    assert (one.gpu.differs, one.gpu.reason) == (None, "each step of a run lost kernels")
    assert one.bytes_saved is None


def test_gpu_time_contradicts_no_claim(tmp_path: Path) -> None:
    found = check(read_trace(broken_copy(MATMUL, tmp_path, without_gemms)))
    (second,) = [claim for claim in found.claims if claim.id == "1.2"]
    assert (second.verdict, second.reason) == (
        "unseen",
        "every step lost kernels, so that its GPU time is not known",
    )
