"""The lessons' claims that need no more than counting, on the traces recorded on GPUs.

Counted with ``json`` and none of the project's own reader, so that both can be wrong only apart.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from conftest import RECORDED

# Folders of several GPUs, of which the parallel lesson alone was recorded, have tests of their own.
GPUS = sorted(folder for folder in RECORDED.iterdir() if (folder / "01_matmul").is_dir())
LAUNCH = re.compile(r"^(cuda|cu|hip)(LaunchKernel|GraphLaunch|Memcpy|Memset)")

pytestmark = pytest.mark.parametrize("gpu", GPUS, ids=lambda folder: folder.name)


class Recording:
    """A recorded trace as plain lists."""

    def __init__(self, path: Path) -> None:
        content = json.loads(gzip.decompress(path.read_bytes()))
        self.facts = content["run_facts"]
        self.events = [e for e in content["traceEvents"] if e["ph"] == "X"]
        self.ops = self.of("cpu_op")

    def of(self, *categories: str) -> list[dict]:
        return [e for e in self.events if e["cat"] in categories]

    def a_step(self, category: str) -> float:
        return len(self.of(category)) / 3

    def kernel_names(self) -> Counter[str]:
        return Counter(e["name"] for e in self.of("kernel"))

    def gemms(self) -> set[str]:
        """Names of the kernels that a matmul launched."""
        matmuls = ("aten::mm", "aten::addmm")
        ids = {op["args"]["External id"] for op in self.ops if op["name"] in matmuls}
        return {e["name"] for e in self.of("kernel") if e["args"].get("External id") in ids}

    def beneath(self, op: dict) -> list[dict]:
        """Events inside an op, on its thread."""
        end = op["ts"] + op["dur"]
        return [
            e
            for e in self.events
            if (e["pid"], e["tid"]) == (op["pid"], op["tid"])
            and e is not op
            and op["ts"] <= e["ts"]
            and e["ts"] + e["dur"] <= end
        ]


def load(gpu: Path, lesson: str, tag: str) -> Recording:
    return Recording(gpu / lesson / f"{tag}.json.gz")


MATMULS = [
    f"{size}_bf16_{warm}_{variant}"
    for size, warm in ((64, "cold"), (64, "warm"), (4096, "warm"))
    for variant in ("eager", "compile")
]
MLP = "64_128_768_3072"


def test_every_lesson_is_there_with_its_table(gpu):
    wanted = {f"01_matmul/{tag}" for tag in MATMULS}
    wanted |= {f"02_linear/1024_32_64_{v}" for v in ("eager", "compile")}
    wanted |= {f"03_simple_mlp/{MLP}_{v}" for v in ("eager", "compile")}
    wanted |= {f"03_kernels_mlp/{MLP}_{v}" for v in ("triton", "liger")}
    for name in wanted:
        assert (gpu / f"{name}.json.gz").exists() and (gpu / f"{name}.txt").exists(), name


def test_every_recording_tells_its_run(gpu):
    for path in sorted(gpu.glob("*/*.json.gz")):
        facts = Recording(path).facts
        assert facts["device"] == "cuda" and facts["gpu"] and facts["versions"]["driver"]
        assert facts["lesson"] == path.parent.name
        assert facts["tag"] == path.name.removesuffix(".json.gz")
        assert facts["command"].startswith(f"python {path.parent.name}.py")
        assert facts["unprofiled_step_us"]["n"] >= 3 and facts["relative_error"] < 2**-7


def test_every_recording_has_three_steps(gpu):
    for path in sorted(gpu.glob("*/*.json.gz")):
        marks = [e["name"] for e in Recording(path).of("user_annotation")]
        steps = [name for name in marks if name.startswith("ProfilerStep")]
        assert steps == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"], path


@pytest.mark.parametrize("tag", [tag for tag in MATMULS if tag.endswith("eager")])
def test_matmul_launches_a_gemm_and_an_add(gpu, tag):
    run = load(gpu, "01_matmul", tag)
    assert run.a_step("kernel") == 2
    assert Counter(op["name"] for op in run.ops) == {
        "aten::matmul": 3, "aten::mm": 3, "aten::add": 3
    }  # fmt: skip
    for matmul in (op for op in run.ops if op["name"] == "aten::matmul"):
        assert "aten::mm" in [e["name"] for e in run.beneath(matmul)]


@pytest.mark.parametrize("tag", [tag for tag in MATMULS if tag.endswith("compile")])
def test_compiled_matmul_is_one_addmm_and_a_copy_of_the_bias(gpu, tag):
    run = load(gpu, "01_matmul", tag)
    names = Counter(op["name"] for op in run.ops)
    assert names["aten::addmm"] == 3 and not names["aten::mm"] and not names["aten::add"]
    assert run.a_step("kernel") == 1
    assert [e["name"] for e in run.of("gpu_memcpy")] == ["Memcpy DtoD (Device -> Device)"] * 3


@pytest.mark.parametrize("tag", [tag for tag in MATMULS if tag.endswith("compile")])
def test_compiled_matmul_shows_dynamo(gpu, tag):
    run = load(gpu, "01_matmul", tag)
    names = [e["name"] for e in run.of("cpu_op", "user_annotation")]
    for prefix in (
        "TorchDynamo Cache Lookup",
        "Torch-Compiled Region",
        "AOTDispatcher Runtime Wrapper Prologue",
        "## Call CompiledFxGraph",
    ):
        assert sum(name.startswith(prefix) for name in names) == 3, prefix


def test_linear_transposes_without_a_launch(gpu):
    run = load(gpu, "02_linear", "1024_32_64_eager")
    free = [
        op for op in run.ops if op["name"] in ("aten::t", "aten::transpose", "aten::as_strided")
    ]
    assert len(free) == 9
    for op in free:
        assert not [e for e in run.beneath(op) if LAUNCH.match(e["name"])]


def test_linear_has_one_kernel_and_no_add(gpu):
    run = load(gpu, "02_linear", "1024_32_64_eager")
    assert run.a_step("kernel") == 1
    assert "aten::add" not in [op["name"] for op in run.ops]
    order = [op["name"] for op in run.ops if op["name"] in ("aten::t", "aten::addmm")]
    assert order == ["aten::t", "aten::addmm"] * 3


def test_compiled_linear_has_the_same_kernel_and_no_transpose(gpu):
    eager, compiled = (load(gpu, "02_linear", f"1024_32_64_{v}") for v in ("eager", "compile"))
    assert compiled.kernel_names() == eager.kernel_names()
    assert "aten::t" not in [op["name"] for op in compiled.ops]


def test_mlp_has_five_kernels(gpu):
    run = load(gpu, "03_simple_mlp", f"{MLP}_eager")
    assert run.a_step("kernel") == 5
    assert sorted(run.kernel_names().values()) == [3, 3, 3, 6]


def test_mlp_linear_reaches_the_gpu_through_mm_alone(gpu):
    run = load(gpu, "03_simple_mlp", f"{MLP}_eager")
    linears = [op for op in run.ops if op["name"] == "aten::linear"]
    assert len(linears) == 9
    walk = ["t", "transpose", "as_strided", "matmul", "reshape", "view", "mm", "_unsafe_view"]
    for linear in linears:
        inside = sorted(run.beneath(linear), key=lambda e: e["ts"])
        ops = [e for e in inside if e["cat"] == "cpu_op"]
        assert [op["name"] for op in ops] == [f"aten::{name}" for name in walk]
        launches = [e for e in inside if LAUNCH.match(e["name"])]
        (mm,) = (op for op in ops if op["name"] == "aten::mm")
        assert launches and all(e in run.beneath(mm) for e in launches)


def test_mlp_gate_and_up_share_a_kernel(gpu):
    run = load(gpu, "03_simple_mlp", f"{MLP}_eager")
    kernels = sorted(run.of("kernel"), key=lambda e: e["ts"])
    names = [e["name"] for e in kernels if e["name"] in run.gemms()]
    assert names[0::3] == names[1::3] and not set(names[0::3]) & set(names[2::3])


def test_compiled_mlp_fuses_gelu_and_multiply(gpu):
    eager, compiled = (load(gpu, "03_simple_mlp", f"{MLP}_{v}") for v in ("eager", "compile"))
    assert compiled.a_step("kernel") == 4
    assert compiled.gemms() == eager.gemms()
    (fused,) = set(compiled.kernel_names()) - compiled.gemms()
    assert fused == "triton_poi_fused__unsafe_view_gelu_mul_0"


@pytest.mark.parametrize(
    ("variant", "kernel"),
    [("triton", "_geglu_forward_kernel"), ("liger", "_geglu_tanh_forward_kernel")],
)
def test_kernels_mlp_has_one_fused_kernel_and_no_dynamo(gpu, variant, kernel):
    eager = load(gpu, "03_simple_mlp", f"{MLP}_eager")
    run = load(gpu, "03_kernels_mlp", f"{MLP}_{variant}")
    assert run.a_step("kernel") == 4
    assert run.gemms() == eager.gemms()
    assert set(run.kernel_names()) - run.gemms() == {kernel}
    names = [e["name"] for e in run.of("cpu_op", "user_annotation")]
    assert not [n for n in names if re.search("Dynamo|Torch-Compiled|AOTDispatcher|Guard|## ", n)]


def test_cuda_graph_is_one_launch(gpu):
    tag = "1_1_768_3072_eager"
    eager, graph = load(gpu, "03_simple_mlp", tag), load(gpu, "03_simple_mlp", f"{tag}_cuda_graph")
    launches = [e["name"] for e in graph.of("cuda_runtime") if LAUNCH.match(e["name"])]
    assert launches == ["cudaGraphLaunch"] * 3
    assert graph.kernel_names() == eager.kernel_names()
