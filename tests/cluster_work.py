"""Work that takes its time, for workers that are to be killed while they do it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from trace_util.gather.gathering import Told, rank_told

TAKES_S = 0.3


def slow_told(path: str) -> Told:
    """The facts of a rank, after a while; notes which process worked on it."""
    with Path(os.environ["WORKED_ON"]).open("a") as file:
        file.write(f"{os.getpid()} {Path(path).name}\n")
    time.sleep(TAKES_S)
    return rank_told(path)
