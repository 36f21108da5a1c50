"""The tables of a summary: each a title, the first rows, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from msgspec.structs import replace

from trace_util.facts import Facts
from trace_util.gaps import Cause
from trace_util.report.text import Column, Style, name_column, number_column, shortened, table
from trace_util.report.units import count_at_least, counted, duration, share, size, unit_for

CAUSES = {
    Cause.OVERHEAD: "the CPU had not launched yet",
    Cause.SYNCHRONISE: "the CPU waited in a synchronise",
    Cause.PROFILER: "the profiler itself",
    Cause.UNKNOWN: "the trace does not show why",
}
_LONG_NAME = 40  # characters of a kernel's name that a table has room for


def steps_table(facts: Facts, ranks: Sequence[str], style: Style, top: int) -> str:
    """The steps, in order, in a merged job with the label of each one's rank."""
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
            f"{rank}: {step.name}" if rank else step.name,
            mark.number(step.duration_ns),
            busy.at_least(step.gpu_busy_ns, index in facts.partial_steps),
            *(
                count_at_least(n, index in facts.partial_steps)
                for n in (step.kernels, step.memsets, step.copies)
            ),
            f"{step.launches:,}",
        )
        for index, (rank, step) in enumerate(zip_longest(ranks, facts.steps))
    ]
    title = f"steps: {len(facts.steps)}, median mark {duration(facts.median_step_ns)}"
    return _section(title, columns, rows, style, top)


def kernels_table(facts: Facts, style: Style, top: int) -> str:
    """Kernels by name."""
    if not facts.kernels:
        return ""
    total = facts.kernel_total_ns
    title = (
        f"kernels: {facts.kernel_count:,} ({counted(len(facts.kernels), 'name')}), "
        f"{duration(total)} added up"
    )
    top_facts = facts.kernels[:top]
    shown = [
        replace(one, name=name)
        for one, name in zip(top_facts, _short([one.name for one in top_facts]), strict=True)
    ]
    return _timed(title, "kernel", shown, style, top, total, len(facts.kernels))


def _short(names: Sequence[str]) -> list[str]:
    """Kernel names without what their templates only repeat, where that leaves them distinct."""
    if not any(len(name) > _LONG_NAME for name in names):
        return list(names)
    from trace_util.kernel_names import decode

    short = [decode(name).short if len(name) > _LONG_NAME else name for name in names]
    return [one if short.count(one) == 1 else name for one, name in zip(short, names, strict=True)]


def _timed(
    title: str,
    noun: str,
    facts: Sequence[Any],
    style: Style,
    top: int,
    total_ns: int | None = None,
    of: int | None = None,
) -> str:
    """A table of named things with a count and a spread of times."""
    shown = facts[:top]
    totals = unit_for([one.total_ns for one in shown])
    each = unit_for([t for one in shown for t in (one.min_ns, one.median_ns, one.max_ns)])
    columns = [name_column(noun), number_column("count"), number_column(f"total {totals.name}")]
    if total_ns is not None:
        columns.append(number_column("share"))
    columns += [number_column(f"min {each.name}"), number_column("median"), number_column("max")]
    rows = []
    for one in shown:
        row = [one.name, f"{one.count:,}", totals.number(one.total_ns)]
        if total_ns is not None:
            row.append(share(one.total_ns / total_ns) if total_ns else "-")
        rows.append([*row, *map(each.number, (one.min_ns, one.median_ns, one.max_ns))])
    return _section(title, columns, rows, style, top, of or len(facts))


def launches_table(facts: Facts, style: Style, top: int) -> str:
    """Launch calls by name, and what they launched."""
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


def ops_table(facts: Facts, style: Style, top: int) -> str:
    """Ops by name."""
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
    title = f"CPU ops: {ops:,} ({counted(len(facts.ops), 'name')})"
    return _section(title, columns, rows, style, top, len(facts.ops))


def annotations_table(facts: Facts, style: Style, top: int) -> str:
    """Annotations by name."""
    if not facts.annotations:
        return ""
    count = sum(one.count for one in facts.annotations)
    return _timed(f"annotations: {count:,}", "annotation", facts.annotations, style, top)


def copies_table(facts: Facts, style: Style, top: int) -> str:
    """Copies and memsets by name."""
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


def syncs_table(facts: Facts, style: Style, top: int) -> str:
    """The calls in which the CPU waited, by name."""
    if not facts.syncs:
        return ""
    count = sum(one.count for one in facts.syncs)
    flush = ", the profiler's closing flush among them" if facts.flush_row is not None else ""
    title = f"the CPU waited for the GPU: {counted(count, 'call')}{flush}"
    return _timed(title, "call", facts.syncs, style, top)


def gaps_table(facts: Facts, style: Style) -> str:
    """The gaps of all devices, by cause."""
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


def _section(
    title: str,
    columns: Sequence[Column],
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
