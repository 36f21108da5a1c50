"""Runs a lesson as a reader does: its own process, from the top of the project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SMALL_MLP = ("--batch", "2", "--seq", "16", "--dim", "64", "--hidden", "128")


def run_lesson(
    script: str, *flags: str, environment: dict[str, str] | None = None, timeout: int = 240
) -> subprocess.CompletedProcess[str]:
    """The finished process of one lesson, with what it wrote to stdout and stderr."""
    hidden = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, script, *flags],
        cwd=ROOT,
        env={**os.environ, **hidden, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_ranks(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """The finished process of torchrun with two ranks of the parallel lesson on the CPU."""
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
        + ["05_parallel_mlp.py", "--device", "cpu", "--trace_dir", str(folder), *flags],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def events_of(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run facts and complete events of a trace, read with ``json`` and none of our own code."""
    content = json.loads(path.read_text())
    return content["run_facts"], [e for e in content["traceEvents"] if e["ph"] == "X"]
