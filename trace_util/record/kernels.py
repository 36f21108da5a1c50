"""What the lesson on hand-written kernels needs before and around them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..events import TraceError
from .flags import LessonParser
from .output import say
from .recorded import or_see
from .run import Run

# Liger fuses the tanh GELU and SiLU and no other activation (liger_kernel/ops/geglu.py, swiglu.py).
LIGER_ACTIVATIONS = ("gelu_tanh", "silu")
INSTALL = {
    "triton": "Triton is not installed (it comes with torch's CUDA builds for Linux)",
    "fused": "Triton is not installed (it comes with torch's CUDA builds for Linux)",
    "liger": "the package liger-kernel is not installed (pip install liger-kernel)",
    "hub": "the package kernels is not installed (pip install kernels)",
}

# Triton's interpreter takes about a millisecond for each block of a kernel, so the lesson's own
# sizes would take minutes. These take seconds and still fill more than one block.
INTERPRETED_SIZES = {"batch": 2, "seq": 16, "dim": 64, "hidden": 256}


def interpretable(parser: LessonParser, flags: argparse.Namespace) -> argparse.Namespace:
    """The flags, with small sizes where a Triton kernel of ours will run in the interpreter.

    Sizes that were given are kept. Triton is told to interpret here and not later: what it has
    compiled by the time it is told, its own library when it is imported, no interpreted kernel can
    call, and what the profiler imports imports Triton too.
    """
    on_gpu = flags.device != "cpu" and torch.cuda.is_available()
    if on_gpu or flags.device == "cuda" or flags.kernel not in ("triton", "fused"):
        return flags
    os.environ["TRITON_INTERPRET"] = "1"
    given = {n: getattr(flags, n) for n in INTERPRETED_SIZES}
    if any(given[n] != parser.get_default(n) for n in given):
        say("note: no GPU, so the Triton kernel runs in Triton's interpreter; times mean nothing")
        return flags
    shown = " ".join(f"--{n} {value}" for n, value in INTERPRETED_SIZES.items())
    say(f"note: no GPU, so the Triton kernel runs in Triton's interpreter, at {shown}")
    return argparse.Namespace(**{**vars(flags), **INTERPRETED_SIZES})


@contextmanager
def needs_kernel(run: Run) -> Iterator[None]:
    """Turns whatever keeps the run's kernel from being had within the block into one sentence.

    Raises:
        TraceError: naming the flag to use instead, and a recorded run to look at.
    """
    kernel, see = run.flags.kernel, or_see(run.wanted)
    if kernel in ("liger", "hub"):
        _require_liger(kernel, run.flags.activation, see)
    other = "--kernel liger" if kernel in ("triton", "fused") else "--kernel triton"
    try:
        yield
    except ImportError as error:
        raise TraceError(f"--kernel {kernel}: {INSTALL[kernel]}; use {other}{see}") from error
    except (TraceError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if kernel != "hub":
            raise
        # Network, cache, offline mode, no build for this torch: the library and the Hub client
        # below it raise many kinds, and none of them is a bug of the lesson.
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise TraceError(f"--kernel hub: {why}; use --kernel triton{see}") from error


def _require_liger(kernel: str, activation: str, see: str) -> None:
    if activation not in LIGER_ACTIVATIONS:
        whose = "the Hub's kernel is Liger's, which" if kernel == "hub" else "Liger"
        raise TraceError(
            f"--kernel {kernel} --activation {activation}: {whose} has no {activation}, only "
            f"{' and '.join(LIGER_ACTIVATIONS)}; use --kernel triton"
        )
    if not torch.cuda.is_available():
        raise TraceError(
            f"--kernel {kernel}: needs a GPU; use --kernel triton or fused, which run in Triton's "
            f"interpreter{see}"
        )
