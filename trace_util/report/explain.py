"""An explanation as text of at most a screenful, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from trace_util.events import Trace
from trace_util.explain import Explanation
from trace_util.findings.finding import Finding, Value
from trace_util.kernel_groups import KernelGroup
from trace_util.kernel_names import decode
from trace_util.kernel_words import kernel_words
from trace_util.report.gpu_words import gpu_words
from trace_util.report.summary_json import us
from trace_util.report.text import PLAIN, Style, clean, name_column, number_column, table, wrapped
from trace_util.report.units import counted, duration, share, size, unit_for
from trace_util.report.values import filled, rate, value_json
from trace_util.roofline import KernelRate
from trace_util.steps import StepFacts

_LABEL = 10  # columns of the labels in front of lines
MOST_KERNELS = 5
MOST_FINDINGS = 7
MOST_STEPS = 4
MOST_RANKS = 4
_WINDOW = {
    "busy": "GPU busy",
    "not_launched": "the CPU had not launched yet",
    "synchronise": "the CPU waited in a synchronise",
    "profiler": "the profiler itself",
    "unknown": "idle for a reason that the trace does not show",
}


def explanation_text(found: Explanation, style: Style = PLAIN, kernels: int = MOST_KERNELS) -> str:
    """What bounds the run, where the time goes, the top kernels, and what is odd."""
    parts = [
        "\n".join(_head(found, style)),
        "\n".join(_lines(found, style)),
        _kernels(found, style, kernels),
        "\n".join(_findings(found, style)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(found: Explanation, style: Style) -> Iterator[str]:
    yield (
        style.bold(clean(found.path))
        + f" ({gpu_words(found.gpu, found.facts.gpu_activity != 'none')})"
    )
    reason = filled(found.regime.reason, found.regime.values)
    name = found.regime.name
    yield wrapped(f"{name}: {reason}" if name else reason, style)


def _lines(found: Explanation, style: Style) -> Iterator[str]:
    facts = found.facts

    def line(label: str, text: str) -> str:
        return wrapped(text, style, 2, f"{label:<{_LABEL}}")

    told = facts.unprofiled_step
    if told is not None:
        spread = ""
        if told.min_ns is not None and told.max_ns is not None:
            spread = f" (min {duration(told.min_ns)}, max {duration(told.max_ns)}, n={told.count})"
        yield line("step", f"{duration(told.median_ns)} without the profiler{spread}")
    if facts.steps:
        for label, text in zip(chain(["profiled"], repeat("")), _profiled(found), strict=False):
            yield line(label, text)
    if found.window:
        total = sum(float(part.amount or 0) for part in found.window)
        parts = [
            f"{_WINDOW[part.name]} {share(float(part.amount or 0) / total)}"
            for part in found.window
        ]
        whole = "" if facts.steps else " (no step marks: the whole recording)"
        device = ", on the busiest device" if len(facts.devices) > 1 else ""
        yield line("window", f"{duration(total)}{whole}{device}: " + ", ".join(parts))
    if found.roofline and found.kernels:
        yield line("roofline", found.roofline)


def _profiled(found: Explanation) -> Iterator[str]:
    """CPU and GPU time of the first steps, in a merged job of each of the first ranks."""
    if not found.step_ranks:
        yield _marks(found.facts.steps, found)
        return
    of_rank: dict[str, list[StepFacts]] = {}
    for rank, step in zip(found.step_ranks, found.facts.steps, strict=True):
        of_rank.setdefault(rank, []).append(step)
    for rank, steps in list(of_rank.items())[:MOST_RANKS]:
        yield f"{clean(rank)}: {_marks(steps, found)}"
    if len(of_rank) > MOST_RANKS:
        yield f"and {counted(len(of_rank) - MOST_RANKS, 'more rank')}"


def _marks(all_steps: Sequence[StepFacts], found: Explanation) -> str:
    """``ProfilerStep#2 711, #3 410 µs on the CPU; …``."""
    steps = all_steps[:MOST_STEPS]
    marks = unit_for([step.duration_ns for step in steps])
    names = [f"#{step.number}" for step in steps]
    names[0] = clean(steps[0].name)
    on_cpu = [
        f"{name} {marks.number(step.duration_ns)}{' (wide)' if step.wide else ''}"
        for name, step in zip(names, steps, strict=True)
    ]
    told = f"{', '.join(on_cpu)} {marks.name} on the CPU"
    if found.facts.gpu_activity == "recorded":
        busy = unit_for([step.gpu_busy_ns for step in steps])
        partial = {found.facts.steps[index].index for index in found.facts.partial_steps}
        on_gpu = [busy.at_least(step.gpu_busy_ns, step.index in partial) for step in steps]
        if set(on_gpu) == {"-"}:
            told += "; not known on the GPU"
        else:
            told += f"; {', '.join(on_gpu)} {busy.name} on the GPU"
    left = len(all_steps) - len(steps)
    return told + (f"; and {counted(left, 'more step')}" if left else "")


def _kernels(found: Explanation, style: Style, most: int) -> str:
    if not found.groups:
        return ""
    total = sum(group.total_ns for group in found.groups)
    shown = found.groups[:most]
    unit = unit_for([rate.median_ns for rate in shown])
    columns = [
        name_column("kernel"),
        number_column("count"),
        number_column("of kernels"),
        number_column(f"median {unit.name}"),
        number_column("achieved"),
        number_column("of peak"),
    ]
    rows = [
        [
            one.words,
            f"{one.count:,}",
            share(one.total_ns / total) if total else "-",
            unit.number(one.median_ns),
            *_achieved(one),
        ]
        for one in shown
    ]
    text = table(columns, rows, style)
    left = len(found.groups) - len(shown)
    text += f"\n  and {counted(left, 'other kernel')}" if left else ""
    together = any(len(one.rates) > 1 and _achieved(one) != ("-", "-") for one in shown)
    apart = len({one.words for one in shown}) < len(shown)
    notes = [
        "rows that read the same differ in their shapes" if apart else "",
        "rates of several shapes are those of all their work and time" if together else "",
        cache_note(found) if any(row[-1].startswith(CACHED) for row in rows) else "",
        peak_note(found) if any(row[-1] != "-" for row in rows) else "",
    ]
    return "\n".join([text, *(wrapped(note, style, 2) for note in notes if note)])


CACHED = "*"  # before a share of the memory's peak


def cache_note(found: Explanation) -> str:
    """What a share of the memory's peak means that has the mark of the cache."""
    held = found.device.l2_bytes if found.device else None
    fits = f", or no more than the L2 cache holds ({size(held)})" if held else ""
    return (
        f"{CACHED} more than memory can move in that time{fits}: part of it may stay in the cache"
    )


def peak_note(found: Explanation) -> str:
    """What is to be known of the peaks that rates are compared with; "" where there is nothing."""
    if found.device is None or not found.device.note:
        return ""
    return f"peaks of the {found.device.name}: {found.device.note}"


def _achieved(one: KernelGroup) -> tuple[str, str]:
    """The rate nearer to its peak, and its share of that; the one that is known without peaks."""
    flops, moved = one.flops_per_s, one.bytes_per_s
    silent = all(each.bytes_per_s is None for each in one.rates)
    if flops is not None and (one.bound == "compute" or (one.bound is None and silent)):
        return rate(flops, "FLOP/s"), share(one.compute_share) if one.compute_share else "-"
    if moved is not None:
        least = ">= " if one.is_lower_bound else ""
        part = least + share(one.memory_share) if one.memory_share else "-"
        return least + rate(moved, "B/s"), (CACHED if one.may_be_cached else "") + part
    return "-", "-"


def _findings(found: Explanation, style: Style) -> Iterator[str]:
    if not found.findings:
        yield "findings: none"
        return
    yield f"findings: {len(found.findings)}"
    for finding in found.findings[:MOST_FINDINGS]:
        label = f"{finding.kind.value:<{_LABEL}}"
        yield wrapped(filled(finding.claim, finding.values), style, 2, label)
        if finding.next_step:
            yield wrapped(f"next: {finding.next_step}", style, 2, " " * _LABEL)
    left = len(found.findings) - MOST_FINDINGS
    if left > 0:
        yield f"  and {left} more with --json"


def explanation_json(trace: Trace, found: Explanation) -> dict[str, Any]:
    """The same facts, under names that stay.

    ``file``, ``gpu``; ``regime`` (``null``: nothing can be said), its ``reason`` as a sentence and
    its ``threshold``; ``evidence`` and ``window``, lists of ``{name, value, unit}``; ``roofline``
    (why there are no shares of a peak, else ``null``), ``peak_source`` (URL) and ``peak_note``
    (what is to be known of it); ``kernels`` with counts, FLOPs, bytes and rates of each name, op
    and shapes (``may_be_cached``: some of the bytes may never leave the L2 cache); ``findings``,
    each with ``id``, ``kind``, ``claim``, ``evidence``, ``threshold``, ``next_step`` and ``rows``,
    the positions of the events that show it in the file's list of events. Times are in
    microseconds, rates a second, shares 0 to 1.
    """
    return {
        "file": found.path,
        "gpu": found.gpu,
        "regime": found.regime.name,
        "reason": filled(found.regime.reason, found.regime.values),
        "threshold": found.regime.threshold,
        "evidence": [value_json(value) for value in _evidence(found)],
        "window": [value_json(value) for value in found.window],
        "roofline": found.roofline or None,
        "peak_source": found.device.source if found.device else None,
        "peak_note": (found.device.note or None) if found.device else None,
        "kernels": [_kernel_json(one) for one in found.kernels],
        "findings": [_finding_json(trace, one) for one in found.findings],
    }


def _evidence(found: Explanation) -> list[Value]:
    """The values of the reason and those that go with every regime, each name once."""
    named = {value.name: value for value in (*found.evidence, *found.regime.values)}
    return list(named.values())


def _kernel_json(one: KernelRate) -> dict[str, Any]:
    return {
        "name": one.name,
        "words": kernel_words(decode(one.name)),
        "op": one.op,
        "count": one.count,
        "total_us": us(one.total_ns),
        "median_us": us(one.median_ns),
        "flops": one.work.flops,
        "bytes": one.work.size_bytes,
        "bytes_are_a_lower_bound": one.work.is_lower_bound,
        "flops_per_s": one.flops_per_s,
        "bytes_per_s": one.bytes_per_s,
        "flops_per_byte": one.intensity,
        "compute_share": one.compute_share,
        "memory_share": one.memory_share,
        "may_be_cached": one.may_be_cached,
        "bound": one.bound,
        "reason": one.work.reason or None,
    }


def _finding_json(trace: Trace, finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "kind": finding.kind.value,
        "claim": filled(finding.claim, finding.values),
        "evidence": [value_json(value) for value in finding.values],
        "threshold": finding.threshold,
        "next_step": finding.next_step or None,
        "rows": [int(trace.events.row[row]) for row in finding.rows],
    }
