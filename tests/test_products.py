"""What keeps products from the Tensor Cores, by library and by vendor."""

from __future__ import annotations

import pytest
from step_traces import full_steps

from trace_util.claims import check
from trace_util.explain import explanation
from trace_util.report.check import check_text

SGEMM = "ampere_sgemm_128x64_nn"
SCUDNN = "cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1"
TF32_CONVOLUTION = (
    "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16"
    "_stage4_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn"
)
MATMUL = "torch.set_float32_matmul_precision"
CUDNN = "torch.backends.cudnn.allow_tf32 = True"
BENCHMARK = "torch.backends.cudnn.benchmark = True"
MI300X = {
    "gpu": "AMD Instinct MI300X",
    "compute_capability": "9.4",
    "vendor": "AMD",
    "lesson": "01_matmul",
    "variant": "eager",
}
H200 = {**MI300X, "gpu": "NVIDIA H200", "compute_capability": "9.0", "vendor": "NVIDIA"}


def steps_of(*kernels):
    """Steps of one kernel each, of these names in turn."""
    made = full_steps()
    names = [event for event in made.events if event["cat"] == "kernel"]
    for i, event in enumerate(names):
        event["name"] = kernels[i % len(kernels)]
    return made


def findings(made, tmp_path):
    return {one.id: one for one in explanation(made.read(tmp_path)).findings}


@pytest.mark.parametrize(
    ("kernels", "named"),
    [
        ((SGEMM,), {MATMUL}),
        ((SCUDNN,), {CUDNN}),
        ((SGEMM, SCUDNN), {MATMUL, CUDNN}),
        ((SCUDNN, TF32_CONVOLUTION), {BENCHMARK}),
    ],
)
def test_tf32_is_allowed_where_the_kernels_come_from(kernels, named, tmp_path):
    step = findings(steps_of(*kernels), tmp_path)["no-tensor-cores"].next_step
    assert {one for one in (MATMUL, CUDNN, BENCHMARK) if one in step} == named
    assert step.endswith("torch.autocast uses 16 bits")


@pytest.mark.parametrize("told", [MI300X, {**MI300X, "vendor": None}])
def test_nvidias_advice_is_not_for_amd(told, tmp_path):
    made = steps_of(SGEMM)
    for event in made.events:
        if event["cat"] == "cpu_op":
            event["args"]["Input Dims"] = [[4096, 4095], [4095, 4096]]
    made.header = {"run_facts": told}
    found = findings(made, tmp_path)
    assert "odd-gemm-sizes" not in found
    assert "matrix cores" in found["no-tensor-cores"].next_step
    made.header = {"run_facts": H200}
    found = findings(made, tmp_path)
    assert "odd-gemm-sizes" in found
    assert MATMUL in found["no-tensor-cores"].next_step


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (MI300X, "AMD Instinct MI300X"),
        ({**MI300X, "vendor": None}, "AMD Instinct MI300X"),
        (H200, "NVIDIA H200, sm_90"),
    ],
)
def test_only_nvidias_gpus_have_an_sm_number(told, words, tmp_path):
    made = full_steps()
    made.header = {"run_facts": told}
    assert f"  GPU      {words}\n" in check_text(check(made.read(tmp_path)))
