"""What explain says of hand-made traces, finding by finding, and of real ones."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest
from conftest import RECORDED
from step_traces import ADD, DTOD, DTOH, GEMM, HTOD, MadeTrace, full_steps, unprofiled

from trace_util.cli import main
from trace_util.events import TraceError
from trace_util.explain import explanation
from trace_util.facts import trace_facts
from trace_util.findings.finding import Kind
from trace_util.reader import read_trace
from trace_util.report.explain import explanation_json, explanation_text
from trace_util.report.summary_json import summary_json
from trace_util.report.text import Style
from trace_util.report.values import filled, rate


def found(made, tmp_path, identity):
    """The finding of that id, ``None`` without it."""
    explained = explanation(made.read(tmp_path))
    return next((one for one in explained.findings if one.id == identity), None)


def claim(finding):
    return filled(finding.claim, finding.values)


def ids(made, tmp_path):
    return [one.id for one in explanation(made.read(tmp_path)).findings]


# --- what bounds the run ---------------------------------------------------------------------


def test_healthy_trace_has_no_findings(tmp_path):
    explained = explanation(full_steps().read(tmp_path))
    assert explained.regime.name == "compute-bound"
    assert explained.findings == ()


def test_regime_is_judged_without_the_profiler(tmp_path):
    # The window is busy for 171 of 200 us; but the step takes 400 us without the profiler.
    assert explanation(full_steps(**unprofiled(400)).read(tmp_path)).regime.name == "overhead-bound"
    assert explanation(full_steps(**unprofiled(175)).read(tmp_path)).regime.name == "compute-bound"


def made_of(work_us, period_us, kernels=1, dims=((4096, 4096), (4096, 4096)), **run):
    """Three steps of equal kernels: so many microseconds of work each period."""
    made = MadeTrace(**run)
    for i in range(3):
        at = period_us * i
        made.step(i + 2, at, period_us * 0.9)
        for k in range(kernels):
            made.op("aten::mm", at + 1 + 6 * k, 6, *dims)
            made.work(GEMM, at + 2 + 6 * k, at + 10 + 6 * k, work_us / kernels)
    return made


@pytest.mark.parametrize(
    ("work_us", "period_us", "name"),
    [(191, 200, "compute-bound"), (171, 200, "undecided"), (5, 200, "overhead-bound")],
)
def test_regime_from_a_profiled_window_alone(work_us, period_us, name, tmp_path):
    assert explanation(made_of(work_us, period_us).read(tmp_path)).regime.name == name


def test_regime_is_memory_bound_for_elementwise_work(tmp_path):
    made = MadeTrace(**unprofiled(100))
    for i in range(3):
        made.step(i + 2, 100 * i, 90)
        made.op("aten::add", 100 * i + 1, 9, (8192, 3072), (8192, 3072))
        made.work(ADD, 100 * i + 2, 100 * i + 10, 90)
    explained = explanation(made.read(tmp_path))
    assert explained.regime.name == "memory-bound"
    # 151 MB in 90 us
    assert explained.kernels[0].bytes_per_s == pytest.approx(3 * 50331648 / 90e-6)


def test_elementwise_work_is_memory_bound_without_shapes_too(tmp_path):
    made = full_steps()
    for event in made.events:
        event["name"] = ADD if event["cat"] == "kernel" else event["name"]
        event["args"].pop("Input Dims", None)
    assert explanation(made.read(tmp_path)).regime.name == "memory-bound"


def test_missing_gpu_activity_is_never_idle(tmp_path):
    made = MadeTrace()
    made.step(2, 0, 100)
    made.op("aten::mm", 10, 20)
    made.host("cuda_runtime", "cudaLaunchKernel", 12, 5, correlation=9)
    explained = explanation(made.read(tmp_path))
    assert explained.regime.name is None
    text = explanation_text(explained)
    assert "GPU activity was not recorded: 1 kernel launch, and no kernel." in text
    assert "idle" not in text
    assert [one.id for one in explained.findings] == ["gpu-activity-missing"]


def test_cpu_trace_says_so(tmp_path):
    made = MadeTrace()
    made.op("aten::mm", 10, 20)
    explained = explanation(made.read(tmp_path))
    assert explained.regime.name is None
    assert "nothing was launched on a GPU: 1 CPU op in 20.0 µs" in explanation_text(explained)


def test_unknown_gpu_has_no_roofline(tmp_path):
    made = full_steps()
    made.header["deviceProperties"][0]["name"] = "GPU of tomorrow"
    explained = explanation(made.read(tmp_path))
    assert explained.regime.name == "kernel-bound"
    assert explained.roofline == "unknown GPU: no peaks to compare with"
    assert "(unknown GPU)" in explanation_text(explained)


def test_missing_shapes_say_what_to_record(tmp_path):
    made = full_steps()
    for event in made.events:
        if event["cat"] == "cpu_op":
            event["args"] = {}
    explained = explanation(made.read(tmp_path))
    assert explained.regime.name == "kernel-bound"
    assert explained.roofline == "no shapes recorded; record with record_shapes=True"


def test_idle_without_launches_is_undecided(tmp_path):
    made = MadeTrace()
    for i in range(3):
        made.step(i + 2, 1000 * i, 900)
        made.gpu(GEMM, 1000 * i + 500, 5)  # no launch recorded
    explained = explanation(made.read(tmp_path))
    assert explained.regime.name == "undecided"
    assert explained.findings == ()


# --- launching -------------------------------------------------------------------------------


def test_overhead_finding_gives_the_cost_of_a_launch(tmp_path):
    finding = found(made_of(5, 200, **unprofiled(80)), tmp_path, "overhead-bound")
    assert claim(finding) == (
        "75.0 µs of each 80.0 µs step (93.8 %) the GPU has nothing to do: 1 launch a step, 80.0 µs "
        "of the step for each"
    )


def test_partly_idle_steps_are_told(tmp_path):
    assert "gpu-waits" in ids(made_of(70, 120, **unprofiled(100)), tmp_path)
    assert "gpu-waits" not in ids(made_of(95, 120, **unprofiled(100)), tmp_path)
    # At its fastest, 90 us, the step has the GPU's 85 us filled.
    varies = found(made_of(85, 120, **unprofiled(100)), tmp_path, "gpu-waits")
    assert claim(varies).endswith(
        "the fastest, 90.0 µs, leaves no such time: the CPU's speed varies"
    )


def test_what_is_used_already_is_not_advised(tmp_path):
    made = made_of(5, 200, **unprofiled(80))
    made.op("Torch-Compiled Region: 0/0", 0.5, 20)
    finding = found(made, tmp_path, "overhead-bound")
    assert finding.next_step.endswith("a larger batch, CUDA graphs")


def test_graph_would_pay_for_repeated_kernels(tmp_path):
    finding = found(made_of(10, 200, kernels=5, **unprofiled(100)), tmp_path, "cuda-graph-absent")
    assert claim(finding) == (
        "every step launches the same 5 kernels in the same order, one call each"
    )
    assert len(finding.rows) == 5


def test_graph_is_not_advised_for_one_launch_or_changing_kernels(tmp_path):
    assert "cuda-graph-absent" not in ids(made_of(10, 200, **unprofiled(100)), tmp_path)
    changing = made_of(10, 200, kernels=5, **unprofiled(100))
    changing.events[-1]["name"] = ADD
    assert "cuda-graph-absent" not in ids(changing, tmp_path)


def test_graph_is_not_advised_where_one_is_used(tmp_path):
    made = MadeTrace(**unprofiled(100))
    for i in range(3):
        made.step(i + 2, 100 * i, 90)
        for half in (0, 40):  # two graphs a step
            made.correlation += 1
            call = {"correlation": made.correlation}
            made.host("cuda_runtime", "cudaGraphLaunch", 100 * i + half + 1, 5, **call)
            for k in range(5):
                made.gpu(GEMM, 100 * i + half + 20 + 3 * k, 2, **call)
    explained = explanation(made.read(tmp_path))
    assert "cuda-graph-absent" not in [one.id for one in explained.findings]
    assert "CUDA graphs" not in explanation_text(explained)
    assert {one.work.reason for one in explained.kernels} == {
        "replayed by a graph, which does not tell the ops"
    }


def test_tiny_kernels_are_shorter_than_their_launch(tmp_path):
    finding = found(made_of(40, 400, kernels=20), tmp_path, "tiny-kernels")  # 2 us each, 4 us calls
    assert claim(finding) == (
        "60 of 60 kernels run for less than the 4.00 µs of a launch call (the median): launching "
        "them takes longer than running them"
    )
    assert "tiny-kernels" not in ids(made_of(100, 400, kernels=20), tmp_path)
    assert "tiny-kernels" not in ids(made_of(20, 400, kernels=10), tmp_path)
    mixed = made_of(40, 400, kernels=20)
    kernels = [event for event in mixed.events if event["cat"] == "kernel"]
    for event in kernels[::2] + kernels[1::10]:
        event["dur"] = 5
    assert "tiny-kernels" not in ids(mixed, tmp_path)


def test_metadata_ops_are_a_note(tmp_path):
    made = full_steps()
    for i in range(3):
        made.op("aten::t", 200 * i + 1, 4)
    finding = found(made, tmp_path, "metadata-only-ops")
    assert finding.kind is Kind.NOTE
    assert claim(finding).startswith("3 ops (aten::t) launch nothing on the GPU: ")
    few = full_steps()
    few.op("aten::t", 1, 1)  # 1 us of 61: below 5 %
    assert "metadata-only-ops" not in ids(few, tmp_path)


# --- waiting ---------------------------------------------------------------------------------


def test_item_in_a_step_is_told(tmp_path):
    made = full_steps()
    made.op("aten::item", 40, 140)
    made.op("aten::_local_scalar_dense", 41, 138)
    made.work(DTOH, 42, 170, 2, call="cudaMemcpyAsync", size=4)
    made.call("cudaStreamSynchronize", 50, 125)
    finding = found(made, tmp_path, "device-to-host-copies")
    assert claim(finding).startswith(
        "1 copy to the host within the steps (4 B), 1 of them by .item() or the like"
    )
    waits = found(made, tmp_path, "synchronises")
    assert "in 1 call within the steps (longest: cudaStreamSynchronize in aten::_local" in claim(
        waits
    )
    assert "125 µs" in claim(waits)


def test_closing_flush_is_no_synchronise_of_the_model(tmp_path):
    made = full_steps()
    made.call("cudaDeviceSynchronize", 591, 100)
    assert "synchronises" not in ids(made, tmp_path)


def test_pageable_copies_are_told(tmp_path):
    made = full_steps()
    made.work(HTOD, 40, 45, 20, call="cudaMemcpyAsync", stream=8, size=10_000_000)
    assert "1 copy from pageable host memory (10.0 MB) take 20.0 µs" in claim(
        found(made, tmp_path, "pageable-copies")
    )
    made.events[-1]["name"] = HTOD.replace("Pageable", "Pinned")
    assert "pageable-copies" not in ids(made, tmp_path)


def test_data_loader_is_told_from_a_tenth_on(tmp_path):
    made = full_steps()
    made.host("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 100, 80)
    finding = found(made, tmp_path, "data-loader")
    assert "80.0 µs" in claim(finding)
    made.events[-1]["dur"] = 20
    assert "data-loader" not in ids(made, tmp_path)


def test_exposed_collectives_are_told(tmp_path):
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    alone, hidden = full_steps(), full_steps()
    alone.work(name, 40, 600, 100, stream=20)
    hidden.work(name, 40, 45, 100, stream=20)
    assert "1 collective takes 100 µs, and for 100 µs" in claim(
        found(alone, tmp_path, "exposed-collectives")
    )
    assert "exposed-collectives" not in ids(hidden, tmp_path)


# --- products and biases ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("ampere_sgemm_128x64_nn", True),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_nn", False),
        ("void gemv2T_kernel_val<int, int, float, float, float, float, 128>(int)", False),
        ("my_own_gemm", False),
    ],
)
def test_gemm_without_tensor_cores(kernel, told, tmp_path):
    made = full_steps()
    for event in made.events:
        event["name"] = kernel if event["cat"] == "kernel" else event["name"]
    finding = found(made, tmp_path, "no-tensor-cores")
    assert (finding is not None) is told
    if told:
        assert claim(finding).startswith("100 % of the kernels' time goes to GEMMs or convolutions")
        assert "set_float32_matmul_precision" in finding.next_step


def test_old_gpu_is_not_told_to_use_tf32(tmp_path):
    made = full_steps()
    made.header["deviceProperties"][0].update(name="Tesla T4", numSms=40, computeMajor=7)
    for event in made.events:
        event["name"] = "volta_sgemm_64x64_nn" if event["cat"] == "kernel" else event["name"]
    assert "autocast with fp16" in found(made, tmp_path, "no-tensor-cores").next_step


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        (((4096, 4095), (4095, 4096)), True),
        (((4096, 4096), (4096, 50257)), True),
        (((1, 4096), (4096, 4095)), False),  # a matrix-vector product
        (((4096, 4096), (4096, 4096)), False),
    ],
)
def test_odd_sizes(dims, told, tmp_path):
    assert ("odd-gemm-sizes" in ids(made_of(171, 200, dims=dims), tmp_path)) is told


def test_copy_inside_matmul_is_a_layout_copy(tmp_path):
    copy = (
        "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::Tensor"
        "IteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>(int)"
    )
    made = full_steps()
    made.op("aten::matmul", 40, 60)
    made.op("aten::reshape", 42, 40)
    made.op("aten::copy_", 44, 30)
    made.work(copy, 50, 197, 12)
    assert "1 copy inside matmul or linear" in claim(found(made, tmp_path, "layout-copies"))
    for missing in ("aten::matmul", "aten::reshape"):
        left = full_steps()
        left.events = [e for e in made.events if e["name"] != missing]
        assert "layout-copies" not in ids(left, tmp_path)


def test_emulated_bf16_on_an_old_gpu(tmp_path):
    made = full_steps()
    made.header["deviceProperties"][0].update(name="Tesla T4", numSms=40, computeMajor=7)
    assert "for which Tesla T4 has no instructions" in claim(found(made, tmp_path, "emulated-bf16"))
    assert "emulated-bf16" not in ids(full_steps(), tmp_path)


def test_bias_copy_and_epilogue(tmp_path):
    made = full_steps()
    for i in range(3):
        made.op("aten::addmm", 200 * i + 40, 20)
        made.work(DTOD, 200 * i + 42, 200 * i + 196, 3, call="cudaMemcpyAsync", size=8192)
    assert claim(found(made, tmp_path, "bias-copied-first")).startswith(
        "3 copies put the bias into the output before the GEMM adds to it: 24.6 kB, 9.00 µs"
    )
    made = full_steps()
    made.events[2]["args"] = {}
    for event in made.events:
        if event["cat"] == "kernel":
            event["name"] = "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT"
    finding = found(made, tmp_path, "bias-in-epilogue")
    assert finding.kind is Kind.NOTE
    assert claim(finding).startswith("3 GEMMs add the bias in the epilogue (nvjet_sm90_tst_64x8")


# --- torch.compile ---------------------------------------------------------------------------


def compiled(*regions):
    """Full steps with a compiled region of each name in every step."""
    made = full_steps()
    for i in range(3):
        for k, name in enumerate(regions):
            made.op(f"Torch-Compiled Region: {name}", 200 * i + 5 + k * 0.1, 0.1)
    return made


def test_one_region_is_healthy(tmp_path):
    assert ids(compiled("0/0"), tmp_path) == []


def test_recompiled_region_is_a_note_and_a_switch_a_cost(tmp_path):
    once = found(compiled("0/1"), tmp_path, "recompilations")
    assert once.kind is Kind.NOTE
    assert "again, 1 time so far (regions 0/1)" in claim(once)
    switching = found(compiled("0/0", "0/2"), tmp_path, "recompilations")
    assert switching.kind is Kind.COST
    assert "(regions 0/0, 0/2), and the recorded steps use more than one" in claim(switching)


def test_several_regions_a_step_are_graph_breaks(tmp_path):
    finding = found(compiled("0/0", "1/0", "2/0"), tmp_path, "graph-breaks")
    assert claim(finding).startswith("3 compiled regions run in one step, of 3 pieces of code")


# --- the recording ---------------------------------------------------------------------------


def test_wide_first_step_is_kept_out_of_the_figures(tmp_path):
    made = MadeTrace()
    for i, (at, length) in enumerate([(0, 1000), (1000, 190), (1200, 190)]):
        made.step(i + 2, at, length)
        made.op("aten::mm", at + length - 90, 20, (4096, 4096), (4096, 4096))
        made.work(GEMM, at + length - 85, at + length - 80, 60 if i else 300)
    explained = explanation(made.read(tmp_path))
    finding = next(one for one in explained.findings if one.id == "wide-first-step")
    assert claim(finding).startswith("ProfilerStep#2 takes 1.00 ms, the median step 190 µs")
    assert finding.next_step.startswith("look at the later steps")
    busy = next(value for value in explained.evidence if value.name == "step_gpu_busy")
    assert busy.amount == 60_000


def outlier_first(*lengths_us: int) -> MadeTrace:
    """Steps of the given lengths, each with one launch and 5 µs of GPU work."""
    made, at = MadeTrace(), 0
    for i, length in enumerate(lengths_us):
        made.step(i + 2, at, length)
        made.op("aten::relu", at + 2, 10)
        made.work("k", at + 5, at + 7, 5)
        at += length
    return made


def test_verdict_is_that_of_the_kept_steps(tmp_path):
    explained = explanation(outlier_first(300, 20, 20).read(tmp_path))
    values = {value.name: value.amount for value in explained.regime.values}
    assert (values["kept_busy_share"], values["kept"], values["kept_steps"]) == (0.25, 40_000, 2)
    assert explained.regime.name == "undecided"
    assert not [one for one in explained.findings if one.kind is Kind.COST]


def test_verdict_of_kept_steps_with_an_outlier_in_the_middle(tmp_path):
    explained = explanation(outlier_first(20, 2000, 20, 20).read(tmp_path))
    values = {value.name: value.amount for value in explained.regime.values}
    assert (values["kept_busy_share"], values["kept"]) == (0.25, 60_000)


def test_idle_time_without_a_cause_is_a_part_of_the_kept_steps_too(tmp_path):
    made = MadeTrace()
    for number, at, length in ((2, 0, 300), (3, 300, 20), (4, 320, 20)):
        made.step(number, at, length)
        made.gpu("k", at + length - 5, 5)  # whose launch was not recorded
    regime = explanation(made.read(tmp_path)).regime
    values = {value.name: value.amount for value in regime.values}
    assert (values["kept_busy_share"], values["unknown"]) == (0.25, 0.75)
    assert regime.name == "undecided" and "the launches of its kernels were not" in regime.reason


def test_verdict_of_even_steps_is_that_of_the_window(tmp_path):
    explained = explanation(outlier_first(100, 100, 100).read(tmp_path))
    values = {value.name: value.amount for value in explained.regime.values}
    assert (values["gpu_busy_share"], values["window"]) == (0.05, 300_000)
    assert "100 µs step" in claim(next(one for one in explained.findings if one.kind is Kind.COST))


@pytest.mark.parametrize(
    "run", ("01_matmul/64_bf16_cold_eager", "03_simple_mlp/64_128_768_3072_compile")
)
def test_nobody_is_told_that_a_warm_up_cures_a_wide_first_step(run):
    explained = explanation(read_trace(RECORDED / "nvidia-h200" / f"{run}.json.gz"))
    finding = next(one for one in explained.findings if one.id == "wide-first-step")
    assert finding.next_step.startswith("look at the later steps")


def test_work_past_the_recording_is_told(tmp_path):
    made = full_steps()
    window_end = {"ph": "i", "name": "Record Window End", "ts": 596, "pid": 1, "tid": 1, "s": "g"}
    made.events.append(window_end)  # the last work ends at 425 + 171 = 596
    assert found(made, tmp_path, "work-past-the-recording") is None
    window_end["ts"] = 590
    finding = found(made, tmp_path, "work-past-the-recording")
    assert claim(finding).startswith("GPU work of ProfilerStep#4 runs 6.00 µs past the end")


def test_durations_within_each_other_are_told(tmp_path):
    made = full_steps()
    made.gpu("k", 1000, 50, correlation=1)
    made.gpu("k", 1010, 20, correlation=1)
    assert "counts 20.0 µs twice" in claim(found(made, tmp_path, "durations-overlap"))


def damaged_checksum(whole: bytes) -> bytes:
    packed = bytearray(gzip.compress(whole))
    packed[-8] ^= 0xFF  # the CRC is in the last eight bytes, RFC 1952
    return bytes(packed)


@pytest.mark.parametrize(
    ("written", "id"),
    [
        (lambda whole: whole + whole, "text-breaks-off"),
        (lambda whole: b'{"traceEvents": [],' + whole[1:], "several-lists-of-events"),
        (damaged_checksum, "file-damaged"),
        (
            lambda whole: whole[:-1] + b', "slimmed": {"source_incomplete": true}}',
            "made-of-a-broken-file",
        ),
    ],
)
def test_damaged_file_is_told(written, id, tmp_path):
    full_steps().read(tmp_path)
    path = tmp_path / "made.json"
    assert id not in {one.id for one in explanation(read_trace(path)).findings}
    path.write_bytes(written(path.read_bytes()))
    assert id in {one.id for one in explanation(read_trace(path)).findings}


def test_lost_kernels_are_told(tmp_path):
    made = full_steps()
    made.host("cuda_runtime", "cudaLaunchKernel", 240, 4, correlation=77)
    assert claim(found(made, tmp_path, "kernels-lost")).startswith(
        "1 launch has no kernel in the trace (ProfilerStep#3, kept out of the figures)"
    )


def test_work_without_a_launch_makes_no_idle_gpu(tmp_path):
    made = full_steps(**unprofiled(180))
    for event in made.events:
        if event["cat"] == "kernel":
            event["args"] = {"device": 0, "stream": 7}
    told = explanation(made.read(tmp_path))
    assert told.regime.name != "overhead-bound"
    assert {value.name: value.amount for value in told.evidence}["step_gpu_busy"] is None
    assert claim(found(made, tmp_path, "work-without-launch")) == (
        "3 GPU events name no launch, and so no step: what a step takes on the GPU is not known"
    )


def test_steps_without_their_kernels_are_left_out(tmp_path):
    made = full_steps(**unprofiled(300))
    lost = [e for e in made.events if e["cat"] == "kernel"][1:]
    made.events = [event for event in made.events if event not in lost]
    busy = {value.name: value for value in explanation(made.read(tmp_path)).evidence}
    assert busy["step_gpu_busy"].amount == 171_000


def test_profiler_rows_are_named(tmp_path):
    made = full_steps()
    made.host("overhead", "Activity Buffer Request", 196.5, 13)
    finding = found(made, tmp_path, "profiler-artefacts")
    assert "(Activity Buffer Request) takes 13.0 µs" in claim(finding)
    made.events[-1]["dur"] = 1
    assert "profiler-artefacts" not in ids(made, tmp_path)


def test_same_stream_overlaps_are_told(tmp_path):
    made = full_steps()
    made.work(ADD, 30, 190, 12)  # the GEMM of the step ends at 196
    assert claim(found(made, tmp_path, "same-stream-overlaps")) == (
        "1 GPU event begins before an earlier one on their stream has ended; the Perfetto UI drops "
        "or moves 1 of them, and adding durations up counts 6.00 µs twice"
    )


def test_steps_that_outlive_a_python_frame_are_hidden(tmp_path):
    made = full_steps()
    made.host("python_function", "profiler.py(872): step", 195, 10)
    finding = found(made, tmp_path, "steps-hidden-by-stacks")
    assert claim(finding).startswith("the marks of ProfilerStep#3 begin inside a Python frame")
    for start, duration in ((195, 400), (205, 10)):  # around the mark, and inside of it
        made.events[-1].update(ts=start, dur=duration)
        assert "steps-hidden-by-stacks" not in ids(made, tmp_path)


# --- reports ---------------------------------------------------------------------------------

TEXT = """\
made.json (NVIDIA H200)
overhead-bound: the GPU works 5.00 µs of each 80.0 µs step (6.2 %) and waits for
the CPU the rest of it

  step      80.0 µs without the profiler (min 72.0 µs, max 96.0 µs, n=100)
  profiled  ProfilerStep#2 180, #3 180, #4 180 µs on the CPU; 5.00, 5.00, 5.00
            µs on the GPU
  window    580 µs: GPU busy 2.6 %, the CPU had not launched yet 97.4 %

  kernel                     count  of kernels  median µs  achieved  of peak
  bf16 GEMM 256x128 (nvjet)      3       100 %       5.00  315 GB/s    6.6 %
  peaks of the H200 SXM: Tensor Core rates without sparsity, half of what the
  source prints

findings: 1
  cost      75.0 µs of each 80.0 µs step (93.8 %) the GPU has nothing to do: 1
            launch a step, 80.0 µs of the step for each
            next: launch less often and more at once: a larger batch,
            torch.compile, CUDA graphs
"""


def test_text_is_exact_at_a_fixed_width(tmp_path, monkeypatch):
    made = made_of(5, 200, dims=((512, 512), (512, 512)), **unprofiled(80))
    made.read(tmp_path)
    monkeypatch.chdir(tmp_path)
    explained = explanation(read_trace("made.json"))
    assert explanation_text(explained, Style(width=80)) == TEXT


def test_text_of_a_healthy_trace_is_short(tmp_path):
    text = explanation_text(explanation(full_steps().read(tmp_path)))
    assert text.endswith("findings: none\n")
    assert len(text.splitlines()) <= 13


def test_gpu_that_works_all_the_time_is_said_to(tmp_path):
    """The work of a step is timed with the profiler, the step without: it may be the longer one."""
    text = explanation_text(explanation(made_of(80, 200, **unprofiled(79)).read(tmp_path)))
    said = "the GPU works all the time (80.0 µs of work a step; a step takes 79.0 µs), 100 % of its"
    assert said in " ".join(text.split())
    text = explanation_text(explanation(made_of(80, 200, **unprofiled(81)).read(tmp_path)))
    assert "the GPU works 80.0 µs of each 81.0 µs step (98.8 %)" in " ".join(text.split())


def test_peaks_come_with_what_is_to_be_known_of_them(tmp_path):
    trace = full_steps().read(tmp_path)
    explained = explanation(trace)
    note = "Tensor Core rates without sparsity, half of what the source prints"
    assert f"  peaks of the H200 SXM: {note}\n" in explanation_text(explained)
    assert explanation_json(trace, explained)["peak_note"] == note
    unnamed = explanation_text(replace(explained, device=replace(explained.device, note="")))
    assert "peaks of" not in unnamed


CUT = "the end of the file is missing"


def cut_after(made, tmp_path, marker):
    """The trace without what comes after the last row that holds a marker."""
    made.read(tmp_path)
    text = (tmp_path / "made.json").read_text()
    path = tmp_path / "cut.json"
    path.write_text(text[: text.rindex(marker) + len(marker)])
    return read_trace(path)


def test_a_file_that_is_cut_off_is_not_said_to_launch_nothing(tmp_path):
    made = MadeTrace()
    made.op("aten::mm", 0, 10)
    made.op("aten::relu", 20, 10)
    made.read(tmp_path)
    found = explanation(cut_after(made, tmp_path, '"aten::relu"'))
    assert explanation_text(found).splitlines()[1] == (
        f"nothing was launched on a GPU: 1 CPU op in 10.0 µs of CPU time; but {CUT}"
    )
    (finding,) = found.findings
    assert finding.id == "file-cut-off" and claim(finding).startswith(CUT)
    assert finding.next_step.startswith("copy the file again")


@pytest.mark.parametrize("usable", [True, False])
def test_events_that_cannot_be_used_are_told(usable, tmp_path):
    made = MadeTrace()
    made.op("aten::mm", 0, 10)
    for event in made.events if not usable else []:
        event["dur"] = -1
    made.op("aten::relu", 20, -5)
    found = explanation(made.read(tmp_path))
    first = " ".join(explanation_text(found).split("\n\n")[0].splitlines()[1:])
    lost = "event could not be used (events with a negative duration)"
    if usable:
        assert (
            first == f"nothing was launched on a GPU: 1 CPU op in 10.0 µs of CPU time; but 1 {lost}"
        )
    else:
        assert first == f"nothing can be said: 2 {lost.replace('event c', 'events c')}"
    assert [finding.id for finding in found.findings] == ["events-left-out"]
    assert claim(found.findings[0]).endswith("the figures: events with a negative duration")


def test_json_gives_values_in_microseconds_and_file_rows(tmp_path):
    made = made_of(5, 200, kernels=2, **unprofiled(80))
    trace = made.read(tmp_path)
    document = explanation_json(trace, explanation(trace))
    assert document["regime"] == "overhead-bound"
    evidence = {one["name"]: one for one in document["evidence"]}
    assert evidence["step"] == {"name": "step", "value": 80, "unit": "us"}
    assert len(evidence) == len(document["evidence"])
    assert [one["id"] for one in document["findings"]] == ["overhead-bound", "cuda-graph-absent"]
    launches = [made.events[row]["name"] for row in document["findings"][1]["rows"]]
    assert launches == ["cudaLaunchKernel"] * 2
    assert document["kernels"][0]["flops"] == 2 * 4096**3


def test_command_prints_both_forms(tmp_path, capsys):
    full_steps().read(tmp_path)
    assert main(["explain", str(tmp_path / "made.json")]) == 0
    printed = capsys.readouterr()
    assert "compute-bound: the GPU works 171 µs of each 175 µs step (97.7 %)" in printed.out
    assert printed.err == f"next: trace-util open {tmp_path / 'made.json'}\n"
    assert main(["explain", "--json", str(tmp_path / "made.json")]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_hostile_names_cannot_break_the_text(tmp_path):
    made = full_steps()
    made.events[-1]["name"] = "evil\x1b[2J{kernels}\n" + "x" * 3000
    text = explanation_text(explanation(made.read(tmp_path)))
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_rates_have_three_digits():
    texts = [rate(amount, "B/s") for amount in (3.99e12, 17.1e9, 685e12, 999.6e9, 12.0)]
    assert texts == ["3.99 TB/s", "17.1 GB/s", "685 TB/s", "1.00 TB/s", "0.01 kB/s"]


# --- real traces -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "regime", "expected"),
    [
        ("01_matmul/64_bf16_warm_eager", "overhead-bound", {"overhead-bound", "cuda-graph-absent"}),
        (
            "01_matmul/64_bf16_warm_compile",
            "overhead-bound",
            {"overhead-bound", "bias-copied-first"},
        ),
        ("01_matmul/64_bf16_cold_eager", "overhead-bound", {"wide-first-step"}),
        ("01_matmul/4096_bf16_warm_eager", "compute-bound", set()),
        ("01_matmul/4096_bf16_warm_compile", "compute-bound", {"bias-copied-first"}),
        ("02_linear/1024_32_64_eager", "overhead-bound", {"bias-in-epilogue", "metadata-only-ops"}),
        ("02_linear/1024_32_64_compile", "overhead-bound", {"bias-in-epilogue"}),
        ("03_simple_mlp/64_128_768_3072_eager", "compute-bound", {"metadata-only-ops"}),
        ("03_simple_mlp/64_128_768_3072_compile", "compute-bound", set()),
        ("03_simple_mlp/1_1_768_3072_eager", "overhead-bound", {"cuda-graph-absent"}),
        ("03_kernels_mlp/64_128_768_3072_triton", "compute-bound", set()),
    ],
)
def test_recorded_trace(name, regime, expected):
    path = RECORDED / "nvidia-h200" / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} has not been recorded")
    explained = explanation(read_trace(str(path)))
    assert explained.regime.name == regime
    assert expected <= {one.id for one in explained.findings}
    assert len(explanation_text(explained).splitlines()) <= 45
    for one in explained.kernels:
        assert (one.compute_share or 0) < 0.95
        assert (one.memory_share or 0) < 1.0


def test_every_public_trace_is_explained(shared_traces):
    explained = 0
    for path in sorted(shared_traces.rglob("*.json*")):
        try:
            trace = read_trace(str(path))
        except TraceError:
            assert path.name.startswith("not-a-trace")
            continue
        found = explanation(trace)
        text = explanation_text(found)
        assert len(text.splitlines()) <= 45, path.name
        assert max(map(len, text.splitlines())) <= 100, path.name
        json.dumps(explanation_json(trace, found), default=str)
        explained += 1
    assert explained >= 20


@pytest.mark.parametrize(
    ("name", "regime", "expected"),
    [
        ("mi300-compiled", "compute-bound", set()),
        ("t4-with-stack-steps", "undecided", {"steps-hidden-by-stacks", "pageable-copies"}),
        ("b200-same-stream-overlaps", "undecided", {"same-stream-overlaps", "bias-in-epilogue"}),
        ("nccl-rank", "undecided", {"exposed-collectives"}),
        ("2021-vocabulary-resnet50", "input-bound", {"data-loader", "no-tensor-cores"}),
    ],
)
def test_public_trace(shared_traces, name, regime, expected):
    trace = read_trace(str(shared_traces / f"{name}.json.gz"))
    explained = explanation(trace)
    assert explained.regime.name == regime
    assert expected <= {one.id for one in explained.findings}
    # The figures of the verdict are those of the summary.
    summary = summary_json(trace, trace_facts(trace))
    evidence = {v["name"]: v["value"] for v in explanation_json(trace, explained)["evidence"]}
    assert evidence["gpu_busy_share"] == summary["gpu_busy_share"]
    assert evidence["window"] == summary["window_us"]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_trace_is_explained_all_the_same(seed, tmp_path):
    """Events lost, cut short, renamed, made strangers: some explanation, and never a traceback."""
    random = Random(seed)
    made = made_of(30, 100, kernels=4, **(unprofiled(90) if seed % 2 else {}))
    made.op("aten::addmm", 20, 60, (64,), (64, 3), (3, 64))
    made.work(DTOD, 30, 40, 3, call="cudaMemcpyAsync", size=64)
    made.work(DTOH, 50, 60, 3, call="cudaMemcpyAsync", stream=8)
    made.host("python_function", "step", 95, 10)
    for event in random.sample(made.events, len(made.events) // 2):
        damage = random.randrange(7)
        if damage == 0:
            made.events.remove(event)
        elif damage == 1:
            event["dur"] = random.choice([0, 1e6, 0.001])
        elif damage == 2:
            event["name"] = random.choice(["", "ncclKernel_AllReduce", "Memset", "Torch-Compiled"])
        elif damage == 3:
            event["args"] = {}
        elif damage == 4:
            event["args"] = event["args"] | {
                "Input Dims": random.choice([[[-1]], [[[1]]], [[0, 0]]])
            }
        elif damage == 5:
            event["cat"] = random.choice(["kernel", "cpu_op", "gpu_memcpy", "overhead", "what"])
        else:
            event["ts"] = random.uniform(0, 400)
    if seed % 5 == 0:
        made.header["deviceProperties"] = random.choice(
            [[], [{}], [{"name": 3}], [{"numSms": "x"}]]
        )
    trace = made.read(tmp_path)
    explained = explanation(trace)
    assert explanation_text(explained)
    assert explanation_json(trace, explained)["findings"] is not None


@pytest.mark.alone
def test_large_trace_costs_little(shared_traces):
    def cpu_seconds(*arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *arguments], check=True, capture_output=True, env=os.environ
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    path = shared_traces / "nccl-rank.json.gz"  # 9.8 MB, 27,000 events
    numpy = min(cpu_seconds("-c", "import numpy") for _ in range(3))
    explain = min(cpu_seconds("-m", "trace_util.cli", "explain", str(path)) for _ in range(3))
    # 0.28 s beside 0.12 s on an idle 2-core machine; on a busy one both grow.
    assert explain < 5 * numpy + 0.2


def test_explaining_imports_nothing_heavy():
    code = (
        "import sys, trace_util.cli as c; c.main(['explain', sys.argv[1]]); "
        "print(sorted(m for m in ('torch', 'matplotlib', 'numpy.ma') if m in sys.modules))"
    )
    path = next(RECORDED.rglob("*.json.gz"), None)
    if path is None:
        pytest.skip("no recorded trace")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
