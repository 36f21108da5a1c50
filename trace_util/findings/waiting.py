"""Findings about waiting: reads back to the host, synchronises, pageable copies, data loader."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trace_util.calls import waits
from trace_util.events import CALL_KINDS, Kind
from trace_util.findings.finding import Finding, count, ns, rows_of, share, size, text
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.idle import loader_rows
from trace_util.findings.scene import Scene
from trace_util.kernel_names import decode
from trace_util.tally import distinct
from trace_util.timeline import clip, union_ns

# `.item()`, `float(tensor)`, `if tensor:`, `tensor.tolist()` end in _local_scalar_dense; the others
# need the number of true elements on the host before they can allocate their output.
_SYNCHRONISING = ("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select")
# Reasoned: a tenth of the window is what a faster loader can give back; less is hidden elsewhere.
LOADER_SHARE = 0.1
# Reasoned: less of the window changes nothing that one would feel.
FELT = 0.01


def waiting(scene: Scene) -> Iterator[Finding]:
    """What keeps the CPU, or the GPU, waiting for the other or for data."""
    yield from read_backs(scene)
    yield from synchronises(scene)
    yield from pageable_copies(scene)
    yield from data_loader(scene)


def read_backs(scene: Scene) -> Iterator[Finding]:
    """Device-to-host copies within the steps, ``.item()`` and its kin among their causes."""
    links = scene.links
    copies = _copies(scene, "DtoH")
    copies = copies[links.step[copies] >= 0] if links.steps else copies
    if not len(copies):
        return
    items = int(scene.within(copies, _SYNCHRONISING).sum())
    by = ", {items} of them by .item() or the like" if items else ""
    moved = _moved(scene, copies)
    yield Finding(
        "device-to-host-copies",
        FindingKind.COST,
        "{copies:copy/copies} to the host{steps}" + (" ({moved})" if moved else "") + by + ": each "
        "makes the CPU wait for all that was launched before it",
        (
            count("copies", len(copies)),
            text("steps", " within the steps" if links.steps else ""),
            size("moved", moved),
            count("items", items),
        ),
        "any within the recorded steps",
        "keep losses and counters on the GPU, read them every so many steps",
        rows_of(copies),
    )


def synchronises(scene: Scene) -> Iterator[Finding]:
    """Waiting calls within the steps; the profiler's closing flush comes after them."""
    events, links = scene.trace.events, scene.links
    calls = np.flatnonzero(events.is_kind(*CALL_KINDS) & (links.step >= 0))
    waiting_names = [
        i for i in distinct(events.name[calls]).tolist() if waits(scene.trace.names[i])
    ]
    rows = scene.named(calls, waiting_names)
    window = scene.facts.window_ns
    spent = union_ns(events.start_ns[rows], events.end_ns[rows]) if len(rows) else 0
    if not window or spent < FELT * window:
        return
    longest = int(rows[np.argmax(events.duration_ns[rows])])
    yield Finding(
        "synchronises",
        FindingKind.COST,
        "the CPU waits for the GPU in {calls:call/calls} within the steps (longest: {name}), "
        "{spent}, {part} of the window: it launches nothing meanwhile",
        (
            count("calls", len(rows)),
            text("name", _call_and_op(scene, longest)),
            ns("spent", spent),
            share("part", spent / window),
        ),
        "from 1 % of the window on: reasoned",
        "remove the synchronise, or what needs the value on the host",
        rows_of(rows),
    )


def _call_and_op(scene: Scene, row: int) -> str:
    op = scene.op_of(row)
    return scene.trace.name_of(row) + (f" in {op}" if op else "")


def pageable_copies(scene: Scene) -> Iterator[Finding]:
    """Host-to-device copies out of pageable memory."""
    copies = _copies(scene, "HtoD")
    pageable = {i for i, name in enumerate(scene.trace.names) if "Pageable" in name}
    events, facts = scene.trace.events, scene.facts
    rows = scene.named(copies, pageable)
    rows = rows[scene.links.step[rows] >= 0] if scene.links.steps else rows
    spent = int(events.duration_ns[rows].sum())
    if not len(rows) or not facts.window_ns or spent < FELT * facts.window_ns:
        return
    moved = _moved(scene, rows)
    yield Finding(
        "pageable-copies",
        FindingKind.COST,
        "{copies:copy/copies} from pageable host memory" + (" ({moved})" if moved else "") + " "
        "take {spent}, {part} of the window: they cannot overlap with kernels",
        (
            count("copies", len(rows)),
            size("moved", moved),
            ns("spent", spent),
            share("part", spent / facts.window_ns),
        ),
        "from 1 % of the window on: reasoned",
        "pin_memory=True in the DataLoader and .to(device, non_blocking=True)",
        rows_of(rows),
    )


def _moved(scene: Scene, rows: NDArray[np.int64]) -> int | None:
    """The bytes that these copies moved; ``None`` where the trace tells none."""
    told = scene.trace.events.size_bytes[rows]
    return int(told[told > 0].sum()) if (told > 0).any() else None


def _copies(scene: Scene, direction: str) -> NDArray[np.int64]:
    events = scene.trace.events
    rows = np.flatnonzero(events.is_kind(Kind.MEMCPY))
    used = distinct(events.name[rows]).tolist()
    wanted = [i for i in used if ("direction", direction) in decode(scene.trace.names[i]).details]
    return scene.named(rows, wanted)


def data_loader(scene: Scene) -> Iterator[Finding]:
    """The main thread waits for the next batch."""
    events, facts = scene.trace.events, scene.facts
    rows = loader_rows(scene)
    start, end = facts.window_start_ns, facts.window_end_ns
    if not len(rows) or start is None or end is None or end <= start:
        return
    spent = union_ns(*clip(events.start_ns[rows], events.end_ns[rows], start, end))
    if spent < LOADER_SHARE * (end - start):
        return
    yield Finding(
        "data-loader",
        FindingKind.COST,
        "the step waits for the data loader for {spent}, {part} of the window ({name})",
        (
            ns("spent", spent),
            share("part", spent / (end - start)),
            text("name", scene.trace.name_of(int(rows[0]))),
        ),
        "from 10 % of the window on: reasoned",
        "more num_workers, a larger prefetch_factor, or less work for each sample",
        rows_of(rows),
    )
