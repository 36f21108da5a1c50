"""Which files a command line means: paths, folders, patterns, and ``-`` for standard input."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence

from trace_util.events import TraceError, UsageError
from trace_util.sweeps import is_sweep

Say = Callable[[str], None]

STDIN = "-"
ENDINGS = (".json", ".json.gz")


def trace_files(arguments: Sequence[str], say: Say = lambda _: None) -> list[str]:
    """The files that are meant, each once, folders searched to the bottom, in order of name.

    The tables of sweeps in a folder, or among what a pattern matches, are left out, and ``say``
    is told; one that is named itself is for the reader to refuse.

    Raises:
        TraceError: nothing is there, or a folder holds no trace by its ending.
    """
    found: dict[str, None] = {}
    for argument in arguments:
        found.update(dict.fromkeys(_meant(argument, say)))
    return list(found)


def once(arguments: Sequence[str]) -> None:
    """Return unless standard input is named twice, which can be read but once.

    Raises:
        UsageError: it is.
    """
    if list(arguments).count(STDIN) > 1:
        raise UsageError(f"{STDIN}: standard input can be read once; save it to a file first")


def _meant(argument: str, say: Say) -> list[str]:
    if not argument:
        raise TraceError("an empty name where a trace should stand; is a variable not set?")
    if argument == STDIN or os.path.isfile(argument):
        return [argument]
    from pathlib import Path  # not for one file: it is slow to load

    path = Path(argument)
    if path.is_dir():
        inside = (each for each in path.rglob("*") if each.name.lower().endswith(ENDINGS))
        files = sorted(str(each) for each in inside if each.is_file())
        if not files:
            raise TraceError(f"{argument}: no {' or '.join(ENDINGS)} file in this folder")
        return _without_sweeps(argument, files, say)
    files = sorted(filter(os.path.isfile, glob.glob(argument, recursive=True)))
    if not files:
        if path.exists():  # a pipe or a device: reading it is for the reader
            return [argument]
        what = "no file matches" if glob.has_magic(argument) else "no such file or folder"
        raise TraceError(f"{argument}: {what}")
    return _without_sweeps(argument, files, say)


def _without_sweeps(argument: str, files: list[str], say: Say) -> list[str]:
    from pathlib import Path

    sweeps = [each for each in files if is_sweep(Path(each))]
    traces = [each for each in files if each not in sweeps]
    tables = f"{len(sweeps)} tables of sweeps" if len(sweeps) > 1 else "the table of a sweep"
    if not traces:
        raise TraceError(f"{argument}: no trace, only {tables}; trace-util plot draws one")
    if sweeps:
        first = ", the first" if len(sweeps) > 1 else ""
        say(f"note: left out {tables}{first} {sweeps[0]}; trace-util plot draws it")
    return traces
