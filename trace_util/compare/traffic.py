"""Bytes that a fusion saves: the intermediates that no longer go through the GPU's memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from trace_util.compare.matching import Fused
from trace_util.compare.uses import TransferUse, inputs_of, output_of
from trace_util.reading import Reading


class Intermediate(NamedTuple):
    """A tensor that one kernel wrote and another read, and that now stays on the chip."""

    dims: tuple[int, ...]
    dtype: str | None
    size_bytes: int | None
    written_by: str  # names of kernels
    read_by: str


@dataclass(frozen=True)
class Kept:
    """Intermediates of one sort, so many a step."""

    tensor: Intermediate
    count: float  # a step, or in the whole file

    @property
    def saved_bytes(self) -> int | None:
        """Each written once and read once."""
        size = self.tensor.size_bytes
        return None if size is None else round(2 * size * self.count)


def intermediates(own: Reading, fused: Fused) -> tuple[Kept, ...] | None:
    """The tensors between the parts of a fusion, from the shapes recorded in ``own``, their run.

    A tensor is an input of a kernel when one of its size and dtype was written before by another
    of the kernels and not read since. ``None`` for a trace without steps in which they run several
    times: which of them reads what another one wrote is not known then.
    """
    if not own.facts.steps and fused.whole.count > 1:
        return None
    rows = sorted((row for use in fused.parts for row in use.rows), key=own.start_ns)
    written: dict[tuple[int, str | None], list[int]] = {}
    found: Counter[Intermediate] = Counter()
    for row in rows:
        given = inputs_of(own, row)
        for tensor in given.tensors if given else ():
            sources = written.get((tensor.elements, tensor.dtype))
            if sources:
                names = own.name(sources.pop(0)), own.name(row)
                found[Intermediate(tensor.dims, tensor.dtype, tensor.size_bytes, *names)] += 1
        output = output_of(own, row)
        if output is not None:
            written.setdefault((output.elements, output.dtype), []).append(row)
    steps = fused.parts[0].count / len(fused.parts[0].rows)
    return tuple(Kept(tensor, count * steps) for tensor, count in found.items())


def moved_bytes(uses: list[TransferUse]) -> int | None:
    """What copies and memsets of a step move: a copy reads and writes, a memset writes."""
    total = 0
    for use in uses:
        if use.size_bytes is None:
            return None
        total += use.size_bytes * (1 if use.is_memset else 2)
    return total
