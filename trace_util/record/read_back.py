"""Reads a recorded trace back from its file, and says what is in it and what to do with it."""

from __future__ import annotations

import math
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from ..claims import check
from ..events import Trace
from ..facts import Facts, trace_facts
from ..links import link
from ..reader import read_trace
from ..report import text
from ..report.check import lesson_lines
from .health import complaints
from .output import is_first_rank, say, section
from .run import Run
from .save import Saved
from .sharing import share


def finish(saved: Saved, *, take_away: tuple[str, ...]) -> None:
    """Print what was recorded, what it proves, what to take away, and the next command.

    Everything is read from the file, as a reader of the trace would. With ``--bucket`` the trace is
    uploaded at the end.
    """
    if not is_first_rank():
        return
    trace = read_trace(saved.trace)
    links = link(trace)
    facts = trace_facts(trace, links)
    section("Recorded")
    for name, value in recorded(saved, trace, facts):
        print(f"{name:<10}  {value}")
    for complaint in complaints(saved.run, facts):
        say(f"warning: {complaint}")
    section("What it proves")
    for line in lesson_lines(check(trace, saved.run.lesson), text.style_of(sys.stdout)):
        print(line)
    section("Take away")
    for line in take_away:
        print(f"- {line}")
    section("Look at it")
    own = text.shell_word(str(saved.trace))
    print(f"trace-util explain {own}")
    print(f"trace-util open {own}")
    twin = recorded_twin(saved) if saved.run.device.type == "cpu" else None
    if twin:
        print(f"trace-util explain {text.shell_word(str(twin))}    # {origin(twin)}")
    share(saved.run.flags, [saved.trace, saved.table])
    sys.stdout.flush()


def recorded_twin(saved: Saved) -> Path | None:
    """The recorded GPU trace that comes closest to this run; ``None`` without the project's own."""
    top = Path(sys.argv[0]).parent
    found = sorted(top.glob(f"traces/recorded/*/{saved.run.lesson}/*.json.gz"))
    known = [path for path in found if not path.name.startswith("cpu_")]
    return min(known, key=partial(_distance, saved.run), default=None)


def _distance(run: Run, path: Path) -> tuple[bool, int, float]:
    """How unlike a recorded trace is by its name: another variant, other words, other sizes."""
    name = path.name.removesuffix(".json.gz")
    own, other = run.tag.removeprefix("cpu_").split("_"), name.split("_")
    pairs = list(zip(own, other, strict=False))
    sizes = [(int(a), int(b)) for a, b in pairs if a.isdecimal() and b.isdecimal()]
    words = sum(a != b for a, b in pairs) - sum(a != b for a, b in sizes)
    return (
        not name.endswith(f"_{run.variant}"),
        words + abs(len(own) - len(other)),
        sum(abs(math.log(a / b)) for a, b in sizes),
    )


def origin(path: Path) -> str:
    """How a recorded trace came about: its GPU and the command, which may differ from the run's."""
    header = read_trace(path, columns="summary").header
    return f"recorded on {header.run['gpu']} by: {header.run['command']}"


def recorded(saved: Saved, trace: Trace, facts: Facts) -> list[tuple[str, str]]:
    """What the trace holds, as name and value, in the order in which one would ask."""
    size = text.size(trace.size_bytes)
    rows = [
        ("trace", f"{text.clean(str(saved.trace))} ({size}), table {saved.table.name}"),
        ("steps", ", ".join(step.name for step in facts.steps) or "none"),
        ("kernels", kernels(facts)),
    ]
    if facts.window_busy_ns is not None:
        busy = f"{text.duration(facts.window_busy_ns)} of {text.duration(facts.window_ns)}"
        rows.append(("GPU busy", f"{busy} ({text.share(facts.busy_share)} of the window)"))
    rows.append(("step", f"{text.duration(facts.median_step_ns)} on the CPU, profiled (median)"))
    told = trace.header.run["unprofiled_step_us"]
    spread = f"min {told['min']:,.1f}, max {told['max']:,.1f}, n={told['n']}"
    late = ", after the profiler: an upper bound" if told["after_profiler"] else ""
    rows.append(("", f"{told['median']:,.1f} µs without the profiler ({spread}{late})"))
    error = trace.header.run["relative_error"]
    unknown = "no number: zero is expected, or the output is not finite"
    rows.append(("error", unknown if error is None else f"{error:.1e} relative to float64"))
    return rows


def kernels(facts: Facts) -> str:
    """Kernels, copies and memsets a step, counted apart; more than one answer if steps differ."""
    if facts.gpu_activity == "none":
        return "none: nothing was launched on a GPU"
    counts = Counter((step.kernels, step.copies, step.memsets) for step in facts.steps)
    nouns = (("kernel", None), ("copy", "copies"), ("memset", None))
    alike = [
        ", ".join(text.counted(n, *noun) for n, noun in zip(count, nouns, strict=True))
        for count in counts
    ]
    return " or ".join(alike) + " a step"
