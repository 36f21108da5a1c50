"""The numbers of a trace: window, busy time, gaps, launches, steps, kernels, ops, copies.

The terms are used in one sense throughout:

- *Window*: from the start of the first recorded step to the end of the last step or of the last GPU
  event launched from within, whichever is later. Without step marks: the span of the CPU ops and of
  the GPU events launched from within it.
- *Busy*: the length of the union of kernels, copies and memsets over all streams of a device.
- *Launch*: a call that puts work on a stream; a runtime call and the driver call in it are one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from trace_util.beneath import Launched
from trace_util.blocks import rows_where
from trace_util.events import GPU_KINDS, Events, Kind, Trace, require_trace
from trace_util.gaps import Gaps, closing_flush, device_gaps
from trace_util.impossible import LONGEST_NS
from trace_util.inventory import (
    AnnotationFacts,
    CopyFacts,
    KernelFacts,
    LaunchFacts,
    NamedFacts,
    OpFacts,
    annotation_facts,
    copy_facts,
    kernel_facts,
    launch_facts,
    op_facts,
    overhead_facts,
    sync_facts,
)
from trace_util.launches import first_of_each_launch, lost_launches
from trace_util.links import Links, link
from trace_util.occupation import DeviceFacts, device_facts, rows_by_device
from trace_util.partial_steps import partial_steps
from trace_util.span import trace_window
from trace_util.steps import StepFacts, crossing, step_facts
from trace_util.tally import Spread, distinct, middle, spread
from trace_util.timeline import Indexes, clip, union_ns


class UnprofiledStep(Struct, frozen=True, gc=False):
    """The time of a step without the profiler, measured in the same run before it was recorded."""

    median_ns: float
    min_ns: float | None
    max_ns: float | None
    count: int | None
    clock: str | None  # "cuda_event" or "wall"


class Facts(Struct, frozen=True, eq=False):
    """What a trace says, in int64 nanoseconds; ``None`` is what it cannot say, and never 0.

    Tuples of named things are sorted by total time, largest first. Rows are indexes into the
    columns of the events.
    """

    gpu: str | None  # the device's name, of the first device that did work
    gpu_activity: str  # "recorded"; "missing": launches but no GPU work; "none": nothing launched
    window_start_ns: int | None
    window_end_ns: int | None
    gpu_busy_ns: int | None  # whole file, union over all devices
    window_busy_ns: int | None  # the same inside the window
    devices: tuple[DeviceFacts, ...]
    kernel_count: int
    kernel_total_ns: int
    launch_count: int  # calls that launched kernels or replayed a graph
    lost_launches: int  # of those, the ones whose work is missing from an otherwise recorded trace
    graph_launches: int
    graph_kernels: int
    unlinked_gpu_events: int
    queued_before: int  # of those, the ones that ran before any launched work: queued earlier
    queue_delay: Spread | None  # start of a kernel's launch to start of its first kernel
    steps: tuple[StepFacts, ...]
    crossing_rows: tuple[int, ...]  # ops and annotations that begin before a step and end inside it
    kernels: tuple[KernelFacts, ...]
    ops: tuple[OpFacts, ...]
    annotations: tuple[AnnotationFacts, ...]
    launches: tuple[LaunchFacts, ...]
    copies: tuple[CopyFacts, ...]
    memsets: tuple[CopyFacts, ...]
    syncs: tuple[NamedFacts, ...]  # calls in which the CPU waited, the closing flush included
    flush_row: int | None  # the profiler's own closing synchronise
    overheads: tuple[NamedFacts, ...]  # the profiler's and CUDA's own `overhead` rows
    gaps: Gaps
    unprofiled_step: UnprofiledStep | None
    partial_steps: tuple[int, ...] = ()  # of whose GPU work the trace does not tell all

    def __repr__(self) -> str:
        from trace_util.report.notebook import facts_repr

        return facts_repr(self)

    def _repr_html_(self) -> str:
        from trace_util.report.notebook import facts_html

        return facts_html(self)

    @property
    def window_ns(self) -> int | None:
        """The length of the window."""
        if self.window_start_ns is None or self.window_end_ns is None:
            return None
        return self.window_end_ns - self.window_start_ns

    @property
    def busy_share(self) -> float | None:
        """The part of the window in which any device is busy, 0 to 1."""
        if self.window_busy_ns is None or not self.window_ns:
            return None
        return self.window_busy_ns / self.window_ns

    @property
    def hidden_in_perfetto(self) -> int:
        """GPU events that the Perfetto UI drops or moves: they cross another one of their row."""
        return sum(device.hidden_in_perfetto for device in self.devices)

    @property
    def median_step_ns(self) -> float | None:
        """The median duration of the step marks."""
        if not self.steps:
            return None
        return middle([step.duration_ns for step in self.steps])


def trace_facts(trace: Trace, links: Links | None = None) -> Facts:
    """The facts of a trace; ``links`` spares the linking where it has been done.

    Raises:
        UsageError: ``trace`` is none, but a path, say.
    """
    require_trace(trace, "trace_facts")
    links = links or link(trace)
    events = trace.events
    gpu = rows_where(events.is_kind(*GPU_KINDS))
    by_device = rows_by_device(events, gpu)
    window = trace_window(trace, links)
    recorded = len(gpu) > 0
    lost = lost_launches(trace, links) if recorded else np.zeros(len(events), dtype=bool)
    kernels = kernel_facts(trace, links)
    launch_count = int(np.count_nonzero(links.launches_kernels))
    launches = launch_facts(trace, links, lost)
    ops, annotations = _ranges(trace, links)
    steps = step_facts(trace, links, lost)
    return Facts(
        gpu=_gpu_name(trace, gpu),
        gpu_activity="recorded" if recorded else "missing" if launch_count else "none",
        window_start_ns=window[0] if window else None,
        window_end_ns=window[1] if window else None,
        gpu_busy_ns=union_ns(events.start_ns[gpu], events.ends(gpu)) if recorded else None,
        window_busy_ns=_busy_within(events, gpu, window) if recorded and window else None,
        devices=device_facts(trace, by_device, window),
        kernel_count=sum(kernel.count for kernel in kernels),
        kernel_total_ns=sum(kernel.total_ns for kernel in kernels),
        launch_count=launch_count,
        lost_launches=int(lost.sum()),
        graph_launches=sum(one.count for one in launches if one.is_graph),
        graph_kernels=sum(one.kernels for one in launches if one.is_graph),
        unlinked_gpu_events=int((links.launch[gpu] < 0).sum()),
        queued_before=_queued_before(trace, links, gpu),
        queue_delay=_queue_delay(trace, links, gpu),
        steps=steps,
        partial_steps=partial_steps(trace, links, steps) if recorded else (),
        crossing_rows=tuple(crossing(trace, links).tolist()),
        kernels=kernels,
        ops=ops,
        annotations=annotations,
        launches=launches,
        copies=copy_facts(trace, Kind.MEMCPY),
        memsets=copy_facts(trace, Kind.MEMSET),
        syncs=sync_facts(trace),
        flush_row=closing_flush(trace, links),
        overheads=overhead_facts(trace),
        gaps=device_gaps(trace, links, by_device, *(window or (0, 0))),
        unprofiled_step=_unprofiled_step(trace.header.run),
    )


def _gpu_name(trace: Trace, gpu: Indexes) -> str | None:
    """The name of the first device that did work; of the first one listed where none did."""
    listed = trace.header.device_properties
    known = {one["id"]: one.get("name") for one in listed if isinstance(one.get("id"), int)}
    used = distinct(trace.events.device[gpu]).tolist()
    names = [known[device] for device in used if known.get(device)]
    return next((str(name) for name in names or (one.get("name") for one in listed) if name), None)


def _ranges(trace: Trace, links: Links) -> tuple[tuple[OpFacts, ...], tuple[AnnotationFacts, ...]]:
    launched = Launched(trace, links)
    return op_facts(trace, links, launched), annotation_facts(trace, links, launched)


def _busy_within(events: Events, gpu: Indexes, window: tuple[int, int]) -> int:
    return union_ns(*clip(events.start_ns[gpu], events.ends(gpu), *window))


def _queue_delay(trace: Trace, links: Links, gpu: Indexes) -> Spread | None:
    """From the start of each launch of kernels to that of its first kernel."""
    starts = trace.events.start_ns
    kernels = gpu[trace.events.kind[gpu] == Kind.KERNEL]
    first = first_of_each_launch(trace, links, kernels)
    return spread(starts[first] - starts[links.launch[first]])


def _queued_before(trace: Trace, links: Links, gpu: Indexes) -> int:
    starts = trace.events.start_ns
    linked = gpu[links.launch[gpu] >= 0]
    if not len(linked):
        return 0
    alone = gpu[links.launch[gpu] < 0]
    return int((starts[alone] < starts[linked].min()).sum())


def _unprofiled_step(run: dict[str, Any]) -> UnprofiledStep | None:
    told = run.get("unprofiled_step_us")
    if not isinstance(told, dict):
        return None
    median, low, high = (_measured_ns(told.get(key)) for key in ("median", "min", "max"))
    if median is None:
        return None
    count, clock = told.get("n"), told.get("clock")
    return UnprofiledStep(
        median_ns=median,
        min_ns=low,
        max_ns=high,
        count=count if isinstance(count, int) and count > 0 else None,
        clock=clock if isinstance(clock, str) else None,
    )


def _measured_ns(told_us: Any) -> float | None:
    """A time in microseconds as nanoseconds; ``None`` for what no clock measures in a step."""
    is_time = isinstance(told_us, (int, float)) and 0 < told_us * 1000 <= LONGEST_NS
    return told_us * 1000 if is_time else None
