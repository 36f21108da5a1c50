"""What an idle GPU waits for: launches, the next batch, or a CPU that had waited for the GPU."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from trace_util.events import Kind
from trace_util.findings.scene import Scene
from trace_util.gaps import Cause
from trace_util.timeline import covered_ns, union

LAUNCHES, INPUT, SYNCHRONISE, UNKNOWN = "launches", "input", "synchronise", "unknown"

# torch/utils/data/dataloader.py wraps each fetch in a range of this name.
_LOADER = re.compile(r"^enumerate\(DataLoader\)#")
_NAMES = {
    Cause.OVERHEAD: LAUNCHES,
    Cause.SYNCHRONISE: SYNCHRONISE,
    Cause.UNKNOWN: UNKNOWN,
}  # what the profiler itself costs is no cause of the run's


def loader_rows(scene: Scene) -> NDArray[np.int64]:
    """The ranges in which the main thread waits for the next batch, as rows."""
    names = [i for i, name in enumerate(scene.trace.names) if _LOADER.match(name)]
    if not names:
        return np.zeros(0, dtype=np.int64)
    events = scene.trace.events
    return scene.named(np.flatnonzero(events.is_kind(Kind.USER_ANNOTATION, Kind.CPU_OP)), names)


def idle_causes(scene: Scene) -> Counter[str]:
    """Why the busiest device is idle in the kept steps, in ns by ``LAUNCHES``, ``INPUT``, …

    What is not launched while the main thread waits for a batch waits for ``INPUT``.
    """
    gaps, events, rows = scene.facts.gaps, scene.trace.events, loader_rows(scene)
    loader = union(events.start_ns[rows], events.end_ns[rows])
    found: Counter[str] = Counter()
    for cause, name in _NAMES.items():
        mine = (gaps.device == scene.busiest) & (gaps.cause == cause)
        starts, ends = scene.kept_parts(gaps.start_ns[mine], gaps.end_ns[mine])
        found[name] += int((ends - starts).sum())
        if cause == Cause.OVERHEAD:
            waits = int(covered_ns(loader, starts, ends).sum())
            found += Counter({INPUT: waits})
            found[LAUNCHES] -= waits
    return +found


def idle_cause(scene: Scene) -> str | None:
    """What the GPU waits for most; ``None`` where it is never idle."""
    return max(idle_causes(scene).items(), key=lambda item: item[1], default=(None, 0))[0]
