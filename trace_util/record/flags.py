"""The flags that every lesson shares, and the parser that reads them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..cli import speak_anywhere
from ..events import TraceError
from ..report.text import clean
from ..standard_output import OutputError, give_output_up, guard_output, in_words
from .output import is_first_rank, let_first_rank_tell

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DTYPES = ("bf16", "fp16", "fp32")
# https://docs.pytorch.org/docs/stable/generated/torch.compile.html
COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
MAX_SIZE = 2**31 - 1  # one dimension; cuBLAS takes 32-bit sizes
MAX_STEPS = 100_000
# https://docs.pytorch.org/docs/stable/generated/torch.manual_seed.html
MIN_SEED, MAX_SEED = -(2**63), 2**64 - 1


def size(text: str) -> int:
    """The dimension that ``text`` spells: a whole number from 1 to 2**31 - 1."""
    return _whole_number(text, 1, MAX_SIZE)


def steps(text: str) -> int:
    """The number of profiler steps that ``text`` spells: a whole number, 0 or more."""
    return _whole_number(text, 0, MAX_STEPS)


def recorded_steps(text: str) -> int:
    """The number of steps to record that ``text`` spells: a whole number, 1 or more."""
    return _whole_number(text, 1, MAX_STEPS)


def seed(text: str) -> int:
    """The seed that ``text`` spells: a whole number that torch's generators take."""
    return _whole_number(text, MIN_SEED, MAX_SEED)


def folder(text: str) -> str:
    """The folder that ``text`` names, which need not be there yet."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty name; name a folder, or leave the flag out")
    if "\n" in text or "\r" in text:
        raise argparse.ArgumentTypeError(f"{clean(text)} is more than one line; name another one")
    path = Path(text)
    there = next((one for one in (path, *path.parents) if os.path.lexists(one)), None)
    if there is not None and not there.is_dir():
        raise argparse.ArgumentTypeError(f"{clean(str(there))} is no folder; name another one")
    return text


def _whole_number(text: str, low: int, high: int) -> int:
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    try:
        value = int(text)
    except ValueError:  # also that of a text with more digits than Python reads
        raise argparse.ArgumentTypeError(f"{shown!r} is not a whole number") from None
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{shown} is not between {low} and {high}")
    return value


class LessonParser(argparse.ArgumentParser):
    """A parser with the recording flags, for a lesson whose own flags are added to it.

    Flags may be written with underscores, as the lessons do, or with hyphens. A wrong flag is one
    line on stderr and exit code 2.
    """

    def __init__(self, description: str | None, *, trace_dir: str) -> None:
        super().__init__(
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._add_recording_flags(trace_dir)
        self._add_sharing_flags()

    def _add_recording_flags(self, trace_dir: str) -> None:
        group = self.add_argument_group("recording")
        add = group.add_argument
        toggle = argparse.BooleanOptionalAction
        add(
            "--trace_dir",
            type=folder,
            default=trace_dir,
            help="where the trace goes (default: %(default)s)",
        )
        add(
            "--device", choices=("auto", "cuda", "cpu"), default="auto", help="default: %(default)s"
        )
        add("--seed", type=seed, default=0, help="of the random weights and inputs (default: 0)")
        add("--wait", type=steps, default=1, help="steps before the profiler starts (default: 1)")
        add("--warmup_steps", type=steps, default=1, help="steps it discards (default: 1)")
        add("--active", type=recorded_steps, default=3, help="steps it records (default: 3)")
        add("--steps", type=steps, help="steps to run (default: wait + warmup_steps + active)")
        add("--record_shapes", action=toggle, default=True, help="record the ops' input shapes")
        add("--with_stack", action=toggle, default=False, help="record Python frames (large files)")
        add("--profile_memory", action=toggle, default=False, help="record allocations")

    def _add_sharing_flags(self) -> None:
        group = self.add_argument_group("sharing")
        add = group.add_argument
        add("-b", "--bucket", help="upload the trace to this Hugging Face bucket at the end")
        add("-n", "--namespace", help="user or organisation that owns the bucket")
        add("--private", action="store_true", help="create the bucket private")
        add("--yes", action="store_true", help="create a missing bucket without asking")
        add("--redact", action="store_true", help="upload a copy without personal details")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """The flags; exits with code 2 when they contradict each other."""
        given = sys.argv[1:] if args is None else list(args)
        words = [self._own_spelling(word) for word in given]
        parsed = super().parse_args(words, namespace)
        needed = parsed.wait + parsed.warmup_steps + parsed.active
        parsed.steps = needed if parsed.steps is None else parsed.steps
        # With fewer, torch.profiler never reaches the end of its active steps and hands over
        # nothing, without a word.
        if parsed.steps < needed:
            self.error(
                f"argument --steps: {parsed.steps} steps are too few for wait={parsed.wait} + "
                f"warmup={parsed.warmup_steps} + active={parsed.active}; at least {needed}"
            )
        self._check_compile_mode(parsed)
        self._check_sweep(parsed, words)
        self._check_sharing(parsed)
        return parsed

    def _check_compile_mode(self, parsed: argparse.Namespace) -> None:
        mode = getattr(parsed, "compile_mode", None)
        if mode != self.get_default("compile_mode") and not parsed.compile:
            self.error("argument --compile_mode: says how to compile; add --compile")

    def _check_sweep(self, parsed: argparse.Namespace, words: Sequence[str]) -> None:
        """A size that is given, even at its default, is not the reader's to choose in a sweep."""
        sweep = getattr(parsed, "sweep", None)
        flag = f"--{'size' if sweep is True else sweep}"
        if sweep and any(word.partition("=")[0] == flag for word in words):
            self.error(
                f"argument {flag}: --sweep runs it through many values; leave one of them out"
            )

    def _check_sharing(self, parsed: argparse.Namespace) -> None:
        """A bucket that can never be is told before the run, which may take minutes."""
        if parsed.bucket is None:
            for name in ("namespace", "private", "yes", "redact"):
                if getattr(parsed, name) not in (None, False):
                    self.error(f"argument --{name}: says how to upload; name the --bucket too")
            return
        from ..share.address import bucket_name

        try:
            bucket_name(parsed.bucket, parsed.namespace)
        except TraceError as error:
            self.error(f"argument -b/--bucket: {error}")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help; exits with code 1 where standard output does not take it."""
        if file is not None:
            super().print_help(file)
            return
        if not is_first_rank():
            return
        speak_anywhere()
        guard_output(goes_on=True)
        try:
            sys.stdout.write(self.format_help())
            sys.stdout.flush()
        except OutputError as error:
            give_output_up()
            self.exit(1, f"error: {in_words(error)}\n")

    def error(self, message: str) -> NoReturn:
        let_first_rank_tell()
        self.exit(2, f"error: {clean(message)} (see {self.prog} --help)\n")

    def _own_spelling(self, word: str) -> str:
        if not word.startswith("--"):
            return word
        flag, equals, value = word.partition("=")
        spellings = {known.replace("-", "_"): known for known in self._option_string_actions}
        return spellings.get(flag.replace("-", "_"), flag) + equals + value

    def sizes(self) -> list[str]:
        """The flags that set a dimension of the workload: what to reduce when memory runs out."""
        return [action.option_strings[0] for action in self._actions if action.type is size]

    def unusual(self, parsed: argparse.Namespace, *names: str) -> str:
        """``_value`` of each named flag that is not at its default, for the trace's name.

        Two runs that differ in such a flag then keep two files.
        """
        changed = [n for n in names if getattr(parsed, n) != self.get_default(n)]
        values = [n if getattr(parsed, n) is True else getattr(parsed, n) for n in changed]
        return "".join(f"_{value}" for value in values)
