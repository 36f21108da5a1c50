"""Which files a command line means: paths, folders, patterns, and ``-`` for standard input."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from trace_util.events import TraceError

STDIN = "-"
ENDINGS = (".json", ".json.gz")


def trace_files(arguments: Sequence[str]) -> list[str]:
    """The files that are meant, each once, folders searched to the bottom, in order of name.

    Raises:
        TraceError: nothing is there, or a folder holds no trace by its ending.
    """
    found: dict[str, None] = {}
    for argument in arguments:
        found.update(dict.fromkeys(_meant(argument)))
    return list(found)


def means_many(arguments: Sequence[str]) -> bool:
    """Whether the arguments stand for a number of files, even if that number is one."""
    if len(arguments) != 1:
        return True
    path = Path(arguments[0])
    return path.is_dir() or (glob.has_magic(arguments[0]) and not path.exists())


def _meant(argument: str) -> list[str]:
    path = Path(argument)
    if argument == STDIN or path.is_file():
        return [argument]
    if path.is_dir():
        inside = (each for each in path.rglob("*") if each.name.lower().endswith(ENDINGS))
        files = sorted(str(each) for each in inside if each.is_file())
        if not files:
            raise TraceError(f"{argument}: no {' or '.join(ENDINGS)} file in this folder")
        return files
    files = sorted(each for each in glob.glob(argument, recursive=True) if Path(each).is_file())
    if not files:
        if path.exists():  # a pipe or a device: reading it is for the reader
            return [argument]
        what = "no file matches" if glob.has_magic(argument) else "no such file or folder"
        raise TraceError(f"{argument}: {what}")
    return files
