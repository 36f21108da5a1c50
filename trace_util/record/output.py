"""What a lesson says on the terminal."""

from __future__ import annotations

import os

from ..report import hints


def is_first_rank() -> bool:
    """Whether this process may speak: under torchrun only rank 0 does."""
    return os.environ.get("RANK", "0") == "0"


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
