"""The MLPs that `benchmarks/mlp.py` compares: the same weights, the same result, other kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.cuda_timing import Step, captured
from fused_mlp import FusedMLP, geglu

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune")


class Shape(NamedTuple):
    """`hidden` and `dim` of a model's MLP; where its configuration is published."""

    name: str
    dim: int
    hidden: int


SHAPES = (
    Shape("BERT-base", 768, 3072),  # the lessons' default too
    Shape("Gemma 2B", 2048, 16384),
    Shape("Llama-3 8B", 4096, 14336),
    Shape("Llama-3 70B", 8192, 28672),
)


class Weights(NamedTuple):
    gate: Tensor  # [hidden, dim]
    up: Tensor  # [hidden, dim]
    down: Tensor  # [dim, hidden]

    @classmethod
    def random(cls, shape: Shape, dtype: torch.dtype) -> Weights:
        """Scaled so that activations stay about 1, as in a trained model."""
        sizes = ((shape.hidden, shape.dim),) * 2 + ((shape.dim, shape.hidden),)
        return cls(*(torch.randn(s, device="cuda").div_(s[1] ** 0.5).to(dtype) for s in sizes))

    def reference(self, x: Tensor) -> Tensor:
        """The MLP of these rows of x in float64, one weight at a time: they are large."""
        wide = x.double()
        gate = F.gelu(wide @ self.gate.double().T, approximate="tanh")
        return (gate * (wide @ self.up.double().T)) @ self.down.double().T


class MLP(nn.Module):
    def __init__(self, weights: Weights, gated: Callable[[Tensor, Tensor], Tensor]):
        super().__init__()
        for name, weight in weights._asdict().items():
            layer = nn.Linear(*reversed(weight.shape), bias=False, device="meta")
            layer.weight = nn.Parameter(weight, requires_grad=False)
            setattr(self, name, layer)
        self.gated = gated

    def forward(self, x: Tensor) -> Tensor:  # [T, D]
        return self.down(self.gated(self.gate(x), self.up(x)))


def eager_geglu(gate: Tensor, up: Tensor) -> Tensor:
    return F.gelu(gate, approximate="tanh") * up


def liger_geglu() -> Callable[[Tensor, Tensor], Tensor]:
    from liger_kernel.ops.geglu import LigerGELUMulFunction

    return LigerGELUMulFunction.apply


def compiled(function: Callable[..., Tensor], mode: str) -> Callable[..., Tensor]:
    return torch.compile(function, mode=None if mode == "default" else mode, dynamic=False)


def forwards(weights: Weights, shape: Shape, modes: list[str]) -> dict[str, Callable]:
    """Every variant's forward function, by name, without CUDA graphs of ours."""
    plain = MLP(weights, eager_geglu)
    fused = FusedMLP(shape.dim, shape.hidden, device="meta", dtype=weights.gate.dtype)
    fused.load_state_dict(
        {f"{name}.weight": weight for name, weight in weights._asdict().items()}, assign=True
    )
    return {
        "eager": plain,
        **{f"compile {mode}": compiled(plain, mode) for mode in modes},
        "liger": MLP(weights, liger_geglu()),
        "triton": MLP(weights, geglu),
        "fused": fused,
    }


def three_gemms(weights: Weights, tokens: int) -> Callable[[Tensor], Tensor]:
    """The MLP's matrix products alone, through cuBLAS: what no fusion of the rest can undercut."""
    product = torch.randn(tokens, weights.gate.shape[0], device="cuda").to(weights.gate.dtype)

    def forward(x: Tensor) -> Tensor:
        F.linear(x, weights.gate)
        F.linear(x, weights.up)
        return F.linear(product, weights.down)

    return forward


def over(forward: Callable[[Tensor], Tensor], inputs: list[Tensor]) -> list[Step]:
    """One step for each of the inputs."""
    return [lambda x=x: forward(x) for x in inputs]


def captured_over(forward: Callable[[Tensor], Tensor], inputs: list[Tensor]) -> list[Step]:
    """The same as CUDA graphs, whose inputs lie where they lay when captured."""
    return [captured(step) for step in over(forward, inputs)]
