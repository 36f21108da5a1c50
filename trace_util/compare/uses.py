"""The kernels of a run by name: how often a step runs each, for how long, and what it computes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trace_util.computed import ACTIVATIONS, Computed
from trace_util.events import Kind
from trace_util.ranges import Range, range_of
from trace_util.reading import Reading
from trace_util.shapes import Inputs, Tensor, inputs
from trace_util.steps import whole_steps

# Merged ops that compute nothing: they only say how the data is seen.
VIEWS = frozenset(
    ("view", "_unsafe_view", "reshape", "t", "transpose", "permute", "expand", "squeeze",
     "unsqueeze", "slice", "select", "clone", "as_strided", "alias", "detach")
)  # fmt: skip


@dataclass(frozen=True)
class KernelUse:
    """All runs of one kernel name."""

    name: str
    count: float  # a step, or in the whole file
    time: Range  # of one run
    computed: Computed
    rows: tuple[int, ...]  # of the last whole step, without steps of the file, in order

    @property
    def ops(self) -> frozenset[str]:
        """What it computes, views left out, activations under one name."""
        return frozenset(
            ACTIVATIONS.get(op, op.removesuffix("_")) for op in self.computed.ops if op not in VIEWS
        )


@dataclass(frozen=True)
class TransferUse:
    """All copies or memsets of one name."""

    name: str
    count: float  # a step, or in the whole file
    size_bytes: int | None  # of all of a step together, where recorded
    is_memset: bool


def per(own: Reading, by_step: bool) -> int:
    """What counts are divided by: the number of whole steps, or 1 for whole files."""
    return len(whole_steps(own.facts.steps)) if by_step else 1


def counted_rows(own: Reading, by_step: bool, *kinds: Kind) -> list[int]:
    """The events that belong to a whole step, or all of the file."""
    events = own.trace.events
    mask = events.is_kind(*kinds)
    if by_step:
        mask &= np.isin(own.links.step, whole_steps(own.facts.steps))
    rows: list[int] = np.flatnonzero(mask)[
        np.argsort(events.start_ns[mask], kind="stable")
    ].tolist()
    return rows


def kernel_uses(own: Reading, by_step: bool = True) -> list[KernelUse]:
    """The kernels of a run by name, in the order in which it first runs them."""
    last = max(whole_steps(own.facts.steps), default=-1)
    uses = []
    for name, rows in _by_name(own, counted_rows(own, by_step, Kind.KERNEL)).items():
        time = range_of([own.duration_ns(row) for row in rows])
        assert time is not None
        of_step = [row for row in rows if last < 0 or own.links.step[row] == last] or rows
        uses.append(
            KernelUse(
                name, len(rows) / per(own, by_step), time, own.computed(rows[0]), tuple(of_step)
            )
        )
    return uses


def transfer_uses(own: Reading, by_step: bool = True) -> list[TransferUse]:
    """The copies and memsets of a run by name."""
    events = own.trace.events
    uses = []
    for name, rows in _by_name(own, counted_rows(own, by_step, Kind.MEMCPY, Kind.MEMSET)).items():
        sizes = [int(events.size_bytes[row]) for row in rows]
        known = all(size >= 0 for size in sizes)
        memset = bool(events.kind[rows[0]] == Kind.MEMSET)
        size = round(sum(sizes) / per(own, by_step)) if known else None
        uses.append(TransferUse(name, len(rows) / per(own, by_step), size, memset))
    return uses


def _by_name(own: Reading, rows: Iterable[int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(own.name(row), []).append(row)
    return found


def inputs_of(own: Reading, kernel: int) -> Inputs | None:
    """The recorded inputs of the op that launched a kernel."""
    op = int(own.links.op[kernel])
    index = int(own.trace.events.shapes[op]) if op >= 0 else -1
    return inputs(own.trace.shapes[index]) if index >= 0 else None


def output_of(own: Reading, kernel: int) -> Tensor | None:
    """The tensor that a product or an elementwise kernel writes, from its op's inputs."""
    given = inputs_of(own, kernel)
    if given is None or not given.tensors:
        return None
    kind = own.computed(kernel)
    if kind.is_gemm:
        place = 1 if kind.op == "aten::addmm" else 0
        first, second = given.tensor(place), given.tensor(place + 1)
        if not first or not second or not len(first.dims) == len(second.dims) == 2:
            return None
        return Tensor((first.dims[0], second.dims[1]), first.dtype)
    return max(given.tensors, key=lambda tensor: tensor.elements)
