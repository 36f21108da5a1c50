"""What a lesson says on the terminal."""

from __future__ import annotations

import os
import time

from ..report import hints

# In which the first rank of a machine tells of an error that all of its ranks meet; they import
# torch at the same time, and not equally fast.
PATIENCE_S = 15


def is_first_rank() -> bool:
    """Whether this process may speak: under torchrun only rank 0 does."""
    return os.environ.get("RANK", "0") == "0"


def let_first_rank_tell() -> None:
    """Returns when an error is this process's own to tell, at once but under torchrun.

    There the ranks of a machine meet most errors together, a wrong flag say, and when the first of
    them ends torchrun ends the others. One that is still alive after a while met it alone.
    """
    if "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("LOCAL_RANK", "0") != "0":
        time.sleep(PATIENCE_S)


def say(text: str) -> None:
    """Print a hint to stderr, so that what a lesson prints to stdout stays data."""
    if is_first_rank():
        hints.say(text)


def section(title: str) -> None:
    """Print a heading to stdout."""
    if is_first_rank():
        print(f"\n{title}\n{'-' * len(title)}", flush=True)


def quantity(value: float, unit: str) -> str:
    """``value`` with three digits and a decimal prefix: ``38.7 GFLOP``, ``151 MB``, ``8 B``."""
    for exponent, prefix in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if abs(value) >= 0.9995 * 10**exponent:
            return f"{value / 10**exponent:#.3g}".rstrip(".") + f" {prefix}{unit}"
    return f"{value:.3g} {unit}"


def predict(**quantities: str) -> None:
    """Print what to expect, one ``name = value`` a line, before anything is measured."""
    if not is_first_rank():
        return
    section("Predict first")
    width = max(map(len, quantities))
    for name, value in quantities.items():
        print(f"{name.replace('_', ' '):<{width}}  {value}", flush=True)
