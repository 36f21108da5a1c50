"""Expectations such as ``kernels_per_step <= 5``: a gate for continuous integration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from trace_util.claims.expressions import NotKnown, counts_in, evaluated, names_in, parsed
from trace_util.claims.quantities import (
    Quantities,
    known_name,
    needs_kernels,
    needs_launches,
    of_collectives,
    one_value,
)
from trace_util.claims.sense import refuse_nonsense
from trace_util.claims.spellings import begin_so, hold_it, mistyped, named
from trace_util.events import GPU_KINDS, UsageError
from trace_util.evidence import Evidence, Value
from trace_util.kernel_names import decode
from trace_util.reading import Reading
from trace_util.wholeness import why_incomplete


@dataclass(frozen=True)
class Expectation:
    """An expectation, whether the trace meets it, and the facts and events that say so."""

    text: str
    holds: bool
    reason: str  # "" where it holds
    evidence: tuple[Evidence, ...]
    hints: tuple[str, ...] = ()  # names that it counts, that are about nothing here


def expectation(
    text: str, own: Reading, facts: Quantities, *, allow_incomplete: bool = False
) -> Expectation:
    """An expectation, tested; one that names facts of a step must hold in every step.

    It fails unjudged where the trace is not whole or lost the kernels that it is about, unless
    ``allow_incomplete``.

    Raises:
        UsageError: it is no comparison, or names an unknown fact.
    """
    tree = parsed(text)
    refuse_nonsense(text, tree)
    for name in names_in(tree):
        known_name(name, facts)
    unjudged = "" if allow_incomplete else why_incomplete(own.trace)
    try:
        reason = _failure(tree, own, facts, lossy_too=allow_incomplete)
        reason = f"not judged: {unjudged}" if unjudged else reason
    except UsageError as error:
        raise UsageError(f"{text}: {error}") from None
    except NotKnown as unknown:
        reason = f"not judged: {unjudged}" if unjudged else str(unknown)
    evidence = _evidence(tree, own, facts, failed=bool(reason))
    return Expectation(text, not reason, reason, evidence, tuple(_hints(tree, own)))


def _failure(tree: ast.expr, own: Reading, facts: Quantities, *, lossy_too: bool) -> str:
    """Why the trace does not meet the expectation, "" when it does."""
    names = names_in(tree)
    by_step = any(isinstance(facts[name], tuple) for name in names)
    if by_step and not own.facts.steps:
        raise NotKnown("the trace has no step marks")
    failed: list[int] = []
    for step in own.steps if by_step else range(1):
        fact = partial(_fact, step=step, own=own, facts=facts, lossy_too=lossy_too)
        try:
            met = evaluated(tree, fact, partial(_count, own=own, lossy_too=lossy_too))
        except NotKnown:
            if failed:  # one step that is known not to meet it decides
                break
            raise
        failed += [] if met else [step]
    if not failed:
        return ""
    where = _steps(failed, own) if by_step else "so in this trace"
    return f"not {where}: {_values(tree, own, facts)}"


def _steps(failed: list[int], own: Reading) -> str:
    steps = own.facts.steps
    if len(failed) == len(steps) > 1:
        return f"in any of {len(steps)} steps"
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"in {steps[failed[0]].name}{more}"


def _values(tree: ast.expr, own: Reading, facts: Quantities) -> str:
    """What the facts and counts of an expression are: ``kernels_per_step is 5``."""
    found = [(name, _plain(one_value(facts[name]))) for name in names_in(tree)]
    found += [(f'count("{name}")', len(named(own, name))) for name in counts_in(tree)]
    return ", ".join(f"{name} is {_number(value)}" for name, value in found)


def _number(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _fact(name: str, step: int, own: Reading, facts: Quantities, lossy_too: bool) -> Any:
    value = facts[name]
    of_step = isinstance(value, tuple)
    value = value[step] if isinstance(value, tuple) else value
    if value is None:
        raise NotKnown(f"{name} cannot be known: {_why_unknown(name, own)}")
    lost = own.lost_kernels(step if of_step else None)
    if not lossy_too and needs_kernels(name) and lost:
        raise NotKnown(f"{name} cannot be known: {lost}")
    if not lossy_too and needs_launches(name) and own.unplaced:
        raise NotKnown(f"{name} cannot be known: {own.unplaced}")
    if not lossy_too and needs_launches(name) and step in own.facts.partial_steps:
        elsewhere = "a process without step marks launched work during it"
        raise NotKnown(f"{name} cannot be known: {own.facts.steps[step].name}: {elsewhere}")
    return value


def _why_unknown(name: str, own: Reading) -> str:
    if own.is_merged and of_collectives(name):
        return "the ranks of a merged job have their own; check each rank's trace"
    return own.no_gpu or "the trace does not say it"


def _count(name: str, own: Reading, lossy_too: bool) -> int:
    rows = named(own, name)
    is_of_gpu = own.facts.gpu_activity == "missing" or decode(name).is_known
    if not rows and own.no_gpu and is_of_gpu:
        raise NotKnown(f'count("{name}") cannot be known: {own.no_gpu}')
    is_work = bool(rows) and bool(own.trace.events.is_kind(*GPU_KINDS)[rows[0]])
    if own.left_out and not (is_work or decode(name).is_known or lossy_too):
        raise NotKnown(f'count("{name}") cannot be known: {own.left_out}')
    of_gpu = is_work or not rows
    if not lossy_too and of_gpu and (reason := own.lost_kernels()):
        raise NotKnown(f'count("{name}") cannot be known: {reason}')
    return len(rows)


def _evidence(
    tree: ast.expr, own: Reading, facts: Quantities, *, failed: bool
) -> tuple[Evidence, ...]:
    found = [Evidence(name, _plain(one_value(facts[name]))) for name in names_in(tree)]
    for name in counts_in(tree):
        rows = named(own, name)
        found.append(own.proof(f'count("{name}")', rows, len(rows)))
        if not rows:
            found += [Evidence(what, close) for what, close in _close(own, name)]
    if failed and any(isinstance(facts[name], tuple) for name in names_in(tree)):
        found += [
            own.proof(f"kernels of {step.name}", own.kernels(index), step.kernels)
            for index, step in enumerate(own.facts.steps)
        ]
    return tuple(found)


def _close(own: Reading, name: str) -> list[tuple[str, str]]:
    """How the names are like one that nothing has, and which those are; at most one pair."""
    if begin := begin_so(own, name):
        return [("names that only begin so, add * to count them", begin)]
    if hold := hold_it(own, name):
        return [("names that only hold it, mind the case, and *", hold)]
    close = mistyped(own, name)
    return [("names that are nearly so", close)] if close else []


def _hints(tree: ast.expr, own: Reading) -> Iterator[str]:
    """A sentence for each name that counts nothing, though others are like it."""
    for name in counts_in(tree):
        if not named(own, name):
            for what, close in _close(own, name):
                yield f'count("{name}") is about nothing in this trace; {what}: {close}'


def _plain(value: Any) -> Value:
    return ", ".join(map(_number, value)) if isinstance(value, tuple) else value
