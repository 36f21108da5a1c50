"""Rows of the CPU side that only one of two runs has: ops, and what torch.compile adds."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from trace_util.compare.uses import counted_rows, per
from trace_util.events import Kind
from trace_util.links import STEP_MARK
from trace_util.reading import Reading
from trace_util.runs import ANNOTATIONS, COMPILED_ROWS

# Names that hold a number or a hash of their own in every run.
_OWN = (
    (re.compile(r"^(Torch-Compiled Region)\b.*"), r"\1"),
    (re.compile(r"^(?:## )?Call CompiledFxGraph\b.*"), "Call CompiledFxGraph"),
)


@dataclass(frozen=True)
class RowChange:
    """How often a step has the rows of a name, before and after."""

    name: str
    before: float
    after: float
    of_compiler: bool  # Dynamo, AOTDispatcher or Inductor left it


def row_changes(before: Reading, after: Reading, by_step: bool = True) -> tuple[RowChange, ...]:
    """The ops and annotations whose number a step differs, in the order of the runs."""
    old, new = _counts(before, by_step), _counts(after, by_step)
    return tuple(
        RowChange(name, old[name], new[name], COMPILED_ROWS.search(name) is not None)
        for name in dict.fromkeys([*old, *new])
        if abs(old[name] - new[name]) > 1e-9
    )


def _counts(own: Reading, by_step: bool) -> defaultdict[str, float]:
    told = own.trace.header.run.get("annotation")
    found: Counter[str] = Counter()
    for row in counted_rows(own, by_step, Kind.CPU_OP, Kind.USER_ANNOTATION):
        name = own.name(row)
        if STEP_MARK.match(name) or name in ANNOTATIONS or name == told:
            continue
        for pattern, general in _OWN:
            name = pattern.sub(general, name)
        found[name] += 1
    return defaultdict(float, {name: count / per(own, by_step) for name, count in found.items()})
