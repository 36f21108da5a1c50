"""A comparison as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from trace_util.compare import ComparedRun, Comparison, Difference, FusedKernels, KernelUse
from trace_util.compare.uses import TransferUse
from trace_util.kernel_names import decode
from trace_util.ranges import Distinction, Range
from trace_util.report.gpu_words import gpu_words
from trace_util.report.text import (
    PLAIN,
    Style,
    clean,
    name_column,
    number_column,
    shortened,
    table,
    wrapped,
)
from trace_util.report.units import counted, duration, share, size, unit_for

_NAME = 56  # columns of a kernel's name
_LABEL = 10
_MOST = 12  # names in one list


def compare_text(found: Comparison, style: Style = PLAIN) -> str:
    """The comparison: what was run, a table of a step of each, and each run beside the baseline."""
    parts = ["\n".join(_runs(found, style)), _table(found, style)]
    parts += ["\n".join(_difference(found, one, style)) for one in found.differences]
    return "\n\n".join(parts) + "\n"


def letter(index: int) -> str:
    """What a run is called: A, B, C, …"""
    return chr(ord("A") + index) if index < 26 else f"#{index + 1}"


def _runs(found: Comparison, style: Style) -> Iterator[str]:
    for index, run in enumerate(found.runs):
        merged = f"merged of {counted(run.run.ranks, 'rank')}" if run.run.ranks else None
        told = [run.run.lesson, run.run.variant, merged, gpu_words(run.run.gpu, run.run.on_gpu)]
        words = ", ".join(clean(word) for word in told if word)
        base = ", the baseline" if index == found.baseline else ""
        yield style.bold(wrapped(clean(run.path), style, 0, f"{letter(index)}  "))
        yield wrapped(words + base, style, 3)
        for flaw in run.incomplete:
            yield style.warn(wrapped(flaw, style, 3, "warning  "))


def _table(found: Comparison, style: Style) -> str:
    (name, *numbers), rows = run_table(found)
    return table([name_column(name), *map(number_column, numbers)], rows, style)


def run_table(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """The titles and the rows of a table with what a step of each run does."""
    titles = ["a step of" if found.by_step else "whole file", "unprofiled (min to max)", "CPU",
              "GPU", "kernels", "launches", "copies", "memsets", "busy"]  # fmt: skip
    return titles, [_row(index, run) for index, run in enumerate(found.runs)]


def _row(index: int, run: ComparedRun) -> list[str]:
    times = run.times
    moved = [
        sum(use.count for use in run.transfers if use.is_memset is memset)
        for memset in (False, True)
    ]
    return [
        f"{letter(index)} {'merged' if run.run.ranks else run.run.variant or ''}".strip(),
        _spread(times.unprofiled),
        duration(times.cpu.median_ns) if times.cpu else "-",
        duration(times.gpu.median_ns) if times.gpu else "-",
        "-" if run.kernels is None else _count(run.kernels),
        _count(run.launches),
        *("-" if run.no_gpu else _count(number) for number in moved),
        "-" if run.busy_share is None else share(run.busy_share),
    ]


def _spread(time: Range | None) -> str:
    if time is None:
        return "-"
    unit = unit_for([time.median_ns])
    if unit_for([time.min_ns]).ns != unit.ns:  # in one unit it would lose its digits
        low, high = duration(time.min_ns), duration(time.max_ns)
        return f"{duration(time.median_ns)} ({low} to {high})"
    low, high = unit.number(time.min_ns), unit.number(time.max_ns)
    return f"{unit.number(time.median_ns)} ({low} to {high}) {unit.name}"


def _count(number: float) -> str:
    return f"{number:,.0f}" if abs(number - round(number)) < 1e-9 else f"{number:,.2f}"


def _difference(found: Comparison, one: Difference, style: Style) -> Iterator[str]:
    yield style.bold(f"{letter(one.index)} beside {letter(found.baseline)}")
    for label, text in difference_lines(found, one):
        line = wrapped(text, style, 2, f"{label:<{_LABEL}}")
        yield style.warn(line) if label == "warning" else line


def difference_lines(found: Comparison, one: Difference) -> Iterator[tuple[str, str]]:
    """What differs from the baseline, as labels and sentences."""
    before, after = letter(found.baseline), letter(one.index)
    if one.unlike:
        yield "warning", "unlike runs: " + "; ".join(one.unlike)
    yield "step", _step(one, found)
    yield "CPU", _changed(one.cpu, found, one, "cpu", " with the profiler")
    yield "GPU", _changed(one.gpu, found, one, "gpu", "")
    per = "a step" if found.by_step else "in the file"
    yield from _kernels(one, before, after, per)
    yield from _transfers(found, one, per)
    yield from _rows(one)
    yield "bytes", _bytes(one, per)


def _step(one: Difference, found: Comparison) -> str:
    if one.unprofiled.change is None:
        return f"without the profiler not known: {one.unprofiled.reason}"
    return _changed(one.unprofiled, found, one, "unprofiled", " without the profiler")


def _changed(told: Distinction, found: Comparison, one: Difference, what: str, how: str) -> str:
    if told.change is None:
        return f"not known: {told.reason}"
    old, new = (
        getattr(found.runs[index].times, what).median_ns for index in (found.baseline, one.index)
    )
    word = {True: "distinguishable: ", False: "not distinguishable: ", None: ""}[told.differs]
    change = f"{duration(old)} to {duration(new)} ({100 * told.change:+.1f} %)"
    return f"{change}{how}; {word}{told.reason}"


def _kernels(one: Difference, before: str, after: str, per: str) -> Iterator[tuple[str, str]]:
    kernels = one.kernels
    equal = [pair for pair in kernels.same if pair.before.count == pair.after.count]
    if kernels.same:
        whole = "the very same kernels, nothing to fuse: " if kernels.all_same else ""
        counts = [_used(pair.before, per) for pair in equal]
        counts += [
            f"{_short(pair.before)} ({_count(pair.before.count)} in {before}, "
            f"{_count(pair.after.count)} in {after})"
            for pair in kernels.same
            if pair not in equal
        ]
        yield "same", whole + _listed(counts)
    for fused in one.fused:
        yield "fused", fused_sentence(fused)
    for split in one.split:
        yield "split", split_sentence(split)
    for pair in kernels.replaced:
        changed = f"; changed in the name: {', '.join(pair.changed)}" if pair.changed else ""
        times = f"{duration(pair.before.time.median_ns)} to {duration(pair.after.time.median_ns)}"
        yield "replaced", f"{_used(pair.before, per)} by {_used(pair.after, per)}, {times}{changed}"
    for label, uses in ((before, kernels.only_before), (after, kernels.only_after)):
        if uses:
            yield f"only in {label}", _listed([_used(use, per) for use in uses])


def fused_sentence(fused: FusedKernels) -> str:
    """``gelu and mul became triton_poi_…; a 50.3 MB intermediate no longer makes a round trip``."""
    match = fused.match
    ops = " and ".join(filter(None, (", ".join(match.ops[:-1]), match.ops[-1])))
    parts = [
        f"{ops} became {_short(match.whole)} (told by {match.told_by})",
        *_kept(fused, "no longer"),
        f"{_times(fused)} became {duration(match.whole.time.median_ns)}",
    ]
    return "; ".join(parts)


def split_sentence(split: FusedKernels) -> str:
    """The reverse of a fusion: one kernel became several."""
    match = split.match
    parts = [
        f"{_short(match.whole)} became {', '.join(map(_short, match.parts))} "
        f"(told by {match.told_by})",
        *_kept(split, "now"),
        f"{duration(match.whole.time.median_ns)} became {_times(split)}",
    ]
    return "; ".join(parts)


def _times(fused: FusedKernels) -> str:
    return " + ".join(
        f"{_count(use.count)} x " * (use.count != 1) + duration(use.time.median_ns)
        for use in fused.match.parts
    )


def _kept(fused: FusedKernels, when: str) -> Iterator[str]:
    """What becomes of the intermediates, those of one size and shape together."""
    counts: Counter[tuple[str, str]] = Counter()
    for kept in fused.intermediates:
        tensor = kept.tensor
        shape = f"{list(tensor.dims)} {tensor.dtype or 'of unknown dtype'}"
        counts[size(tensor.size_bytes), shape] += kept.count  # type: ignore[assignment]
    for (told, shape), count in counts.items():
        if count == 1:
            article = "an" if told.startswith("8") or re.match(r"1[18](?!\d)", told) else "a"
            what = f"{article} {told} intermediate, {shape}, {when} makes a round trip"
        else:
            what = f"{_count(count)} intermediates of {told} each, {shape}, {when} make round trips"
        yield f"{what} through the GPU's memory"


def _transfers(found: Comparison, one: Difference, per: str) -> Iterator[tuple[str, str]]:
    old, new = (
        {use.name: use for use in found.runs[index].transfers}
        for index in (found.baseline, one.index)
    )
    gone = [_transfer(old[name], per) for name in old if name not in new]
    came = [_transfer(new[name], per) for name in new if name not in old]
    both = [name for name in old if name in new and old[name].count != new[name].count]
    changed = [f"{clean(n)} {_count(old[n].count)} to {_count(new[n].count)}" for n in both]
    for what, texts in (("gone", gone), ("come", came), ("changed", changed)):
        if texts:
            yield "copies", f"{what}: " + ", ".join(texts)


def _transfer(use: TransferUse, per: str) -> str:
    told = f", {size(use.size_bytes)}" if use.size_bytes is not None else ""
    return f"{clean(use.name)} ({_count(use.count)} {per}{told})"


def _rows(one: Difference) -> Iterator[tuple[str, str]]:
    gone = [row for row in one.rows if not row.after]
    came = [row for row in one.rows if not row.before]
    changed = [row for row in one.rows if row.before and row.after]
    for words, rows, number in (
        ("gone: ", gone, "before"),
        ("come: ", [row for row in came if not row.of_compiler], "after"),
        ("come with torch.compile: ", [row for row in came if row.of_compiler], "after"),
    ):
        if rows:
            counts = [f"{_row_name(row.name)} {_count(getattr(row, number))}" for row in rows]
            yield "CPU rows", words + _listed(counts)
    if changed:
        counts = [
            f"{_row_name(row.name)} {_count(row.before)} to {_count(row.after)}" for row in changed
        ]
        yield "CPU rows", "changed: " + _listed(counts)


def _row_name(name: str) -> str:
    return shortened(name, _NAME)


def _bytes(one: Difference, per: str) -> str:
    """What fusions keep on the chip, less what copies and memsets add."""
    if one.bytes_saved is None:
        return f"saved not known: {one.bytes_reason}"
    if one.bytes_saved < 0:
        return f"{size(-one.bytes_saved)} more {per} go through the GPU's memory"
    if one.bytes_saved == 0:
        what = (
            "fusions and copies make up for each other"
            if one.fused or one.split
            else "nothing was fused"
        )
        return f"none saved: {what}"
    return f"{size(one.bytes_saved)} fewer {per} go through the GPU's memory"


def _listed(texts: list[str]) -> str:
    """The first of them, and how many more there are; the JSON has all."""
    more = len(texts) - _MOST
    return ", ".join(texts[:_MOST]) + (f" and {more:,} more" if more > 0 else "")


def _short(use: KernelUse) -> str:
    return shortened(decode(use.name).short, _NAME)


def _used(use: KernelUse, per: str) -> str:
    return f"{_short(use)} ({_count(use.count)} {per})"
