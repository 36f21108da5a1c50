"""The flags that every lesson shares, and the parser that reads them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

DTYPES = ("bf16", "fp16", "fp32")
# https://docs.pytorch.org/docs/stable/generated/torch.compile.html
COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
MAX_SIZE = 2**31 - 1  # one dimension; cuBLAS takes 32-bit sizes


def size(text: str) -> int:
    """The dimension that ``text`` spells: a whole number from 1 to 2**31 - 1."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not 1 <= value <= MAX_SIZE:
        raise argparse.ArgumentTypeError(f"{value} is not between 1 and {MAX_SIZE}")
    return value


def steps(text: str) -> int:
    """The number of profiler steps that ``text`` spells: a whole number, 0 or more."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not 0 <= value <= 100_000:
        raise argparse.ArgumentTypeError(f"{value} is not between 0 and 100000")
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
        add("--trace_dir", default=trace_dir, help="where the trace goes (default: %(default)s)")
        add(
            "--device", choices=("auto", "cuda", "cpu"), default="auto", help="default: %(default)s"
        )
        add("--seed", type=int, default=0, help="of the random weights and inputs (default: 0)")
        add("--wait", type=steps, default=1, help="steps before the profiler starts (default: 1)")
        add("--warmup_steps", type=steps, default=1, help="steps it discards (default: 1)")
        add("--active", type=size, default=3, help="steps it records (default: 3)")
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
        """The flags; exits with code 2 when they ask for fewer steps than the schedule needs."""
        words = sys.argv[1:] if args is None else list(args)
        parsed = super().parse_args([self._own_spelling(word) for word in words], namespace)
        needed = parsed.wait + parsed.warmup_steps + parsed.active
        parsed.steps = needed if parsed.steps is None else parsed.steps
        # With fewer, torch.profiler never reaches the end of its active steps and hands over
        # nothing, without a word.
        if parsed.steps < needed:
            self.error(
                f"argument --steps: {parsed.steps} steps are too few for wait={parsed.wait} + "
                f"warmup={parsed.warmup_steps} + active={parsed.active}; at least {needed}"
            )
        return parsed

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")

    def _own_spelling(self, word: str) -> str:
        if not word.startswith("--"):
            return word
        flag, equals, value = word.partition("=")
        spellings = {known.replace("-", "_"): known for known in self._option_string_actions}
        return spellings.get(flag.replace("-", "_"), flag) + equals + value

    def sizes(self) -> list[str]:
        """The flags that set a dimension of the workload: what to reduce when memory runs out."""
        return [
            action.option_strings[0]
            for action in self._actions
            if action.type is size and action.dest != "active"
        ]

    def unusual(self, parsed: argparse.Namespace, *names: str) -> str:
        """``_value`` of each named flag that is not at its default, for the trace's name.

        Two runs that differ in such a flag then keep two files.
        """
        changed = [n for n in names if getattr(parsed, n) != self.get_default(n)]
        values = [n if getattr(parsed, n) is True else getattr(parsed, n) for n in changed]
        return "".join(f"_{value}" for value in values)
