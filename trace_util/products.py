"""FLOPs and bytes of ops that multiply: matrix products, attention, convolution.

Argument positions are those of the ATen schemas (aten/src/ATen/native/native_functions.yaml, torch
2.15). Every formula returns ``None`` for arguments that it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from trace_util.shapes import Inputs, Tensor


class Work(NamedTuple):
    """What an op must compute and move; ``None`` is "not known" and ``reason`` says why."""

    flops: int | None = None
    size_bytes: int | None = None
    dtype: str | None = None  # of what is multiplied or moved
    reason: str = ""
    is_lower_bound: bool = False  # whether more bytes than these may have to move


Formula = Callable[[Inputs], Work | None]


def bytes_of(*tensors: Tensor) -> int | None:
    """The size of all tensors together, each stored once; ``None`` for an unknown dtype."""
    sizes = [tensor.size_bytes for tensor in tensors]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape that the shapes are broadcast to; ``None`` when they do not fit."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    whole = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    fits = all(size in (1, most) for p in padded for size, most in zip(p, whole, strict=True))
    return whole if fits else None


def product(a: Tensor | None, b: Tensor | None, extra: Tensor | None = None) -> Work | None:
    """``a @ b``, batches broadcast, with a tensor that is added to it."""
    if a is None or b is None or not a.dims or not b.dims:
        return None
    left = a.dims if len(a.dims) > 1 else (1, *a.dims)
    right = b.dims if len(b.dims) > 1 else (*b.dims, 1)
    batch = broadcast([left[:-2], right[:-2]])
    if left[-1] != right[-2] or batch is None:
        return None
    output = Tensor((*batch, left[-2], right[-1]), a.dtype)
    added = (extra,) if extra else ()
    return Work(2 * output.elements * left[-1], bytes_of(a, b, output, *added), a.dtype)


def mm(given: Inputs) -> Work | None:
    """``mm``, ``bmm``, ``matmul`` and their kin: the product of the first two."""
    return product(given.tensor(0), given.tensor(1))


def addmm(given: Inputs) -> Work | None:
    """``addmm`` and ``baddbmm``: the product of the second and third, plus the first."""
    return product(given.tensor(1), given.tensor(2), given.tensor(0))


def linear(given: Inputs) -> Work | None:
    """``linear(x, weight, bias)`` with a weight of ``[out, in]``."""
    x, weight = given.tensor(0), given.tensor(1)
    if x is None or weight is None or not x.dims or len(weight.dims) != 2:
        return None
    rows = Tensor((prod(x.dims[:-1]), x.dims[-1]), x.dtype)
    return product(rows, Tensor(weight.dims[::-1], weight.dtype), given.tensor(2))


def gated_linear(given: Inputs) -> Work | None:
    """``fused_mlp::gated_linear(x, packed)``, whose packed rows are those of gate and up.

    The output is half as wide; rows that pad the packed weight count as what they cost.
    """
    x, packed = given.tensor(0), given.tensor(1)
    if x is None or packed is None or not x.dims or len(packed.dims) != 2:
        return None
    rows, width = packed.dims
    if x.dims[-1] != width:
        return None
    tokens = prod(x.dims[:-1])
    output = Tensor((tokens, rows // 2), x.dtype)
    return Work(2 * tokens * rows * width, bytes_of(x, packed, output), x.dtype)


def scaled_mm(given: Inputs) -> Work | None:
    """``_scaled_mm`` of fp8: the output is wider, at least 2 bytes, and its dtype unrecorded."""
    found = mm(given)
    a, b = given.tensor(0), given.tensor(1)
    if found is None or a is None or b is None:
        return None
    size = bytes_of(a, b, Tensor((a.dims[0], b.dims[1]), "bf16"))
    return found._replace(size_bytes=size, is_lower_bound=True)


def attention(causal: int, *, heads_first: bool = True) -> Formula:
    """Both products of attention, ``q k^T`` and the scores times ``v``; ``causal``: its position.

    Tensors are ``[batch, heads, sequence, size]``, or with heads after the sequence.
    """

    def work(given: Inputs) -> Work | None:
        q, k, v = given.tensor(0), given.tensor(1), given.tensor(2)
        if (
            q is None
            or k is None
            or v is None
            or not len(q.dims) == len(k.dims) == len(v.dims) == 4
        ):
            return None
        sequence, head = (2, 1) if heads_first else (1, 2)
        scores = q.dims[0] * q.dims[head] * q.dims[sequence] * k.dims[sequence]
        flops = 2 * scores * (q.dims[3] + v.dims[3])
        # A causal mask leaves half of the products, to within one row. 1 and 2 are its kinds in
        # _efficient_attention_forward.
        if given.text(causal).lower() in ("true", "1", "2"):
            flops //= 2
        output = Tensor((*q.dims[:3], v.dims[3]), q.dtype)
        return Work(flops, bytes_of(q, k, v, output), q.dtype)

    return work


def convolution(stride: int, padding: int, dilation: int, groups: int) -> Formula:
    """A forward convolution of ``[batch, channels, …]``; the numbers are argument positions."""

    def work(given: Inputs) -> Work | None:
        x, weight = given.tensor(0), given.tensor(1)
        steps, pads, spread = (given.numbers(i) for i in (stride, padding, dilation))
        group = given.numbers(groups)
        if x is None or weight is None or not (steps and pads and spread and group):
            return None
        space = len(weight.dims) - 2
        # A transposed convolution, and one without a batch, have other channels here.
        if len(x.dims) != space + 2 or x.dims[1] != weight.dims[1] * group[0]:
            return None
        sizes = [
            _output_size(
                x.dims[2 + i], weight.dims[2 + i], *(v[i % len(v)] for v in (steps, pads, spread))
            )
            for i in range(space)
        ]
        output = Tensor((x.dims[0], weight.dims[0], *sizes), x.dtype)
        flops = 2 * output.elements * prod(weight.dims[1:])
        return Work(flops, bytes_of(x, weight, output), x.dtype)

    return work


def _output_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def convolution_backward(given: Inputs) -> Work | None:
    """One of the two gradients; each multiplies as much as the forward pass does."""
    gradient, x, weight = given.tensor(0), given.tensor(1), given.tensor(2)
    if gradient is None or x is None or weight is None or len(weight.dims) < 3:
        return None
    flops = 2 * gradient.elements * prod(weight.dims[1:])
    return Work(flops, bytes_of(gradient, x, weight), x.dtype)
