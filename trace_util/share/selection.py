"""Which files of a folder are sent, and for every other one the reason why it is not.

Decided by name and by what the file system says; what is inside is looked at when the file is
packed (:mod:`trace_util.share.packing`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from trace_util.events import TraceError

TRACE_ENDINGS = (".json", ".json.gz")
# A folder of this name holds the traces that come with the project, which are public already.
RECORDED = "recorded"
NOT_NAMED = "holds what comes with the project; name this folder itself to send it"


@dataclass(frozen=True)
class Candidate:
    """A file to send: where it is, how the user knows it, and its path below the root."""

    path: Path
    shown: str
    relative: str  # with "/" between folders
    is_table: bool


class LeftOut(NamedTuple):
    """A file or folder that is not sent."""

    shown: str
    reason: str


@dataclass(frozen=True)
class Selection:
    """What is sent and what is not, each in the order of their paths."""

    files: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...]
    apart: tuple[str, ...] = ()  # below the root, "/" at the end: folders left out as ``NOT_NAMED``


def select(paths: Sequence[Path], root: Path | None = None) -> Selection:
    """The traces, and the tables beside them, among ``paths`` and in the folders among them.

    Names in the bucket are relative to ``root``: by default the folder given, or the folder that
    all paths have in common.

    Raises:
        TraceError: a path does not exist or lies outside of the root.
    """
    top = _real(root if root is not None else _common_folder(paths))
    found: list[Candidate] = []
    left_out: list[LeftOut] = []
    apart: set[str] = set()
    named = {_real(path) for path in paths}
    for path in paths:
        for one in _walk(path, top):
            if isinstance(one, Path):
                if _real(one) not in named:
                    left_out.append(LeftOut(_shown(one), NOT_NAMED))
                    apart.add(_real(one).relative_to(top).as_posix() + "/")
            elif isinstance(one, LeftOut):
                left_out.append(one)
            else:
                found.append(one)
    unique = {candidate.relative: candidate for candidate in found}
    stems = {_stem(name) for name in unique if not unique[name].is_table}
    for name, one in list(unique.items()):
        if one.is_table and _stem(name[:-4]) not in stems:
            left_out.append(LeftOut(one.shown, "a text, but not the table of a trace here"))
            del unique[name]
    files = tuple(unique[name] for name in sorted(unique))
    return Selection(files, tuple(sorted(set(left_out))), tuple(sorted(apart)))


def _common_folder(paths: Sequence[Path]) -> Path:
    for path in paths:
        if not path.exists():
            raise TraceError(f"{path}: no such file or folder")
    folders = [path if path.is_dir() else path.parent for path in paths]
    return Path(os.path.commonpath([_real(folder) for folder in folders]))


def _real(path: Path) -> Path:
    """The path without links in its folders; what it names itself may be one."""
    return _resolved(path) if path.is_dir() else _resolved(path.parent) / path.name


def _resolved(path: Path) -> Path:
    """The path without links; links in a circle stay, where ``Path.resolve`` may fail."""
    return Path(os.path.realpath(path))


def _stem(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".json")


def _walk(path: Path, top: Path) -> Iterator[Candidate | LeftOut | Path]:
    """Everything at or below a path that the user named; a folder called ``RECORDED`` as such."""
    if not path.exists():
        raise TraceError(f"{path}: no such file or folder")
    if not _real(path).is_relative_to(top):
        raise TraceError(
            f"{path}: lies outside of {top}, which names in the bucket are relative to"
        )
    if path.is_dir():
        yield from _walk_folder(path, top, _resolved(path))
    else:
        yield _judge(path, top)


def _walk_folder(folder: Path, top: Path, home: Path) -> Iterator[Candidate | LeftOut | Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield LeftOut(_shown(folder), f"cannot be read ({error.strerror})")
        return
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith("."):
            yield LeftOut(_shown(path), "hidden")
        elif entry.is_symlink():
            yield _judge_link(path, top, home)
        elif entry.is_dir() and entry.name == RECORDED:
            yield path
        elif entry.is_dir():
            yield from _walk_folder(path, top, home)
        else:
            yield _judge(path, top)


def _judge_link(path: Path, top: Path, home: Path) -> Candidate | LeftOut:
    target = _resolved(path)
    if not target.is_relative_to(home):
        return LeftOut(_shown(path), "a link that leads out of the folder")
    if not target.exists():
        return LeftOut(_shown(path), "a link to nothing")
    if target.is_dir():
        return LeftOut(_shown(path), "a link to a folder, whose files go under their own names")
    return _judge(path, top)


def _judge(path: Path, top: Path) -> Candidate | LeftOut:
    shown = _shown(path)
    if path.name.startswith("."):
        return LeftOut(shown, "hidden")
    try:
        status = path.stat()
    except OSError as error:
        return LeftOut(shown, f"cannot be read ({error.strerror})")
    if not stat.S_ISREG(status.st_mode):
        return LeftOut(shown, _special(status.st_mode))
    relative = _real(path).relative_to(top).as_posix()
    if not relative.isprintable() or "\\" in relative:
        return LeftOut(shown, "its name holds a character that a bucket cannot carry")
    is_table = relative.endswith(".txt")
    if not is_table and not relative.endswith(TRACE_ENDINGS):
        return LeftOut(shown, "not a trace (.json, .json.gz) or its table (.txt)")
    if status.st_size == 0:
        return LeftOut(shown, "empty")
    return Candidate(path, shown, relative, is_table)


def _special(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "not a file")


def _shown(path: Path) -> str:
    """The path as the user may read it: what a terminal would act on or cannot show is escaped."""
    characters = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path))
    return "".join(characters)
