"""The gated activations and their slopes, as Triton functions that every kernel here inlines."""

from __future__ import annotations

import triton
import triton.language as tl

# The names that every `activation=` argument of this package accepts.
ACTIVATIONS = ("gelu_tanh", "gelu", "silu", "relu")


@triton.jit
def growth_exponent(x):
    """-2 log2(e) z, where GELU's tanh form is x * 0.5 (1 + tanh z), z = sqrt(2 / pi)
    (x + 0.044715 x^3) (Hendrycks and Gimpel, arXiv 1606.08415)."""
    return x * (-2.302208198144325 - 0.10294323958002349 * x * x)


@triton.jit
def _growth(x):
    # That form is x / (1 + exp(-2 z)): one exponential and no tanh, and with log2(e) folded into
    # the constants, exp(-2 z) is one instruction of the hardware, exp2.
    return tl.exp2(growth_exponent(x))


@triton.jit
def activate(x, ACTIVATION: tl.constexpr):
    """The activation of `x`, in the float type of `x` (float32 or float64)."""
    if ACTIVATION == "gelu_tanh":
        return x / (1.0 + _growth(x))
    elif ACTIVATION == "gelu":
        return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))  # sqrt(1 / 2)
    elif ACTIVATION == "silu":
        return x / (1.0 + tl.exp(-x))
    else:
        return tl.where(x < 0, 0.0, x)  # not tl.maximum, which would turn a NaN into 0


@triton.jit
def slope(x, ACTIVATION: tl.constexpr):
    """The derivative of `activate` at `x`."""
    if ACTIVATION == "gelu_tanh":
        s = 1.0 / (1.0 + _growth(x))
        return s + x * s * (1.0 - s) * 1.5957691216057308 * (1.0 + 0.134145 * x * x)
    elif ACTIVATION == "gelu":
        density = 0.3989422804014327 * tl.exp(-0.5 * x * x)  # of the standard normal
        return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476)) + x * density
    elif ACTIVATION == "silu":
        s = 1.0 / (1.0 + tl.exp(-x))
        return s * (1.0 + x * (1.0 - s))
    else:
        return tl.where(x <= 0, 0.0, 1.0)


def checked_activation(activation: str) -> str:
    """The same name. Raises `ValueError` where no kernel here knows it."""
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation {activation!r}: choose one of {', '.join(ACTIVATIONS)}")
    return activation
