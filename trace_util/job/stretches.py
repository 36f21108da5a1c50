"""Where the time of a rank's steps goes: computing, communicating hidden or exposed, idle.

A step's stretch on the GPU runs from the end of the step before to the end of its own last GPU
work. Collectives end together on all ranks, so that stretches are comparable between ranks, and a
late start falls into the step that it delays. Without GPU work a stretch is the step's mark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace_util.correlation import device_key
from trace_util.events import GPU_KINDS, Kind, Trace
from trace_util.job.collectives import collectives, hands_over, on_gpu
from trace_util.links import Links, Step
from trace_util.span import trace_window
from trace_util.tally import distinct
from trace_util.timeline import Indexes, Nanoseconds, covered_ns, union


@dataclass(frozen=True)
class Stretches:
    """The stretches of a rank's steps; every column is ``[steps]``, in nanoseconds.

    ``busy`` is the union of all work, ``work`` that of all but the collectives.
    """

    start_ns: Nanoseconds
    end_ns: Nanoseconds
    busy_ns: Nanoseconds
    work_ns: Nanoseconds
    comm_ns: Nanoseconds  # union of the collectives
    collectives: NDArray[np.int64]  # how many belong to the step
    comm: Indexes  # rows of the collectives
    work: Indexes  # rows of the work that is no collective
    step_of_work: Indexes  # the step that each of them belongs to, -1 for none
    device: int | None  # of the GPU whose time this is

    @property
    def exposed_ns(self) -> Nanoseconds:
        """Time in collectives during which the rank does nothing else."""
        return self.busy_ns - self.work_ns


def stretches(trace: Trace, links: Links) -> Stretches | None:
    """The stretches of a rank: of its steps, or of the whole window where there are none.

    Where a trace has several GPUs, those of the one with most collectives, then with most work.
    ``None`` for a trace without a window.
    """
    window = trace_window(trace, links)
    if window is None:
        return None
    steps = links.steps or (Step("", -1, window[0], window[1], -1),)
    comm = collectives(trace)
    if on_gpu(trace):
        return _of_gpu(trace, links, steps, comm)
    return _of_host(trace, links, steps, comm)


def _of_gpu(trace: Trace, links: Links, steps: tuple[Step, ...], comm: Indexes) -> Stretches:
    events = trace.events
    gpu = _one_device(trace, comm)
    is_comm = np.zeros(len(events), dtype=bool)
    is_comm[comm] = True
    step = _steps_of(links, gpu, whole=not links.steps)
    starts, ends = _borders(trace, steps, gpu, step)
    if not is_comm[gpu].any():  # collectives of the host beside GPU work
        return _measured(trace, starts, ends, comm, links.step[comm], gpu, step)
    mine = is_comm[gpu]
    return _measured(trace, starts, ends, gpu[mine], step[mine], gpu[~mine], step[~mine])


def _one_device(trace: Trace, comm: Indexes) -> Indexes:
    """The GPU events of one device, in order of start."""
    events = trace.events
    gpu = np.flatnonzero(events.is_kind(*GPU_KINDS))
    key = device_key(events, gpu)
    is_comm = np.isin(gpu, comm)

    def weight(one: int) -> tuple[int, int]:
        mine = key == one
        return int((mine & is_comm).sum()), int(events.duration_ns[gpu[mine]].sum())

    gpu = gpu[key == max(distinct(key).tolist(), key=weight)]
    in_order: Indexes = gpu[np.argsort(events.start_ns[gpu], kind="stable")]
    return in_order


def _steps_of(links: Links, gpu: Indexes, *, whole: bool) -> Indexes:
    """The step of each GPU event, which are in order of start.

    Work that names no launch (on ROCm all collectives carry correlation 0:
    https://github.com/ROCm/roctracer/issues/100) goes with the linked work that it follows.
    """
    if whole:
        return np.zeros(len(gpu), dtype=np.int64)
    step = links.step[gpu]
    lost = (links.launch[gpu] < 0) & (links.op[gpu] < 0) & (step < 0)
    before = np.maximum.accumulate(np.where(lost, -1, np.arange(len(gpu))))
    return np.where(lost & (before >= 0), step[before], step)


def _borders(
    trace: Trace, steps: tuple[Step, ...], gpu: Indexes, step: Indexes
) -> tuple[Nanoseconds, Nanoseconds]:
    events = trace.events
    ends = np.array([one.end_ns for one in steps], dtype=np.int64)
    last = np.full(len(steps), np.iinfo(np.int64).min)
    np.maximum.at(last, step[step >= 0], events.ends(gpu[step >= 0]))
    ends = np.where(last > np.iinfo(np.int64).min, last, ends)
    ends = np.maximum.accumulate(ends)
    own = gpu[step == 0]
    first = steps[0].start_ns
    if len(own):  # the GPU may still be at work that was queued before the first step
        begins = int(events.start_ns[own].min())
        queued = gpu[(step < 0) & (events.start_ns[gpu] < begins)]
        first = min(max(first, int(events.ends(queued).max(initial=first))), begins)
    return np.concatenate(([first], ends[:-1])), np.maximum(ends, first)


def _of_host(trace: Trace, links: Links, steps: tuple[Step, ...], comm: Indexes) -> Stretches:
    ops = np.flatnonzero(trace.events.is_kind(Kind.CPU_OP))
    ops = ops[~np.isin(ops, [one.index for one in steps])]
    ops = ops[~hands_over(trace, ops)]
    starts = np.array([one.start_ns for one in steps], dtype=np.int64)
    ends = np.array([one.end_ns for one in steps], dtype=np.int64)
    of = links.step if links.steps else np.zeros(len(trace.events), dtype=np.int64)
    return _measured(trace, starts, ends, comm, of[comm], ops, of[ops], device=None)


def _measured(
    trace: Trace,
    starts: Nanoseconds,
    ends: Nanoseconds,
    comm: Indexes,
    step_of_comm: Indexes,
    work: Indexes,
    step_of_work: Indexes,
    device: int | None = -1,
) -> Stretches:
    events = trace.events

    def covered(rows: Indexes) -> Nanoseconds:
        return covered_ns(union(events.start_ns[rows], events.ends(rows)), starts, ends)

    if device is not None and len(work):
        device = int(events.device[work[0]])
    return Stretches(
        start_ns=starts,
        end_ns=ends,
        busy_ns=covered(np.concatenate((comm, work))),
        work_ns=covered(work),
        comm_ns=covered(comm),
        collectives=np.bincount(step_of_comm[step_of_comm >= 0], minlength=len(starts)),
        comm=comm,
        work=work,
        step_of_work=step_of_work,
        device=device,
    )
