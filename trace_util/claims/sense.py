"""Comparisons that no trace can make true, or none can make false: units that do not fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trace_util.claims.expressions import (
    NotKnown,
    counts_in,
    dotted,
    evaluated,
    has_percent,
    names_in,
)
from trace_util.events import UsageError


def refuse_nonsense(text: str, tree: ast.expr) -> None:
    """Return unless an expectation divides by zero or compares a share, or a percentage, wrongly.

    Raises:
        UsageError: it does; says which values make sense.
    """
    reason = next(_nonsense(tree, has_percent(text)), None)
    if reason:
        raise UsageError(f"{text}: {reason}")


def _nonsense(tree: ast.expr, percent: bool) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
            if _number(node.right) == 0:
                yield "a division by zero"
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for one, other in zip(sides, sides[1:], strict=False):
                yield from _unfit(one, other, percent)
                yield from _unfit(other, one, percent)


def _unfit(fact: ast.expr, limit: ast.expr, percent: bool) -> Iterator[str]:
    """What is wrong with a fact by itself beside a number."""
    number = _number(limit)
    if number is None:
        return
    name = "a count" if isinstance(fact, ast.Call) else dotted(fact)
    if name is None:
        return
    if "share" in name:
        if not 0 <= number <= 1:
            yield f"{name} is a share: compare it with 0 to 1, or with a percentage such as 60 %"
    elif percent and _is_percentage(limit):
        yield f"{name} is no share; give its number without %"


def _is_percentage(node: ast.expr) -> bool:
    """Whether a number is what a percentage is read as: so many hundredths."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and isinstance(node.right, ast.Constant)
        and node.right.value == 100
    )


def _number(node: ast.expr) -> float | None:
    """The value of an expression without a fact; ``None`` for others, and for what is no number."""
    if names_in(node) or counts_in(node):
        return None
    try:
        value = evaluated(node, lambda name: None, lambda name: 0)
    except (NotKnown, UsageError):
        return None
    return None if isinstance(value, str) else value
