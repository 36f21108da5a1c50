"""Kernels of two runs side by side: the same, fused, replaced, or only in one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trace_util.compare.uses import KernelUse
from trace_util.naming.parts import KernelName

# Fields of a kernel's name that say how it works, with the words for them.
PARTS = (
    "family", "tile", "tile_k", "stages", "cluster", "layout", "epilogue", "dtype", "output",
)  # fmt: skip


@dataclass(frozen=True)
class Same:
    """A kernel with the same name, byte by byte, in both runs."""

    before: KernelUse
    after: KernelUse


@dataclass(frozen=True)
class Replaced:
    """A kernel in whose place another one computes the same."""

    before: KernelUse
    after: KernelUse
    changed: tuple[str, ...]  # parts of the name: "tile", "epilogue", …


@dataclass(frozen=True)
class Fused:
    """Several kernels of one run that are one kernel in the other."""

    parts: tuple[KernelUse, ...]
    whole: KernelUse
    ops: tuple[str, ...]  # what was merged
    told_by: str  # "its name", "the op that launched it" or "what vanished"


@dataclass(frozen=True)
class Matching:
    """Every kernel of two runs, each counted once."""

    same: tuple[Same, ...]
    fused: tuple[Fused, ...]  # parts before, whole after
    split: tuple[Fused, ...]  # whole before, parts after
    replaced: tuple[Replaced, ...]
    only_before: tuple[KernelUse, ...]
    only_after: tuple[KernelUse, ...]

    @property
    def all_same(self) -> bool:
        """Whether both runs have the very same kernels, equally often."""
        rest = (self.fused, self.split, self.replaced, self.only_before, self.only_after)
        return bool(self.same) and not any(rest)


def matched(before: list[KernelUse], after: list[KernelUse], *, alike: bool = True) -> Matching:
    """The kernels of two runs, matched.

    In this order: equal names; one that merges what several computed; one that computes the same.
    Merges are looked for only in runs that are ``alike``: in others the ops are there by chance.
    """
    same, old, new = _same(before, after)
    fused, split = list[Fused](), list[Fused]()
    if alike:
        fused, old, new = _fused(old, new)
        split, new, old = _fused(new, old)
    replaced, old, new = _replaced(old, new)
    return Matching(
        tuple(same), tuple(fused), tuple(split), tuple(replaced), tuple(old), tuple(new)
    )


Uses = list[KernelUse]


def _same(before: Uses, after: Uses) -> tuple[list[Same], Uses, Uses]:
    """Pairs of equal names; what one run has more of is left over."""
    others = {use.name: use for use in after}
    same = [Same(use, others[use.name]) for use in before if use.name in others]
    both = {one.before.name: one for one in same}

    def rest(uses: Uses) -> Uses:
        left = []
        for use in uses:
            pair = both.get(use.name)
            shared = min(pair.before.count, pair.after.count) if pair else 0
            if use.count - shared > 1e-9:
                left.append(replace(use, count=use.count - shared))
        return left

    return same, rest(before), rest(after)


def _fused(before: Uses, after: Uses) -> tuple[list[Fused], Uses, Uses]:
    found = []
    for use in sorted(after, key=lambda one: -len(one.ops)):
        parts = [part for part in before if part.ops and part.ops <= use.ops]
        covered = frozenset[str]().union(*(part.ops for part in parts))
        if len(covered) < 2 or sum(part.count for part in parts) < 2:
            continue
        told_by = "its name" if use.computed.name.ops else "the op that launched it"
        found.append(Fused(tuple(parts), use, _in_order(use, covered), told_by))
        before = [part for part in before if part not in parts]
        after = [one for one in after if one is not use]
    if not found and (one := _by_what_vanished(before, after)):
        found.append(one)
        before = [part for part in before if part not in one.parts]
        after = [use for use in after if use is not one.whole]
    return found, before, after


def _in_order(use: KernelUse, covered: frozenset[str]) -> tuple[str, ...]:
    named = [op.removesuffix("_") for op in use.computed.ops]
    return tuple(op for op in dict.fromkeys(named) if op in covered) or tuple(sorted(covered))


def _by_what_vanished(before: Uses, after: Uses) -> Fused | None:
    """One new kernel whose name says nothing, where several pointwise ones are gone."""
    silent = [use for use in after if not use.ops and not use.computed.is_gemm]
    gone = [use for use in before if use.ops and not use.computed.is_gemm]
    if len(silent) != 1 or len(gone) < 2:
        return None
    ops = tuple(dict.fromkeys(op for use in gone for op in sorted(use.ops)))
    return Fused(tuple(gone), silent[0], ops, "what vanished")


def _replaced(before: Uses, after: Uses) -> tuple[list[Replaced], Uses, Uses]:
    """Pairs that compute the same, in the order in which a step runs them."""
    found, left, new = [], [], list(after)
    for use in before:
        twin = next((other for other in new if _alike(use, other)), None)
        if twin is None:
            left.append(use)
            continue
        new = [other for other in new if other is not twin]
        changed = changed_parts(use.computed.name, twin.computed.name)
        found.append(Replaced(use, twin, changed))
    return found, left, new


def _alike(a: KernelUse, b: KernelUse) -> bool:
    if a.computed.is_gemm or b.computed.is_gemm:
        return a.computed.is_gemm and b.computed.is_gemm
    return bool(a.ops) and a.ops == b.ops


def changed_parts(before: KernelName, after: KernelName) -> tuple[str, ...]:
    """The parts in which two names differ, as far as both say them; epilogues by presence too."""
    changed = []
    for part in PARTS:
        old, new = getattr(before, part), getattr(after, part)
        if old != new and ((old and new) or part == "epilogue"):
            changed.append(part)
    return tuple(changed)
