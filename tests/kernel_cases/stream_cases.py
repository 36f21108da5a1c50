"""Checks of where and when the kernels run: streams, CUDA graphs, other GPUs. All need a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fused_mlp import FusedMLP, gated_gemm, gated_linear, geglu, launches
from fused_mlp.packing import unpack
from tests.kernel_cases import INTERPRETED, REFERENCES, TOLERANCE, random, relative_error
from tests.kernel_cases.gated_gemm_cases import LAUNCHES, case, usable

pytestmark = pytest.mark.skipif(INTERPRETED, reason="the interpreter has no streams")
TWO_GPUS = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
TOKENS, DIM, HIDDEN = SHAPE = (200, 136, 24)
HALF = torch.float16


def _gated(x: Tensor, packed: Tensor) -> Tensor:
    gate, up = (x.double() @ weight.double().T for weight in unpack(packed, HIDDEN))
    return REFERENCES["gelu_tanh"](gate) * up


def _gradient(x: Tensor, gated: Callable[[Tensor, Tensor], Tensor] = geglu) -> Tensor:
    x = x.detach().requires_grad_()
    gated(*x.chunk(2, dim=-1)).sum().backward()
    return x.grad


def _gradient_in_float64(x: Tensor) -> Tensor:
    return _gradient(x.double(), lambda gate, up: REFERENCES["gelu_tanh"](gate) * up)


def _on_a_side_stream(function: Callable[[Tensor], Tensor], x: Tensor, later: Tensor) -> Tensor:
    """`function(x)` on a stream of its own, where x becomes `later` only some 10 ms from now."""
    stream = torch.cuda.Stream(x.device)
    stream.wait_stream(torch.cuda.current_stream(x.device))
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)  # cycles
        x.copy_(later)
        result = function(x)
    stream.synchronize()
    return result


@pytest.mark.parametrize("launch", LAUNCHES)
def test_gated_linear_runs_on_the_current_stream(launch):
    usable(LAUNCHES[launch])
    x, packed, _ = case(*SHAPE, HALF)
    for seed in (5, 6, 7):  # Triton's own launch, then ours
        later = random(TOKENS, DIM, dtype=HALF, seed=seed)
        result = _on_a_side_stream(
            lambda x: gated_linear(x, packed, HIDDEN, launch=LAUNCHES[launch]), x, later
        )
        assert relative_error(result, _gated(later, packed)) < TOLERANCE[HALF]


def test_geglu_runs_on_the_current_stream_in_both_directions():
    x = random(TOKENS, DIM, dtype=HALF)
    for seed in (5, 6, 7):
        later = random(TOKENS, DIM, dtype=HALF, seed=seed)
        gradient = _on_a_side_stream(_gradient, x, later)
        assert relative_error(gradient, _gradient_in_float64(later)) < 1.5 * TOLERANCE[HALF]


@pytest.fixture
def forgotten():
    """No kernel was ever launched: each is loaded anew."""
    kernels = [gated_gemm._geglu_gemm_kernel, gated_gemm._geglu_gemm_pointer_kernel]
    kernels.append(importlib.import_module("fused_mlp.geglu")._geglu_forward_kernel)
    if gated_gemm.hopper is not None:
        kernels.append(gated_gemm.hopper._geglu_gemm_hopper_kernel)
    for kernel in kernels:
        kernel.device_caches.clear()
    launches._compiled.clear()
    launches._descriptors.clear()


def _check_captured(function: Callable[[Tensor], Tensor], x: Tensor) -> None:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function(x)
    for seed in (5, 6):
        x.copy_(random(*x.shape, dtype=x.dtype, seed=seed))
        graph.replay()
        assert torch.equal(result, function(x))


@pytest.mark.parametrize("launch", LAUNCHES)
def test_the_first_call_of_gated_linear_may_be_captured(launch, forgotten):
    usable(LAUNCHES[launch])
    x, packed, _ = case(*SHAPE, HALF)
    _check_captured(lambda x: gated_linear(x, packed, HIDDEN, launch=LAUNCHES[launch]), x)


def test_the_first_call_of_geglu_may_be_captured(forgotten):
    _check_captured(lambda x: geglu(*x.chunk(2, dim=-1)), random(TOKENS, DIM, dtype=HALF))


@TWO_GPUS
@pytest.mark.parametrize("launch", LAUNCHES)
def test_gated_linear_runs_where_its_tensors_are(launch):
    usable(LAUNCHES[launch])
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x, packed, _ = (tensor.to(device) for tensor in case(*SHAPE, HALF))
        result = gated_linear(x, packed, HIDDEN, launch=LAUNCHES[launch])
        assert result.device == x.device and torch.cuda.current_device() == 0
        assert relative_error(result, _gated(x, packed)) < TOLERANCE[HALF]


@TWO_GPUS
def test_modules_and_gradients_may_be_on_another_gpu():
    x = random(TOKENS, DIM, dtype=HALF).to("cuda:1")
    assert relative_error(_gradient(x), _gradient_in_float64(x)) < 1.5 * TOLERANCE[HALF]
    fused = FusedMLP(DIM, HIDDEN, device="cuda:0", dtype=HALF).requires_grad_(False)
    expected = fused(x.to("cuda:0"))
    assert fused.to("cuda:1").plan(TOKENS).kernels == "fused"
    assert relative_error(fused(x).cpu(), expected.cpu().double()) < TOLERANCE[HALF]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside torch's compiler
def test_a_compiled_geglu_may_change_its_rows():
    torch.compiler.reset()
    compiled = torch.compile(lambda x: geglu(*(x + 1).chunk(2, -1)), dynamic=True, fullgraph=True)
    for rows, columns in ((7, 40), (300, 40), (5, 130), (1, 2), (0, 40)):
        x = random(rows, columns)
        left, right = (x.double() + 1).chunk(2, -1)
        result = compiled(x)
        assert result.shape == left.shape
        assert relative_error(result, REFERENCES["gelu_tanh"](left) * right) < 2e-6
