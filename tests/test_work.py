"""FLOPs and bytes from shapes, with sums that fit in the head, and the rates of kernels."""

from __future__ import annotations

import json

import pytest
from conftest import RECORDED

from trace_util.devices import device, device_of
from trace_util.events import Shapes
from trace_util.links import link
from trace_util.reader import read_trace
from trace_util.roofline import NO_OP, KernelRate, kernel_rates
from trace_util.work import NO_SHAPES, Work, op_work

BF16, FP32, BOOL = "c10::BFloat16", "float", "bool"


def recorded(*arguments, dtype=BF16):
    """Shapes as the profiler writes them: a tuple is a tensor's dims, a text a plain value."""
    tensors = [isinstance(a, tuple) for a in arguments]
    return Shapes(
        json.dumps([list(a) if t else [] for a, t in zip(arguments, tensors, strict=True)]),
        json.dumps([dtype if t else "Scalar" for t in tensors]),
        "",
        json.dumps(["" if t else a for a, t in zip(arguments, tensors, strict=True)]),
    )


@pytest.mark.parametrize(
    ("op", "shapes", "flops", "size_bytes"),
    [
        # 2 x 3 x 4 multiply-adds; (6 + 12 + 8) x 2 bytes
        ("aten::mm", recorded((2, 3), (3, 4)), 48, 52),
        ("aten::mm", recorded((2, 3), (3, 4), (2, 4)), 48, 52),  # with `out=`
        ("aten::matmul", recorded((2, 3), (3, 4)), 48, 52),
        ("aten::mv", recorded((2, 3), (3,)), 12, (6 + 3 + 2) * 2),
        # the bias of 4 read besides
        ("aten::addmm", recorded((4,), (2, 3), (3, 4), "1", "1"), 48, 60),
        ("aten::bmm", recorded((5, 2, 3), (5, 3, 4)), 5 * 48, 5 * 52),
        ("aten::baddbmm", recorded((5, 2, 4), (5, 2, 3), (5, 3, 4)), 240, 5 * 52 + 80),
        ("aten::linear", recorded((7, 2, 3), (4, 3), (4,)), 7 * 48, (42 + 12 + 56 + 4) * 2),
        ("aten::matmul", recorded((5, 2, 3), (3, 4)), 5 * 48, (30 + 12 + 40) * 2),
        # 10 tokens of 3 times 32 packed rows, of which gate and up have half each
        ("fused_mlp::gated_linear", recorded((5, 2, 3), (32, 3)),
         2 * 10 * 32 * 3, (30 + 96 + 160) * 2),
        ("fused_mlp::gated_linear", recorded((0, 3), (32, 3)), 0, 96 * 2),
        ("fused_mlp::geglu", recorded((5, 2, 4), (5, 2, 4)), 40, 3 * 40 * 2),
        # 1 batch, 2 heads, 4 queries, 8 keys, size 16: 2 products of 4 x 8 x 16 a head
        ("aten::_scaled_dot_product_flash_attention",
         recorded((1, 2, 4, 16), (1, 2, 8, 16), (1, 2, 8, 16), "0.", "False", "False"),
         2 * 2 * 2 * 4 * 8 * 16, (128 + 256 + 256 + 128) * 2),
        ("aten::_scaled_dot_product_flash_attention",
         recorded((1, 2, 8, 16), (1, 2, 8, 16), (1, 2, 8, 16), "0.", "True", "False"),
         2 * 2 * 2 * 8 * 8 * 16 // 2, 4 * 256 * 2),
        ("aten::_flash_attention_forward",
         recorded((1, 4, 2, 16), (1, 8, 2, 16), (1, 8, 2, 16), "", "", "4", "8", "0.", "False"),
         2 * 2 * 2 * 4 * 8 * 16, (128 + 256 + 256 + 128) * 2),
        # causal from the bottom right, 2, leaves half, as from the top left, 1, does
        *(("aten::_efficient_attention_forward",
           recorded((1, 8, 2, 16), (1, 8, 2, 16), (1, 8, 2, 16), "", "", "", "8", "8", "0.", kind),
           2 * 2 * 2 * 8 * 8 * 16 // (1 if kind == "0" else 2), 4 * 256 * 2)
          for kind in "012"),
        # 3x3 over 5x5 leaves 3x3: 9 positions, 2 in and 4 out channels, 9 weights
        ("aten::convolution",
         recorded((1, 2, 5, 5), (4, 2, 3, 3), "", "[1, 1]", "[0]", "[1, 1]", "False", "[0]", "1"),
         2 * 4 * 9 * 2 * 9, (50 + 72 + 36) * 2),
        ("aten::cudnn_convolution",  # the padding of 1 at a stride of 2: 3x3 again
         recorded((1, 2, 5, 5), (4, 2, 3, 3), "[1, 1]", "[2, 2]", "[1, 1]", "1", "False"),
         2 * 4 * 9 * 2 * 9, (50 + 72 + 36) * 2),
        ("aten::conv1d", recorded((1, 4, 8), (4, 2, 1), "", "[1]", "[0]", "[1]", "2"),
         2 * 4 * 8 * 2, (32 + 8 + 32) * 2),
        # 3 weights 2 apart span 5 of 7 (in a column 1 apart, 3 of 7): 5 x 3 positions
        ("aten::convolution",
         recorded((1, 2, 7, 7), (4, 2, 3, 3), "", "[1, 1]", "[0]", "[1, 2]", "False", "[0]", "1"),
         2 * 4 * 15 * 2 * 9, (98 + 72 + 60) * 2),
        ("aten::gelu", recorded((10, 10), "tanh"), 100, 400),
        ("aten::mul", recorded((10, 10), (10, 10)), 100, 600),
        ("aten::add_", recorded((10, 10), (10,), "1"), 100, 420),
        ("aten::eq", recorded((10, 10), (10, 10)), 100, 500),
        ("aten::copy_", recorded((10, 10), (10, 10), "False"), 0, 400),
        ("aten::clone", recorded((10, 10), ""), 0, 400),
        ("aten::fill_", recorded((10, 10), "0"), 0, 200),
        ("aten::_softmax", recorded((10, 10), "1", "False"), None, 400),
        ("aten::sum", recorded((10, 10), "[1]"), 100, 200),
        ("triton_poi_fused_gelu_mul_0", recorded((10, 10), (10, 10), "100"), None, 400),
    ],
)  # fmt: skip
def test_work_of_an_op(op, shapes, flops, size_bytes):
    work = op_work(op, shapes)
    assert (work.flops, work.size_bytes, work.dtype, work.reason) == (flops, size_bytes, "bf16", "")


@pytest.mark.parametrize(
    ("op", "is_least"),
    [
        ("aten::sum", True),  # what it writes is not recorded
        ("aten::amax", True),
        ("triton_poi_fused_gelu_mul_0", True),
        ("aten::gelu", False),
        ("aten::_softmax", False),
    ],
)
def test_bytes_are_a_lower_bound_where_some_are_not_recorded(op, is_least):
    assert op_work(op, recorded((10, 10))).is_lower_bound is is_least


def test_wide_output_counts_at_its_own_width():
    mixed = Shapes("[[10], [10]]", f'["{BF16}", "{FP32}"]', "", '["", ""]')
    assert op_work("aten::add", mixed).size_bytes == 20 + 40 + 40


def test_copy_reads_at_the_width_of_its_source():
    mixed = Shapes("[[10], [10]]", f'["{BF16}", "{FP32}"]', "", '["", ""]')
    assert op_work("aten::copy_", mixed).size_bytes == 20 + 40


@pytest.mark.parametrize(
    ("op", "shapes", "reason"),
    [
        ("aten::mm", None, NO_SHAPES),
        ("aten::mm", Shapes("", "", "", ""), NO_SHAPES),
        ("aten::mm", recorded((2, 3), (4, 5)), "aten::mm: unusual arguments"),
        ("aten::mm", recorded((2, 3)), "aten::mm: unusual arguments"),
        ("aten::add", recorded((2,), (3,)), "aten::add: unusual arguments"),
        ("aten::secret", recorded((2, 3)), "no formula for aten::secret"),
        ("aten::mm", recorded("1", "2"), "the recorded shapes hold no tensor"),
        ("aten::mm", Shapes("[[1", "[", "", ""), "the recorded shapes hold no tensor"),
        ("aten::mm", Shapes("[[2, 2], [2, 2], [2]]", f'["{BF16}", "{BF16}"]', "", ""),
         "the recorded shapes hold no tensor"),
        ("aten::conv2d", recorded((1, 2, 5, 5), (4, 2, 3, 3), "", "?", "[0]", "[1]", "1"),
         "aten::conv2d: unusual arguments"),
        ("fused_mlp::gated_linear", recorded((5, 2, 3), (32, 4)),
         "fused_mlp::gated_linear: unusual arguments"),
        ("fused_mlp::gated_linear", recorded((5, 2, 3)),
         "fused_mlp::gated_linear: unusual arguments"),
    ],
)  # fmt: skip
def test_unknown_work_has_a_reason(op, shapes, reason):
    work = op_work(op, shapes)
    assert (work.flops, work.size_bytes) == (None, None)
    assert work.reason == reason


def test_unknown_dtype_leaves_the_flops():
    odd = recorded((2, 3), (3, 4), dtype="c10::QUInt8")
    assert op_work("aten::mm", odd)._replace(reason="")[:3] == (48, None, None)


def write_trace(path, *, calls, gpu="NVIDIA A100-SXM4-80GB"):
    """A trace of ops, each a tuple of op, dims and kernels (name, microseconds)."""
    events, at, correlation = [], 0, 0
    for op, dims, kernels in calls:
        args = {"External id": at + 1}
        if dims is not None:
            args |= {"Input Dims": dims, "Input type": [BF16] * len(dims)}
            args |= {"Concrete Inputs": [""] * len(dims)}
        host = {"ph": "X", "pid": 1, "tid": 1}
        events.append(host | {"cat": "cpu_op", "name": op, "ts": at, "dur": 50, "args": args})
        for i, (name, duration) in enumerate(kernels):
            correlation += 1
            link_args = {"correlation": correlation}
            call = {
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "ts": at + 1 + 5 * i,
                "dur": 2,
            }
            events.append(host | call | {"args": link_args})
            work = {"cat": "kernel", "name": name, "ts": at + 10 + 20 * i, "dur": duration}
            where = {"ph": "X", "pid": 0, "tid": 7, "args": link_args | {"device": 0, "stream": 7}}
            events.append(work | where)
        at += 100
    properties = [{"id": 0, "name": gpu, "numSms": 108}]
    path.write_text(json.dumps({"deviceProperties": properties, "traceEvents": events}))
    return path


def rates(path):
    trace = read_trace(path)
    return kernel_rates(trace, link(trace), device_of(trace.header))


MM = ("aten::mm", [[1000, 1000], [1000, 1000]])  # 2 GFLOP, 6 MB
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"


def test_rate_of_a_gemm(tmp_path):
    (rate,) = rates(write_trace(tmp_path / "t.json", calls=[(*MM, [(GEMM, 20)])]))
    assert rate.flops_per_s == pytest.approx(1e14)  # 2e9 in 20 us
    assert rate.bytes_per_s == pytest.approx(3e11)
    assert rate.intensity == pytest.approx(333.3, rel=1e-3)
    assert rate.compute_share == pytest.approx(100 / 312)
    assert rate.memory_share == pytest.approx(0.3 / 2.039)
    assert rate.bound == "compute"


def test_rate_takes_the_median_of_its_calls(tmp_path):
    calls = [(*MM, [(GEMM, duration)]) for duration in (20, 10, 90)]
    (rate,) = rates(write_trace(tmp_path / "t.json", calls=calls))
    assert (rate.count, rate.total_ns, rate.median_ns) == (3, 120_000, 20_000)


def test_split_k_sum_leaves_the_gemm_its_work(tmp_path):
    calls = [(*MM, [(GEMM, 20), ("void cublasLt::splitKreduce_kernel<32, 16, float>()", 2)])]
    gemm, added = rates(write_trace(tmp_path / "t.json", calls=calls))
    assert gemm.flops_per_s == pytest.approx(1e14)
    assert added.work.reason == "several kernels share the work of aten::mm"


def test_two_gemms_of_one_call_share_its_work(tmp_path):
    calls = [(*MM, [(GEMM, 20), (GEMM.replace("NNT", "TNT"), 2)])]
    found = rates(write_trace(tmp_path / "t.json", calls=calls))
    assert {rate.flops_per_s for rate in found} == {None}


def test_known_kernel_in_a_foreign_op_is_elementwise(tmp_path):
    calls = [("LigerGELUMulFunction", [[1000], [1000]], [("_geglu_tanh_forward_kernel", 3)])]
    (rate,) = rates(write_trace(tmp_path / "t.json", calls=calls))
    assert rate.work.size_bytes == 6000
    assert rate.bound == "memory"


def test_unknown_gpu_has_rates_and_no_shares(tmp_path):
    path = write_trace(tmp_path / "t.json", calls=[(*MM, [(GEMM, 20)])], gpu="GPU of tomorrow")
    (rate,) = rates(path)
    assert rate.flops_per_s == pytest.approx(1e14)
    assert (rate.compute_share, rate.memory_share, rate.bound) == (None, None, None)


def test_missing_shapes_say_what_to_record(tmp_path):
    (rate,) = rates(write_trace(tmp_path / "t.json", calls=[("aten::mm", None, [(GEMM, 20)])]))
    assert rate.work.reason == NO_SHAPES


def test_bytes_alone_decide_from_half_of_the_bandwidth_on():
    """A lower bound of the bytes, and no FLOPs: at a low rate arithmetic may be what takes time."""

    def bound(bytes_per_us):
        work = Work(size_bytes=bytes_per_us)
        return KernelRate("k", "op", 1, 1000, 1000, work, None, 1000 * 1e6).bound

    assert [bound(499), bound(500)] == [None, "memory"]


def test_rates_of_a_real_trace(shared_traces):
    found = rates(shared_traces / "h200" / "03_eager.json.gz")
    by_op = {rate.op: rate for rate in found if rate.op != "aten::mm"}
    gemms = [rate for rate in found if rate.op == "aten::mm"]
    # [8192, 768] x [768, 3072] and back: 2 x 8192 x 768 x 3072 = 38.7 GFLOP each
    assert [rate.work.flops for rate in gemms] == [38_654_705_664] * 2
    assert [rate.bound for rate in gemms] == ["compute"] * 2
    assert all(0.6 < rate.compute_share < 0.8 for rate in gemms)
    # gelu reads and writes 50.3 MB, mul reads two and writes one
    assert by_op["aten::gelu"].work.size_bytes == 2 * 50_331_648
    assert by_op["aten::mul"].work.size_bytes == 3 * 50_331_648
    assert all(by_op[op].bound == "memory" for op in ("aten::gelu", "aten::mul"))


def test_rate_of_the_projects_own_kernel():
    path = RECORDED / "nvidia-h200" / "03_kernels_mlp" / "64_128_768_3072_fused.json.gz"
    gated, down = rates(path)
    assert gated.op == "fused_mlp::gated_linear"
    # [8192, 768] x [768, 6144] is twice the work of [8192, 3072] x [3072, 768]
    assert gated.work.flops == 2 * down.work.flops == 77_309_411_328
    assert (gated.bound, gated.work.dtype) == ("compute", "bf16")
    assert 0.4 < gated.compute_share < 0.9


def test_launch_outside_an_op_has_no_work(shared_traces):
    found = rates(shared_traces / "t4-with-stack-steps.json.gz")
    assert {rate.work.reason for rate in found if rate.op is None} == {NO_OP}


def test_every_public_trace_has_plausible_rates(shared_traces):
    for path in sorted(shared_traces.rglob("*.json.gz")):
        if path.name.startswith(("not-a-trace", "2021")):  # the latter is 34 MB of fp32
            continue
        for rate in rates(path):
            # No kernel beats its GPU; a small one may run out of the cache, faster than memory.
            assert (rate.compute_share or 0) < 1, (path.name, rate)
            big = (rate.work.size_bytes or 0) > 100e6
            assert (rate.memory_share or 0) < (1 if big else 20), (path.name, rate)


def test_device_is_the_one_of_the_trace():
    assert device("NVIDIA A100-SXM4-80GB").peak_flops_per_s("bf16") == 312e12
