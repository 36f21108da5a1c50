"""Which events belong together: op and parent, launch and GPU work, event and step.

Everything is index arithmetic on columns, in time that grows with the events as a sort does. What
is linked is said per event, as an index into the columns of :class:`~trace_util.events.Events`.
"""

from __future__ import annotations

import re
from typing import cast

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from trace_util.blocks import in_blocks, rows_where
from trace_util.calls import KERNEL_LAUNCHES, LAUNCHES, call_column, is_any
from trace_util.correlation import external_op, launch_of
from trace_util.events import CALL_KINDS, GPU_KINDS, Events, Ints, Kind, Trace, require_trace
from trace_util.nest import OpsAround, parents, parents_and_ops
from trace_util.sparse import Sparse
from trace_util.tally import distinct

# torch.profiler writes `ProfilerStep#N`; the guides' prose and some forks say `ProfileStep#N`.
STEP_MARK = re.compile(r"^Profiler?Step#(\d{1,18})$")  # no int64 holds more
MARK_KINDS = (Kind.USER_ANNOTATION, Kind.CPU_OP)  # in 2021 a step mark was an `Operator`
HOST_KINDS = (Kind.CPU_OP, Kind.USER_ANNOTATION, Kind.PYTHON, *CALL_KINDS)

Indexes = Ints


class Step(Struct, frozen=True, gc=False):
    """One recorded step: its mark as the trace spells it, its number, its time on the CPU."""

    name: str
    number: int
    start_ns: int
    end_ns: int
    index: int  # of the mark, in the columns


class Links(Struct, frozen=True, gc=False):
    """What belongs to what; every column is ``[n]`` and -1 means "to nothing that was recorded"."""

    launch: Indexes  # GPU event -> the call that launched it
    op: Indexes  # host event -> innermost op around it; GPU event -> the op that launched it
    parent: Indexes  # host event -> innermost host event around it on its thread
    step: Indexes  # event -> index in `steps`: by start for the host, by launch for the GPU
    steps: tuple[Step, ...]  # in order of start
    call: NDArray[np.uint8]  # trace_util.calls.Call of every runtime or driver call
    is_launch: NDArray[np.bool_]  # calls that put work on a stream, a runtime/driver pair once
    launches_kernels: NDArray[np.bool_]  # those of them that launch kernels or replay a graph


def link(trace: Trace) -> Links:
    """The links of a trace's events.

    Raises:
        UsageError: ``trace`` is none, but a path, say.
    """
    require_trace(trace, "link")
    events = trace.events
    steps = _steps(trace)
    is_op = events.is_kind(Kind.CPU_OP)
    is_op[[step.index for step in steps]] = False
    is_host = events.is_kind(*HOST_KINDS)
    is_brief = any(isinstance(column, Sparse) for column in astuple(events))
    op: Indexes | None = None
    if is_brief:
        parent = parents(events, is_host)
    else:
        parent, op = parents_and_ops(events, is_host, is_op)
    is_call = events.is_kind(*CALL_KINDS)
    call = call_column(trace.names, events.name, is_call)
    launch, is_launch = _launches(events, parent, call, is_call)
    if op is not None:
        launch = np.asarray(launch)
        _complete_ops(op, events, launch, is_op)
    else:
        op = cast(Indexes, OpsAround(parent, launch, is_op))
    step = _step_of_each(events, launch, op, steps, any_call=bool(is_call.any()))
    launches_kernels = is_any(call, KERNEL_LAUNCHES)
    launched = launch[_rows(events, Kind.KERNEL)]
    launches_kernels[launched[launched >= 0]] = True
    launches_kernels &= is_launch
    return Links(launch, op, parent, step, steps, call, is_launch, launches_kernels)


def _launches(
    events: Events,
    parent: Indexes,
    call: NDArray[np.uint8],
    is_call: NDArray[np.bool_],
) -> tuple[Indexes, NDArray[np.bool_]]:
    """GPU event -> launching call, and the mask of the calls that are launches.

    A call is a launch by its name or because GPU work names it.
    """
    gpu = _rows(events, *GPU_KINDS)
    launch = launch_of(events, is_call, gpu)
    gpu, launch = gpu[launch >= 0], launch[launch >= 0]
    linked = np.zeros(len(events), dtype=bool)
    linked[launch] = True
    is_launch = is_any(call, LAUNCHES) | linked
    parts, wholes = _parts_of_launches(events, parent, is_launch, linked)
    if len(parts):
        at = np.minimum(np.searchsorted(parts, launch), len(parts) - 1)
        launch = np.where(parts[at] == launch, wholes[at], launch)
        linked[launch] = True
        is_launch[parts] = False
    is_launch[_second_of_a_pair(events, rows_where(is_launch), linked)] = False
    return cast(Indexes, Sparse(len(events), gpu, launch.astype(np.int32))), is_launch


def _parts_of_launches(
    events: Events,
    parent: Indexes,
    is_launch: NDArray[np.bool_],
    linked: NDArray[np.bool_],
) -> tuple[Indexes, Indexes]:
    """Driver launches, and the runtime launch that each is a part of.

    `cudaLaunchKernel` calls `cuLaunchKernel`. A driver call that has GPU work of its own is none,
    if the runtime call around it has some as well.
    """
    inner = rows_where(is_launch & (events.kind == Kind.DRIVER) & (parent >= 0))
    outer = parent[inner]
    same = is_launch[outer] & (events.kind[outer] == Kind.RUNTIME)
    same &= ~(linked[inner] & linked[outer])
    return inner[same], outer[same]


def _second_of_a_pair(events: Events, launches: Indexes, linked: NDArray[np.bool_]) -> Indexes:
    """The rows of the launches that only repeat the correlation of another one."""
    correlation = events.correlation[launches]
    rows, correlation = launches[correlation > 0], correlation[correlation > 0]
    order = np.lexsort((~linked[rows], correlation, events.process[rows]))
    rows, correlation = rows[order], correlation[order]
    process = events.process[rows]
    same = (correlation[1:] == correlation[:-1]) & (process[1:] == process[:-1])
    second: Indexes = rows[1:][same & ~linked[rows[1:]]]
    return second


def _rows(events: Events, *kinds: Kind) -> Indexes:
    return rows_where(events.is_kind(*kinds))


def _steps(trace: Trace) -> tuple[Step, ...]:
    events = trace.events
    marks = {
        i: int(found.group(1))
        for i, name in enumerate(trace.names)
        if (found := STEP_MARK.match(name))
    }
    if not marks:
        return ()
    is_mark = np.zeros(len(trace.names), dtype=bool)
    is_mark[list(marks)] = True
    rows = rows_where(events.is_kind(*MARK_KINDS), lambda rows: is_mark[events.name[rows]])
    rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
    columns = (events.name[rows], events.start_ns[rows], events.ends(rows), rows)
    return tuple(
        Step(trace.names[name], marks[name], start_ns, end_ns, index=row)
        for name, start_ns, end_ns, row in zip(*(one.tolist() for one in columns), strict=True)
    )


def _complete_ops(op: Indexes, events: Events, launch: Indexes, is_op: NDArray[np.bool_]) -> None:
    """Add the ops of GPU events, and of calls that no op is around: by the same `External id`."""
    calls = rows_where(events.is_kind(*CALL_KINDS) & (op < 0))
    op[calls] = external_op(events, calls, is_op)
    gpu = _rows(events, *GPU_KINDS)
    linked = gpu[launch[gpu] >= 0]
    op[linked] = op[launch[linked]]
    alone = gpu[launch[gpu] < 0]
    op[alone] = external_op(events, alone, is_op)


def _step_of_each(
    events: Events,
    launch: Indexes,
    op: Indexes,
    steps: tuple[Step, ...],
    *,
    any_call: bool,
) -> Indexes:
    step = np.full(len(events), -1, dtype=np.min_scalar_type(-len(steps) - 1))
    if not steps:
        return step
    marks = np.array([mark.index for mark in steps])
    is_host = events.is_kind(*HOST_KINDS)
    for process in distinct(events.process[marks]).tolist():
        of_process = events.process[marks] == process
        for rows in in_blocks(is_host & (events.process == process)):
            step[rows] = _step_at(steps, of_process, events.start_ns[rows])
    gpu = _rows(events, *GPU_KINDS)
    origin = np.where(launch[gpu] >= 0, launch[gpu], op[gpu])
    step[gpu] = np.where(origin >= 0, step[origin], -1)
    if not any_call:
        # No call was recorded, so that nothing can name its launch: go by the GPU's own clock.
        # Where calls were recorded, work without one was queued before the window.
        lost = gpu[origin < 0]
        step[lost] = _step_at(steps, np.ones(len(steps), dtype=bool), events.start_ns[lost])
    return step


def _step_at(steps: tuple[Step, ...], mine: NDArray[np.bool_], at_ns: NDArray[np.int64]) -> Indexes:
    """The latest started of the steps `mine` that is still going on at each time, else -1."""
    which = np.flatnonzero(mine)
    some = [steps[i] for i in which.tolist()]
    starts = np.array([step.start_ns for step in some], dtype=np.int64)
    ends = np.array([step.end_ns for step in some], dtype=np.int64)
    index = np.searchsorted(starts, at_ns, side="right") - 1
    inside = (index >= 0) & (at_ns < ends[index])
    return np.where(inside, which[index], -1)
