"""Tests that share the machine, and those that must not."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

from side_by_side import turn


def test_one_that_is_alone_waits_and_is_waited_for(tmp_path: Path) -> None:
    told: list[str] = []
    asked = threading.Event()

    def take(name: str, kind: int) -> None:
        asked.set()
        with turn(kind, tmp_path):
            told.append(f"{name} begins")
            told.append(f"{name} ends")

    def start(name: str, kind: int) -> threading.Thread:
        asked.clear()
        thread = threading.Thread(target=take, args=(name, kind))
        thread.start()
        asked.wait()
        return thread

    with turn(fcntl.LOCK_SH, tmp_path):
        start("other", fcntl.LOCK_SH).join(20)
        alone = start("alone", fcntl.LOCK_EX)
        alone.join(0.2)
        late = start("late", fcntl.LOCK_SH)
        late.join(0.2)
        told.append("first ends")
    alone.join(20)
    late.join(20)
    assert told == [
        "other begins", "other ends", "first ends", "alone begins", "alone ends",
        "late begins", "late ends",
    ]  # fmt: skip
