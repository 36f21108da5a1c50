"""How long `trace-util` takes from start to end, beside what Python and its libraries take to load.

The summary of a trace of one event has nothing to read or to work out: it is what starting costs.
No reader with msgspec and NumPy can start sooner than these two load, so that is the measure: it
leaves the machine out, which seconds do not.
Every command is a process of its own, and they take turns, so that each round of a machine that
others use is as good or as bad for all of them.
"""

import sys
from pathlib import Path
from typing import Any

from processes import Run, measured, spread

# NumPy's OpenBLAS would start a thread for each core; `trace-util` spares itself those.
NO_THREADS = {"OPENBLAS_NUM_THREADS": "1"}
LIBRARIES = "python -c 'import msgspec, numpy'"
ONE_EVENT = """{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0}
]}"""


def commands(one_event: Path, ten_mb: Path) -> dict[str, list[str]]:
    """The command lines, by how the table calls them."""
    python = sys.executable
    trace_util = str(Path(python).with_name("trace-util"))
    summary = [trace_util, "summary"]
    return {
        "python -c pass": [python, "-c", "pass"],
        LIBRARIES: [python, "-c", "import msgspec, numpy"],
        "trace-util --help": [trace_util, "--help"],
        "trace-util summary ONE_EVENT --json": [*summary, str(one_event), "--json"],
        "trace-util summary TEN_MB --json": [*summary, str(ten_mb), "--json"],
        "trace-util summary TEN_MB": [*summary, str(ten_mb)],
    }


def waits(ten_mb: Path, rounds: int) -> dict[str, Any]:
    """Medians by command line, of so many runs each after one that is not counted."""
    one_event = ten_mb.with_name("one_event.json")
    one_event.write_text(ONE_EVENT)
    lines = commands(one_event, ten_mb)
    for line in lines.values():
        measured(line, **NO_THREADS)
    runs: dict[str, list[Run]] = {name: [] for name in lines}
    for _ in range(rounds):
        for name, line in lines.items():
            runs[name].append(measured(line, **NO_THREADS))
    one_event.unlink()
    return {
        name: {
            **spread(each),
            "processor_s_min": min(run.processor_s for run in each),
            "peak_mib": max(run.peak_mib for run in each),
            "runs": len(each),
        }
        for name, each in runs.items()
    }


def table(found: dict[str, Any]) -> str:
    """The waits as a Markdown table, and as multiples of what the libraries take to load."""
    libraries = found[LIBRARIES]
    lines = [
        "| from start to end | s (min to max) | processor s (min) | peak MiB "
        "| times `import msgspec, numpy`: s (min) |",
        "|---|---|---|---|---|",
    ]
    for name, each in found.items():
        times, least = (each[of] / libraries[of] for of in ("seconds", "seconds_min"))
        lines.append(
            f"| `{name}` | {each['seconds']:.3f} ({each['seconds_min']:.3f} to "
            f"{each['seconds_max']:.3f}) | {each['processor_s']:.3f} "
            f"({each['processor_s_min']:.3f}) | {each['peak_mib']:.0f} "
            f"| {times:.2f} ({least:.2f}) |"
        )
    return "\n".join(lines)
