"""The pages of this folder as data: their commands with outputs, their figures, their numbers.

A page keeps to these conventions, so that it can be checked and made again:

- A ```` ```console ```` block holds commands behind ``$ `` and below each what it prints to
  standard output. ``$ T=folder`` sets a variable for the commands after it. Pipes are allowed.
- A ```` ```bash ```` block holds commands for the reader's own GPU. They are not run.
- A number in the prose stands in the commands or outputs of the same section (between two ``##``
  headings); the columns of a table whose title begins with "A100" are those of the published guide.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from trace_util.cli import main as trace_util

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(sorted(Path(__file__).parent.glob("*.md")))
COLUMNS = 100  # the width at which outputs are printed

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_SPOKEN = re.compile(rf"(?<![\w.#]){NUMBER.pattern}")  # not the 200 of H200, nor the 2 of Step#2
_FENCE = re.compile(r"^```(\w*)\s*$")
_ASSIGNMENT = re.compile(r"^(\w+)=(\S+)$")


@dataclass(frozen=True)
class Command:
    """A command of a page and what the page says that it prints."""

    text: str
    variables: tuple[tuple[str, str], ...]
    printed: tuple[str, ...]
    first: int  # the line of the output's beginning, and of its end
    last: int
    section: int

    @property
    def words(self) -> list[str]:
        """Its words up to the first pipe, variables filled in."""
        return shlex.split(_filled(self.text.split(" | ")[0], self.variables))

    @property
    def figure(self) -> Path | None:
        """The file that it draws, if it draws one."""
        words = self.words
        if words[:2] != ["trace-util", "plot"] or "-o" not in words:
            return None
        return ROOT / words[words.index("-o") + 1]


def commands(text: str) -> list[Command]:
    """The commands of the console blocks of a page, in order."""
    found: list[Command] = []
    variables: dict[str, str] = {}
    lines = text.split("\n")
    for first, last, section in _blocks(lines, "console"):
        starts = [i for i in range(first, last) if lines[i].startswith("$ ")]
        for start, stop in zip(starts, [*starts[1:], last], strict=True):
            body = lines[start][2:]
            end = start + 1
            while body.endswith("\\"):
                body = f"{body[:-1].rstrip()} {lines[end].strip()}"
                end += 1
            if setting := _ASSIGNMENT.match(body):
                variables[setting[1]] = setting[2]
                continue
            printed = tuple(lines[end:stop])
            found.append(Command(body, tuple(variables.items()), printed, end, stop, section))
    return found


def reader_commands(text: str) -> list[str]:
    """The commands of the bash blocks of a page: for a GPU, and not run here."""
    lines = text.split("\n")
    return [
        line.partition("  #")[0].strip()
        for first, last, _ in _blocks(lines, "bash")
        for line in lines[first:last]
        if line.strip() and not line.startswith("#")
    ]


def _blocks(lines: list[str], language: str) -> Iterator[tuple[int, int, int]]:
    """First and last line of each fenced block in a language, and the section that it is in."""
    section, opened = 0, None
    for i, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opened is not None:
            if line.strip() == "```":
                if opened[1] == language:
                    yield opened[0], i, section
                opened = None
        elif fence:
            opened = i + 1, fence[1]
        elif line.startswith("## "):
            section += 1


def output_of(command: Command) -> tuple[str, ...]:
    """What a command prints, line by line; the first word must be ``trace-util``."""
    printed, errors = io.StringIO(), io.StringIO()
    words = command.words
    if words[0] != "trace-util":
        raise ValueError(f"{command.text}: only trace-util is run here; use a bash block")
    with _at_home(), redirect_stdout(printed), redirect_stderr(errors):
        trace_util(words[1:])
    if not printed.getvalue():
        raise ValueError(f"{command.text}: printed nothing; it said: {errors.getvalue().strip()}")
    text = printed.getvalue()
    _, *rest = command.text.split(" | ", 1)
    if rest:
        shell = subprocess.run(
            ["sh", "-c", _filled(rest[0], command.variables)],
            input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
        text = shell.stdout
    return tuple(line.rstrip() for line in text.rstrip("\n").split("\n"))


@contextmanager
def _at_home() -> Iterator[None]:
    """In the top folder, at a fixed width."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(ROOT)
    os.environ["COLUMNS"] = str(COLUMNS)
    try:
        yield
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def _filled(text: str, variables: tuple[tuple[str, str], ...]) -> str:
    for name, value in variables:
        text = re.sub(rf"\${name}\b", value, text)
    return text


@dataclass(frozen=True)
class Spoken:
    """A number in the prose, or a name in code letters."""

    text: str
    line: int  # counted from 0
    section: int


def spoken_numbers(text: str) -> list[Spoken]:
    """The numbers of a page's prose, those of the published guide left out."""
    return [
        Spoken(number, at, section)
        for at, section, line in _prose(text)
        for number in _SPOKEN.findall(re.sub(r"`[^`]*`", " ", line))
    ]


def spoken_names(text: str) -> list[Spoken]:
    """What a page's prose sets in code letters."""
    return [
        Spoken(name, at, section)
        for at, section, line in _prose(text)
        for name in re.findall(r"`([^`]+)`", line)
    ]


def _prose(text: str) -> Iterator[tuple[int, int, str]]:
    """Line number, section and text of the prose: no blocks, links' targets, or A100 columns."""
    section, fenced = 0, False
    published: set[int] = set()
    for at, line in enumerate(text.split("\n")):
        if line.startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        if line.startswith("## "):
            section += 1
        if line.startswith("|"):
            cells = line.strip("|").split("|")
            if not published or not _is_table_line(text, at - 1):
                published = {i for i, cell in enumerate(cells) if cell.strip().startswith("A100")}
            line = "|".join(cell for i, cell in enumerate(cells) if i not in published)
        else:
            published = set()
        line = re.sub(r"^#+ \d+ · |^\s*\d+\. ", "", line)  # a lesson's own number, a list's
        line = re.sub(r"\]\([^)]*\)|<!--.*?-->|<[^>]*>", "]", line)
        yield at, section, line


def _is_table_line(text: str, at: int) -> bool:
    return text.split("\n")[at].startswith("|")


def numbers_in(command: Command) -> set[str]:
    """Every number that a command or its output on the page shows."""
    shown = "\n".join((_filled(command.text, command.variables), *command.printed))
    return set(NUMBER.findall(shown))


def unproved(text: str) -> list[Spoken]:
    """The numbers of the prose that no command of their section shows."""
    proved: dict[int, set[str]] = {}
    for command in commands(text):
        proved.setdefault(command.section, set()).update(numbers_in(command))
    for section, words in _reader_numbers(text).items():
        proved.setdefault(section, set()).update(words)
    return [one for one in spoken_numbers(text) if one.text not in proved.get(one.section, set())]


def _reader_numbers(text: str) -> dict[int, set[str]]:
    """The numbers in the commands that the reader is asked to run: sizes, mostly."""
    lines = text.split("\n")
    found: dict[int, set[str]] = {}
    for first, last, section in _blocks(lines, "bash"):
        shown = set(NUMBER.findall("\n".join(lines[first:last])))
        found.setdefault(section, set()).update(shown)
    return found
