"""The memory of a whole command grows with the events of a trace, and slowly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

SMALL_MB, LARGE_MB = 20, 100
# MiB more for each GB of JSON more.
MOST = 150

PROGRAM = """
import sys
from trace_util.cli import main
assert main(sys.argv[1:]) == 0
with open("/proc/self/status") as file:
    peak = next(line for line in file if line.startswith("VmHWM"))
print(int(peak.split()[1]) / 1024, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A rank's trace of a few long steps, and one of many more of them."""
    folder = tmp_path_factory.mktemp("large")
    maker = (
        "import sys; from pathlib import Path; from job_traces import one_step; "
        "from large_trace import write_large_trace; folder = Path(sys.argv[1]); "
        "step = folder / 'step.json'; step.write_text(one_step(0, 2)); "
        "[write_large_trace(step, folder / f'{mb}.json', int(mb)) for mb in sys.argv[2:]]"
    )
    sizes = (SMALL_MB, LARGE_MB)
    subprocess.run(
        [sys.executable, "-c", maker, str(folder), *map(str, sizes)],
        cwd=ROOT / "benchmarks",
        check=True,
    )
    return {size: folder / f"{size}.json" for size in sizes}


def peak_mib(*arguments: str) -> float:
    """The largest memory of a command, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return float(done.stderr.splitlines()[-1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("form", ["--json", "--top=10"])
@pytest.mark.alone
def test_a_summary_takes_little_memory_for_each_byte(traces: dict[int, Path], form: str) -> None:
    small, large = (peak_mib("summary", str(traces[mb]), form) for mb in (SMALL_MB, LARGE_MB))
    gigabytes = (traces[LARGE_MB].stat().st_size - traces[SMALL_MB].stat().st_size) / 1e9
    assert (large - small) / gigabytes < MOST
