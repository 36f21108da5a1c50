"""A trace and all that was worked out of it, as the findings need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trace_util.devices import Device, device_of
from trace_util.events import GPU_KINDS, Kind, Trace
from trace_util.facts import Facts, trace_facts
from trace_util.gaps import Cause
from trace_util.kernel_names import KernelName, decode
from trace_util.launches import unplaced_work
from trace_util.links import Links, link
from trace_util.roofline import KernelRate, kernel_rates
from trace_util.steps import StepFacts, sound_steps
from trace_util.tally import distinct, middle
from trace_util.timeline import clip, common, union, union_ns

# Measured on H200s (traces/recorded): the steps that keep the GPU busy reach 92 to 104 % of the
# unprofiled step time, so a tenth of it idle is more than their spread. The GPU's work was timed in
# other steps, with the profiler at work, and may be a little longer than the step.
FULL = 0.9
FULL_LEAVES = 0.08
# Reasoned: below one half the GPU waits longer than it works.
HALF = 0.5
# Reasoned, from the same: where it is longer by more than that, the two are of unlike work.
LONGEST = 1.1
# Measured on an H200: the GPU's share of the profiled window is up to so many times smaller than
# that of the unprofiled step, most so for short steps.
SEEN_HIDDEN = 7.5


@dataclass(frozen=True)
class Scene:
    """A trace, its links and facts, its GPU's peaks (``None``: unknown), its kernels' rates."""

    trace: Trace
    links: Links
    facts: Facts
    device: Device | None
    rates: tuple[KernelRate, ...]

    @cached_property
    def sound_steps(self) -> tuple[StepFacts, ...]:
        """The steps whose figures can be compared."""
        return tuple(self.facts.steps[index] for index in sound_steps(self.facts.steps))

    @property
    def all_steps_lost_kernels(self) -> bool:
        """Whether no step's GPU figures are whole."""
        return bool(self.facts.steps) and all(step.lost_kernels for step in self.facts.steps)

    @cached_property
    def step_gpu_ns(self) -> float | None:
        """The median GPU time of a sound step; ``None`` without steps or GPU activity.

        Also where every step lost kernels, or GPU work names no launch, so that it is not known
        whose it is.
        """
        if not self.sound_steps or self.facts.gpu_activity != "recorded":
            return None
        if self.all_steps_lost_kernels or len(unplaced_work(self.trace, self.links)):
            return None
        return middle([step.gpu_busy_ns for step in self.sound_steps])

    @cached_property
    def has_collectives(self) -> bool:
        """Whether the GPU's time holds collectives, in which sending and waiting look alike."""
        return any(name.role == "communication" for name in self.kernel_names.values())

    @cached_property
    def _work_rows(self) -> NDArray[np.int64]:
        """The GPU events that are no collectives."""
        gpu = np.flatnonzero(self.trace.events.is_kind(*GPU_KINDS))
        names = [i for i, name in self.kernel_names.items() if name.role == "communication"]
        return gpu[~self.are_named(gpu, names)]

    @cached_property
    def step_work_ns(self) -> float | None:
        """The median time of a sound step in which the GPU does other work than collectives."""
        if self.step_gpu_ns is None or not self.has_collectives:
            return self.step_gpu_ns
        events, rows = self.trace.events, self._work_rows
        numbers = {step.index: number for number, step in enumerate(self.links.steps)}
        spent = []
        for step in self.sound_steps:
            mine = rows[self.links.step[rows] == numbers[step.index]]
            spent.append(union_ns(events.start_ns[mine], events.ends(mine)))
        return middle(spent)

    @cached_property
    def busiest(self) -> int:
        """The position in ``facts.devices`` of the device that is busy longest; 0 without any."""
        busy = [device.window_busy_ns for device in self.facts.devices]
        return busy.index(max(busy)) if busy else 0

    @cached_property
    def unknown_idle_share(self) -> float:
        """The part of the kept time in which the busiest device is idle for an unknown reason."""
        gaps = self.facts.gaps
        mine = (gaps.device == self.busiest) & (gaps.cause == Cause.UNKNOWN)
        if not self.kept_ns:
            return 0.0
        starts, ends = self.kept_parts(gaps.start_ns[mine], gaps.end_ns[mine])
        return int((ends - starts).sum()) / self.kept_ns

    @property
    def idle_is_explained(self) -> bool:
        """Whether at least half of the kept idle time has a cause that the trace shows."""
        return self.unknown_idle_share <= (1 - (self.busy_share or 0)) / 2

    @cached_property
    def has_launches(self) -> bool:
        """Whether most GPU events have their launch in the trace."""
        gpu = sum(d.kernels + d.copies + d.memsets for d in self.facts.devices)
        return gpu > 0 and 2 * self.facts.unlinked_gpu_events < gpu

    @property
    def is_unprofiled(self) -> bool:
        """Whether the trace carries the step's time without the profiler."""
        return self.facts.unprofiled_step is not None

    @cached_property
    def step_ns(self) -> float | None:
        """The time of a step, without the profiler if known, else of the kept part of the window.

        That part is divided by the number of the sound steps.
        """
        told = self.facts.unprofiled_step
        if told is not None:
            return told.median_ns or None
        if not self.facts.steps or not self.kept_ns:
            return None
        return self.kept_ns / len(self.sound_steps)

    @cached_property
    def _kept(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends of the sound steps, each up to the next one's, the last to the window's.

        Steps of several processes overlap; their union counts.
        """
        steps, end = self.facts.steps, self.facts.window_end_ns or 0
        sound = {step.index for step in self.sound_steps}
        spans = [
            (step.start_ns, max((later.start_ns for later in steps[i + 1 : i + 2]), default=end))
            for i, step in enumerate(steps)
            if step.index in sound
        ]
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        return starts, ends

    @property
    def all_steps_are_sound(self) -> bool:
        """Whether no step is left out of the figures, or there are none."""
        return len(self.sound_steps) == len(self.facts.steps)

    @cached_property
    def kept_ns(self) -> int | None:
        """The length of the window, without the steps that are left out of the figures."""
        if self.all_steps_are_sound:
            return self.facts.window_ns
        return union_ns(*self._kept)

    def kept_parts(
        self, start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The parts of intervals, in order and disjoint, that lie in the kept time."""
        if self.all_steps_are_sound:
            window = self.facts.window_start_ns or 0, self.facts.window_end_ns or 0
            return clip(start_ns, end_ns, *window)
        return common(start_ns, end_ns, union(*self._kept))

    @cached_property
    def busy_share(self) -> float | None:
        """The part of that time in which any device is busy, 0 to 1; ``None`` if all lost some."""
        if self.all_steps_lost_kernels:
            return None
        if self.all_steps_are_sound or self.facts.busy_share is None or not self.kept_ns:
            return self.facts.busy_share
        return self._share(np.flatnonzero(self.trace.events.is_kind(*GPU_KINDS)))

    @cached_property
    def work_share(self) -> float | None:
        """The part in which any device does other work than collectives."""
        known = self.busy_share is not None and self.has_collectives
        return self._share(self._work_rows) if known else self.busy_share

    def _share(self, rows: NDArray[np.int64]) -> float | None:
        """The part of the kept time in which any of these GPU events runs."""
        if not self.kept_ns:
            return None
        busy = union(self.trace.events.start_ns[rows], self.trace.events.ends(rows))
        starts, ends = self.kept_parts(busy.start_ns, busy.end_ns)
        return int((ends - starts).sum()) / self.kept_ns

    @cached_property
    def unprofiled_share(self) -> float | None:
        """GPU time over step time, both of a step, the latter measured without the profiler.

        The GPU time is that of the profiled steps, waits in collectives included, and may be longer
        than the step.
        """
        told = self.facts.unprofiled_step
        if told is None or self.step_gpu_ns is None or not told.median_ns:
            return None
        return self.step_gpu_ns / told.median_ns

    @cached_property
    def unprofiled_work_share(self) -> float | None:
        """The same without collectives: what the GPU does for certain."""
        told = self.facts.unprofiled_step
        if told is None or self.step_work_ns is None or not told.median_ns:
            return None
        return self.step_work_ns / told.median_ns

    @property
    def fills_the_fastest_step(self) -> bool:
        """Whether the GPU's work fills the fastest step, so that the CPU's speed varies."""
        told = self.facts.unprofiled_step
        if told is None or told.min_ns is None or self.step_work_ns is None:
            return False
        return self.step_work_ns >= FULL * told.min_ns

    @cached_property
    def cpu_step_ns(self) -> int | None:
        """The longest that the CPU took from one sound step to the next, with the profiler."""
        steps = self.facts.steps
        nexts = [max(b.start_ns - a.start_ns, a.duration_ns) for a, b in pairwise(steps)]
        periods = [*nexts, *(step.duration_ns for step in steps[-1:])]
        sound = {step.index for step in self.sound_steps}
        return max(
            (p for p, s in zip(periods, steps, strict=True) if s.index in sound), default=None
        )

    @property
    def cpu_runs_ahead(self) -> bool:
        """Whether the CPU is through a step before the GPU is, although the profiler slows it.

        The GPU then sets the pace, whatever its own speed was when the step was timed: under a
        long load its clock gives way.
        """
        if self.cpu_step_ns is None or self.step_work_ns is None:
            return False
        return self.cpu_step_ns < self.step_work_ns

    @cached_property
    def launches_per_step(self) -> float | None:
        """The median number of kernel launches of a sound step."""
        return middle([s.launches for s in self.sound_steps]) if self.sound_steps else None

    @cached_property
    def frames_by_end(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The Python frames in order of their ends, as rows, and those ends."""
        frames = np.flatnonzero(self.trace.events.is_kind(Kind.PYTHON))
        ends = self.trace.events.end_ns[frames]
        order = np.argsort(ends, kind="stable")
        return frames[order], ends[order]

    @cached_property
    def kernel_rows(self) -> NDArray[np.int64]:
        """The kernels, as rows in file order."""
        return np.flatnonzero(self.trace.events.is_kind(Kind.KERNEL))

    @cached_property
    def kernel_names(self) -> dict[int, KernelName]:
        """Index of a kernel's name -> what it says."""
        used = distinct(self.trace.events.name[self.kernel_rows]).tolist()
        return {index: decode(self.trace.names[index]) for index in used}

    def are_named(self, rows: NDArray[np.int64], names: Iterable[int]) -> NDArray[np.bool_]:
        """Mask of the rows whose name is one of ``names``, indexes into the table of names."""
        wanted = np.zeros(len(self.trace.names), dtype=bool)
        wanted[list(names)] = True
        return wanted[self.trace.events.name[rows]]

    def named(self, rows: NDArray[np.int64], names: Iterable[int]) -> NDArray[np.int64]:
        """Those of the rows whose name is one of ``names``."""
        return rows[self.are_named(rows, names)]

    def op_of(self, row: int) -> str | None:
        """The name of the op that launched a GPU event; ``None`` without one."""
        op = int(self.links.op[row])
        return self.trace.name_of(op) if op >= 0 else None

    def within(
        self, rows: NDArray[np.int64], outer: Iterable[str], inner: Iterable[str] | None = None
    ) -> NDArray[np.bool_]:
        """Mask of the events that lie in an op of ``outer``, by way of one of ``inner`` if given.

        The ops around an event are climbed from the innermost to the first that is in ``outer``.
        """
        is_outer, is_inner = self._is_name(outer), self._is_name(inner or ())
        name, op = self.trace.events.name, self.links.op
        found = np.zeros(len(rows), dtype=bool)
        passed = np.full(len(rows), inner is None)
        at = op[rows]
        while (at >= 0).any():
            here = np.where(at >= 0, name[at], len(self.trace.names))
            found |= is_outer[here] & passed
            passed |= is_inner[here]
            at = np.where((at >= 0) & ~is_outer[here], op[at], -1)
        return found

    def _is_name(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Mask over the table of names, and one more for no name."""
        wanted = set(names)
        return np.array([name in wanted for name in self.trace.names] + [False])


def scene_of(trace: Trace, links: Links | None = None, facts: Facts | None = None) -> Scene:
    """The scene of a trace; what has been worked out already can be handed in."""
    links = links or link(trace)
    device = device_of(trace.header)
    return Scene(
        trace, links, facts or trace_facts(trace, links), device, kernel_rates(trace, links, device)
    )
