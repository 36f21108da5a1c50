"""Checks of the Triton kernels, the same in Triton's interpreter on a CPU and on a GPU.

Triton decides when it is imported whether it interprets, so these run in processes of their own:
`tests/test_gated_gemm.py` starts them, once on each kind of device.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from warm_torch import ROOT, run_warm

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
REFERENCES = {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "silu": F.silu,
    "relu": F.relu,
}
# Against float64. Half an ulp of bfloat16 is 2e-3 on average; the interpreter cuts off instead of
# rounding, which doubles it.
TOLERANCE = {
    torch.bfloat16: 5e-3,
    torch.float16: 6e-4,
    torch.float32: 2e-6,
    torch.float64: 1e-12,
}
GUARD = 64  # elements on either side of an output that no kernel may touch
SENTINEL = 77.0
JIT = "ignore:.*torch.jit.script"  # torch's own, in its forward-mode differentiation


def run(*cases: str, interpreted: bool, warm: bool = False) -> None:
    """Run modules of this package in a child process; fails with the child's report.

    A warm one has Triton imported before, for no interpreter and no GPU.
    """
    paths = [str(Path(__file__).parent / f"{name}.py") for name in cases]
    environment = os.environ | {
        "TRITON_INTERPRET": "1" if interpreted else "0",
        "TRITON_DEFAULT_FP_FUSION": "1",  # Triton 3.9 warns where it is unset
    }
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *paths)
    if warm:
        child = run_warm(*words, environment=environment, timeout_s=280)
    else:
        child = subprocess.run(
            [sys.executable, *words],
            env=environment, cwd=ROOT, capture_output=True, text=True, timeout=280,
        )  # fmt: skip
    if child.returncode:
        pytest.fail(child.stdout[-8000:] + child.stderr[-2000:], pytrace=False)
    assert " passed" in child.stdout


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + 31 * sum(shape))
    return torch.randn(shape, generator=generator).to(device=DEVICE, dtype=dtype)


def relative_error(result: Tensor, reference: Tensor) -> float:
    """The norm of the difference over the norm of the reference; NaN never passes a bound."""
    if reference.numel() == 0:
        return 0.0
    return float((result.double() - reference).norm() / reference.norm().clamp_min(1e-300))


@contextlib.contextmanager
def poisoned_outputs() -> Iterator[list[Tensor]]:
    """Every `torch.empty` inside is full of NaN, between guards that must come out untouched."""
    empty, made = torch.empty, []

    def poisoned(*shape, dtype=None, device=None):
        shape = torch.Size(shape if all(isinstance(n, int) for n in shape) else shape[0])
        size = shape.numel()
        whole = torch.full((size + 2 * GUARD,), SENTINEL, dtype=dtype, device=device)
        made.append(whole)
        return whole[GUARD : GUARD + size].fill_(float("nan")).view(shape)

    torch.empty = poisoned
    try:
        yield made
    finally:
        torch.empty = empty
    for whole in made:
        guards = torch.cat((whole[:GUARD], whole[whole.numel() - GUARD :]))
        assert (guards == SENTINEL).all(), "a kernel wrote outside its output"
