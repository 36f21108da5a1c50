"""Runs a lesson as a reader does: its own process, from the top of the project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from warm_torch import ROOT, run_warm

SMALL_MLP = ("--batch", "2", "--seq", "16", "--dim", "64", "--hidden", "128")
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}


def run_lesson(
    script: str, *flags: str, environment: dict[str, str] | None = None, timeout: int = 240
) -> subprocess.CompletedProcess[str]:
    """The finished process of one lesson, with what it wrote to stdout and stderr."""
    whole = {**os.environ, **HIDDEN, **(environment or {})}
    return run_warm(script, *flags, environment=whole, timeout_s=timeout)


def run_fresh_lesson(
    script: str, *flags: str, environment: dict[str, str] | None = None, timeout: int = 240
) -> subprocess.CompletedProcess[str]:
    """The same in an interpreter that imports everything itself; each lesson is run so once."""
    return subprocess.run(
        [sys.executable, script, *flags],
        cwd=ROOT,
        env={**os.environ, **HIDDEN, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_ranks(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """The finished process of torchrun with two ranks of the parallel lesson on the CPU."""
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    lesson = ("05_parallel_mlp.py", "--device", "cpu", "--trace_dir", str(folder), *flags)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return run_warm(*launcher, *lesson, environment=environment)


def events_of(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run facts and complete events of a trace, read with ``json`` and none of our own code."""
    content = json.loads(path.read_text())
    return content["run_facts"], [e for e in content["traceEvents"] if e["ph"] == "X"]
