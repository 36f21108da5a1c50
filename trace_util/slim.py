"""A copy of a trace that is small enough to share, and the proof that what it is for is in it.

What is kept is kept byte for byte. The copy is read back: its events must be those that were
chosen, and the totals that the choice promises must be what they are in the whole trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from trace_util import content
from trace_util.cautions import SOURCE_INCOMPLETE
from trace_util.events import CALL_KINDS, GPU_KINDS, Kind, Trace, TraceError, UsageError
from trace_util.facts import Facts, trace_facts
from trace_util.job.rank import incomplete
from trace_util.links import Links, link
from trace_util.reader import read_trace
from trace_util.sieve import LOOK, Other, Wanted, sift

STEPS, GPU, NO_PYTHON = "steps", "gpu", "no-python"
CHOICES = {
    STEPS: "what runs while the recorded steps do, and what launched it",
    GPU: "GPU work, the calls and the ops that launched it, annotations; other ops are dropped",
    NO_PYTHON: "everything but the Python frames",
}
# Kinds that GPU keeps whatever they belong to.
_GPU_KINDS = (
    *GPU_KINDS,
    *CALL_KINDS,
    Kind.SYNC,
    Kind.GPU_ANNOTATION,
    Kind.USER_ANNOTATION,
    Kind.OVERHEAD,
    Kind.BOOKKEEPING,
    Kind.OTHER,
)

RECORD_END = "Record Window End"  # an instant, the end of the recording

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Slimmed:
    """What became of a trace: sizes in bytes, complete events, and the totals that are the same."""

    source: str
    target: str
    keep: str
    size_bytes: int
    slim_bytes: int
    events: int
    kept: int
    totals: dict[str, Any]
    incomplete: str | None = None  # why the source does not hold all that was recorded


def slim_trace(source: Path, target: Path, keep: str) -> Slimmed:
    """Write the part of a trace that ``keep`` (one of ``CHOICES``) names to ``target``.

    Raises:
        UsageError: the copy would replace the trace.
        TraceError: no such choice, no trace, nothing to choose by, or the proof failed.
    """
    if keep not in CHOICES:
        raise TraceError(f"{keep!r}: not a choice; keep one of {', '.join(CHOICES)}")
    if target.exists() and target.samefile(source):
        raise UsageError(f"{target}: is the trace itself; name another file for the copy")
    content.require_rereadable(source)
    content.require_target(target)
    trace = read_trace(source)
    links = link(trace)
    facts = trace_facts(trace, links)
    mask = _chosen(trace, links, facts, keep)
    codes = np.full(sum(trace.phases.values()) + sum(trace.skipped.values()), LOOK, np.uint8)
    codes[trace.events.row] = mask
    note = {"keep": keep, "complete_events": int(mask.sum()), "of": len(mask)}
    flaw = incomplete(trace)
    if flaw:
        note[SOURCE_INCOMPLETE] = True
    sift(source, target, codes, _wanted(trace, links, facts, mask, keep), {"slimmed": note})
    try:
        totals = _proved(trace, facts, mask, read_trace(target), keep)
    except BaseException:  # Ctrl-C too: what was not proved is not kept
        target.unlink()
        raise
    sizes = source.stat().st_size, target.stat().st_size
    kept = int(mask.sum())
    return Slimmed(str(source), str(target), keep, *sizes, len(mask), kept, totals, flaw)


def _chosen(trace: Trace, links: Links, facts: Facts, keep: str) -> Mask:
    """The events to keep, ``[n]``."""
    events = trace.events
    if keep == NO_PYTHON:
        return ~events.is_kind(Kind.PYTHON)
    if keep == GPU:
        if facts.gpu_activity != "recorded":
            raise TraceError(f"{trace.path}: no GPU work was recorded; --keep {NO_PYTHON} may help")
        mask = events.is_kind(*_GPU_KINDS)
        mask[[step.index for step in links.steps]] = True
        if not links.steps:
            mask |= _outermost(events.start_ns, events.end_ns, events.is_kind(Kind.CPU_OP))
    else:
        if not links.steps or facts.window_start_ns is None or facts.window_end_ns is None:
            other = GPU if facts.gpu_activity == "recorded" else NO_PYTHON
            raise TraceError(
                f"{trace.path}: has no step marks to choose by; --keep {other} needs none"
            )
        mask = events.start_ns <= facts.window_end_ns
        mask &= events.end_ns >= facts.window_start_ns
        mask |= events.is_kind(Kind.BOOKKEEPING)
    return _with_origins(links, mask & events.is_kind(*GPU_KINDS, *CALL_KINDS), mask)


def _outermost(start_ns: NDArray[np.int64], end_ns: NDArray[np.int64], among: Mask) -> Mask:
    """The first to start and the last to end: without step marks they bound the window."""
    mask = np.zeros(len(among), dtype=bool)
    rows = np.flatnonzero(among)
    if len(rows):
        mask[rows[np.argmin(start_ns[rows])]] = True
        mask[rows[np.argmax(end_ns[rows])]] = True
    return mask


def _with_origins(links: Links, working: Mask, mask: Mask) -> Mask:
    """``mask`` and the calls that launched the working events, with the ops around them."""
    mask = mask.copy()
    calls = links.launch[working]
    mask[calls[calls >= 0]] = True
    ops = np.concatenate([links.op[working], links.op[calls[calls >= 0]]])
    mask[ops[ops >= 0]] = True
    return mask


def _wanted(trace: Trace, links: Links, facts: Facts, mask: Mask, keep: str) -> Wanted:
    """Which rows that are no complete events stay: names, and arrows whose ends do."""
    if keep == NO_PYTHON:
        return lambda row: row.ph != "X"
    if keep == GPU:
        return lambda row: row.ph == "M" or _joins_launches(row) or row.name == RECORD_END
    launches = np.flatnonzero(mask & links.is_launch)
    first = min([facts.window_start_ns or 0, *trace.events.start_ns[launches].tolist()])
    last = facts.window_end_ns or 0

    def within(row: Other) -> bool:
        if row.ph in ("M", "X") or row.name == RECORD_END:
            return row.ph != "X"
        at = row.start_ns
        return at is not None and first <= at <= last

    return within


def _joins_launches(row: Other) -> bool:
    """Whether a row is an arrow from a launch to its GPU work ("ac2g" in Kineto)."""
    return row.ph in ("s", "t", "f") and "ac2g" in (row.cat, row.name)


def _proved(trace: Trace, facts: Facts, mask: Mask, copy: Trace, keep: str) -> dict[str, Any]:
    """The totals that source and copy have in common, once they are known to be the same.

    Raises:
        TraceError: an event differs, or a total does.
    """
    chosen, copied = _columns(trace, mask), _columns(copy, np.ones(len(copy.events), bool))
    if len(copy.events) != mask.sum():
        raise _not_kept(trace, copy, "the number of its events")
    for name, values in chosen.items():
        if not np.array_equal(values, copied[name]):
            raise _not_kept(trace, copy, f"{_COLUMNS.get(name, name)} of its events")
    before, after = _totals(facts, keep), _totals(trace_facts(copy), keep)
    for name, value in before.items():
        if after[name] != value:
            raise _not_kept(trace, copy, name.removesuffix("_ns").replace("_", " "))
    return {name: value for name, value in before.items() if isinstance(value, (int, type(None)))}


_COLUMNS = {
    "start_ns": "the start times",
    "duration_ns": "the durations",
    "external_id": "the ids",
    "size_bytes": "the sizes",
}


def _not_kept(trace: Trace, copy: Trace, what: str) -> TraceError:
    return TraceError(
        f"{copy.path}: {what} came out different from those of {trace.path}, so the copy is not "
        "kept; the trace may be damaged, which trace-util summary would say"
    )


def _columns(trace: Trace, mask: Mask) -> dict[str, NDArray[Any]]:
    """The chosen events, in columns that do not depend on the tables of one file."""
    events = trace.events
    tables = {
        "name": trace.names,
        "category": trace.categories,
        "process": trace.processes,
        "thread": trace.threads,
        "shapes": [tuple(shapes) for shapes in trace.shapes],
        "launch": [tuple(launch) for launch in trace.launches],
    }
    plain = ("start_ns", "duration_ns", "kind", "device", "stream", "correlation", "external_id")
    columns = {name: getattr(events, name)[mask] for name in (*plain, "size_bytes")}
    for name, table in tables.items():
        texts = np.array([*map(str, table), ""], dtype=object)  # -1 is the last one
        columns[name] = texts[getattr(events, name)[mask]]
    return columns


def _totals(facts: Facts, keep: str) -> dict[str, Any]:
    """What the choice promises to leave as it is; the whole numbers among them are shown."""
    totals: dict[str, Any] = {
        "window_start_ns": facts.window_start_ns,
        "window_end_ns": facts.window_end_ns,
        "window_busy_ns": facts.window_busy_ns,
        "steps": len(facts.steps),
        "kernels_of_steps": sum(step.kernels for step in facts.steps),
        "gpu_busy_of_steps_ns": sum(step.gpu_busy_ns for step in facts.steps),
        "each_step": tuple(
            replace(step, index=0, cpu_ns=0 if keep == GPU else step.cpu_ns) for step in facts.steps
        ),
        "devices": tuple(
            (one.device, one.window_busy_ns, one.window_copy_ns, one.window_kernel_ns)
            for one in facts.devices
            if keep != STEPS or one.window_busy_ns
        ),
    }
    if keep != STEPS:
        names = (
            "kernel_count", "kernel_total_ns", "gpu_busy_ns", "launch_count", "lost_launches",
            "graph_launches", "graph_kernels", "unlinked_gpu_events", "queue_delay", "kernels",
            "launches", "copies", "memsets", "syncs", "overheads", "annotations",
        )  # fmt: skip
        totals |= {name: getattr(facts, name) for name in names}
        totals["gaps"] = facts.gaps.by_cause()
    if keep == NO_PYTHON:
        totals["ops"] = facts.ops
    return totals
