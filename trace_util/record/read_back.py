"""Reads a recorded trace back from its file, and says what is in it and what to do with it."""

from __future__ import annotations

import sys
from collections import Counter

from ..claims import check
from ..events import Trace
from ..facts import Facts, trace_facts
from ..links import link
from ..reader import read_trace
from ..report import text, units
from ..report.check import lesson_lines
from .companion import in_lesson
from .health import complaints
from .output import is_first_rank, say, section
from .recorded import look_at, nearest_trace, origin
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
    checked = in_lesson(check(trace, saved.run.lesson), saved)
    for line in lesson_lines(checked, text.style_of(sys.stdout)):
        print(line)
    section("Take away")
    for line in take_away:
        print(f"- {line}")
    section("Look at it")
    own = text.shell_path(saved.trace)
    print(f"trace-util explain {own}")
    print(f"trace-util open {own}")
    twin = nearest_trace(saved.run.wanted) if saved.run.device.type == "cpu" else None
    if twin:
        print(f"{look_at(twin)}    # {origin(twin)}")
    share(saved.run.flags, [saved.trace, saved.table])
    sys.stdout.flush()


def recorded(saved: Saved, trace: Trace, facts: Facts) -> list[tuple[str, str]]:
    """What the trace holds, as name and value, in the order in which one would ask."""
    size = units.size(trace.size_bytes)
    rows = [
        ("trace", f"{text.clean(str(saved.trace))} ({size}), table {saved.table.name}"),
        ("steps", ", ".join(step.name for step in facts.steps) or "none"),
        ("kernels", kernels(facts)),
    ]
    if facts.window_busy_ns is not None:
        busy = f"{units.duration(facts.window_busy_ns)} of {units.duration(facts.window_ns)}"
        rows.append(("GPU busy", f"{busy} ({units.share(facts.busy_share)} of the window)"))
    rows.append(("step", f"{units.duration(facts.median_step_ns)} on the CPU, profiled (median)"))
    told = trace.header.run["unprofiled_step_us"]
    median, low, high = (units.duration(told[name] * 1e3) for name in ("median", "min", "max"))
    late = ", after the profiler: an upper bound" if told["after_profiler"] else ""
    rows.append(("", f"{median} without the profiler (min {low}, max {high}, n={told['n']}{late})"))
    error = trace.header.run["relative_error"]
    if trace.header.run["output_finite"] is False:
        rows.append(("error", "no number: the output holds NaN or infinity, and should not"))
    elif error is None:
        rows.append(("error", "no number: zero is expected"))
    else:
        rows.append(("error", f"{error:.1e} relative to float64"))
    return rows


def kernels(facts: Facts) -> str:
    """Kernels, copies and memsets a step, counted apart; more than one answer if steps differ."""
    if facts.gpu_activity == "none":
        return "none: nothing was launched on a GPU"
    counts = Counter((step.kernels, step.copies, step.memsets) for step in facts.steps)
    nouns = (("kernel", None), ("copy", "copies"), ("memset", None))
    alike = [
        ", ".join(units.counted(n, *noun) for n, noun in zip(count, nouns, strict=True))
        for count in counts
    ]
    return " or ".join(alike) + " a step"
