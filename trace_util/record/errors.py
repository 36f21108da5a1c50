"""Turns what goes wrong in a lesson into one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import TracebackType

import torch

from ..cli import DEBUG_VARIABLE
from ..events import TraceError
from ..report.hints import say
from ..standard_output import INTERRUPTED, OutputError, give_output_up, in_words
from .output import let_first_rank_tell

# How torch words a failed allocation (c10/core/impl/alloc_cpu.cpp, ATen's storage size check).
NO_MEMORY_TEXTS = ("can't allocate memory", "not enough memory", "size calculation overflowed")

INTERRUPTION = "interrupted"


def one_line(error: BaseException, sizes: Sequence[str]) -> str | None:
    """What to tell the reader, in one line; ``None`` for a bug, which keeps its traceback.

    ``sizes`` are the flags to reduce when memory runs out. An error that another one interrupted
    counts too: leaving the profiler's block too early makes torch raise an error of its own.
    """
    known = _known(error, sizes)
    return known or (one_line(error.__context__, sizes) if error.__context__ else None)


def _known(error: BaseException, sizes: Sequence[str]) -> str | None:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTION
    if isinstance(error, OSError):
        return in_words(error)
    text = " ".join(str(error).split())
    out_of_memory = isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(words in text for words in NO_MEMORY_TEXTS)
    )
    if out_of_memory:
        return f"out of memory; reduce {' or '.join(sizes)}"
    if isinstance(error, TraceError):
        return text
    module = type(error).__module__
    if module.startswith(("torch._dynamo", "torch._inductor")):
        return f"torch.compile failed ({text[:160]}); leave out --compile"
    return None


def speak_plainly(sizes: Sequence[str]) -> None:
    """From here on an uncaught error of this process is one line on stderr and exit code 1.

    After Ctrl-C the code is 130.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        message = one_line(error, sizes)
        if message is None or os.environ.get(DEBUG_VARIABLE):
            sys.__excepthook__(kind, error, trace)
            return
        if isinstance(error, OutputError):
            give_output_up()
        if message != INTERRUPTION:
            let_first_rank_tell()
        say(f"error: {message}")
        raise SystemExit(INTERRUPTED if message == INTERRUPTION else 1)

    sys.excepthook = hook
