"""What is said besides the data: notes, next steps and refusals, a line each on stderr."""

from __future__ import annotations

import sys

from trace_util.report.text import clean


def say(text: str) -> None:
    """Print one line on stderr, with whatever could steer a terminal shown as an escape."""
    print(clean(text.rstrip()), file=sys.stderr, flush=True)
