"""Findings about collectives: how much of them no other work of the GPU hides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trace_util.events import GPU_KINDS
from trace_util.findings.finding import Finding, count, ns, rows_of, share
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.scene import Scene
from trace_util.occupation import rows_by_device
from trace_util.timeline import union_ns

# Reasoned: less of the busy time is not worth rearranging a training step for.
FELT = 0.05


def network(scene: Scene) -> Iterator[Finding]:
    """The time in which a device runs collectives and nothing else."""
    events = scene.trace.events
    names = [i for i, name in scene.kernel_names.items() if name.role == "communication"]
    gpu = np.flatnonzero(events.is_kind(*GPU_KINDS))
    rows = scene.named(gpu, names)
    if not len(rows):
        return
    busy = exposed = 0
    for mine in rows_by_device(events, gpu):
        work = mine[~np.isin(mine, rows)]
        busy += union_ns(events.start_ns[mine], events.end_ns[mine])
        exposed += union_ns(events.start_ns[mine], events.end_ns[mine]) - union_ns(
            events.start_ns[work], events.end_ns[work]
        )
    if exposed < FELT * busy:
        return
    merged = isinstance(scene.trace.header.other.get("merged"), dict)
    see = "its ranks' lanes show it" if merged else "merge the ranks' traces to see it"
    yield Finding(
        "exposed-collectives",
        FindingKind.COST,
        "{collectives:collective takes/collectives take} {spent}, and for {exposed}, {part} of the "
        "GPU's busy time, nothing else runs meanwhile",
        (
            count("collectives", len(rows)),
            ns("spent", int(events.duration_ns[rows].sum())),
            ns("exposed", exposed),
            share("part", exposed / busy),
        ),
        "from 5 % of the busy time on: reasoned",
        "overlap them with computation (larger buckets, asynchronous collectives), or wait for the "
        f"slowest rank first: {see}",
        rows_of(rows),
    )
