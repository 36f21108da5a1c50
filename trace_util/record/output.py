"""What a lesson says on the terminal."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print a hint to stderr, so that what a lesson prints to stdout stays data."""
    print(text, file=sys.stderr, flush=True)


def section(title: str) -> None:
    """Print a heading to stdout."""
    print(f"\n{title}\n{'-' * len(title)}", flush=True)


def predict(**quantities: str) -> None:
    """Print what to expect, one ``name = value`` a line, before anything is measured."""
    section("Predict first")
    width = max(map(len, quantities))
    for name, value in quantities.items():
        print(f"{name.replace('_', ' '):<{width}}  {value}", flush=True)
