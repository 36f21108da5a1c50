"""A tiny language for expectations: comparisons of facts, numbers and counts. Nothing is executed.

``kernels_per_step <= 5``, ``count("Memcpy DtoD") == 0 and gpu_busy_share >= 0.6``. The text is
parsed by Python's ``ast``; every node that is not listed here is refused.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from trace_util.events import UsageError

LONGEST, DEEPEST = 500, 50  # characters; levels of brackets and signs

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_PERCENT = re.compile(
    r"""'[^']*'|"[^"]*"|(?<![\w.])(\d+(?:\.\d+)?)\s*%(?=\s*(?:$|[)<>=!]|and\b|or\b))"""
)
EXAMPLE = 'write a comparison such as kernels_per_step <= 5 or count("Memcpy DtoD") == 0'


class NotKnown(Exception):
    """A fact that the trace cannot say was needed; its text is the reason."""


def parsed(text: str) -> ast.expr:
    """The expression, of which every part is allowed.

    Raises:
        UsageError: it is no expression, or has a part that is not allowed.
    """
    if len(text) > LONGEST:
        raise UsageError(f"{text[:40]}…: longer than {LONGEST} characters; split it in two")
    try:
        tree = ast.parse(_without_percent(text.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{text}: not an expression; {EXAMPLE}") from None
    refused = "nested too deeply" if _is_deep(tree) else next(_refused(tree), None)
    if refused:
        raise UsageError(f"{text}: {refused}; {EXAMPLE}")
    if not _is_judgement(tree):
        raise UsageError(f"{text}: compares nothing; {EXAMPLE}")
    empty = next(_empty(tree), None)
    if empty:
        raise UsageError(f"{text}: {empty}, which says nothing of the trace; {EXAMPLE}")
    return tree


def _without_percent(text: str) -> str:
    """``50 %`` as ``(50/100)``; the ``%`` of a remainder, and all within quotes, stay."""
    return _PERCENT.sub(lambda m: f"({m[1]}/100)" if m[1] else m[0], text)


def has_percent(text: str) -> bool:
    """Whether a percentage is written in an expression."""
    return any(match[1] for match in _PERCENT.finditer(text))


def _empty(tree: ast.expr) -> Iterator[str]:
    """Comparisons that are so, or not so, whatever the trace holds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            if not (names_in(node) or counts_in(node)):
                yield "no fact is compared"
            sides = [ast.dump(side) for side in (node.left, *node.comparators)]
            if any(a == b for a, b in zip(sides, sides[1:], strict=False)):
                yield "something is compared with itself"


def _is_deep(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def _is_judgement(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(map(_is_judgement, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _is_judgement(node.operand)
    return isinstance(node, ast.Compare)


def _refused(node: ast.AST) -> Iterator[str]:
    """What is not allowed in a tree, in words."""
    if isinstance(node, ast.Constant):
        if type(node.value) not in (int, float, str):
            yield f"{node.value!r} is no number"
        elif isinstance(node.value, float) and not math.isfinite(node.value):
            yield "a number is too large"
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        if dotted(node) is None:
            yield "only names of facts may be used"
        return
    if isinstance(node, ast.Call):
        if dotted(node.func) != "count" or len(node.args) != 1 or node.keywords:
            yield 'the only function is count("NAME")'
        elif not _is_name(node.args[0]):
            yield 'count takes a name in quotes, count("NAME")'
        return
    inner: list[ast.expr] = []
    if isinstance(node, ast.BoolOp):
        inner = node.values
    elif isinstance(node, ast.UnaryOp) and type(node.op) in (*_SIGNS, ast.Not):
        inner = [node.operand]
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        inner = [node.left, node.right]
    elif isinstance(node, ast.Compare) and all(type(op) in _COMPARISONS for op in node.ops):
        inner = [node.left, *node.comparators]
    else:
        yield "this is not allowed here"
    for part in inner:
        yield from _refused(part)


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is str and bool(node.value.strip())


def dotted(node: ast.AST) -> str | None:
    """``kernels.count`` of nested attributes, ``None`` for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else None
    return None


def names_in(tree: ast.expr) -> list[str]:
    """The facts that an expression names, in order."""
    if isinstance(tree, (ast.Name, ast.Attribute)):
        return [dotted(tree) or ""]
    if isinstance(tree, ast.Call):
        return []
    parts = [part for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr)]
    return list(dict.fromkeys(name for part in parts for name in names_in(part)))


def counts_in(tree: ast.expr) -> list[str]:
    """The names that an expression counts, in order."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [str(call.args[0].value) for call in calls if isinstance(call.args[0], ast.Constant)]


def evaluated(
    tree: ast.expr, fact: Callable[[str], Any], count: Callable[[str], int]
) -> bool | int | float | str:
    """The value of a parsed expression.

    Raises:
        NotKnown: a fact that it needs cannot be known.
    """

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Name, ast.Attribute)):
            return fact(dotted(node) or "")
        if isinstance(node, ast.Call):
            assert isinstance(node.args[0], ast.Constant)
            return count(str(node.args[0].value))
        if isinstance(node, ast.BoolOp):
            results = map(value, node.values)  # lazily: the rest is not needed once it is decided
            return all(results) if isinstance(node.op, ast.And) else any(results)
        if isinstance(node, ast.UnaryOp):
            inner = value(node.operand)
            return not inner if isinstance(node.op, ast.Not) else _SIGNS[type(node.op)](inner)
        if isinstance(node, ast.BinOp):
            return _calculated(_ARITHMETIC[type(node.op)], value(node.left), value(node.right))
        assert isinstance(node, ast.Compare)
        return _compared(node, value)

    result: bool | int | float | str = value(tree)
    return result


def _calculated(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise UsageError("a name cannot be calculated with")
    try:
        result = operation(left, right)
    except ZeroDivisionError:
        raise NotKnown("a division by zero") from None
    except OverflowError:
        raise NotKnown("a number that is too large") from None
    if isinstance(result, float) and not math.isfinite(result):
        raise NotKnown("a number that is too large")
    return result


def _compared(node: ast.Compare, value: Callable[[ast.expr], Any]) -> bool:
    left = value(node.left)
    for operation, comparator in zip(node.ops, node.comparators, strict=True):
        right = value(comparator)
        if isinstance(left, str) != isinstance(right, str):
            raise UsageError(f"{left!r} cannot be compared with {right!r}")
        if not _COMPARISONS[type(operation)](left, right):
            return False
        left = right
    return True
