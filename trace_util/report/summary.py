"""What a trace holds, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trace_util.events import Kind, Trace
from trace_util.facts import Facts
from trace_util.report import summary_tables as tables
from trace_util.report.oddities import oddities
from trace_util.report.text import PLAIN, Style, clean, wrapped
from trace_util.report.units import counted, duration, share, size
from trace_util.report.versions import versions
from trace_util.steps import step_ranks

_RUN_VERSIONS = ("torch", "cuda", "driver", "triton")
_LABEL = 9  # columns of the labels in front of the first lines


def summary_text(trace: Trace, facts: Facts, style: Style = PLAIN, top: int = 10) -> str:
    """The summary of one trace; tables show their first ``top`` rows."""
    parts = [
        "\n".join(_head(trace, facts, style)),
        tables.steps_table(facts, step_ranks(trace, facts.steps), style, top),
        tables.kernels_table(facts, style, top),
        tables.launches_table(facts, style, top),
        tables.ops_table(facts, style, top),
        tables.annotations_table(facts, style, top),
        tables.copies_table(facts, style, top),
        tables.syncs_table(facts, style, top),
        tables.gaps_table(facts, style),
        _categories(trace, style),
        _odd(trace, facts, style),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(trace: Trace, facts: Facts, style: Style) -> Iterator[str]:
    yield style.bold(clean(trace.path))

    def line(label: str, text: str) -> str:
        return wrapped(text, style, 2, f"{label:<{_LABEL}}")

    events = sum(trace.phases.values())
    complete = trace.phases.get("X", 0)
    counts = f"{counted(events, 'event')}, {complete:,} complete"
    yield line("file", f"{size(trace.size_bytes)}, {counts}")
    unnamed = "none" if facts.gpu_activity == "none" else "not named in the trace"
    yield line("GPU", ", ".join([facts.gpu or unnamed, *_versions(trace)]))
    command = trace.header.run.get("command")
    if isinstance(command, str):
        yield line("command", command)
    if facts.window_ns is not None:
        yield line("window", f"{duration(facts.window_ns)}, {_window_is(facts)}")
    yield line("GPU busy", _busy(facts))
    if len(facts.devices) > 1:
        yield from (line("", text) for text in _each_device(facts))
    yield line("launches", _launch_line(facts))
    if facts.unprofiled_step:
        told = facts.unprofiled_step
        yield line("step", f"{duration(told.median_ns)} unprofiled (median), {_profiled(facts)}")


def _versions(trace: Trace) -> list[str]:
    """The versions in words; those of the run where it tells them, the header's otherwise."""
    found = versions(trace)
    told = [name for name in _RUN_VERSIONS if name in found]
    return [f"{name.replace('_', ' ')} {clean(found[name])}" for name in told or found]


def _window_is(facts: Facts) -> str:
    if not facts.steps:
        return "the CPU ops and what they launched" if facts.ops else "all that was recorded"
    first, last = clean(facts.steps[0].name), clean(facts.steps[-1].name)
    steps = first if first == last else f"{first} to {last}"
    return steps if facts.gpu_activity == "none" else f"{steps} and its GPU work"


def _busy(facts: Facts) -> str:
    if facts.gpu_activity == "missing":
        return "not recorded"
    if facts.gpu_activity == "none":
        return "nothing was launched: CPU only"
    window = f"{duration(facts.window_busy_ns)}, {share(facts.busy_share)} of the window"
    if facts.gpu_busy_ns != facts.window_busy_ns:
        window += f" ({duration(facts.gpu_busy_ns)} in the whole file)"
    streams = sum(len(device.streams) for device in facts.devices)
    overlap = sum(device.overlap_ns for device in facts.devices)
    also = f", {duration(overlap)} on several at once" if overlap else ""
    devices = counted(len(facts.devices), "device")
    return f"{window}; {devices}, {counted(streams, 'stream')}{also}"


def _each_device(facts: Facts) -> Iterator[str]:
    for device in facts.devices:
        part = device.window_busy_ns / facts.window_ns if facts.window_ns else None
        where = "" if device.process == device.device else f" (row {clean(str(device.process))})"
        yield (
            f"device {device.device}{where}: {duration(device.window_busy_ns)}, {share(part)} "
            f"of the window, {counted(device.kernels, 'kernel')}"
        )


def _launch_line(facts: Facts) -> str:
    text = f"{facts.launch_count:,} of kernels"
    if facts.graph_launches:
        replays = counted(facts.graph_launches, "graph replay")
        text += f", {replays} with {counted(facts.graph_kernels, 'kernel')}"
    delay = facts.queue_delay
    if delay:
        text += (
            f"; until the GPU starts: min {duration(delay.min_ns)}, "
            f"median {duration(delay.median_ns)}, max {duration(delay.max_ns)}"
        )
    return text


def _profiled(facts: Facts) -> str:
    return f"{duration(facts.median_step_ns)} with the profiler (median mark)"


def _categories(trace: Trace, style: Style) -> str:
    found = categories(trace)
    texts = [f"{clean(name) or '(none)'} {count:,}" for name, count in found.items()]
    return wrapped(", ".join(texts), style, 2, "categories: ")


def _odd(trace: Trace, facts: Facts, style: Style) -> str:
    sentences = oddities(trace, facts)
    sentences += [f"Repaired: {clean(what)} ({n:,})." for what, n in trace.repairs.items()]
    sentences += [f"Skipped: {clean(what)} ({n:,})." for what, n in trace.skipped.items()]
    if not sentences:
        return ""
    return "\n".join(
        [style.warn("  to know:"), *(wrapped(text, style, 4, "- ") for text in sentences)]
    )


def categories(trace: Trace) -> dict[str, int]:
    """Complete events by category as the file spells it, most first."""
    category = trace.events.category
    counts = [int(np.count_nonzero(category == i)) for i in range(len(trace.categories))]
    found = dict(zip(trace.categories, counts, strict=True))
    if not trace.events.is_kind(Kind.PYTHON).any():
        # Python frames are no part of a summary and may not have been kept, but they were counted.
        frames = sum(n for what, n in trace.skipped.items() if what.startswith("Python frames"))
        if frames:
            found["python_function"] = frames
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
