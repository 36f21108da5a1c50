from __future__ import annotations

import pytest
import torch
from torch.autograd import forward_ad

from fused_mlp import geglu
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

DTYPES = (torch.bfloat16, torch.float16, torch.float32)
# Below, at and above one block of 2048, no multiple of anything, empty, and without dimensions.
SHAPES = ((), (5,), (0, 5), (3, 0), (2, 7, 33), (1, 2048), (2049,), (130, 64))


def _check_forward(shape, dtype, activation):
    gate, up = random(*shape, dtype=dtype), random(*shape, dtype=dtype, seed=1)
    with poisoned_outputs():
        result = geglu(gate, up, activation)
    assert result.shape == gate.shape and result.dtype == dtype and result.is_contiguous()
    reference = REFERENCES[activation](gate.double()) * up.double()
    assert relative_error(result, reference) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_agrees_with_float64(shape, dtype):
    _check_forward(shape, dtype, "gelu_tanh")


@pytest.mark.parametrize("activation", REFERENCES)
@pytest.mark.parametrize("dtype", (*DTYPES, torch.float64))
def test_every_activation_agrees_with_float64(dtype, activation):
    _check_forward((3, 11), dtype, activation)


def _halves(x):
    return x.chunk(2, dim=-1)


STRIDED = {
    "halves of each row": lambda: _halves(random(33, 70)),
    "halves, three dimensions": lambda: _halves(random(3, 11, 70)),
    "halves of single columns": lambda: _halves(random(19, 2)),
    "every other row": lambda: (random(40, 24)[::2], random(40, 24, seed=1)[1::2]),
    "groups of a packed projection": lambda: random(5, 96).unflatten(-1, (-1, 2, 16)).unbind(-2),
    "one contiguous, one not": lambda: (random(7, 12), random(7, 24, seed=1)[:, :12]),
    "transposed": lambda: (random(24, 17).T, random(24, 17, seed=1).T),
    "expanded": lambda: (random(1, 20).expand(9, 20), random(9, 1).expand(9, 20)),
    "every other column": lambda: (random(9, 40)[:, ::2], random(9, 40, seed=1)[:, 1::2]),
    "an odd offset": lambda: (random(101)[1:], random(103, seed=1)[3:]),
    "permuted batch": lambda: (random(4, 3, 8).transpose(0, 1), random(3, 4, 8, seed=1)),
}


@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_inputs_are_read_where_they_lie(layout, dtype):
    gate, up = (x.to(dtype) if x.is_contiguous() else x for x in STRIDED[layout]())
    dtype = torch.float32 if torch.float32 in (gate.dtype, up.dtype) else dtype
    gate, up = _same_strides(gate, dtype), _same_strides(up, dtype)
    before = gate.clone(), up.clone()
    with poisoned_outputs():
        result = geglu(gate, up, "silu")
    reference = REFERENCES["silu"](gate.double()) * up.double()
    assert relative_error(result, reference) < TOLERANCE[dtype]
    assert torch.equal(gate, before[0]) and torch.equal(up, before[1])


def _same_strides(x, dtype):
    """`x` in another dtype, still a view with its strides."""
    storage = torch.empty(x.untyped_storage().nbytes() // x.element_size(), dtype=dtype).to(DEVICE)
    view = storage.as_strided(x.shape, x.stride(), x.storage_offset())
    flat = x.as_strided((storage.numel(),), (1,), 0)
    storage.copy_(flat)
    return view


def test_halves_of_each_row_are_not_copied(monkeypatch):
    gate, up = _halves(random(33, 64))
    monkeypatch.setattr(torch.Tensor, "contiguous", lambda x: pytest.fail("copied"))
    geglu(gate, up)


@pytest.mark.parametrize("activation", REFERENCES)
def test_gradients_are_those_of_finite_differences(activation):
    x = random(3, 6, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: geglu(*_halves(x), activation), (x,))


@pytest.mark.parametrize("activation", REFERENCES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_backward_agrees_with_float64(dtype, activation):
    gate, up = (random(33, 130, dtype=dtype, seed=s).requires_grad_() for s in (0, 1))
    wide = [x.detach().double().requires_grad_() for x in (gate, up)]
    weight = random(33, 130, dtype=dtype, seed=2)
    with poisoned_outputs():
        (geglu(gate, up, activation) * weight).sum().backward()
    (REFERENCES[activation](wide[0]) * wide[1] * weight.double()).sum().backward()
    for x, reference in zip((gate, up), wide, strict=True):
        assert relative_error(x.grad, reference.grad) < 1.5 * TOLERANCE[dtype]


@pytest.mark.parametrize("activation", REFERENCES)
def test_the_slope_at_zero_is_pytorch_s(activation):
    gate = torch.tensor([-0.0, 0.0, 1e-30, -1e-30], device=DEVICE, requires_grad=True)
    wide = gate.detach().double().requires_grad_()
    geglu(gate, torch.ones_like(gate), activation).sum().backward()
    REFERENCES[activation](wide).sum().backward()
    torch.testing.assert_close(gate.grad, wide.grad.float())  # of ReLU: 0, 0, 1, 0


def test_backward_takes_an_expanded_gradient():
    gate, up = (random(9, 40, seed=s).requires_grad_() for s in (0, 1))
    geglu(gate, up).sum().backward()
    wide = [x.detach().double().requires_grad_() for x in (gate, up)]
    (REFERENCES["gelu_tanh"](wide[0]) * wide[1]).sum().backward()
    assert relative_error(gate.grad, wide[0].grad) < 1e-6
    assert relative_error(up.grad, wide[1].grad) < 1e-6


def _dual(gate, up, tangents, activation):
    with forward_ad.dual_level():
        duals = (forward_ad.make_dual(*pair) for pair in zip((gate, up), tangents, strict=True))
        return forward_ad.unpack_dual(geglu(*duals, activation))


def _jvp(gate, up, tangents, activation):
    return torch.func.jvp(lambda g, u: geglu(g, u, activation), (gate, up), tangents)


@pytest.mark.filterwarnings(JIT)
@pytest.mark.parametrize("activation", REFERENCES)
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
@pytest.mark.parametrize("way", (_dual, _jvp))
def test_forward_derivatives_agree_with_float64(way, dtype, activation):
    gate, up, *tangents = (random(5, 33, dtype=dtype, seed=seed) for seed in range(4))
    result, derivative = way(gate, up, tuple(tangents), activation)
    reference, expected = torch.func.jvp(
        lambda g, u: REFERENCES[activation](g) * u,
        (gate.double(), up.double()), tuple(t.double() for t in tangents),
    )  # fmt: skip
    assert relative_error(result, reference) < TOLERANCE[dtype]
    assert relative_error(derivative, expected) < TOLERANCE[dtype]


@pytest.mark.filterwarnings(JIT)
@pytest.mark.parametrize("which", (0, 1))
def test_one_tangent_is_enough(which):
    pair, tangent = [random(5, 33), random(5, 33, seed=1)], random(5, 33, seed=2)
    with torch.no_grad(), forward_ad.dual_level():
        pair[which] = forward_ad.make_dual(pair[which], tangent)
        derivative = forward_ad.unpack_dual(geglu(*pair, "silu")).tangent
        expected = forward_ad.unpack_dual(REFERENCES["silu"](pair[0]) * pair[1]).tangent
        torch.testing.assert_close(derivative, expected)
        assert forward_ad.unpack_dual(geglu(random(3), random(3))).tangent is None


def test_gradients_of_gradients_are_refused():
    x = random(4, 8).requires_grad_()
    (first,) = torch.autograd.grad(geglu(*_halves(x)).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.filterwarnings("ignore:overflow encountered")  # numpy's, in the interpreter
@pytest.mark.parametrize("activation", REFERENCES)
def test_extreme_values_come_out_as_pytorch_has_them(activation):
    gate = torch.tensor([-1e4, -88.0, -20.0, -0.0, 0.0, 20.0, 88.0, 1e4, float("nan")]).to(DEVICE)
    result = geglu(gate, torch.ones_like(gate), activation)
    reference = REFERENCES[activation](gate.double()).float()
    torch.testing.assert_close(result, reference, equal_nan=True, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("gate", "up", "activation", "message"),
    [
        ((3, 4), (4, 3), "gelu", r"gate is \[3, 4\].*must be the same"),
        ((3,), (3,), "tanh", "'tanh': choose one of gelu_tanh, gelu, silu, relu"),
    ],
)
def test_what_does_not_match_is_refused(gate, up, activation, message):
    with pytest.raises(ValueError, match=message):
        geglu(random(*gate), random(*up), activation)


def test_other_dtypes_are_refused():
    with pytest.raises(ValueError, match="must be the same"):
        geglu(random(3), random(3, dtype=torch.float16))
    for dtype in (torch.int8, torch.bool, torch.complex64, torch.float8_e4m3fn):
        other = torch.ones(3, device=DEVICE).to(dtype)
        with pytest.raises(ValueError, match=rf"^geglu: \[3\] {dtype} on .*, of bfloat16, float16"):
            geglu(other, other)


@pytest.mark.parametrize("device", ("meta",) if INTERPRETED else ("meta", "cpu"))
def test_other_devices_are_refused(device):
    x = torch.ones(3, device=device)
    for gate in (x, x.clone().requires_grad_()):
        with pytest.raises(ValueError, match=f"^geglu: .* on {device}: a tensor on a CUDA GPU is"):
            geglu(gate, x)


def test_each_launch_reads_its_own_tensors_wherever_they_lie():
    # The same sizes again: other addresses, then addresses that are no multiple of 16, and back.
    for offset in (0, 0, 1, 1, 0):
        gate, up = (random(8191 + offset, seed=s)[offset:] for s in (2 * offset, 2 * offset + 1))
        with poisoned_outputs():
            result = geglu(gate, up)
        assert relative_error(result, REFERENCES["gelu_tanh"](gate.double()) * up.double()) < 2e-6


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside torch's compiler
@pytest.mark.skipif(INTERPRETED, reason="the compiler takes Triton's kernels on a GPU alone")
def test_a_compiled_model_may_hold_it():
    gate, up = random(33, 130), random(33, 130, seed=1)
    compiled = torch.compile(lambda g, u: geglu(g + 1, u) * 2, fullgraph=True)
    reference = REFERENCES["gelu_tanh"](gate.double() + 1) * up.double() * 2
    assert relative_error(compiled(gate, up), reference) < 2e-6


def test_a_trace_has_a_row_with_the_shapes():
    with torch.profiler.profile(record_shapes=True, acc_events=True) as profiler:
        geglu(random(3, 5, 7), random(3, 5, 7))
    (row,) = (event for event in profiler.events() if event.name == "fused_mlp::geglu")
    assert row.input_shapes == [[3, 5, 7], [3, 5, 7]]
