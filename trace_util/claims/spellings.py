"""The events that a name in ``count("NAME")`` is about, and names that are like one of nothing.

A kernel is called by the name in the file, or as reports print it: by its short name, cut in the
middle or not, and in a few words, ``bf16 GEMM 256x128 (nvjet)``.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np

from trace_util.events import CALL_KINDS, GPU_KINDS, Kind
from trace_util.kernel_names import decode
from trace_util.kernel_words import kernel_words
from trace_util.reading import Reading
from trace_util.tally import distinct

# What can be counted besides GPU work. A `gpu_user_annotation` repeats an annotation.
HOST_KINDS = (Kind.CPU_OP, Kind.USER_ANNOTATION, Kind.PYTHON, *CALL_KINDS, Kind.SYNC, Kind.OVERHEAD)
CUT = "…"  # what reports put where they leave the middle of a name out
# Reasoned: a letter or two of a kernel's name mistyped, and no other kernel's name.
_MISTYPED = 0.9
_MOST = 200  # characters of the names that are told


def named(own: Reading, name: str) -> list[int]:
    """The events of a name: GPU work, or host events where no GPU work is called so.

    A name may be cut off where a word ends ("Memcpy DtoD"), or hold ``*`` for anything.
    """
    events = own.trace.events
    for kinds in (GPU_KINDS, HOST_KINDS):
        mask = events.is_kind(*kinds)
        spelled = spellings if kinds is GPU_KINDS else _as_written
        wanted = [
            index
            for index in distinct(events.name[mask])
            if any(_matches(text, name) for text in spelled(own.trace.names[index]))
        ]
        rows = np.flatnonzero(mask & np.isin(events.name, wanted))
        if len(rows):
            in_order: list[int] = rows[np.argsort(events.start_ns[rows], kind="stable")].tolist()
            return in_order
    return []


@lru_cache(maxsize=8192)
def spellings(raw: str) -> tuple[str, ...]:
    """A kernel's name in the file, and those that reports print of it."""
    found = decode(raw)
    return tuple(dict.fromkeys((raw, found.short, kernel_words(found))))


def _as_written(raw: str) -> tuple[str, ...]:
    return (raw,)


def _matches(text: str, name: str) -> bool:
    if "*" in name or CUT in name:
        return fnmatch.fnmatchcase(text, _pattern(name))
    return text == name or (text.startswith(name) and re.match(r"\w", text[len(name) :]) is None)


def _pattern(name: str) -> str:
    """The name for fnmatch: ``*`` and a cut stand for anything, all else for itself."""
    return name.replace(CUT, "*").replace("[", "[[]").replace("?", "[?]")


def begin_so(own: Reading, name: str) -> str:
    """The names that go on where this one ends in the middle of a word."""
    return _listed(text for text in _all(own) if text.startswith(name))


def hold_it(own: Reading, name: str) -> str:
    """The names that hold a text, in whatever case."""
    wanted = f"*{_pattern(name.casefold())}*"
    return _listed(text for text in _all(own) if fnmatch.fnmatchcase(text.casefold(), wanted))


def mistyped(own: Reading, name: str) -> str:
    """The kernels' names that differ by a letter or two; none where the name itself is known."""
    typed = name.strip("*").casefold()
    if decode(name).is_known:
        return ""
    heads = {text: re.split(r"[<(]", text)[0].casefold() for text in _of_gpu(own)}
    return _listed(
        text
        for text, head in heads.items()
        if max(_likeness(typed, head), _likeness(typed, text.casefold())) >= _MISTYPED
    )


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _all(own: Reading) -> Iterable[str]:
    return dict.fromkeys((*own.trace.names, *_of_gpu(own)))


def _of_gpu(own: Reading) -> list[str]:
    """What the GPU work of a trace is called."""
    events = own.trace.events
    names = distinct(events.name[events.is_kind(*GPU_KINDS)])
    return [text for index in names for text in spellings(own.trace.names[index])]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)[:_MOST]
