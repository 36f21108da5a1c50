"""What a trace holds, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trace_util.events import Kind, Trace
from trace_util.facts import Facts
from trace_util.gaps import Cause
from trace_util.report.oddities import oddities
from trace_util.report.text import (
    PLAIN,
    Style,
    clean,
    counted,
    duration,
    name_column,
    number_column,
    share,
    shortened,
    size,
    table,
    unit_for,
    wrapped,
)
from trace_util.report.versions import versions

CAUSES = {
    Cause.OVERHEAD: "the CPU had not launched yet",
    Cause.SYNCHRONISE: "the CPU waited in a synchronise",
    Cause.PROFILER: "the profiler itself",
    Cause.UNKNOWN: "the trace does not show why",
}
_LABEL = 9  # columns of the labels in front of the first lines


def summary_text(trace: Trace, facts: Facts, style: Style = PLAIN, top: int = 10) -> str:
    """The summary of one trace; tables show their first ``top`` rows."""
    parts = [
        "\n".join(_head(trace, facts, style)),
        _steps(facts, style, top),
        _kernels(facts, style, top),
        _launches(facts, style, top),
        _ops(facts, style, top),
        _annotations(facts, style, top),
        _copies(facts, style, top),
        _syncs(facts, style, top),
        _gaps(facts, style),
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
    yield line("GPU", ", ".join([facts.gpu or "not named in the trace", *_versions(trace)]))
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
    return [f"{name.replace('_', ' ')} {clean(text)}" for name, text in versions(trace).items()]


def _window_is(facts: Facts) -> str:
    if not facts.steps:
        return "the CPU ops and what they launched"
    first, last = clean(facts.steps[0].name), clean(facts.steps[-1].name)
    return f"{first} and its GPU work" if first == last else f"{first} to {last} and its GPU work"


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


def _steps(facts: Facts, style: Style, top: int) -> str:
    if not facts.steps:
        return ""
    mark = unit_for([step.duration_ns for step in facts.steps])
    busy = unit_for([step.gpu_busy_ns for step in facts.steps])
    columns = [
        name_column("step"),
        number_column(f"CPU mark {mark.name}"),
        number_column(f"GPU busy {busy.name}"),
        *map(number_column, ("kernels", "memsets", "copies", "launches")),
    ]
    rows = [
        (
            step.name,
            mark.number(step.duration_ns),
            busy.number(step.gpu_busy_ns),
            *(f"{n:,}" for n in (step.kernels, step.memsets, step.copies, step.launches)),
        )
        for step in facts.steps
    ]
    title = f"steps: {len(facts.steps)}, median mark {duration(facts.median_step_ns)}"
    return _section(title, columns, rows, style, top)


def _kernels(facts: Facts, style: Style, top: int) -> str:
    if not facts.kernels:
        return ""
    total = facts.kernel_total_ns
    title = (
        f"kernels: {facts.kernel_count:,} of {counted(len(facts.kernels), 'name')}, "
        f"{duration(total)} added up"
    )
    return _timed(title, "kernel", facts.kernels, style, top, total)


def _timed(
    title: str, noun: str, facts: Sequence[Any], style: Style, top: int, total_ns: int | None = None
) -> str:
    """A table of named things with a count and a spread of times."""
    shown = facts[:top]
    totals = unit_for([one.total_ns for one in shown])
    each = unit_for([t for one in shown for t in (one.min_ns, one.median_ns, one.max_ns)])
    columns = [name_column(noun), number_column("count"), number_column(f"total {totals.name}")]
    if total_ns is not None:
        columns.append(number_column("share of total"))
    columns += [number_column(f"min {each.name}"), number_column("median"), number_column("max")]
    rows = []
    for one in shown:
        row = [one.name, f"{one.count:,}", totals.number(one.total_ns)]
        if total_ns is not None:
            row.append(share(one.total_ns / total_ns) if total_ns else "-")
        rows.append([*row, *map(each.number, (one.min_ns, one.median_ns, one.max_ns))])
    return _section(title, columns, rows, style, top, len(facts))


def _launches(facts: Facts, style: Style, top: int) -> str:
    if not facts.launches:
        return ""
    shown = facts.launches[:top]
    totals = unit_for([one.total_ns for one in shown])
    columns = [
        name_column("launch call"),
        *map(number_column, ("count", f"total {totals.name}", "kernels", "copies", "memsets")),
    ]
    rows = [
        (
            one.name,
            f"{one.count:,}",
            totals.number(one.total_ns),
            *(f"{n:,}" for n in (one.kernels, one.copies, one.memsets)),
        )
        for one in shown
    ]
    calls = counted(sum(one.count for one in facts.launches), "call")
    return _section(f"launch calls: {calls}", columns, rows, style, top, len(facts.launches))


def _ops(facts: Facts, style: Style, top: int) -> str:
    if not facts.ops:
        return ""
    shown = facts.ops[:top]
    totals = unit_for([one.total_ns for one in shown])
    gpu = unit_for([one.gpu_ns for one in shown])
    columns = [
        name_column("CPU op"),
        *map(number_column, ("count", f"total {totals.name}", "self", "launches")),
        number_column(f"GPU {gpu.name}"),
    ]
    rows = [
        (
            one.name,
            f"{one.count:,}",
            totals.number(one.total_ns),
            totals.number(one.self_ns),
            f"{one.launches:,}",
            gpu.number(one.gpu_ns),
        )
        for one in shown
    ]
    ops = sum(one.count for one in facts.ops)
    title = f"CPU ops: {ops:,} of {counted(len(facts.ops), 'name')}"
    return _section(title, columns, rows, style, top, len(facts.ops))


def _annotations(facts: Facts, style: Style, top: int) -> str:
    if not facts.annotations:
        return ""
    count = sum(one.count for one in facts.annotations)
    return _timed(f"annotations: {count:,}", "annotation", facts.annotations, style, top)


def _copies(facts: Facts, style: Style, top: int) -> str:
    moved = (*facts.copies, *facts.memsets)
    if not moved:
        return ""
    totals = unit_for([one.total_ns for one in moved])
    columns = [
        name_column("copy or memset"),
        *map(number_column, ("count", f"total {totals.name}", "bytes")),
    ]
    rows = [
        (one.name, f"{one.count:,}", totals.number(one.total_ns), size(one.size_bytes))
        for one in moved
    ]
    copies, memsets = (sum(one.count for one in group) for group in (facts.copies, facts.memsets))
    title = f"copies: {copies:,}; memsets: {memsets:,}"
    return _section(title, columns, rows, style, top, len(moved))


def _syncs(facts: Facts, style: Style, top: int) -> str:
    if not facts.syncs:
        return ""
    count = sum(one.count for one in facts.syncs)
    flush = ", the profiler's closing flush among them" if facts.flush_row is not None else ""
    title = f"the CPU waited for the GPU: {counted(count, 'call')}{flush}"
    return _timed(title, "call", facts.syncs, style, top)


def _gaps(facts: Facts, style: Style) -> str:
    causes = facts.gaps.by_cause()
    if not causes:
        return ""
    unit = unit_for([time for _, time in causes.values()])
    columns = [
        name_column("GPU gaps, by cause"),
        *map(number_column, ("count", f"total {unit.name}")),
    ]
    rows = [
        (CAUSES[cause], f"{count:,}", unit.number(time))
        for cause, (count, time) in sorted(causes.items(), key=lambda one: -one[1][1])
    ]
    return table(columns, rows, style)


def _categories(trace: Trace, style: Style) -> str:
    found = categories(trace)
    texts = [f"{clean(name) or '(none)'} {count:,}" for name, count in found.items()]
    return wrapped(", ".join(texts), style, 2, "categories: ")


def _odd(trace: Trace, facts: Facts, style: Style) -> str:
    sentences = oddities(trace, facts)
    sentences += [f"Repaired: {n:,} {clean(what)}." for what, n in trace.repairs.items()]
    sentences += [f"Skipped: {n:,} {clean(what)}." for what, n in trace.skipped.items()]
    if not sentences:
        return ""
    return "\n".join(
        [style.warn("  to know:"), *(wrapped(text, style, 4, "- ") for text in sentences)]
    )


def _section(
    title: str,
    columns: Sequence[Any],
    rows: Sequence[Sequence[str]],
    style: Style,
    top: int,
    of: int | None = None,
) -> str:
    """A table with its title above; what does not fit into ``top`` rows is counted below."""
    shown = list(rows)[:top]
    more = (of if of is not None else len(rows)) - len(shown)
    lines = [style.bold(f"  {shortened(title, style.width - 2)}"), table(columns, shown, style)]
    if more > 0:
        lines.append(style.dim(f"  and {more:,} more; --top {len(shown) + more} shows all"))
    return "\n".join(lines)


def categories(trace: Trace) -> dict[str, int]:
    """Complete events by category as the file spells it, most first."""
    counts = np.bincount(trace.events.category, minlength=len(trace.categories)).tolist()
    found = dict(zip(trace.categories, counts, strict=True))
    if not trace.events.is_kind(Kind.PYTHON).any():
        # Python frames are no part of a summary and may not have been kept, but they were counted.
        frames = sum(n for what, n in trace.skipped.items() if what.startswith("Python frames"))
        if frames:
            found["python_function"] = frames
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
