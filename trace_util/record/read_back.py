"""Reads a recorded trace back from its file, and says what is in it and what to do with it."""

from __future__ import annotations

import sys
from collections import Counter
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
from .save import Saved


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
    print(f"trace-util explain {saved.trace}")
    print(f"trace-util open {saved.trace}")
    twin = recorded_twin(saved) if saved.run.device.type == "cpu" else None
    if twin:
        print(f"trace-util explain {twin}    # the same run, recorded on a GPU")
    if saved.run.flags.bucket:
        share(saved)


def share(saved: Saved) -> None:
    """Upload the trace and its table as ``--bucket`` asks, and print the link.

    In the bucket it lies where ``trace-util upload traces`` would put it. Exits with code 1 when
    something was not sent.
    """
    from ..report.upload import upload_text
    from ..share import upload_traces

    flags = saved.run.flags
    section("Share")
    upload = upload_traces(
        [saved.trace, saved.table],
        flags.bucket,
        namespace=flags.namespace,
        private=flags.private,
        yes=flags.yes,
        redact=flags.redact,
        root=saved.trace.resolve().parents[1],
        quiet=not sys.stderr.isatty(),
    )
    print(upload_text(upload, text.style_of(sys.stdout)))
    if upload.failed:
        raise SystemExit(1)


def recorded_twin(saved: Saved) -> Path | None:
    """The recorded GPU trace that comes closest to this run; ``None`` without the project's own.

    That is the one of the same sizes if there is one, else one of the same variant.
    """
    top = Path(sys.argv[0]).parent
    known = sorted(top.glob(f"traces/recorded/*/{saved.run.lesson}/*.json.gz"))
    tag = saved.run.tag.removeprefix("cpu_")

    def distance(path: Path) -> tuple[bool, bool, str]:
        name = path.name.removesuffix(".json.gz")
        return name != tag, not name.endswith(f"_{saved.run.variant}"), name

    return min(known, key=distance, default=None)


def recorded(saved: Saved, trace: Trace, facts: Facts) -> list[tuple[str, str]]:
    """What the trace holds, as name and value, in the order in which one would ask."""
    rows = [
        ("trace", f"{saved.trace} ({text.size(trace.size_bytes)}), table {saved.table.name}"),
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
    rows.append(("error", f"{error:.1e} relative to float64"))
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
