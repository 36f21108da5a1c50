"""Tells of Ctrl-C in one line, from the moment in which this module is imported.

A lesson imports the recording package first, and that one this module: importing torch takes
seconds in which somebody may think better of it.
"""

from __future__ import annotations

import sys
from types import TracebackType

from ..standard_output import INTERRUPTED


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("error: interrupted", file=sys.stderr, flush=True)
    raise SystemExit(INTERRUPTED)


sys.excepthook = _hook
