"""The command line: finds the command, runs it, and turns an error into one line."""

from __future__ import annotations

import argparse
import codecs
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from functools import partial

from trace_util.standard_output import (
    INTERRUPTED,
    OutputError,
    give_output_up,
    guard_output,
    in_words,
)

# name -> what it does. A command is the module of that name in `trace_util.commands`; only the one
# that was asked for is imported, so that `--help` and every error cost no more than Python itself.
COMMANDS = {
    "summary": "what a trace holds: window, steps, GPU busy time, kernels, launches, oddities",
    "explain": "what bounds this run, which numbers say so, and what to do next",
    "check": "a lesson's claims, guesses and expectations against a trace, with evidence",
    "compare": "two or more traces: same, replaced, fused and vanished kernels, and time a step",
    "decode": "a kernel's name in words",
    "plot": "the timeline as a figure",
    "report": "one self-contained HTML page",
    "open": "a trace in the Perfetto UI, without an upload",
    "link": "the Perfetto link of a trace that is already online, opening on the finding",
    "upload": "traces to a Hugging Face bucket, and a Perfetto link for each",
    "redact": "a copy of a trace without what would give people away",
    "slim": "a copy of a trace small enough to share",
    "merge": "the traces of many ranks as one",
}

DEBUG_VARIABLE = "TRACE_UTIL_DEBUG"
EXIT_CODES = "0 done, 1 failed, refused or not as expected, 2 wrong usage, 130 Ctrl-C"


def _usage() -> str:
    width = max(map(len, COMMANDS)) + 2
    rows = "\n".join(f"  {name:<{width}}{what}" for name, what in COMMANDS.items())
    return (
        "usage: trace-util COMMAND ...\n"
        "       trace-util FOLDER -b BUCKET        the same as trace-util upload\n\n"
        "Reads, explains, checks, compares, draws and shares torch.profiler traces.\n\n"
        f"commands:\n{rows}\n\n"
        "trace-util COMMAND --help says more. Example:\n"
        "  trace-util summary traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz\n\n"
        f"Exit codes: {EXIT_CODES}.\n{DEBUG_VARIABLE}=1 shows tracebacks.\n"
    )


def _with_command(arguments: Sequence[str]) -> list[str]:
    """The arguments with their command in front.

    The guides write ``trace-util traces -b traces`` and ``trace-util -b my-bucket -f ./traces``:
    a first word that is no command but a path, or a bucket flag, means ``upload``.
    """
    first = arguments[0]
    wants_upload = any(a in ("-b", "--bucket", "--bucket-name") for a in arguments) or any(
        a.startswith(("-b=", "--bucket=", "--bucket-name=")) for a in arguments
    )
    if first not in COMMANDS and (wants_upload or os.path.exists(first)):
        return ["upload", *arguments]
    return list(arguments)


def _run(arguments: Sequence[str]) -> int:
    name, *rest = _with_command(arguments)
    if name not in COMMANDS:
        return _said(f"{name}: no such command or file; see trace-util --help", 2)
    command = importlib.import_module(f"trace_util.commands.{name}")
    parser = argparse.ArgumentParser(
        prog=f"trace-util {name}",
        description=command.__doc__,
        epilog=getattr(command, "EXAMPLE", None),
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=80),
    )
    command.add_arguments(parser)
    # Only now, since it asks how wide the terminal is: `shutil`, which that takes, is slow to load.
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    code: int = command.run(parser.parse_args(rest))
    return code


# What a terminal that knows only ASCII gets in the place of a character.
_ASCII = {"µ": "u", "…": "...", "×": "x", "·": "-", "–": "-"}


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_ASCII.get(character, "?") for character in text), error.end


def speak_anywhere() -> None:
    """Make stdout and stderr take any text: in another encoding, and where they are closed."""
    codecs.register_error("in_ascii", _in_ascii)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for the life of the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="in_ascii")


def _start_quickly() -> None:
    """Spare a short command a fifth of its processor time."""
    # NumPy's OpenBLAS would start a thread for each core; no command multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Modules and the rows of a trace are many objects, and few of them cycles.
    gc.set_threshold(100_000)


def _end_cleanly() -> None:
    """Let ``kill`` and a closed terminal end a command as Ctrl-C does: what is half-written goes.

    Where one of them is ignored, as under ``nohup``, it stays so.
    """
    import signal

    def ended(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one ends it at once
        sys.exit(128 + number)  # as shells count it

    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, ended)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code, one of ``EXIT_CODES``."""
    speak_anywhere()
    if arguments is None:
        _start_quickly()
        _end_cleanly()
    before = guard_output()
    try:
        return _answered(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return _said("interrupted", INTERRUPTED)
    except BrokenPipeError:
        give_output_up()  # its reader (`| head`) has left; say nothing more
        return 1
    except (ValueError, OSError) as error:
        if isinstance(error, OutputError):
            give_output_up()
        if os.environ.get(DEBUG_VARIABLE):
            raise
        # `TraceError` is a ValueError; any other ValueError is a bug and must look like one.
        if isinstance(error, ValueError) and type(error).__module__.split(".")[0] != "trace_util":
            raise
        from trace_util.events import UsageError

        message = in_words(error) if isinstance(error, OSError) else str(error)
        return _said(message, 2 if isinstance(error, UsageError) else 1)
    finally:
        sys.stdout = before
        if arguments is None:
            gc.freeze()  # no search for cycles at exit: the system takes all memory back


def _answered(arguments: Sequence[str]) -> int:
    try:
        if not arguments or arguments[0] in ("-h", "--help"):
            print(_usage(), end="")
            return 0
        if arguments[0] in ("-V", "--version"):
            from trace_util import __version__

            print(f"trace-util {__version__}")
            return 0
        return _run(arguments)
    finally:
        sys.stdout.flush()  # here a failure of it can still be told


def _said(message: str, code: int) -> int:
    from trace_util.report.hints import say

    say(f"error: {message.strip()}")
    return code


if __name__ == "__main__":
    sys.exit(main())
