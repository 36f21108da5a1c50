"""A claim of a lesson: what it says, which runs can show it, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trace_util.claims.scene import Scene
from trace_util.claims.verdict import ClaimCheck, Ruling, unseen
from trace_util.evidence import Evidence
from trace_util.reading import Reading


@dataclass(frozen=True)
class Claim:
    """One claim. ``of`` names the variant that it speaks of; "both" claims compare the two."""

    id: str
    text: str
    judge: Callable[[Scene], Ruling]
    of: str = "any"  # "eager", "compile", "any" or "both"
    needs_gpu: bool = True  # whether only GPU events or launches can show it
    needs_ops: bool = True  # hidden by a replayed CUDA graph, which runs none, and by a slim copy
    of_all_kernels: bool = False  # whether a kernel that was lost could make it untrue

    def check(self, scene: Scene) -> ClaimCheck:
        """The claim with its verdict."""
        reason = self._hidden(scene)
        ruling = unseen(reason) if reason else self.judge(scene)
        if self.of_all_kernels and ruling.verdict == "holds" and (lost := scene.own.lost_kernels()):
            ruling = unseen(f"{lost}, which may make it untrue", *ruling.evidence)
        return ClaimCheck(self.id, self.text, ruling)

    def _hidden(self, scene: Scene) -> str | None:
        own = scene.own
        if self.of == "eager" and own.run.compiled:
            return "this run is compiled; the eager one shows it"
        if self.of == "compile" and not own.run.compiled:
            return "this run is not compiled; --compile shows it"
        if not own.facts.steps:
            return "the trace has no step marks"
        if self.of == "both":
            return _missing(scene)
        return self._hidden_in(own)

    def _hidden_in(self, reading: Reading) -> str | None:
        if self.needs_gpu and (reason := reading.no_gpu or reading.unplaced):
            return reason
        if self.needs_ops and reading.left_out:
            return reading.left_out
        if self.needs_ops and reading.facts.graph_launches:
            return "a CUDA graph was replayed: its ops ran when it was captured, before recording"
        return None


def _missing(scene: Scene) -> str | None:
    if scene.eager is None:
        return "the eager run is needed to compare with; --against names its trace"
    if scene.compiled is None:
        return "the compiled run is needed to compare with; --against names its trace"
    return scene.eager.unplaced or scene.compiled.unplaced or None


def every_step(reading: Reading, count: int) -> Evidence:
    """In how many of the steps something was seen, as evidence."""
    return Evidence("seen in", f"{count} of {len(reading.facts.steps)} steps")


def lost_launches(own: Reading, step: int) -> list[Evidence]:
    """How many launches of a step have no recorded kernel, as evidence if there are any."""
    lost = own.facts.steps[step].lost_kernels
    return [Evidence("launches without a kernel", lost)] if lost else []
