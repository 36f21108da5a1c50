"""How long `trace-util` takes from start to end, beside what Python and NumPy take to start.

The summary of a trace of one event has nothing to read or to work out: it is what starting costs.
Every command is a process of its own, and they take turns, so that each round of a machine that
others use is as good or as bad for all of them.
"""

import sys
from pathlib import Path
from typing import Any

from processes import Run, measured, spread

NUMPY = "python -c 'import numpy'"
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
        NUMPY: [python, "-c", "import numpy"],
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
        measured(line)
    runs: dict[str, list[Run]] = {name: [] for name in lines}
    for _ in range(rounds):
        for name, line in lines.items():
            runs[name].append(measured(line))
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
    """The waits as a Markdown table; beyond NumPy's import: of the medians, and of the least."""
    numpy = found[NUMPY]
    lines = [
        "| from start to end | s (min to max) | processor s (min) | peak MiB "
        "| beyond `import numpy`: s (min) |",
        "|---|---|---|---|---|",
    ]
    for name, each in found.items():
        beyond = each["seconds"] - numpy["seconds"], each["seconds_min"] - numpy["seconds_min"]
        more = "" if beyond[0] <= 0 else f"{beyond[0]:.3f} ({beyond[1]:.3f})"
        lines.append(
            f"| `{name}` | {each['seconds']:.3f} ({each['seconds_min']:.3f} to "
            f"{each['seconds_max']:.3f}) | {each['processor_s']:.3f} "
            f"({each['processor_s_min']:.3f}) | {each['peak_mib']:.0f} | {more} |"
        )
    return "\n".join(lines)
