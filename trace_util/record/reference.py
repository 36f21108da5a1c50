"""How far an output is from the same computation in float64."""

from __future__ import annotations

import math

import torch


def relative_error(output: torch.Tensor, reference: torch.Tensor) -> float | None:
    """``|output - reference| / |reference|`` (Frobenius norms), computed in float64.

    ``reference`` holds the first rows of what ``output`` should be, worked out in float64 from the
    same weights and inputs: rows are independent in every lesson, so a part is enough.
    Infinity where the output holds NaN or infinity and the reference does not. ``None`` where there
    is no such number: the reference is zero, or itself not finite.
    """
    rows = reference.reshape(-1, reference.shape[-1])
    got = output.detach().reshape(-1, output.shape[-1])[: len(rows)].to(torch.float64)
    error, scale = float(torch.linalg.norm(got - rows)), float(torch.linalg.norm(rows))
    if not math.isfinite(scale):
        return None
    if not torch.isfinite(output).all():
        return math.inf
    if error == 0:
        return 0.0
    return error / scale if scale else None
