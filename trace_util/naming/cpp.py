"""C++ names as compilers print them: parameters, template arguments, mangled identifiers.

No full grammar: a name of any length is scanned once, and text that does not parse comes back as
it is. Demanglers differ: ``(int)4`` and ``4``, ``<unnamed>`` and ``(anonymous namespace)``, ``> >``
and ``>>`` mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CASTS = re.compile(r"\((?:int|bool|unsigned int|unsigned long|long|unsigned char|short)\)(?=\d)")
_ANONYMOUS = re.compile(r"<unnamed>|\(anonymous namespace\)|\{anonymous\}")
_MANGLED_NUMBER = re.compile(r"S[0-9A-Z]*_|T\d*_|L[a-z]n?\d+E|(\d+)")
_PLACEHOLDER = "anonymous"
_OPEN, _CLOSE = "<({[", ">)}]"
SHORT = 64  # columns that a shortened name may take in a table


def normal(name: str) -> str:
    """The name with one spelling of casts and anonymous namespaces, and without ``void``."""
    name = _ANONYMOUS.sub(_PLACEHOLDER, _CASTS.sub("", name.strip()))
    return name.removeprefix("void ")


def _depths(text: str) -> Iterator[tuple[int, str, int]]:
    """Each character with its position and the bracket depth around it."""
    depth = 0
    for position, character in enumerate(text):
        if character in _CLOSE and not (character == ">" and text[position - 1] == "-"):
            depth = max(0, depth - 1)
        yield position, character, depth
        if character in _OPEN:
            depth += 1


def callee(name: str) -> str:
    """The name up to its parameter list: ``a::f<int>(float*)`` gives ``a::f<int>``."""
    for position, character, depth in _depths(name):
        if character == "(" and depth == 0 and position and "operator" not in name[:position][-9:]:
            return name[:position]
    return name


def identifier(name: str) -> str:
    """The last part of a qualified name, without template arguments and parameters."""
    head = callee(name)
    outer = "".join(c for _, c, depth in _depths(head) if depth == 0 and c not in "<>{}()[]")
    return outer.rsplit("::", 1)[-1].rsplit(" ", 1)[-1]


def qualified(name: str) -> str:
    """``namespace::identifier``, anonymous namespaces, return types and templates left out."""
    head = callee(name)
    outer = "".join(c for _, c, depth in _depths(head) if depth == 0 and c not in "<>{}()[]")
    parts = [part for part in outer.split("::") if part != _PLACEHOLDER]
    return "::".join(parts).rsplit(" ", 1)[-1]


def arguments(text: str) -> list[str]:
    """The arguments of the first template list in ``text``; empty when there is none."""
    start = text.find("<")
    if start < 0:
        return []
    parts: list[str] = []
    current: list[str] = []
    for _, character, depth in _depths(text[start:]):
        if depth == 0 and character == ">":
            break
        if depth == 1 and character == ",":
            parts.append("".join(current).strip())
            current = []
        elif depth >= 1:
            current.append(character)
    parts.append("".join(current).strip())
    return [part for part in parts if part]


def mangled_identifiers(name: str) -> list[str]:
    """The identifiers of an Itanium-mangled name (``_ZN7cutlass6KernelI…``), in order.

    Each is written as its length and its text; back references (``S1_``) and literals (``Li128E``)
    hold numbers that are no lengths. https://itanium-cxx-abi.github.io/cxx-abi/abi.html
    """
    found, position = [], 0
    while match := _MANGLED_NUMBER.search(name, position):
        position = match.end()
        if match.group(1):
            end = position + int(match.group(1)[:4])
            found.append(name[position:end])
            position = end
    return found


def mangled_head(name: str) -> str:
    """``a::b::f`` of a mangled name: the nested name before template arguments and parameters."""
    parts: list[str] = []
    position = 3 if name.startswith("_ZN") else 2
    while match := re.compile(r"[KVr]*(\d{1,4})").match(name, position):
        size = int(match.group(1))
        parts.append(name[match.end() : match.end() + size])
        position = match.end() + size
        if not name.startswith("_ZN"):
            break
    return "::".join(part for part in parts if not part.startswith("_GLOBAL__N"))


def clipped(text: str, width: int = SHORT) -> str:
    """The text in at most ``width`` columns, its middle left out when it is longer."""
    if len(text) <= width:
        return text
    tail = width // 4
    return f"{text[: width - tail - 1]}…{text[-tail:]}"
