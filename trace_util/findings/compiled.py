"""Findings about torch.compile: recompilations and graph breaks, told by Dynamo's own rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from trace_util.findings.finding import Finding, count, rows_of, text
from trace_util.findings.finding import Kind as FindingKind
from trace_util.findings.scene import Scene

# Dynamo names a region by its code and how often that has been compiled before, with a prefix under
# compiled autograd and a suffix for a restarted attempt (torch/_guards.py, CompileId; torch 2.15).
_REGION = re.compile(r"^Torch-Compiled Region: (?:!\d+/)?(\d+)/(\d+)(?:_\d+)?$")


def compiled(scene: Scene) -> Iterator[Finding]:
    """Recompilations and graph breaks."""
    regions = _regions(scene)
    yield from recompilations(regions)
    yield from graph_breaks(scene, regions)


def _regions(scene: Scene) -> dict[int, dict[int, list[int]]]:
    """Frame -> number of the compilation -> the calls of it, as rows."""
    events = scene.trace.events
    found: dict[int, dict[int, list[int]]] = defaultdict(dict)
    for index, name in enumerate(scene.trace.names):
        if match := _REGION.match(name):
            frame, compilation = map(int, match.groups())
            found[frame][compilation] = np.flatnonzero(events.name == index).tolist()
    return found


def recompilations(regions: dict[int, dict[int, list[int]]]) -> Iterator[Finding]:
    """Frames that were compiled more than once."""
    again = {frame: found for frame, found in regions.items() if max(found) > 0}
    if not again:
        return
    times = sum(max(found) for found in again.values())
    names = [f"{frame}/{number}" for frame, found in again.items() for number in sorted(found)]
    rows = [row for found in again.values() for calls in found.values() for row in calls]
    several = any(len(found) > 1 for found in again.values())
    yield Finding(
        "recompilations",
        FindingKind.COST if several else FindingKind.NOTE,
        "torch.compile compiled the same code again, {times:time/times} so far (regions {names})"
        + (", and the recorded steps use more than one version" if several else ""),
        (count("times", times), text("names", ", ".join(names))),
        "any; a cost when the recorded steps switch between versions",
        'see why with TORCH_LOGS="recompiles"; mark what varies as dynamic',
        rows_of(rows),
    )


def graph_breaks(scene: Scene, regions: dict[int, dict[int, list[int]]]) -> Iterator[Finding]:
    """Several compiled regions a step: the code between them runs uncompiled."""
    if len(regions) < 2 or not scene.links.steps:
        return
    rows = np.array(
        [row for found in regions.values() for calls in found.values() for row in calls]
    )
    steps = scene.links.step[rows]
    most = max(int((steps == i).sum()) for i in range(len(scene.links.steps)))
    if most < 2:
        return
    yield Finding(
        "graph-breaks",
        FindingKind.COST,
        "{most} compiled regions run in one step, of {frames} pieces of code: graph breaks, or "
        "functions compiled one by one; nothing is fused across them",
        (count("most", most), count("frames", len(regions))),
        "from 2 regions a step on: reasoned",
        'find the breaks with TORCH_LOGS="graph_breaks" or torch.compile(fullgraph=True)',
        rows_of(rows),
    )
