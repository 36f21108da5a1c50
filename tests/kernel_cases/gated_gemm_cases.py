from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad

from fused_mlp import FusedMLP, gated_gemm, gated_linear, mlp, packing
from fused_mlp.tiles import (
    FEW_TOKENS,
    FEW_TOKENS_NARROW,
    LARGE,
    LARGE_HOPPER,
    MIDDLE,
    OLDER,
    OLDER_FEW_TOKENS,
    Launch,
    Tiles,
    gpu_of,
)
from tests.kernel_cases import (
    DEVICE,
    INTERPRETED,
    JIT,
    REFERENCES,
    TOLERANCE,
    poisoned_outputs,
    random,
    relative_error,
)

SMALL = Tiles(m=32, n=64, k=32, warps=4, stages=2, band=2)
LAUNCHES = {
    "descriptor large": Launch("descriptor", LARGE),
    "descriptor middle": Launch("descriptor", MIDDLE),
    "descriptor small": Launch("descriptor", SMALL),
    "pointer older": Launch("pointer", OLDER),
    "pointer older few": Launch("pointer", OLDER_FEW_TOKENS),
    "pointer few": Launch("pointer", FEW_TOKENS),
    "pointer few, narrow": Launch("pointer", FEW_TOKENS_NARROW),
    "pointer small": Launch("pointer", SMALL),
}
if not INTERPRETED:
    LAUNCHES["hopper"] = Launch("hopper", LARGE_HOPPER)
# tokens, dim, hidden: less than a tile, one more than a tile, many tiles, whole tiles.
SHAPES = ((1, 8, 8), (33, 24, 72), (129, 72, 136), (200, 136, 24), (128, 64, 128))
# Rows that the copy engine cannot address: only pointers will do.
UNALIGNED = ((5, 20, 13), (33, 7, 1), (70, 65, 50))


def case(tokens, dim, hidden, dtype, activation="gelu_tanh"):
    x = random(tokens, dim, dtype=dtype)
    gate, up = (random(hidden, dim, dtype=dtype, seed=s) / dim**0.5 for s in (1, 2))
    wide = [w.double() for w in (x, gate, up)]
    reference = REFERENCES[activation](wide[0] @ wide[1].T) * (wide[0] @ wide[2].T)
    return x, packing.pack(gate, up), reference


def usable(launch: Launch) -> None:
    if not INTERPRETED:
        gpu = gpu_of(None)
        if launch.kernel == "hopper" and not gpu.hopper:
            pytest.skip("the GPU is no Hopper")
        if launch.kernel == "descriptor" and not gpu.copy_engine:
            pytest.skip("the GPU has no copy engine")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("launch", LAUNCHES)
def test_every_launch_agrees_with_float64(launch, shape):
    dtype = torch.bfloat16 if shape == SHAPES[2] else torch.float16
    usable(LAUNCHES[launch])
    x, packed, reference = case(*shape, dtype)
    with poisoned_outputs():
        result = gated_linear(x, packed, shape[2], launch=LAUNCHES[launch])
    assert result.shape == reference.shape and result.dtype == dtype
    assert relative_error(result, reference) < TOLERANCE[dtype]


@pytest.mark.skipif(INTERPRETED, reason="minutes in the interpreter")
@pytest.mark.timeout(60)  # a deadlock is the fear
@pytest.mark.parametrize("launch", LAUNCHES)
def test_every_launch_agrees_over_many_steps_and_tiles(launch):
    usable(LAUNCHES[launch])
    for dtype in (torch.bfloat16, torch.float16):
        x, packed, reference = case(3000, 776, 3080, dtype)
        for _ in range(3):
            with poisoned_outputs():
                result = gated_linear(x, packed, 3080, launch=LAUNCHES[launch])
            assert relative_error(result, reference) < TOLERANCE[dtype]


@pytest.mark.parametrize("activation", REFERENCES)
@pytest.mark.parametrize("launch", ("descriptor small", "pointer small", "hopper"))
def test_every_activation_agrees_with_float64(launch, activation):
    if launch not in LAUNCHES:
        pytest.skip("this kernel's arithmetic is checked in test_gated_gemm.py")
    usable(LAUNCHES[launch])
    x, packed, reference = case(40, 64, 72, torch.float16, activation)
    with poisoned_outputs():
        result = gated_linear(x, packed, 72, activation, launch=LAUNCHES[launch])
    assert relative_error(result, reference) < TOLERANCE[torch.float16]


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16, torch.float32))
@pytest.mark.parametrize("shape", UNALIGNED)
def test_rows_of_any_length_are_right(shape, dtype):
    x, packed, reference = case(*shape, dtype)
    with poisoned_outputs():
        result = gated_linear(x, packed, shape[2])
    assert relative_error(result, reference) < TOLERANCE[dtype]


def test_zero_rows_launch_nothing():
    _, packed, _ = case(1, 16, 24, torch.float16)
    assert gated_linear(random(0, 16, dtype=torch.float16), packed, 24).shape == (0, 24)
    assert gated_linear(random(2, 0, 16, dtype=torch.float16), packed, 24).shape == (2, 0, 24)


STRIDED = {
    "three dimensions": lambda x: x.view(3, 12, 16),
    "every other row": lambda x: x[::2],
    "the left half of each row": lambda x: x.view(18, 32)[:, :16],
    "an odd offset": lambda x: x.flatten()[1:561].view(35, 16),
    "transposed": lambda x: x.view(16, 36).T,
    "one row repeated": lambda x: x[:1].expand(20, 16),
}


@pytest.mark.parametrize("layout", STRIDED)
def test_strided_inputs_are_right(layout):
    whole, packed, _ = case(36, 16, 24, torch.float16)
    x = STRIDED[layout](whole)
    gate, up = (w.double() for w in packing.unpack(packed, 24))
    reference = REFERENCES["silu"](x.double() @ gate.T) * (x.double() @ up.T)
    with poisoned_outputs():
        result = gated_linear(x, packed, 24, "silu")
    assert result.shape == reference.shape
    assert relative_error(result, reference) < TOLERANCE[torch.float16]


@pytest.mark.parametrize("tokens", (4, 40))
@pytest.mark.parametrize("layout", ("columns first", "a part of wider rows"))
def test_a_packed_weight_may_be_strided(layout, tokens):
    x, packed, reference = case(tokens, 20, 24, torch.float16)
    wide = torch.cat([packed, packed], dim=1)
    strided = packed.T.contiguous().T if layout == "columns first" else wide[:, :20]
    with poisoned_outputs():
        result = gated_linear(x, strided, 24)
    assert relative_error(result, reference) < TOLERANCE[torch.float16]


def test_mismatches_are_refused():
    x, packed, _ = case(4, 16, 24, torch.float16)
    with pytest.raises(ValueError, match=r"on meta; for hidden=24 .* on (cpu|cuda:0) is needed"):
        gated_linear(x, packed.to("meta"), 24)
    with pytest.raises(ValueError, match=r"hidden=40 a packed weight of \[96, 16\]"):
        gated_linear(x, packed, 40)
    with pytest.raises(ValueError, match="torch.bfloat16"):
        gated_linear(x.bfloat16(), packed, 24)
    with pytest.raises(ValueError, match="choose one of"):
        gated_linear(x, packed, 24, "tanh")


def _compiled(function, **options):
    """It as a graph, without code generated for it: Triton's interpreter has no part in that."""
    torch.compiler.reset()
    return torch.compile(function, backend="aot_eager", **options)


@pytest.mark.parametrize("dtype", (torch.float64, torch.int8, torch.float8_e4m3fn))
def test_other_dtypes_are_refused(dtype):
    x, packed = torch.ones(4, 16, device=DEVICE).to(dtype), torch.ones(64, 16, device=DEVICE)
    with pytest.raises(ValueError, match=rf"^gated_linear: \[4, 16\] {dtype} on .*, of bfloat16, "):
        gated_linear(x, packed.to(dtype), 24)


@pytest.mark.parametrize("device", ("meta",) if INTERPRETED else ("meta", "cpu"))
def test_other_devices_are_refused(device):
    x, packed = (torch.ones(rows, 16, device=device) for rows in (4, 64))
    with pytest.raises(ValueError, match=f"^gated_linear: .* on {device}: a tensor on a CUDA GPU"):
        gated_linear(x, packed, 24)


def test_a_number_is_no_row():
    packed = random(64, 16)
    with pytest.raises(ValueError, match=r"x is \[\] .* a packed weight of \[64, 'dim'\]"):
        gated_linear(random(), packed, 24)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside torch's compiler
@pytest.mark.parametrize("way", (lambda f: f, _compiled), ids=("eager", "compiled"))
@pytest.mark.parametrize("which", ("x", "packed"))
def test_gradients_are_refused_and_not_lost(which, way):
    x, packed, reference = case(4, 16, 24, torch.float16)
    with torch.no_grad():
        assert relative_error(way(gated_linear)(x, packed, 24), reference) < 1e-3
    (x if which == "x" else packed).requires_grad_()
    with torch.no_grad():
        assert relative_error(way(gated_linear)(x, packed, 24), reference) < 1e-3
    with pytest.raises(RuntimeError, match=f"no gradients and {which} requires them: call it und"):
        way(gated_linear)(x, packed, 24)


@pytest.mark.filterwarnings(JIT)
@pytest.mark.parametrize("which", ("x", "packed"))
def test_forward_derivatives_are_refused_and_not_lost(which):
    x, packed, _ = case(4, 16, 24, torch.float16)
    with torch.no_grad(), forward_ad.dual_level():
        if which == "x":
            x = forward_ad.make_dual(x, torch.ones_like(x))
        else:
            packed = forward_ad.make_dual(packed, torch.ones_like(packed))
        with pytest.raises(RuntimeError, match="no forward-mode derivative: use FusedMLP"):
            gated_linear(x, packed, 24)


class PlainMLP(nn.Module):
    def __init__(self, dim, hidden, activation="gelu_tanh"):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)
        self.activation = REFERENCES[activation]

    def forward(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x))


def _plain(dim, hidden, dtype, activation="gelu_tanh"):
    torch.manual_seed(dim + hidden)
    return PlainMLP(dim, hidden, activation).to(DEVICE, dtype)


@pytest.mark.parametrize("hidden", (24, 13))
@pytest.mark.parametrize(
    ("activation", "dtype"),
    [
        ("gelu_tanh", torch.bfloat16),
        ("gelu", torch.float16),
        ("silu", torch.float32),
        ("relu", torch.bfloat16),
    ],
)
def test_fused_mlp_agrees_with_the_plain_one(activation, dtype, hidden):
    plain = _plain(40, hidden, dtype, activation)
    fused = FusedMLP.from_mlp(plain, activation)
    x = random(2, 9, 40, dtype=dtype)
    with torch.no_grad(), poisoned_outputs():
        result = fused(x)
        reference = copy.deepcopy(plain).double()(x.double())
    assert result.shape == x.shape
    assert relative_error(result, reference) < 2 * TOLERANCE[dtype]


@pytest.mark.parametrize("hidden", (24, 13))
def test_fused_mlp_has_the_gradients_of_the_plain_one(hidden):
    plain = _plain(40, hidden, torch.float32)
    fused = FusedMLP.from_mlp(plain)
    x, y = (random(9, 40).requires_grad_() for _ in range(2))
    fused(x).square().sum().backward()
    plain(y).square().sum().backward()
    expected = packing.pack(plain.gate.weight.grad, plain.up.weight.grad)
    assert relative_error(fused.gate_up.grad, expected.double()) < 1e-5
    assert relative_error(fused.down.weight.grad, plain.down.weight.grad.double()) < 1e-5
    assert relative_error(x.grad, y.grad.double()) < 1e-5


@pytest.mark.parametrize("grad_enabled", (True, False))
@pytest.mark.parametrize("frozen", ((), ("gate", "up"), ("down",), ("gate", "up", "down")))
def test_what_is_frozen_stays_so(frozen, grad_enabled):
    plain = _plain(40, 24, torch.float16)
    for name in frozen:
        getattr(plain, name).requires_grad_(False)
    with torch.set_grad_enabled(grad_enabled):
        fused = FusedMLP.from_mlp(plain)
        again = FusedMLP.from_mlp(fused)
    for module in (fused, again):
        assert module.gate_up.requires_grad == ("gate" not in frozen)
        assert module.down.weight.requires_grad == ("down" not in frozen)
        assert module.gate_up.is_leaf and module.plan(8).kernels == (
            "fused" if len(frozen) == 3 else "cublas"
        )
    assert torch.equal(again.gate_up, fused.gate_up)


def test_half_frozen_projections_are_refused():
    plain = _plain(40, 24, torch.float16)
    plain.up.requires_grad_(False)
    with pytest.raises(ValueError, match="gate.requires_grad is True and up.requires_grad is Fal"):
        FusedMLP.from_mlp(plain)


def test_fused_mlp_differentiates_its_input_alone():
    fused = FusedMLP.from_mlp(_plain(40, 24, torch.float16)).requires_grad_(False)
    x = random(9, 40, dtype=torch.float16).requires_grad_()
    fused(x).sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("weights", "inputs"), [(torch.bfloat16, torch.float32), (torch.float16, torch.float16)]
)
def test_fused_mlp_casts_what_autocast_casts(weights, inputs):
    plain = _plain(40, 24, weights)
    fused = FusedMLP.from_mlp(plain)
    x = random(9, 40, dtype=inputs)
    with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
        result, expected = fused(x), plain(x)
    assert result.dtype == expected.dtype == torch.bfloat16
    assert relative_error(result, expected.double()) < 4 * TOLERANCE[torch.bfloat16]
    with torch.no_grad(), pytest.raises(RuntimeError, match="dtype"):
        FusedMLP.from_mlp(_plain(40, 24, torch.bfloat16))(random(9, 40))  # without it, as torch


def test_plan_says_what_runs_and_why():
    fused = FusedMLP.from_mlp(_plain(40, 24, torch.bfloat16))
    assert fused.plan(64).kernels == "cublas" and "gradients" in fused.plan(64).reason
    with torch.no_grad():
        assert fused.plan(64).kernels == "fused"
        assert fused.float().plan(64).kernels == "cublas"
        assert "torch.float32" in fused.plan(64).reason


@pytest.fixture
def ran(monkeypatch):
    """The kernels of the forward passes of a `FusedMLP`, as a plan names them."""
    names = []

    def noted(name, kernels):
        function = getattr(mlp, name)
        monkeypatch.setattr(mlp, name, lambda *a: (names.append(kernels), function(*a))[1])

    noted("gated_linear", "fused")
    noted("geglu", "cublas")
    return names


SIXTEEN = (torch.bfloat16, torch.float16)


@pytest.mark.parametrize("wanted", (False, True), ids=("no gradients", "gradients"))
@pytest.mark.parametrize("autocast", (None, *SIXTEEN))
@pytest.mark.parametrize("weights", (*SIXTEEN, torch.float32))
def test_plan_names_what_forward_runs(weights, autocast, wanted, ran):
    plain = _plain(40, 24, weights).requires_grad_(wanted)
    fused = FusedMLP.from_mlp(plain)
    x = random(9, 40, dtype=weights)
    with torch.autocast(DEVICE, dtype=autocast, enabled=autocast is not None):
        plan, result, expected = fused.plan(9), fused(x), plain(x)
    assert ran == [plan.kernels]
    is_fused = not wanted and weights in SIXTEEN and autocast in (None, weights)
    assert plan.kernels == ("fused" if is_fused else "cublas"), plan.reason
    if weights in SIXTEEN and not wanted and not is_fused:
        assert f"autocast to {autocast}" in plan.reason and str(weights) in plan.reason
    assert result.dtype == expected.dtype == (autocast or weights)
    assert relative_error(result.detach(), expected.detach().double()) < 4 * TOLERANCE[result.dtype]


@pytest.mark.parametrize("inputs", SIXTEEN)
def test_an_input_of_another_dtype_is_left_to_pytorch(inputs, ran):
    fused = FusedMLP.from_mlp(_plain(40, 24, torch.bfloat16)).requires_grad_(False)
    x = random(9, 40, dtype=inputs)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert fused(x).dtype == torch.bfloat16
    assert ran == ["fused" if inputs == torch.bfloat16 else "cublas"]


@pytest.mark.filterwarnings(JIT)
@pytest.mark.parametrize("which", ("x", "weights"))
def test_fused_mlp_has_the_forward_derivative_of_the_plain_one(which, ran):
    plain = _plain(40, 24, torch.float16).requires_grad_(False)
    fused = FusedMLP.from_mlp(plain)
    x, direction = random(9, 40, dtype=torch.float16), random(9, 40, dtype=torch.float16, seed=1)

    def derivative(module):
        if which == "x":
            return torch.func.jvp(module, (x,), (direction,))[1]
        weights = dict(module.named_parameters())
        of_weights = lambda weights: torch.func.functional_call(module, weights, (x,))  # noqa: E731
        return torch.func.jvp(of_weights, (weights,), (weights,))[1]

    expected = derivative(plain).double()
    assert relative_error(derivative(fused), expected) < 4 * TOLERANCE[torch.float16]
    assert ran == ["cublas"]


def test_weights_that_change_are_read_as_they_are(ran):
    plain, other = (_plain(40, hidden, torch.float16).requires_grad_(False) for hidden in (24, 24))
    other.gate.weight.mul_(-2)
    fused = FusedMLP.from_mlp(plain)
    x = random(40, 40, dtype=torch.float16)

    def agrees(expected):
        wide = copy.deepcopy(expected).double()(x.double())
        return relative_error(fused(x), wide) < 2 * TOLERANCE[torch.float16]

    assert agrees(plain) and not agrees(other)
    fused.load_state_dict(other.state_dict())
    assert agrees(other) and not agrees(plain)
    fused.load_state_dict(plain.state_dict(), assign=True)
    assert agrees(plain) and not agrees(other)
    fused.gate_up.copy_(packing.pack(other.gate.weight, other.up.weight))
    assert agrees(other) and ran == ["fused"] * 7
    fused.requires_grad_(True)
    fused(x).sum().backward()
    assert fused.gate_up.grad is not None and ran[-1] == "cublas"
    fused.requires_grad_(False)
    fused(x)
    assert ran[-1] == "fused"
    x = x.bfloat16()
    assert fused.bfloat16()(x).dtype == torch.bfloat16 and ran[-1] == "fused"
    assert fused.float()(x.float()).dtype == torch.float32 and ran[-1] == "cublas"


@pytest.mark.parametrize("tokens", (0, 1, 40))
@pytest.mark.parametrize(("dim", "hidden"), [(1, 1), (1, 8), (8, 1), (16, 16)])
@pytest.mark.parametrize("graded", (False, True))
def test_the_smallest_sizes_are_right(dim, hidden, tokens, graded):
    plain = _plain(dim, hidden, torch.float16).requires_grad_(graded)
    fused = FusedMLP.from_mlp(plain)
    x = random(tokens, dim, dtype=torch.float16)
    result = fused(x)
    assert result.shape == (tokens, dim)
    wide = copy.deepcopy(plain).double()(x.double()).detach()
    assert relative_error(result.detach(), wide) < 3 * TOLERANCE[torch.float16]
    if graded:
        result.sum().backward()
        assert fused.gate_up.grad.shape == fused.gate_up.shape


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside torch's compiler
def test_a_compiled_module_may_change_its_tokens():
    fused = FusedMLP(72, 136, device=DEVICE, dtype=torch.float16).requires_grad_(False)
    compiled = _compiled(fused, dynamic=True, fullgraph=True)
    for tokens in (40, 100, 41, 1, 5, 0):
        x = random(tokens, 72, dtype=torch.float16)
        result = compiled(x)
        assert result.shape == x.shape
        assert relative_error(result, fused(x).double()) < TOLERANCE[torch.float16]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside torch's compiler
def test_the_operation_is_what_a_compiler_takes_it_for():
    x, packed, _ = case(12, 16, 24, torch.float16)
    for shaped in (x, x.view(3, 4, 16), x[0]):
        torch.library.opcheck(gated_gemm._opaque_gated_linear, (shaped, packed, 24, "silu"))


# The tails of the activations, small and large, beside each other: the Hopper kernel takes them in
# pairs. Against float64, elementwise, at half a unit in the last place of float16 and its least.
GATES = (
    -1e4,
    -50.0,
    -20.0,
    -9.0,
    -7.7,
    -5.0,
    -3.0,
    -1.0,
    -0.01,
    0.0,
    0.5,
    2.0,
    4.0,
    6.0,
    30.0,
    1e4,
)


@pytest.mark.filterwarnings("ignore:overflow encountered")  # numpy's, in the interpreter
@pytest.mark.parametrize("activation", REFERENCES)
@pytest.mark.parametrize("launch", ("descriptor small", "pointer small", "hopper"))
def test_every_gate_value_is_right_whatever_its_neighbour(launch, activation):
    if launch not in LAUNCHES:
        pytest.skip("this kernel's arithmetic is checked in test_gated_gemm.py")
    usable(LAUNCHES[launch])
    values = torch.tensor([[a, b] for a in GATES for b in GATES]).flatten().half().to(DEVICE)
    hidden = values.numel()
    gate, up = torch.zeros(2, hidden, 8, dtype=torch.float16, device=DEVICE)
    gate[:, 0], up[:, 1] = values, 0.5
    x = torch.ones(3, 8, dtype=torch.float16, device=DEVICE)
    result = gated_linear(x, packing.pack(gate, up), hidden, activation, LAUNCHES[launch])
    reference = 0.5 * REFERENCES[activation](values.double())
    torch.testing.assert_close(result.double(), reference.expand(3, -1), rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("activation", REFERENCES)
def test_a_missing_number_stays_one_and_does_not_spread(activation):
    gate, up = (random(24, 16, dtype=torch.float16, seed=seed) / 4 for seed in (1, 2))
    gate[7] = gate[12, 3] = float("nan")
    packed = packing.pack(gate, up)
    x = random(140, 16, dtype=torch.float16)
    x[5] = float("nan")
    expected = torch.zeros(140, 24, dtype=torch.bool, device=DEVICE)
    expected[5] = expected[:, 7] = expected[:, 12] = True
    for launch in ("descriptor small", "pointer small", "hopper"):
        if launch in LAUNCHES:
            usable(LAUNCHES[launch])
            result = gated_linear(x, packed, 24, activation, LAUNCHES[launch])
            assert torch.equal(result.isnan(), expected), launch


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside torch's compiler
@pytest.mark.skipif(INTERPRETED, reason="the compiler takes Triton's kernels on a GPU alone")
@pytest.mark.parametrize("tokens", (1, 40, 3000))
def test_a_compiled_model_may_hold_the_module(tokens):
    fused = FusedMLP(72, 136, device=DEVICE, dtype=torch.float16).requires_grad_(False)
    x = random(tokens, 72, dtype=torch.float16)
    compiled = torch.compile(lambda x: fused(x + 1) * 2, fullgraph=True)
    assert fused.plan(tokens).kernels == "fused"
    assert relative_error(compiled(x), fused(x + 1).double() * 2) < TOLERANCE[torch.float16]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:TensorFloat32")  # the compiler's
@pytest.mark.skipif(INTERPRETED, reason="the compiler takes Triton's kernels on a GPU alone")
@pytest.mark.parametrize("dtype", (torch.float16, torch.float32))
@pytest.mark.parametrize("dynamic", (None, True))
def test_a_compiled_model_may_be_trained(dynamic, dtype):
    plain = _plain(72, 136, dtype)
    fused, wide = FusedMLP.from_mlp(plain), copy.deepcopy(plain).double()
    x = random(40, 72, dtype=dtype).requires_grad_()
    y = x.detach().double().requires_grad_()
    torch.compiler.reset()
    torch.compile(fused, dynamic=dynamic, fullgraph=True)(x).square().sum().backward()
    wide(y).square().sum().backward()
    bound = 4 * TOLERANCE[dtype]
    expected = packing.pack(wide.gate.weight.grad, wide.up.weight.grad)
    assert relative_error(fused.gate_up.grad, expected) < bound
    assert relative_error(fused.down.weight.grad, wide.down.weight.grad) < bound
    assert relative_error(x.grad, y.grad) < bound


def test_a_trace_has_a_row_with_the_shapes():
    x, packed, _ = case(33, 24, 72, torch.float16)
    with torch.profiler.profile(record_shapes=True, acc_events=True) as profiler:
        gated_linear(x.view(3, 11, 24), packed, 72)
    (row,) = (event for event in profiler.events() if event.name == "fused_mlp::gated_linear")
    assert row.input_shapes == [[3, 11, 24], list(packed.shape)]
