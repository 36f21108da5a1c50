"""Records a lesson: flags, device, step time, trace, table and health check.

The lessons keep their torch code and their ``torch.profiler`` block on the page and leave the
plumbing to this package, the only one in ``trace_util`` that imports torch.
"""

from __future__ import annotations

from typing import Any

# Before torch, whose import takes seconds.
from . import interruption as interruption  # isort: split

from ..report.text import shell_path
from .device import require_compile
from .flags import COMPILE_MODES, DTYPES, LessonParser, size
from .kernels import interpretable, needs_kernel
from .output import predict, quantity, say, section
from .read_back import finish
from .reference import relative_error
from .run import Run, begin, ranks
from .save import Saved, save
from .timing import StepTime, step_time

interruption.raise_again()

__all__ = [
    "COMPILE_MODES",
    "DTYPES",
    "LessonParser",
    "Run",
    "Saved",
    "StepTime",
    "begin",
    "finish",
    "interpretable",
    "needs_kernel",
    "predict",
    "quantity",
    "ranks",
    "relative_error",
    "require_compile",
    "save",
    "say",
    "section",
    "shell_path",
    "size",
    "step_time",
    "sweep",
]


def __getattr__(name: str) -> Any:
    # A sweep needs the explanations, tqdm and matplotlib; a single run should not wait for them.
    if name == "sweep":
        from .size_sweep import sweep

        return sweep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
