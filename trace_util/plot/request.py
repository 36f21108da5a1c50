"""What was asked for on the command line: the view, the file, and the command to quote."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
from pathlib import Path

from trace_util.events import TraceError, UsageError
from trace_util.plot.figure import NARROWEST, WIDEST
from trace_util.plot.lanes import View
from trace_util.plot.scene import Scene
from trace_util.report.text import shell_path, shell_word
from trace_util.sweeps import is_sweep

SUFFIXES = (".svg", ".png")


def view_of(args: argparse.Namespace) -> View:
    """The view that the arguments ask for.

    Raises:
        UsageError: they contradict each other, or cannot be drawn.
    """
    if Path(args.output).suffix.lower() not in SUFFIXES:
        raise UsageError(f"{args.output}: a figure is an .svg or a .png; name one of them")
    if args.theme == "auto" and not args.output.lower().endswith(".svg"):
        raise UsageError(f"{args.output}: only an .svg can follow the reader; use --theme light")
    if not NARROWEST <= args.width <= WIDEST:
        raise UsageError(f"--width {args.width:.10g}: give {NARROWEST:g} to {WIDEST:g} px")
    if any(is_sweep(Path(each)) for each in args.traces):
        _require_sweep_alone(args)
    if args.range is None:
        return View(step=args.step, last_step=args.align == "step" and args.step is None)
    if args.step is not None or args.align == "step":
        raise UsageError("--range and --step: both say what to show; give one of them")
    return View(range_ns=_range_ns(args.range))


def _require_sweep_alone(args: argparse.Namespace) -> None:
    if len(args.traces) > 1:
        sweep = next(each for each in args.traces if is_sweep(Path(each)))
        raise UsageError(f"{sweep}: the table of a sweep, drawn by itself: give it alone")
    named = {"--step": args.step, "--range": args.range}
    given = [flag for flag, value in named.items() if value is not None]
    given += ["--align"] if args.align != "window" else []
    if given:
        raise UsageError(
            f"{given[0]}: {args.traces[0]} is the table of a sweep, without a timeline; "
            f"leave {given[0]} out"
        )


def _range_ns(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    try:
        low, high = float(first), float(last)
    except ValueError:
        low = high = math.nan
    if not (low < high and abs(low) < 1e12 and high < 1e12):
        raise UsageError(f"--range {text}: give two times in µs, the earlier first, such as 0:250")
    return round(low * 1000), round(high * 1000)


def footer_of(args: argparse.Namespace) -> str:
    """The command that makes this figure again."""
    words = ["drawn by: trace-util plot", *(shell_path(_short(path)) for path in args.traces)]
    if args.step is not None:
        words.append(f"--step {args.step}")
    if args.range is not None:
        words.append(f"--range {shell_word(args.range)}")
    if args.align != "window":
        words.append(f"--align {args.align}")
    return " ".join(words)


def _short(word: str) -> str:
    """An argument without the folders of the reader's machine."""
    path = Path(word)
    return path.name if path.is_absolute() else word


def write_figure(scene: Scene, path: Path, theme: str) -> None:
    """Write a scene in the format that the file's name asks for, whole or not at all."""
    part = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        if path.suffix.lower() == ".svg":
            from trace_util.plot.svg import svg_text

            part.write_text(svg_text(scene, theme), encoding="utf-8")
        else:
            from trace_util.plot.png import write_png

            write_png(scene, part, theme)
        os.replace(part, path)
    except OSError as error:
        raise TraceError(f"{path}: not written: {error.strerror or error}") from None
    finally:
        # A read-only file system refuses this too, and would be told by this name.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
