"""Kernel names: real ones with what they say, odd ones, and the command that prints it."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

from trace_util.cli import main
from trace_util.kernel_names import KernelName, decode
from trace_util.kernel_words import kernel_words
from trace_util.naming.cpp import arguments, identifier, mangled_identifiers, qualified
from trace_util.naming.triton import merged_ops

# Each: the name, where it was seen, and every field that it fills. "written from the scheme" are
# names whose parameter lists we shortened; the others are whole.
CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "kernel_names.json").read_text()
)
SEEN = [case for case in CASES if case["seen"] != "written from the scheme"]


def says(name: str) -> dict[str, Any]:
    """The filled fields of a decoded name."""
    fields = decode(name).as_json()
    assert fields.pop("raw") == name
    return {key: value for key, value in fields.items() if value not in (None, [], {})}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"][:60])
def test_name_says_its_fields(case):
    assert says(case["name"]) == case["says"]


def test_cases_cover_many_families():
    assert len({case["name"] for case in SEEN}) >= 60
    assert len({case["says"].get("family") for case in SEEN} - {None}) >= 12


def test_nvjet_fields():
    name = decode("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT")
    assert (name.family, name.library, name.role) == ("nvjet", "cuBLAS", "gemm")
    assert (name.dtype, name.accumulate, name.output) == ("bf16", "fp32", "bf16")
    assert (name.tile, name.tile_k, name.stages, name.cluster) == ("256x128", 64, 4, "1x2")
    assert (name.layout, name.epilogue, name.architecture_tag) == ("NNT", (), "sm90")
    assert name.tensor_cores is True


@pytest.mark.parametrize(
    ("name", "epilogue", "layout"),
    [
        ("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", ("bias",), "TNT"),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_badd_coopA_NNT", ("badd",), "NNT"),
        ("nvjet_sm90_tst_64x8_64x16_1x4_h_bz_NNT", (), "NNT"),
    ],
)
def test_nvjet_epilogue(name, epilogue, layout):
    found = decode(name)
    assert (found.epilogue, found.layout) == (epilogue, layout)


def test_nvjet_without_tag_has_no_architecture():
    assert decode("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT").architecture_tag is None


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        ("_unsafe_view_gelu_mul", ("_unsafe_view", "gelu", "mul")),
        ("add_bitwise_and_bitwise_not_ge", ("add", "bitwise_and", "bitwise_not", "ge")),
        ("_to_copy__unsafe_view_add", ("_to_copy", "_unsafe_view", "add")),
        ("native_layer_norm_backward_sum", ("native_layer_norm_backward", "sum")),
        ("mul_someop", ("mul", "someop")),
        ("", ()),
    ],
)
def test_merged_ops_are_cut_apart(text, ops):
    assert merged_ops(text) == ops


@pytest.mark.parametrize(
    ("name", "functor", "op", "dtype"),
    [
        ("GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}::"
         "operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}",
         "GeluCUDAKernelImpl", "gelu", "bf16"),
        ("BinaryFunctor<c10::Half, c10::Half, c10::Half, at::native::binary_internal::MulFunctor<"
         "float> >", "MulFunctor", "mul", "fp16"),
        ("CUDAFunctor_add<c10::BFloat16>", "CUDAFunctor_add", "add", "bf16"),
    ],
)  # fmt: skip
def test_aten_functor(name, functor, op, dtype):
    template = "void at::native::vectorized_elementwise_kernel"
    whole = f"{template}<8, at::native::{name}, std::array<char*, 2ul> >(int)"
    found = decode(whole)
    assert (found.functor, found.ops, found.dtype) == (functor, (op,), dtype)


@pytest.mark.parametrize(
    "name",
    ["", " ", "my_kernel", "ampere_h100_gemm_f32", "elementwise_add_kernel", "reduce_kernel_256",
     "_copy_page_indices_kernel", "gemm", "nvjet", "cutlass", "_Z", "_ZN", "triton_xyz_fused_a_0"],
)  # fmt: skip
def test_unknown_name_is_not_guessed_at(name):
    found = decode(name)
    assert found == KernelName(raw=name, short=name.strip())


def test_unknown_template_is_shortened():
    name = "void ns::mine<float, " + "x::y<int>, " * 300 + "bool>(float*, int)"
    assert decode(name).short == "ns::mine"
    assert decode("q" * 2000).short == "q" * 47 + "…" + "q" * 16
    assert decode("_Z8matmul_kPfS_S_iii").short == "matmul_k"


@pytest.mark.parametrize(
    "name",
    ["<" * 3000, "(" * 3000 + ")" * 3000, "a::" * 2000, "_ZN" + "9" * 2000, "nvjet_" + "64x" * 900,
     "at::native::" + "reduce_kernel<" * 500, "Cijk_Ailk_Bljk_" + "S" * 2000, "\x00\n\ud800",
     "cutlass_80_tensorop_" + "gemm_" * 600, "triton_poi_fused_" + "add_" * 700 + "0"],
    ids=range(10),
)  # fmt: skip
@pytest.mark.alone
def test_hostile_name_costs_little(name):
    decode.cache_clear()
    start = time.perf_counter()
    found = decode(name)
    assert time.perf_counter() - start < 0.5  # the longest real one, 5,123 characters, takes 2 ms
    assert len(found.short) <= 64


def test_every_real_kernel_name_decodes(shared_traces):
    names = set()
    for path in sorted(shared_traces.rglob("*.json.gz")):
        content = json.loads(gzip.decompress(path.read_bytes()))
        events = content.get("traceEvents", []) if isinstance(content, dict) else content
        names |= {e["name"] for e in events if str(e.get("cat")).lower() == "kernel"}
    unknown = {decode(name).short for name in names if not decode(name).is_known}
    assert len(names) > 150
    # A custom CUDA kernel, vLLM's own, hand-made ones: plain words that tell no maker.
    assert unknown <= {
        "matmul_k", "_copy_page_indices_kernel", "elementwise_add_kernel", "reduce_kernel_256",
        "ampere_h100_gemm_f32",
    }  # fmt: skip


def test_cpp_arguments_are_cut_at_the_top_level():
    assert arguments("f<a, b<c, d>, (e, f)>(g<h>)") == ["a", "b<c, d>", "(e, f)"]
    assert arguments("f(a)") == []
    assert identifier("void a::b<c::d>::f<int>(x<y>)") == "f"
    assert qualified("std::enable_if<(((8)>(0)))&&x<T>::exists, void>::type a::f<T>(T*)") == "a::f"


def test_mangled_identifiers_skip_literals_and_back_references():
    name = "_ZN7cutlass6KernelINS_4conv1AILi128ELi32EEES1_11threadblockE"
    assert mangled_identifiers(name) == ["cutlass", "Kernel", "conv", "A", "threadblock"]


def test_command_prints_words(capsys):
    assert main(["decode", "nvjet_sm90_tst_256x128_64x4_1x2_h_badd_coopA_NNT", "mine"]) == 0
    assert capsys.readouterr().out == (
        "nvjet_sm90_tst_256x128_64x4_1x2_h_badd_coopA_NNT\n"
        "  family        nvjet (cuBLAS, gemm)\n"
        "  dtypes        bf16 in, fp32 sums, bf16 out\n"
        "  tile          256x128, 64 of K a stage, 4 stages, cluster 1x2\n"
        "  layout        NNT\n"
        "  epilogue      badd (adds what the output holds already, such as a bias copied there)\n"
        "  Tensor Cores  yes\n"
        "  built for     sm90 (not necessarily the GPU that ran it)\n"
        "  dtype code    tst\n"
        "  cooperation   coopA\n"
        "\n"
        "mine\n"
        "  family        unknown: follows no naming scheme that is known here\n"
    )


def test_relu_may_clamp_says_the_command_and_the_cheat_sheet(capsys):
    truth = "can clamp at zero; whether it does is decided at run time"
    assert main(["decode", "ampere_sgemm_128x64_relu_nn"]) == 0
    assert truth in capsys.readouterr().out
    sheet = (Path(__file__).parents[1] / "lessons" / "cheat-sheet.md").read_text(encoding="utf-8")
    (row,) = [line for line in sheet.splitlines() if "`relu`" in line]
    assert truth in row and "`bias`" not in row


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ampere_sgemm_128x64_relu_nn", "fp32 GEMM 128x64, no Tensor Cores (cuBLAS)"),
        ("nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT", "bf16 GEMM 64x8 with bias (nvjet)"),
    ],
)
def test_words_tell_of_an_epilogue_that_is_certain(name, words):
    assert kernel_words(decode(name)) == words


def test_command_tells_no_algorithm_that_nccl_keeps_to_itself(capsys):
    assert main(["decode", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs4K)"]) == 0
    assert capsys.readouterr().out == (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs4K)\n"
        "  family        NCCL (NCCL or RCCL, communication)\n"
        "  computes      AllReduce\n"
        "  dtypes        bf16 in\n"
        "  kernel entry  Sum RING LL (the algorithm, protocol and reduction that ran are not in "
        "the name)\n"
    )


def test_command_prints_json(capsys):
    assert main(["decode", "--json", "triton_poi_fused__unsafe_view_gelu_mul_0"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["family"] == "Inductor pointwise"
    assert found["ops"] == ["_unsafe_view", "gelu", "mul"]


def test_command_without_a_name_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", __import__("io").StringIO("\n\n"))
    assert main(["decode", "-"]) == 2
    assert "no kernel name given" in capsys.readouterr().err
