"""A lesson's claims against a trace: holds, differs on this GPU, or cannot be seen, with evidence.

Claims are data, a module a lesson. ``check`` judges them, marks a reader's guesses, and tests
expectations such as ``kernels_per_step <= 5``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trace_util.claims import kernels_mlp, linear, matmul, mlp, parallel_mlp
from trace_util.claims.claim import Claim
from trace_util.claims.companions import scene_of
from trace_util.claims.expectations import Expectation, expectation
from trace_util.claims.guesses import Guess, guess
from trace_util.claims.quantities import Quantities, quantities
from trace_util.claims.verdict import ClaimCheck, Ruling
from trace_util.events import Trace, UsageError, require_trace
from trace_util.evidence import EventRow, Evidence
from trace_util.runs import Run
from trace_util.wholeness import why_incomplete

__all__ = [
    "LESSON_CLAIMS",
    "Check",
    "ClaimCheck",
    "EventRow",
    "Evidence",
    "Expectation",
    "Guess",
    "Ruling",
    "check",
]

LESSON_CLAIMS: dict[str, tuple[Claim, ...]] = {
    "01_matmul": matmul.CLAIMS,
    "02_linear": linear.CLAIMS,
    "03_simple_mlp": mlp.CLAIMS,
    "03_kernels_mlp": kernels_mlp.CLAIMS,
    "05_parallel_mlp": parallel_mlp.CLAIMS,
}


@dataclass(frozen=True)
class Check:
    """What became of a lesson's claims, of guesses and of expectations in one trace."""

    path: str
    lesson: str | None
    lesson_from: str  # how it was recognised: "its run facts", "--lesson", …
    run: Run
    beside: tuple[str, ...]  # the traces that it was compared with
    claims: tuple[ClaimCheck, ...]
    guesses: tuple[Guess, ...]
    expectations: tuple[Expectation, ...]
    facts: Quantities
    incomplete: str = ""  # why the trace is not whole, "" where it is
    warnings: tuple[str, ...] = ()  # what reading the file showed

    @property
    def contradicted(self) -> tuple[ClaimCheck, ...]:
        """The claims that differ without a known reason."""
        return tuple(claim for claim in self.claims if claim.contradicted)

    @property
    def passed(self) -> bool:
        """Whether no claim is contradicted, and every guess and expectation holds."""
        marks = [guess.holds for guess in self.guesses]
        marks += [one.holds for one in self.expectations]
        return not self.contradicted and all(marks)

    def only(self, ids: Sequence[str]) -> Check:
        """The same with some of the claims alone.

        Raises:
            UsageError: the lesson has no such claim.
        """
        known = {claim.id: claim for claim in self.claims}
        for one in ids:
            if one not in known:
                claims = f"{self.lesson} has {', '.join(known)}" if known else "there are none"
                raise UsageError(f"{self.path}: no claim {one}; {claims}")
        return replace(self, claims=tuple(known[one] for one in ids))


def check(
    trace: Trace,
    lesson: str | None = None,
    guesses: Sequence[str] = (),
    expectations: Sequence[str] = (),
    against: Sequence[Trace] | None = None,
    *,
    allow_incomplete: bool = False,
) -> Check:
    """A trace checked against its lesson's claims, guesses and expectations.

    ``lesson`` overrides the one that the trace names. ``against`` are traces of the same run in
    other variants; ``None`` takes those that lie beside it, ``()`` none.
    Expectations of a trace that is not whole, or of lost kernels, fail unless ``allow_incomplete``.

    Raises:
        UsageError: an unknown lesson or fact, a guess or an expectation that makes no sense, or a
            path in the place of a trace.
    """
    for one in (trace, *(against or ())):
        require_trace(one, "check")
    scene = scene_of(trace, against)
    run = scene.own.run
    name, lesson_from = (lesson, "--lesson") if lesson else (run.lesson, run.lesson_from)
    if lesson and lesson not in LESSON_CLAIMS:
        raise UsageError(f"{lesson}: no such lesson; one of {', '.join(LESSON_CLAIMS)}")
    facts = quantities(scene.own)
    flaw = why_incomplete(trace)
    others = (scene.eager, scene.compiled, scene.warm, *scene.ranks)
    return Check(
        path=trace.path,
        lesson=name,
        lesson_from=lesson_from,
        run=run,
        beside=tuple(dict.fromkeys(one.label for one in others if one and one.label)),
        claims=tuple(
            _with_flaw(claim.check(scene), flaw) for claim in LESSON_CLAIMS.get(name or "", ())
        ),
        guesses=tuple(guess(text, facts) for text in guesses),
        expectations=tuple(
            expectation(text, scene.own, facts, allow_incomplete=allow_incomplete)
            for text in expectations
        ),
        facts=facts,
        incomplete=flaw,
        warnings=trace.warnings,
    )


def _with_flaw(claim: ClaimCheck, flaw: str) -> ClaimCheck:
    """A claim whose reason for not holding says that the trace is not whole."""
    if not flaw or claim.verdict == "holds" or flaw in claim.reason:
        return claim
    return replace(claim, ruling=replace(claim.ruling, reason=f"{claim.reason}; but {flaw}"))
