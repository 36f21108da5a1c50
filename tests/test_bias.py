"""What is said of copies in front of a GEMM: whose they are, and what spares them."""

from __future__ import annotations

import pytest
from step_traces import DTOD, DTOH, HTOD, full_steps

from trace_util.cli import main
from trace_util.explain import explanation
from trace_util.report.values import filled

PRODUCT = ((4096, 4096), (4096, 4096))


def told(made, tmp_path, identity="bias-copied-first"):
    findings = explanation(made.read(tmp_path)).findings
    (finding,) = [one for one in findings if one.id == identity]
    return filled(finding.claim, finding.values), finding.next_step


def copied(*biases, size=8192):
    """Full steps with an addmm and a copy beneath it for each bias; sizes of None: no shapes."""
    made = full_steps()
    for i, bias in enumerate(biases):
        made.op("aten::addmm", 40 + 20 * i, 20, *((bias, *PRODUCT) if bias else ()))
        made.work(DTOD, 42 + 20 * i, 196 + 200 * i, 3, call="cudaMemcpyAsync", size=size)
    return made


def test_vector_can_ride_in_the_epilogue(tmp_path):
    claim, step = told(copied((4096,), (4096,)), tmp_path)
    assert claim.startswith("2 copies put the bias ([4096]) into the output before the GEMM adds")
    assert "in the GEMM's epilogue" in step and "addmm_" not in step


def test_matrix_is_copied_as_pytorch_calls_the_gemm(tmp_path):
    claim, step = told(copied((4096, 4096)), tmp_path)
    assert claim.startswith("1 copy puts the bias ([4096, 4096]) into the output")
    assert "c.addmm_(a, b)" in step and "nn.Linear" not in step


@pytest.mark.parametrize("biases", [(None,), ((4096,), (4096, 4096))])
def test_unlike_or_unknown_biases_are_told_both(biases, tmp_path):
    claim, step = told(copied(*biases), tmp_path)
    assert "put the bias into the output" in claim.replace("puts", "put")
    assert "nn.Linear" in step and "of a matrix: " in step


def test_bytes_that_are_not_in_the_trace_are_left_out(tmp_path):
    assert "adds to it: 8.19 kB, 3.00 µs, " in told(copied((4096,)), tmp_path)[0]
    assert "adds to it: 3.00 µs, " in told(copied((4096,), size=None), tmp_path)[0]
    made = full_steps()
    made.work(DTOH, 42, 170, 2, call="cudaMemcpyAsync")
    made.work(HTOD, 50, 200, 20, call="cudaMemcpyAsync", stream=8)
    assert told(made, tmp_path, "device-to-host-copies")[0].startswith(
        "1 copy to the host within the steps: each makes the CPU wait"
    )
    assert told(made, tmp_path, "pageable-copies")[0].startswith(
        "1 copy from pageable host memory take 20.0 µs, "
    )


def test_public_traces_with_vectors_are_not_told_of_matrices(shared_traces, capsys):
    for name in ("2021-vocabulary-resnet50", "mi250-rocm"):
        assert main(["explain", str(shared_traces / f"{name}.json.gz")]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "as nn.Linear's bias is" in text and "copies the matrix" not in text
        assert "adds to it: not known" not in text
