"""Texts that all reports share: safe names, aligned tables, wrapped lines, and their style.

Nothing here is read from the terminal unless :func:`style_of` is asked to, so that a report at a
fixed width is the same everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, TextIO


class Style(NamedTuple):
    """How wide a report may be, and whether it may be coloured."""

    width: int = 100
    colour: bool = False

    def bold(self, text: str) -> str:
        """``text`` in bold, where colour is allowed."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def dim(self, text: str) -> str:
        """``text`` in grey, where colour is allowed."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def warn(self, text: str) -> str:
        """``text`` in yellow, where colour is allowed."""
        return f"\x1b[33m{text}\x1b[0m" if self.colour else text


PLAIN = Style()

_LEAST_WIDTH = 40
_FIRST_COMBINING = "\u0300"  # printable characters before it are one column wide

NO_NAME = "(no name)"  # of events whose name is empty, or was no text


def style_of(stream: TextIO) -> Style:
    """The style for a stream: 100 wide and plain, but as wide as a terminal and coloured on one.

    ``NO_COLOR`` (https://no-color.org) keeps colours away, ``COLUMNS`` sets the width everywhere.
    """
    if not stream.isatty():
        return Style(width=max(_LEAST_WIDTH, _columns_wanted() or PLAIN.width))
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    import shutil

    return Style(width=max(_LEAST_WIDTH, shutil.get_terminal_size().columns), colour=colour)


def _columns_wanted() -> int:
    """What ``COLUMNS`` says; 0 where it is not set, or to something that is no width."""
    text = os.environ.get("COLUMNS", "").strip()
    return int(text) if text.isdecimal() and len(text) < 7 else 0


def clean(text: str) -> str:
    """``text`` on one line, with whatever could steer a terminal shown as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shell_word(text: str) -> str:
    """``text`` as one word of a POSIX shell; what could steer a terminal as bash and zsh read it.

    A name with such characters stands in ``$'…'``, so that what is printed is safe to look at and
    still names the file when it is pasted.
    """
    if text.isprintable():
        import shlex

        return shlex.quote(text)
    return "$'" + "".join(map(_in_shell, text)) + "'"


def shell_path(path: str | os.PathLike[str]) -> str:
    """A path as one word of a POSIX shell that no command takes for a flag: ``./-x`` for ``-x``."""
    name = os.fspath(path)
    return shell_word(f"./{name}" if name.startswith("-") else name)


def _in_shell(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def shortened(text: str, width: int, tail: int | None = None) -> str:
    """``text`` cleaned and cut to ``width`` columns, of which ``tail`` show its end.

    By default a quarter, since the start of a name says more than its end.
    """
    text = clean(text)
    if columns_of(text) <= width:
        return text
    if width < 8:
        return _start(text, max(width - 1, 0)) + "…"
    tail = min(width // 4, 20) if tail is None else tail
    end = ""
    for char in reversed(text):
        if columns_of(char + end) > tail:
            break
        end = char + end
    return _start(text, width - 1 - columns_of(end)) + "…" + end


def kept_apart(texts: Sequence[str], width: int) -> list[str]:
    """Paths cut to ``width`` columns each: the start goes, where that leaves them distinct.

    What they share is most often at the start. Where not, the ends give way little by little.
    """
    tried = (
        [shortened(text, width, tail) for text in texts]
        for tail in (width - 1, 3 * width // 4, width // 2, width // 4)
    )
    return max(tried, key=lambda cut: len(set(cut)))


def _shortened(texts: Sequence[str], width: int) -> list[str]:
    return [shortened(text, width) for text in texts]


def _start(text: str, width: int) -> str:
    used = 0
    for i, char in enumerate(text):
        used += columns_of(char)
        if used > width:
            return text[:i]
    return text


def columns_of(text: str) -> int:
    """The columns of a terminal that ``text`` takes: wide characters two, combining ones none."""
    if text.isascii() or all(char < _FIRST_COMBINING or char == "…" for char in text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


class Column(NamedTuple):
    """A column of a table; a ``flexible`` one is cut where the table is too wide."""

    title: str
    right: bool = False
    flexible: bool = False
    paths: bool = False  # cut so that they can still be told apart


def name_column(title: str) -> Column:
    """A column of names: aligned left, cut where needed."""
    return Column(title, flexible=True)


def path_column(title: str) -> Column:
    """A column of paths: aligned left, cut so that what they share goes first."""
    return Column(title, flexible=True, paths=True)


def number_column(title: str) -> Column:
    """A column of numbers: aligned right, never cut."""
    return Column(title, right=True)


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    style: Style = PLAIN,
    indent: int = 2,
) -> str:
    """Rows below their titles, aligned, at most ``style.width`` wide; no newline at the end.

    Drawn by rich. A path loses its start, as far as that leaves it distinct; any other name that is
    too long loses its middle, not its end as rich would have it: the
    end of a kernel's name tells it from the next one.
    """
    # It takes a while to import, which `--json` and `--help` are spared.
    from io import StringIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[clean(cell) for cell in row] for row in rows]
    if columns[0].flexible:
        cells = [[row[0] if row[0].strip() else NO_NAME, *row[1:]] for row in cells]
    widths = _widths(columns, cells, style.width - indent)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column, width in zip(columns, widths, strict=True):
        title = Text(column.title)
        grid.add_column(
            title, justify="right" if column.right else "left", width=width, no_wrap=True
        )
    for index, column in enumerate(columns):
        texts, width = [row[index] for row in cells], widths[index]
        cut = kept_apart if column.paths else _shortened
        for row, text in zip(cells, cut(texts, width), strict=True):
            row[index] = text
    for row in cells:
        grid.add_row(*map(Text, row))
    out = StringIO()
    console = Console(
        file=out,
        width=1 + sum(widths) + 2 * len(widths),  # never a reason to wrap
        color_system="standard" if style.colour else None,
        force_terminal=style.colour,
        legacy_windows=False,
    )
    console.print(grid, no_wrap=True, soft_wrap=True)
    return "\n".join(f"{'':{indent}}{line}".rstrip() for line in out.getvalue().splitlines())


def _widths(columns: Sequence[Column], cells: list[list[str]], width: int) -> list[int]:
    widths = [
        max(columns_of(text) for text in (column.title, *(row[i] for row in cells)))
        for i, column in enumerate(columns)
    ]
    over = sum(widths) + 2 * (len(widths) - 1) - width
    while over > 0:
        # Take from the widest of the flexible columns until all fit, or none has more to give.
        giving = [i for i, column in enumerate(columns) if column.flexible and widths[i] > 12]
        if not giving:
            break
        widths[max(giving, key=widths.__getitem__)] -= 1
        over -= 1
    return widths


def wrapped(text: str, style: Style = PLAIN, indent: int = 0, first: str = "") -> str:
    """``text`` broken at blanks to the width, later lines indented as far as ``first`` reaches."""
    margin = " " * (indent + columns_of(first))
    lines, line = [], " " * indent + first
    for word in clean(text).split(" "):
        if line.strip() and columns_of(line) + 1 + columns_of(word) > style.width:
            lines.append(line.rstrip())
            line = margin
        begins = len(line) == len(margin) or (not lines and line == " " * indent + first)
        line += word if begins else " " + word
    return "\n".join([*lines, line.rstrip()])
