"""What a trace holds, by name: kernels, ops, annotations, launch calls, copies, synchronises.

Rows of facts are msgspec's structs: like frozen dataclasses, but Python takes half a millisecond to
define one of those, and a summary needs a dozen.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trace_util.beneath import Launched, inner_ns, launched_rows
from trace_util.blocks import in_blocks, rows_where
from trace_util.calls import Call
from trace_util.correlation import device_key
from trace_util.events import Ints, Kind, Trace
from trace_util.gaps import waiting_calls
from trace_util.links import Links
from trace_util.tally import Tally, distinct, tally
from trace_util.timeline import Indexes

# "Memcpy HtoD (Pageable -> Device)", "Memcpy PtoP (Device -> Device)": the word says from where to
# where; Kineto, libkineto/src/CuptiActivity.cpp.
_COPY_KIND = re.compile(r"\b(\w+to\w+)\b")


class NamedFacts(Struct, frozen=True, gc=False):
    """Events of one name."""

    name: str
    count: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int


class KernelFacts(Struct, frozen=True, gc=False):
    """All kernels of one name. ``op`` is the op that launched most of them."""

    name: str
    count: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int
    op: str | None
    exceeds_span: bool  # on some stream they add up to more than there is from first to last


class OpFacts(Struct, frozen=True, gc=False):
    """All ops of one name. One without a launch beneath it is metadata, or work of the CPU.

    An op right inside one of the same name (`aten::sum` and its other overload) counts as a part of
    that one, as it does in PyTorch's averages.
    """

    name: str
    count: int
    total_ns: int
    self_ns: int  # without the ops, annotations and calls inside
    launches: int  # of any kind, at any depth beneath
    gpu_ns: int  # sum of the GPU events launched beneath

    @property
    def metadata_only(self) -> bool:
        """Whether nothing was launched beneath any of them."""
        return self.launches == 0


class AnnotationFacts(Struct, frozen=True, gc=False):
    """All annotations of one name, step marks left out."""

    name: str
    count: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int
    launches: int  # of any kind, at any depth beneath
    kernels: int
    gpu_ns: int  # sum of the GPU events launched beneath


class LaunchFacts(Struct, frozen=True, gc=False):
    """All launch calls of one name."""

    name: str
    count: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int
    kernels: int
    copies: int
    memsets: int
    lost: int
    is_graph: bool


class CopyFacts(Struct, frozen=True, gc=False):
    """All copies, or memsets, of one name. ``size_bytes`` is ``None`` where none was recorded."""

    name: str
    kind: str  # "HtoD", "DtoH", "DtoD", …; "Memset"; "" where the name does not say
    count: int
    total_ns: int
    size_bytes: int | None


def _by_name(trace: Trace, rows: Indexes) -> Tally:
    return tally(trace.events.name[rows], trace.events.duration_ns[rows])


def _named(trace: Trace, rows: Indexes) -> tuple[NamedFacts, ...]:
    found = _by_name(trace, rows)
    return tuple(
        NamedFacts(trace.names[int(found.key[i])], *found.numbers(i)) for i in found.largest_first()
    )


def _sum_by_name(trace: Trace, rows: Indexes, amount: Ints) -> NDArray[np.int64]:
    """For each name the sum of an amount over rows, ``[names]``."""
    total = np.zeros(len(trace.names), dtype=np.int64)
    np.add.at(total, trace.events.name[rows], amount)
    return total


def kernel_facts(trace: Trace, links: Links) -> tuple[KernelFacts, ...]:
    """Kernels by name."""
    events = trace.events
    rows = rows_where(events.is_kind(Kind.KERNEL))
    found = _by_name(trace, rows)
    op_of = _commonest_op(trace, rows, links.op[rows])
    exceeding = _exceeding(trace, rows)
    facts = []
    for i in found.largest_first():
        key = int(found.key[i])
        own = found.numbers(i)
        facts.append(KernelFacts(trace.names[key], *own, op_of.get(key), key in exceeding))
    return tuple(facts)


def _exceeding(trace: Trace, kernels: Indexes) -> set[int]:
    """The names whose kernels of one stream add up to more than the time from first to last.

    Kernels of one stream run one after the other, and those of two may well run at once.
    """
    events = trace.events
    if not len(kernels):
        return set()
    found: set[int] = set()
    device, stream = device_key(events, kernels), events.stream[kernels]
    for one in distinct(device).tolist():
        for queue in distinct(stream[device == one]).tolist():
            rows = kernels[(device == one) & (stream == queue)]
            span = int(events.ends(rows).max() - events.start_ns[rows].min())
            sums = _by_name(trace, rows)
            found |= set(sums.key[sums.total_ns > span].tolist())
    return found


def _commonest_op(trace: Trace, rows: Indexes, ops: Indexes) -> dict[int, str]:
    """Name of a kernel -> name of the op that launched most of them."""
    linked = ops >= 0
    names = len(trace.names)
    pair = trace.events.name[rows[linked]].astype(np.int64) * names + trace.events.name[ops[linked]]
    pairs, counts = np.unique(pair, return_counts=True)
    order = np.lexsort((-pairs, counts))  # the last of a kernel wins: most, then the first name
    return {int(pairs[i]) // names: trace.names[int(pairs[i]) % names] for i in order}


def op_facts(trace: Trace, links: Links, launched: Launched) -> tuple[OpFacts, ...]:
    """Ops by name; step marks, which were ops in 2021, left out."""
    events = trace.events
    count, total, own, launches, gpu_ns = np.zeros((5, len(trace.names)), dtype=np.int64)
    is_op = _without_marks(trace, links, Kind.CPU_OP)
    for rows in in_blocks(is_op):
        np.add.at(own, events.name[rows], events.duration_ns[rows])
        around = links.op[rows]
        rows = rows[(around < 0) | (events.name[around] != events.name[rows])]
        name, inside = events.name[rows], launched.inside(rows)
        count += np.bincount(name, minlength=len(count))
        np.add.at(total, name, events.duration_ns[rows])
        np.add.at(launches, name, inside.launches)
        np.add.at(gpu_ns, name, inside.gpu_ns)
    own = np.maximum(own - inner_ns(trace, links, is_op), 0)
    columns = np.stack((count, total, own, launches, gpu_ns))
    found = np.flatnonzero(count)
    return tuple(
        OpFacts(trace.names[key], *columns[:, key].tolist())
        for key in found[np.lexsort((found, -total[found]))].tolist()
    )


def annotation_facts(trace: Trace, links: Links, launched: Launched) -> tuple[AnnotationFacts, ...]:
    """Annotations of the CPU side by name, step marks left out."""
    rows = rows_where(_without_marks(trace, links, Kind.USER_ANNOTATION))
    inside = launched.inside(rows)
    found = _by_name(trace, rows)
    columns = [
        _sum_by_name(trace, rows, amount)
        for amount in (inside.launches, inside.kernels, inside.gpu_ns)
    ]
    return tuple(
        AnnotationFacts(
            trace.names[int(found.key[i])],
            *found.numbers(i),
            *(int(column[found.key[i]]) for column in columns),
        )
        for i in found.largest_first()
    )


def _without_marks(trace: Trace, links: Links, kind: Kind) -> NDArray[np.bool_]:
    wanted = trace.events.is_kind(kind)
    wanted[[step.index for step in links.steps]] = False
    return wanted


def launch_facts(trace: Trace, links: Links, lost: NDArray[np.bool_]) -> tuple[LaunchFacts, ...]:
    """Launch calls by name, most time first."""
    events = trace.events
    rows = rows_where(links.is_launch)
    work = []
    for kind in (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET):
        gpu = launched_rows(events, links, kind)
        work.append(np.bincount(events.name[links.launch[gpu]], minlength=len(trace.names)))
    lost_sum = _sum_by_name(trace, rows, lost[rows].astype(np.int64))
    graphs = set(events.name[rows[links.call[rows] == Call.GRAPH]].tolist())
    found = _by_name(trace, rows)
    facts = []
    for i in found.largest_first():
        key = int(found.key[i])
        kernels, copies, memsets = (int(made[key]) for made in work)
        facts.append(
            LaunchFacts(
                trace.names[key],
                *found.numbers(i),
                kernels,
                copies,
                memsets,
                int(lost_sum[key]),
                key in graphs,
            )
        )
    return tuple(facts)


def copy_facts(trace: Trace, kind: Kind) -> tuple[CopyFacts, ...]:
    """Copies (``MEMCPY``) or memsets (``MEMSET``) by name."""
    rows = rows_where(trace.events.is_kind(kind))
    size = np.asarray(trace.events.size_bytes[rows], dtype=np.int64)
    total = _sum_by_name(trace, rows, np.maximum(size, 0))
    told = _sum_by_name(trace, rows, (size >= 0).astype(np.int64))
    found = _by_name(trace, rows)
    facts = []
    for i in found.largest_first():
        key = int(found.key[i])
        word = _COPY_KIND.search(trace.names[key])
        kind_text = "Memset" if kind == Kind.MEMSET else word.group(1) if word else ""
        bytes_told = int(total[key]) if told[key] else None
        facts.append(
            CopyFacts(
                trace.names[key], kind_text, int(found.count[i]), int(found.total_ns[i]), bytes_told
            )
        )
    return tuple(facts)


def sync_facts(trace: Trace) -> tuple[NamedFacts, ...]:
    """The calls in which the CPU waits for the device, by name."""
    return _named(trace, waiting_calls(trace))


def overhead_facts(trace: Trace) -> tuple[NamedFacts, ...]:
    """The rows of category `overhead`, by name."""
    return _named(trace, rows_where(trace.events.is_kind(Kind.OVERHEAD)))
