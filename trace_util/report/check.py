"""A check as text, as the few lines that a lesson ends with, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trace_util.claims import Check, ClaimCheck, Expectation, Guess
from trace_util.claims.quantities import Scalar, one_value
from trace_util.report.evidence import evidence_json, evidence_texts
from trace_util.report.gpu_words import gpu_words
from trace_util.report.text import PLAIN, Style, clean, shortened, wrapped
from trace_util.report.units import counted

_LABEL = 9  # columns of the labels in front of the first lines
_ID = 6  # columns of a claim's number
_VERDICT = 9
HOLD, DIFFER = ("holds", "hold"), ("differs", "differ")  # of one claim, of several


def check_text(check: Check, style: Style = PLAIN) -> str:
    """The check with its evidence."""
    parts = [
        "\n".join(_head(check, style)),
        "\n".join(_claims(check, style)),
        "\n".join(_guesses(check, style)),
        "\n".join(_expectations(check, style)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def claims_text(check: Check, style: Style = PLAIN) -> str:
    """The claims with their evidence, without a word on the trace."""
    return "\n".join(line for claim in check.claims for line in _claim(claim, style)) + "\n"


def lesson_lines(check: Check, style: Style = PLAIN) -> list[str]:
    """What a lesson prints of its own check: a line a claim, and one a reason for the unseen."""
    lines = []
    for claim in check.claims:
        if claim.verdict != "unseen":
            because = f": {claim.reason}" if claim.verdict == "differs" else ""
            lines += _line(claim, claim.text + because, style, 0).split("\n")
    hidden: dict[str, list[str]] = {}
    for claim in check.claims:
        if claim.verdict == "unseen":
            hidden.setdefault(claim.reason, []).append(claim.id)
    for reason, ids in hidden.items():
        first = f"{'unseen':<{_VERDICT}}"
        lines += wrapped(f"{', '.join(ids)}: {reason}", style, 0, first).split("\n")
    return lines


def _head(check: Check, style: Style) -> Iterator[str]:
    yield style.bold(clean(check.path))

    def line(label: str, text: str) -> str:
        return wrapped(text, style, 2, f"{label:<{_LABEL}}")

    if check.lesson is None:
        yield line("lesson", "none recognised; --lesson names one")
    else:
        told = f"{check.lesson}, {check.run.variant or 'variant not known'}"
        yield line("lesson", f"{told} (from {check.lesson_from})")
    capability = check.run.capability
    told = f", sm_{capability[0]}{capability[1]}" if capability else ""
    named = gpu_words(check.run.gpu, check.run.on_gpu)
    yield line("GPU" if check.run.gpu else "device", f"{named}{told}")
    for path in check.beside:
        yield line("beside", path)
    for caution in check.warnings:
        yield style.warn(line("warning", clean(caution)))


def _claims(check: Check, style: Style) -> Iterator[str]:
    if not check.claims:
        if check.lesson is not None:
            yield wrapped(f"no claims are written for {check.lesson}", style, 2)
        return
    verdicts = [claim.verdict for claim in check.claims]
    counts = (
        f"{counted(verdicts.count('holds'), *HOLD)}, "
        f"{counted(verdicts.count('differs'), *DIFFER)}, "
        f"{verdicts.count('unseen')} cannot be seen here"
    )
    yield style.bold(f"  {counted(len(verdicts), 'claim')}: {counts}")
    for claim in check.claims:
        yield from _claim(claim, style)


def _claim(claim: ClaimCheck, style: Style) -> Iterator[str]:
    yield _line(claim, claim.text, style, 2)
    margin = 2 + _VERDICT + _ID
    if claim.reason:
        yield wrapped(f"{_because(claim)} {claim.reason}", style, margin)
    for text in evidence_texts(claim.evidence):
        yield "\n".join(map(style.dim, wrapped(text, style, margin + 2).split("\n")))


def _because(claim: ClaimCheck) -> str:
    if claim.contradicted:
        return "contradicted:"
    return {"holds": "note:", "differs": "because", "unseen": "because"}[claim.verdict]


def _line(claim: ClaimCheck, text: str, style: Style, indent: int) -> str:
    lines = wrapped(text, style, indent, f"{claim.verdict:<{_VERDICT}}{claim.id:<{_ID}}")
    if claim.verdict == "holds":
        return lines
    return lines.replace(claim.verdict, style.warn(claim.verdict), 1)


def _guesses(check: Check, style: Style) -> Iterator[str]:
    if not check.guesses:
        return
    right = sum(guess.holds for guess in check.guesses)
    yield style.bold(f"  guesses right: {right} of {len(check.guesses)}")
    for guess in check.guesses:
        yield _guess(guess, style)


def _guess(guess: Guess, style: Style) -> str:
    word = f"{'right' if guess.holds else 'wrong':<{_VERDICT}}"
    actual = "cannot be known from this trace" if guess.actual is None else _shown(guess.actual)
    line = wrapped(f"{guess.fact}: guessed {_shown(guess.guess)}, is {actual}", style, 2, word)
    return line if guess.holds else line.replace("wrong", style.warn("wrong"), 1)


def _shown(value: Scalar | tuple[Scalar, ...]) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _expectations(check: Check, style: Style) -> Iterator[str]:
    if not check.expectations:
        return
    met = sum(one.holds for one in check.expectations)
    yield style.bold(f"  expectations met: {met} of {len(check.expectations)}")
    for one in check.expectations:
        yield from _expectation(one, style)


def _expectation(one: Expectation, style: Style) -> Iterator[str]:
    word = f"{'met' if one.holds else 'failed':<{_VERDICT}}"
    reason = f": {one.reason}" if one.reason else ""
    line = wrapped(f"{one.text}{reason}", style, 2, word)
    yield line if one.holds else line.replace("failed", style.warn("failed"), 1)
    for text in evidence_texts(one.evidence):
        yield "\n".join(map(style.dim, wrapped(text, style, 2 + _VERDICT).split("\n")))


def failing_lines(check: Check) -> list[str]:
    """One line for each reason for which a check does not pass."""
    lines = [f"claim {claim.id}: {claim.reason}" for claim in check.contradicted]
    lines += [
        f"guess {guess.fact}: {_shown(guess.guess)} is wrong"
        for guess in check.guesses
        if not guess.holds
    ]
    lines += [f"expected {one.text}: {one.reason}" for one in check.expectations if not one.holds]
    return [shortened(line, 200) for line in lines]


def check_json(check: Check) -> dict[str, Any]:
    """The check; times in µs, ``null`` where a trace cannot say.

    A fact of a step is one number where all steps agree and a list of them where they do not.
    """
    return {
        "file": check.path,
        "lesson": check.lesson,
        "lesson_from": check.lesson_from or None,
        "variant": check.run.variant,
        "gpu": check.run.gpu,
        "compute_capability": ".".join(map(str, check.run.capability))
        if check.run.capability
        else None,
        "beside": list(check.beside),
        "passed": check.passed,
        "incomplete": check.incomplete or None,
        "warnings": list(check.warnings),
        "claims": [
            {
                "id": claim.id,
                "verdict": claim.verdict,
                "text": claim.text,
                "reason": claim.reason or None,
                "contradicted": claim.contradicted,
                "evidence": evidence_json(claim.evidence),
            }
            for claim in check.claims
        ],
        "guesses": [vars(guess) for guess in check.guesses],
        "expectations": [
            {
                "expectation": one.text,
                "holds": one.holds,
                "reason": one.reason or None,
                "hints": list(one.hints),
                "evidence": evidence_json(one.evidence),
            }
            for one in check.expectations
        ],
        "facts": {name: one_value(value) for name, value in check.facts.items()},
    }
