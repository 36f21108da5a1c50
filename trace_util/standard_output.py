"""Standard output whose failures can be told from those of other files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells count it: 128 + SIGINT


class OutputError(OSError):
    """Standard output does not take what is printed: its disk is full, say."""


class _Guarded:
    """A stream as it is, but for the kind of error that a failed write raises."""

    def __init__(self, stream: TextIO, goes_on: bool) -> None:
        self._stream, self._goes_on = stream, goes_on

    def write(self, text: str) -> int:
        with self._told_apart():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._told_apart():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _told_apart(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            if not self._goes_on:
                raise
            give_output_up()
        except OSError as error:
            raise OutputError(error.errno, f"standard output: {error.strerror}") from error


def guard_output(*, goes_on: bool = False) -> TextIO:
    """The standard output until now; from here on a failure of it is an ``OutputError``.

    With ``goes_on`` it is none that the reader has left (``| head``), since there is more to do
    than to print.
    """
    before = sys.stdout
    if not isinstance(before, _Guarded):
        sys.stdout = cast(TextIO, _Guarded(before, goes_on))
    return before


def give_output_up() -> None:
    """Send what is still to be printed nowhere, so that Python does not fail over it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def in_words(error: OSError) -> str:
    """What happened, without Python's notation: the file if there is one, and why."""
    if not error.strerror:
        return str(error)
    if isinstance(error, OutputError) or error.filename is None:
        return error.strerror
    return f"{os.fsdecode(error.filename)}: {error.strerror}"
