from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn

from tests import kernel_cases
from tests.kernel_cases import REFERENCES

pytest.importorskip("triton", reason="Triton is not installed here")

from fused_mlp import FusedMLP, gated_linear, geglu, packing, tiles  # noqa: E402
from fused_mlp.tiles import Gpu, Launch, launch_for  # noqa: E402
from tests import gluon_on_cpu  # noqa: E402

H200 = Gpu(multiprocessors=132, copy_engine=True, hopper=True)
B200 = Gpu(multiprocessors=148, copy_engine=True, hopper=False)
A100 = Gpu(multiprocessors=108, copy_engine=False, hopper=False)


def test_kernels_in_the_interpreter():
    kernel_cases.run("gated_gemm_cases", "geglu_cases", interpreted=True)


def test_kernels_compile_for_gpus_that_are_not_here():
    kernel_cases.run("compile_cases", interpreted=False, warm=True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("cases", ("gated_gemm_cases", "geglu_cases", "stream_cases"))
def test_kernels_on_the_gpu(cases):
    kernel_cases.run(cases, interpreted=False)


# The Hopper kernel: its logic here, its arithmetic in test_kernels_on_the_gpu.


def _run_hopper(tokens, dim, hidden, programs, stages=3, activation="silu"):
    from fused_mlp import hopper

    generator = torch.Generator().manual_seed(tokens)
    x, gate, up = (
        torch.randn(rows, dim, generator=generator).half() for rows in (tokens, hidden, hidden)
    )
    packed = packing.pack(gate, up)
    out = torch.full((tokens, hidden), float("nan"), dtype=torch.float16)
    m, n, k = 16, 64, 8
    gluon_on_cpu.run(
        hopper,
        "_geglu_gemm_hopper_kernel",
        programs,
        lambda x, name: REFERENCES[name](x),
        gluon_on_cpu.Descriptor(x, (m // 2, k)),
        gluon_on_cpu.Descriptor(packed, (n, k)),
        gluon_on_cpu.Descriptor(out, (m // 2, n // 2)),
        *(tokens, packed.shape[0], dim, programs),
        *(activation, packing.GROUP, 2, m, n, k, stages),
    )
    wide = [w.double() for w in (x, gate, up)]
    reference = REFERENCES[activation](wide[0] @ wide[1].T) * (wide[0] @ wide[2].T)
    return kernel_cases.relative_error(out, reference)


@pytest.mark.parametrize("programs", (1, 3))
@pytest.mark.parametrize(
    ("tokens", "dim", "hidden"),
    [(1, 8, 8), (16, 24, 32), (17, 20, 40), (70, 64, 100), (9, 8, 200)],
    ids=("less than a tile", "one tile", "one more", "many tiles", "one step of the sum"),
)
def test_hopper_kernel_agrees_with_float64(tokens, dim, hidden, programs):
    assert _run_hopper(tokens, dim, hidden, programs) < 1e-3


@pytest.mark.parametrize("stages", (1, 2, 4))
def test_hopper_kernel_needs_two_stages(stages, monkeypatch):
    if stages == 1:  # a group frees a stage only once the next step has begun
        monkeypatch.setattr(gluon_on_cpu, "DEADLOCK_S", 0.5)
        with pytest.raises(TimeoutError, match="deadlock"):
            _run_hopper(20, 40, 40, 1, stages)
    else:
        assert _run_hopper(20, 40, 40, 1, stages) < 1e-3


# The rule that chooses the launch.


@pytest.mark.parametrize(
    ("tokens", "hidden", "gpu", "describable", "expected"),
    [
        (8192, 3072, H200, True, Launch("hopper", tiles.LARGE_HOPPER)),
        (8192, 3072, B200, True, Launch("descriptor", tiles.LARGE)),
        (8192, 3072, A100, True, Launch("pointer", tiles.OLDER)),
        (8192, 3072, H200, False, Launch("pointer", tiles.OLDER)),
        (64, 16384, H200, True, Launch("descriptor", tiles.MIDDLE)),
        (64, 3072, H200, True, Launch("descriptor", tiles.MIDDLE)),
        (1024, 3072, H200, True, Launch("descriptor", tiles.MIDDLE)),  # LARGE: 1.45 waves
        (2048, 3072, H200, True, Launch("hopper", tiles.LARGE_HOPPER)),  # 2.9 waves
        (128, 14336, H200, True, Launch("hopper", tiles.LARGE_HOPPER)),  # one wave of 112
        (1, 16384, H200, True, Launch("pointer", tiles.FEW_TOKENS)),
        (1, 3072, H200, True, Launch("pointer", tiles.FEW_TOKENS_NARROW)),
        (16, 3072, A100, True, Launch("pointer", tiles.OLDER_FEW_TOKENS)),
        (17, 3072, A100, True, Launch("pointer", tiles.OLDER)),
    ],
)
def test_launch_suits_tokens_and_gpu(tokens, hidden, gpu, describable, expected):
    assert launch_for(tokens, 2 * hidden, gpu, describable) == expected


# Packing, and the module without Triton's help.


@pytest.mark.parametrize("hidden", (1, 16, 40))
def test_packing_alternates_groups_and_comes_apart_again(hidden):
    gate, up = torch.arange(hidden * 3.0).view(hidden, 3), -torch.ones(hidden, 3)
    packed = packing.pack(gate, up)
    assert packed.shape == (packing.packed_rows(hidden), 3)
    assert torch.equal(packed[: min(hidden, 16)], gate[:16])
    assert torch.equal(packed[16 : 16 + min(hidden, 16)], up[:16])
    assert all(
        torch.equal(a, b) for a, b in zip(packing.unpack(packed, hidden), (gate, up), strict=True)
    )
    assert packed.abs().sum() == gate.abs().sum() + up.abs().sum()  # the rest is zeros


@pytest.mark.parametrize("hidden", (1, 16, 32, 40))
def test_what_is_unpacked_is_a_copy_of_no_more_than_itself(hidden):
    fused = FusedMLP(8, hidden)
    before = fused.gate_up.detach().clone()
    for name in ("gate.weight", "up.weight"):
        weight = fused.state_dict()[name]
        assert weight.untyped_storage().nbytes() == hidden * 8 * 4
        weight.zero_()
    assert torch.equal(fused.gate_up, before)
    gate, up = packing.unpack(fused.gate_up, hidden)
    (gate.sum() + 2 * up.sum()).backward()
    assert fused.gate_up.grad.sum() == 3 * hidden * 8


def test_packing_refuses_what_does_not_match():
    with pytest.raises(ValueError, match=r"gate is \[2, 3\].*up is \[3, 3\]"):
        packing.pack(torch.ones(2, 3), torch.ones(3, 3))


class PlainMLP(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(REFERENCES["gelu_tanh"](self.gate(x)) * self.up(x))


@pytest.mark.parametrize("hidden", (32, 13))
def test_state_dict_is_that_of_the_plain_mlp(hidden):
    plain = PlainMLP(8, hidden)
    fused = FusedMLP.from_mlp(plain)
    saved = fused.state_dict()
    assert list(saved) == ["gate.weight", "up.weight", "down.weight"]
    assert all(torch.equal(saved[name], weight) for name, weight in plain.state_dict().items())
    assert all(weight.is_contiguous() for weight in saved.values())
    again = PlainMLP(8, hidden)
    again.load_state_dict(saved)
    assert torch.equal(again.gate.weight, plain.gate.weight)


def test_state_dict_round_trips_inside_another_module():
    one, two = (nn.Sequential(nn.Linear(8, 8), FusedMLP(8, 24)) for _ in range(2))
    two.load_state_dict(one.state_dict())
    assert torch.equal(one[1].gate_up, two[1].gate_up)
    assert list(one.state_dict())[2:] == ["1.gate.weight", "1.up.weight", "1.down.weight"]
    assert torch.equal(copy.deepcopy(one)[1].gate_up, one[1].gate_up)
    assert one.half()[1].state_dict()["up.weight"].dtype == torch.float16


def test_a_missing_weight_is_an_error():
    state = PlainMLP(8, 16).state_dict()
    del state["up.weight"]
    with pytest.raises(RuntimeError, match="gate_up"):
        FusedMLP(8, 16).load_state_dict(state)


@pytest.mark.parametrize("strict", (True, False))
@pytest.mark.parametrize("hidden", (17, 64))  # packed, 17 rows and 24 take as many
def test_weights_of_another_width_are_an_error(hidden, strict):
    fused = FusedMLP(8, 24)
    before = fused.gate_up.detach().clone()
    state = PlainMLP(8, hidden).state_dict() | {"down.weight": torch.zeros(8, 24)}
    with pytest.raises(RuntimeError, match=rf"mismatch for up.weight: \[{hidden}, 8\].*\[24, 8\]"):
        fused.load_state_dict(state, strict=strict)
    assert torch.equal(fused.gate_up, before)
    with pytest.raises(RuntimeError) as raised:
        fused.load_state_dict(state | {"up.weight": torch.zeros(24, 8)}, strict=strict)
    assert "for gate.weight" in str(raised.value) and "gate_up" not in str(raised.value)


def test_a_bias_is_an_error():
    plain = PlainMLP(8, 24)
    plain.gate.bias = nn.Parameter(torch.zeros(24))
    with pytest.raises(RuntimeError, match=r"Unexpected key.*gate\.bias"):
        FusedMLP.from_mlp(plain)


@pytest.mark.parametrize("copied", (copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))))
def test_a_copy_is_whole_and_its_own(copied):
    fused = FusedMLP(8, 24, "silu")
    fused.down.requires_grad_(False)
    again = copied(fused)
    x = torch.randn(5, 8)
    assert torch.equal(again(x), fused(x))
    assert again.gate_up.requires_grad and not again.down.weight.requires_grad
    with torch.no_grad():
        fused.gate_up.zero_()
    assert again(x).any() and not fused(x).any()


def test_fused_mlp_falls_back_on_a_cpu_and_says_so():
    plain = PlainMLP(8, 24)
    fused = FusedMLP.from_mlp(plain)
    x = torch.randn(2, 3, 8)
    torch.testing.assert_close(fused(x), plain(x))
    plan = fused.plan(6)
    assert plan.kernels == "torch" and "cpu" in plan.reason


def test_kernels_refuse_a_cpu_by_name():
    x, packed = torch.ones(4, 16), torch.ones(64, 16)
    with pytest.raises(ValueError, match=r"^gated_linear: \[4, 16\] torch.float32 on cpu: a tens"):
        gated_linear(x, packed, 24)
    with pytest.raises(ValueError, match=r"^geglu: \[4, 16\] torch.float32 on cpu: a tensor on a"):
        geglu(x, x)


def test_a_compiled_model_may_hold_the_module():
    fused = FusedMLP(8, 24).requires_grad_(False)
    x = torch.randn(6, 8)
    torch.compiler.reset()
    compiled = torch.compile(lambda x: fused(x + 1), backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), fused(x + 1))


def test_a_compiler_takes_the_gpu_as_given(monkeypatch):
    monkeypatch.setattr(tiles, "_gpu_of", lambda device: H200)
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: x + tiles.gpu_of(0).multiprocessors, backend="eager", fullgraph=True
    )
    assert compiled(torch.zeros(2)).tolist() == [132, 132]


@pytest.mark.parametrize(
    ("shape", "gpu", "kernels", "reason"),
    [
        ((8192, 768, 3072), H200, "fused", "201.3 MB"),
        ((8192, 768, 3071), H200, "cublas", "3071 is no multiple of 8"),
        ((1, 768, 3071), H200, "fused", "MB"),
        ((64, 4096, 14336), H200, "fused", "MB"),
        ((64, 8192, 28672), H200, "cublas", "64 tokens: reading the weight"),
        ((1, 8192, 28672), H200, "fused", "MB"),
        ((8192, 16384, 32768), H200, "cublas", "spare only 1.5%"),
        ((8192, 768, 3072), A100, "fused", "MB"),
        ((8192, 4096, 14336), A100, "cublas", "sparing 6%"),
    ],
)
def test_plan_weighs_what_the_epilogue_spares(shape, gpu, kernels, reason, monkeypatch):
    from fused_mlp import mlp

    monkeypatch.setattr(mlp, "gpu_of", lambda device: gpu)
    device, dtype = torch.device("cuda", 0), torch.bfloat16
    plan = mlp._plan.__wrapped__(*shape, dtype, device, False, dtype, dtype)
    assert plan.kernels == kernels and reason in plan.reason
