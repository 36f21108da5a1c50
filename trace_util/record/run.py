"""One run of a lesson: what is recorded, where, and under which name."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
import shlex
import sys
import warnings
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from .. import __version__
from ..cli import speak_anywhere
from ..events import TraceError
from ..standard_output import guard_output
from .device import (
    choose_device,
    driver_version,
    gpu_facts,
    profiler_activities,
    require_compile,
    require_dtype,
)
from .errors import speak_plainly
from .flags import LessonParser
from .folders import require_writable
from .interruption import leave_at_once, raise_again
from .output import say
from .recorded import Wanted, or_see
from .sharing import require_login

# Where it is said who is asking, not what was run; these stay out of the trace.
PRIVATE_FLAGS = ("trace_dir", "bucket", "namespace", "private", "yes", "redact")


@dataclass(frozen=True)
class Run:
    """A run of a lesson, before it is recorded."""

    lesson: str
    variant: str
    annotation: str
    tag: str
    warm: bool
    flags: argparse.Namespace
    device: torch.device
    dtype: torch.dtype
    activities: list[ProfilerActivity]

    @property
    def wanted(self) -> Wanted:
        """What to look for among the recorded runs."""
        return Wanted(self.lesson, self.variant, self.tag)

    @property
    def path(self) -> Path:
        """The trace file to write."""
        return Path(self.flags.trace_dir) / f"{self.tag}.json"


def begin(
    parser: LessonParser,
    flags: argparse.Namespace,
    *,
    annotation: str,
    variant: str,
    tag: str,
    warm: bool,
) -> Run:
    """The run that ``flags`` describe, with the device chosen and the folder known to be writable.

    The name gets ``cpu_`` in front when the CPU is used, and the rank behind under torchrun.

    Raises:
        TraceError: the device, the dtype, torch.compile or the folder cannot be had.
    """
    speak_anywhere()
    guard_output(goes_on=True)
    speak_plainly(parser.sizes())
    # Kineto writes lines of its own to stderr, errors about absent GPUs among them; what matters of
    # them the health check says after the run. 6 is above every level it has.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    # Said of every schedule that ends a cycle, and of no consequence with one cycle (torch 2.11).
    warnings.filterwarnings("ignore", message=".*Profiler clears events at the end of each cycle")
    warnings.filterwarnings("ignore", message="Profiler won't be using warmup")
    if not flags.warmup_steps:
        say("note: --warmup_steps 0: the first recorded step also pays for the profiler's start")
    lesson = Path(sys.argv[0]).stem
    device = choose_device(flags.device)
    dtype = require_dtype(flags.dtype, device)
    if variant == "compile":
        require_compile(device)
    if getattr(flags, "cuda_graph", False) and device.type == "cpu":
        see = or_see(Wanted(lesson, variant, tag))
        raise TraceError(f"--cuda_graph: needs a GPU; leave it out{see}")
    if getattr(flags, "cuda_graph", False) and flags.sweep:
        raise TraceError("--cuda_graph: captures one size, and --sweep runs many; leave one out")
    require_login(flags)
    rank = os.environ.get("RANK")
    tag = ("cpu_" if device.type == "cpu" else "") + tag + (f"_rank{rank}" if rank else "")
    require_writable(Path(flags.trace_dir), "--trace_dir")
    if device.type == "cpu":
        say(f"note: {lesson} runs on the CPU, so nothing that a GPU does can be seen in this trace")
    _import_early()
    torch.manual_seed(flags.seed)
    return Run(
        lesson, variant, annotation, tag, warm, flags, device, dtype, profiler_activities(device)
    )


def _import_early() -> None:
    """Import what the profiler imports when it starts (torch/profiler/profiler.py, torch 2.15).

    It takes seconds, in which Ctrl-C would make torch abort.
    """
    leave_at_once()
    importlib.import_module("torch._inductor.config")
    raise_again()


def ranks(parser: LessonParser) -> tuple[int, int]:
    """This process's rank and the number of ranks, as torchrun tells them in the environment.

    Exits with code 2 when the lesson was started without torchrun.
    """
    try:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        parser.error(f"start it with torchrun --nproc_per_node 2 {Path(sys.argv[0]).name}")


def command(run: Run) -> str:
    """The command that repeats the run, without the flags that say where its trace went."""
    words = iter(sys.argv[1:])
    kept = []
    for word in words:
        if re.match("-[bn].", word):  # with its value attached: -bNAME, -b=NAME
            continue
        flag, equals, _ = word.partition("=")
        name = {"-b": "bucket", "-n": "namespace"}.get(flag, flag.lstrip("-").replace("-", "_"))
        if flag.startswith("-") and name in PRIVATE_FLAGS:
            takes_value = name in ("trace_dir", "bucket", "namespace")
            if takes_value and not equals:
                next(words, None)
            continue
        kept.append(word)
    started = ["python"]
    if "WORLD_SIZE" in os.environ:
        started = ["torchrun", "--nproc_per_node", os.environ["WORLD_SIZE"]]
    return shlex.join([*started, f"{run.lesson}.py", *kept])


def run_facts(run: Run) -> dict[str, Any]:
    """What the trace should say of its run; plain JSON values, ``None`` where unknown."""
    flags = {k: v for k, v in vars(run.flags).items() if k not in PRIVATE_FLAGS}
    schedule = {"wait": flags["wait"], "warmup": flags["warmup_steps"], "active": flags["active"]}
    return {
        "lesson": run.lesson,
        "variant": run.variant,
        "tag": run.tag,
        "command": command(run),
        "flags": flags,
        "annotation": run.annotation,
        "warm": run.warm,
        "cuda_graph": bool(flags.get("cuda_graph", False)),
        "device": run.device.type,
        **gpu_facts(run.device),
        "versions": versions(run.device),
        "schedule": {**schedule, "steps": flags["steps"]},
        "recorded_at": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    }


def versions(device: torch.device) -> dict[str, str | None]:
    """Versions of what took part; ``None`` for what is not there."""
    on_gpu = device.type == "cuda"
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda if on_gpu else None,
        "driver": driver_version() if on_gpu else None,
        "triton": triton_version(),
        "trace_util": __version__,
    }


def triton_version() -> str | None:
    """Triton's version, ``None`` where it is not installed. Read without importing it."""
    from importlib.metadata import PackageNotFoundError, version

    for name in ("triton", "pytorch-triton", "triton-windows"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None
