"""`FusedMLP`: the gated MLP of the lessons in two kernels, and the rule that says when."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fused_mlp.activations import checked_activation
from fused_mlp.gated_gemm import gated_linear
from fused_mlp.geglu import geglu
from fused_mlp.packing import GROUP, pack, unpack
from fused_mlp.plain import has_tangent, plain_geglu
from fused_mlp.tiles import FEW_TOKENS, INTERPRETED, gpu_of


class Plan(NamedTuple):
    """Which kernels a forward pass runs, and why.

    `fused`: one for gate, up and activation, one for down. `cublas`: one GEMM over the packed
    weight, one pointwise kernel, one GEMM for down. `torch`: the same with PyTorch's own pointwise
    kernels, where Triton cannot run.
    """

    kernels: str
    reason: str


class FusedMLP(nn.Module):
    """`down(activation(gate(x)) * up(x))`, no biases, from `[..., dim]` to `[..., dim]`.

    Its state dict is that of the plain MLP: `gate.weight` and `up.weight` `[hidden, dim]`,
    `down.weight` `[dim, hidden]`. Loading packs gate and up into the parameter `gate_up`, once;
    saving unpacks it, into copies.
    """

    def __init__(
        self,
        dim: int,
        hidden: int,
        activation: str = "gelu_tanh",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.dim, self.hidden, self.activation = dim, hidden, checked_activation(activation)
        gate, up = (
            nn.Linear(dim, hidden, bias=False, device=device, dtype=dtype).weight for _ in range(2)
        )
        self.gate_up = nn.Parameter(pack(gate.detach(), up.detach()))
        self.down = nn.Linear(hidden, dim, bias=False, device=device, dtype=dtype)

    @classmethod
    def from_mlp(cls, mlp: nn.Module, activation: str = "gelu_tanh") -> FusedMLP:
        """A `FusedMLP` with copies of the weights of a module that has `gate`, `up` and `down`.

        What is frozen stays so. Raises `ValueError` where one of gate and up is and the other not:
        they become one parameter.
        """
        with torch.enable_grad():  # or the views in another `FusedMLP`'s state would want none
            weights = mlp.state_dict(keep_vars=True)
        gate, up, down = (weights[f"{name}.weight"] for name in ("gate", "up", "down"))
        if gate.requires_grad != up.requires_grad:
            raise ValueError(
                f"from_mlp: gate.requires_grad is {gate.requires_grad} and up.requires_grad is "
                f"{up.requires_grad}: freeze both or neither, they become one parameter"
            )
        hidden, dim = gate.shape
        fused = cls(dim, hidden, activation, device=gate.device, dtype=gate.dtype)
        own = {"gate.weight": gate.detach(), "up.weight": up.detach(), "down.weight": down.detach()}
        fused.load_state_dict(weights | own)
        fused.gate_up.requires_grad_(gate.requires_grad)
        fused.down.weight.requires_grad_(down.requires_grad)
        return fused.train(mlp.training)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, hidden={self.hidden}, activation={self.activation}"

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        names = [f"{prefix}{name}.weight" for name in ("gate", "up")]
        if all(name in state for name in names):
            weights = {name: state.pop(name) for name in names}
            wanted = (self.hidden, self.dim)
            # The packed shapes of two widths may be one: what pads them is not told from weights.
            wrong = [
                f"size mismatch for {name}: {list(weight.shape)} in the state dict, "
                f"{list(wanted)} in the module"
                for name, weight in weights.items()
                if weight.shape != wanted
            ]
            rest[-1].extend(wrong)  # the messages that `load_state_dict` raises
            state[f"{prefix}gate_up"] = self.gate_up if wrong else pack(*weights.values())
        super()._load_from_state_dict(state, prefix, *rest)

    def _save_to_state_dict(self, state: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(state, prefix, keep_vars)
        gate, up = unpack(state.pop(f"{prefix}gate_up"), self.hidden)
        state[f"{prefix}gate.weight"], state[f"{prefix}up.weight"] = gate, up

    def plan(self, tokens: int) -> Plan:
        """What `forward` would run, here and now, for an x `[tokens, dim]` of the weights' dtype
        that requires no gradients: under this grad mode and this autocast."""
        return _plan(*self._problem(tokens, self.gate_up))

    def _problem(self, tokens: int, x: Tensor) -> tuple[Any, ...]:
        """What decides between kernels. Of `x`, dtype and derivatives count."""
        weight = self.gate_up
        dtype, device = weight.dtype, weight.device
        graded = (
            has_tangent(x, weight)
            or torch.is_grad_enabled()
            and (x.requires_grad or weight.requires_grad or self.down.weight.requires_grad)
        )
        kind = device.type
        casts = kind != "meta" and torch.is_autocast_enabled(kind)
        cast = torch.get_autocast_dtype(kind) if casts else dtype
        return tokens, self.dim, self.hidden, dtype, device, graded, x.dtype, cast

    def forward(self, x: Tensor) -> Tensor:
        problem = self._problem(x.numel() // self.dim, x)
        # A compiler looks through caches, with a warning, and cannot word reasons.
        kernels, _ = _choice(*problem) if torch.compiler.is_compiling() else _plan(*problem)
        if kernels == "fused":
            return self.down(gated_linear(x, self.gate_up, self.hidden, self.activation))
        both = F.linear(x, self.gate_up).unflatten(-1, (-1, 2, GROUP))  # [..., groups, 2, GROUP]
        gate, up = both.unbind(-2)
        if kernels == "torch":
            product = plain_geglu(gate, up, self.activation)
        else:
            product = geglu(gate, up, self.activation)  # reads both in place
        return self.down(product.flatten(-2)[..., : self.hidden])


# The epilogue spares the pointwise kernel's 6 bytes a token and hidden unit (16-bit types), and the
# two projections cost 4 * dim operations. At 700 TFLOP/s and 4.2 TB/s, about what an H200 was
# measured to do, that is 250 / dim of the projections' time. Below this share of it, the difference
# between one GEMM kernel and the next matters more.
WORTHWHILE = 0.02


@functools.lru_cache(maxsize=1024)
def _plan(
    tokens: int, dim: int, hidden: int, dtype: torch.dtype, device: torch.device, graded: bool,
    inputs: torch.dtype, cast: torch.dtype,
) -> Plan:  # fmt: skip
    kernels, reason = _choice(tokens, dim, hidden, dtype, device, graded, inputs, cast)
    sizes = {"tokens": tokens, "dim": dim, "hidden": hidden, "share": _share(dim)}
    sizes["spared_mb"] = 8 * tokens * hidden / 1e6  # writes of gate(x) and up(x), reads of both
    kinds = {"dtype": dtype, "inputs": inputs, "cast": cast, "device": device}
    return Plan(kernels, reason.format(**sizes, **kinds))


def _share(dim: int) -> float:
    return 250 / dim


def _choice(
    tokens: int, dim: int, hidden: int, dtype: torch.dtype, device: torch.device, graded: bool,
    inputs: torch.dtype, cast: torch.dtype,
) -> tuple[str, str]:  # fmt: skip
    """The kernels of the plan, and the reason, still without its numbers.

    `dtype` is that of the weights, `inputs` that of x, `cast` the one that `F.linear` casts both
    to: autocast's, or the weights' own.
    """
    if device.type != "cuda" and not INTERPRETED:
        return "torch", "Triton has no kernels for a {device.type} device"
    if graded:
        return "cublas", "gradients are wanted, and they need gate(x) and up(x) in memory"
    if dtype not in (torch.bfloat16, torch.float16):
        return "cublas", "{dtype}: the fused kernel's tiles are for 16-bit types"
    if cast != dtype:
        return "cublas", "autocast to {cast} casts the weights from {dtype} for PyTorch's own GEMM"
    if inputs != dtype:
        return "cublas", "x is {inputs} and the weights are {dtype}: PyTorch casts or refuses"
    gpu, share = gpu_of(device.index), _share(dim)
    if gpu.copy_engine and (dim % 8 or hidden % 8) and tokens > FEW_TOKENS.m:
        return "cublas", "{dim} or {hidden} is no multiple of 8: no copies of whole tiles"
    if not gpu.copy_engine and share < 10 * WORTHWHILE:
        return "cublas", "without a copy engine, sparing {share:.0%} is less than cuBLAS gains"
    if gpu.copy_engine and FEW_TOKENS.m < tokens < 1024 and dim > 4096:
        return "cublas", "{tokens} tokens: reading the weight is all, and cuBLAS is faster"
    if share < WORTHWHILE:
        return "cublas", "at dim={dim} the epilogue would spare only {share:.1%}"
    return "fused", "{spared_mb:,.1f} MB of gate(x) and up(x) stay out of device memory"
