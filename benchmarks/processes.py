"""Runs a command to its end: how long a person waits for it, and what it takes meanwhile."""

import os
import statistics
import subprocess
import time
from typing import NamedTuple


class Run(NamedTuple):
    """One process: wall seconds, processor seconds, peak memory, and what it printed."""

    seconds: float
    processor_s: float
    peak_mib: float
    output: str


def spread(runs: list[Run]) -> dict[str, float]:
    """The median of both times of some runs, and the range of the first."""
    seconds = [run.seconds for run in runs]
    return {
        "seconds": statistics.median(seconds),
        "seconds_min": min(seconds),
        "seconds_max": max(seconds),
        "processor_s": statistics.median(run.processor_s for run in runs),
    }


def measured(command: list[str], **variables: str) -> Run:
    """Run a command to its end, with these variables of the environment besides its own."""
    began = time.perf_counter()
    # With bytecode, as installed packages have it: the first round writes it where it is missing.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= variables
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    processor_s = usage.ru_utime + usage.ru_stime
    return Run(seconds, processor_s, usage.ru_maxrss / 1024, output.decode())
