"""x"""

from __future__ import annotations
from .save import Saved


def finish(saved: Saved, take_away: tuple[str, ...]) -> None:
    print(saved.trace)
