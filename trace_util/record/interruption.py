"""Tells of Ctrl-C in one line, from the moment in which this module is imported.

A lesson imports the recording package first, and that one this module: importing torch takes
seconds in which somebody may think better of it. Torch imports NumPy from C++ and passes over what
was raised meanwhile, so until that is over Ctrl-C ends the process on the spot.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType

from ..standard_output import INTERRUPTED

MESSAGE = "error: interrupted"


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print(MESSAGE, file=sys.stderr, flush=True)
    raise SystemExit(INTERRUPTED)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)


def raise_again() -> None:
    """From here on Ctrl-C raises ``KeyboardInterrupt`` again: all is imported."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave_at_once() -> None:
    """From here on Ctrl-C ends the process on the spot, for imports that pass over exceptions.

    A handler can be set on the main thread only; one that somebody else has set is left alone.
    """
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, _leave)


sys.excepthook = _hook
leave_at_once()
