"""Damaged bytes: every file is read or refused with a ``TraceError``, soon and in little memory."""

from __future__ import annotations

import gzip
import json
import random
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from conftest import RECORDED
from damage import damaged
from msgspec.structs import astuple
from trace_text import LAYOUTS

from trace_util import event_list
from trace_util.events import Trace, TraceError
from trace_util.facts import trace_facts
from trace_util.reader import read_trace

CASES = 2500
SEED = 20261130
SMALL = RECORDED / "nvidia-h200" / "01_matmul" / "64_bf16_warm_eager.json.gz"
LESSON = RECORDED / "nvidia-h200" / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"


@pytest.fixture(scope="module")
def texts() -> list[bytes]:
    """Recorded traces as they are, and the smaller one in other layouts."""
    small, lesson = (gzip.decompress(path.read_bytes()) for path in (SMALL, LESSON))
    layouts = ("one line", "compact", "indent 4", "a top-level list", "events first")
    return [small, lesson, *(LAYOUTS[name](json.loads(small)).encode() for name in layouts)]


def assert_whole(trace: Trace) -> None:
    """The columns of a trace agree with each other and with their tables."""
    events = trace.events
    assert {len(column) for column in astuple(events)} == {len(events)}
    assert len(events) <= trace.phases["X"]
    if not len(events):
        return
    for column, table in {
        "name": trace.names,
        "category": trace.categories,
        "process": trace.processes,
        "thread": trace.threads,
        "shapes": trace.shapes,
        "launch": trace.launches,
    }.items():
        values = getattr(events, column)
        assert -1 <= values.min() <= values.max() < len(table), column
    assert events.duration_ns.min() >= 0
    assert (events.end_ns >= events.start_ns).all()
    assert (np.diff(events.row) > 0).all() or not (events.row >= 0).any()  # none in a summary
    assert all(count > 0 for count in (*trace.repairs.values(), *trace.skipped.values()))


@pytest.mark.parametrize("chunk_bytes", [1 << 19, 700])
def test_damaged_traces_are_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[bytes], chunk_bytes: int
) -> None:
    monkeypatch.setattr(event_list, "CHUNK_BYTES", chunk_bytes)
    rng = random.Random(SEED + chunk_bytes)
    path = tmp_path / "t.json"
    read = refused = 0
    slowest = 0.0
    for case in range(CASES // 2):
        path.write_bytes(damaged(texts, rng))
        began = time.process_time()
        try:
            if case % 4:
                assert_whole(read_trace(path))
            else:
                trace = read_trace(path, columns="summary")
                assert_whole(trace)
                trace_facts(trace)
            read += 1
        except TraceError as error:
            assert str(error).startswith(f"{path}: "), case
            assert "\n" not in str(error), case
            refused += 1
        slowest = max(slowest, time.process_time() - began)
    assert read > CASES // 4  # most files still have events to give
    assert refused > CASES // 100
    assert slowest < 5


def test_damage_takes_little_memory(tmp_path: Path, texts: list[bytes]) -> None:
    rng = random.Random(SEED)
    path = tmp_path / "t.json"
    largest = 0
    for _ in range(60):
        path.write_bytes(damaged(texts, rng))
        tracemalloc.start()
        try:
            read_trace(path)
        except TraceError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        largest = max(largest, peak)
    assert largest < 16 << 20  # of files of at most a few hundred kB


def test_sound_events_around_the_damage_are_kept(tmp_path: Path, texts: list[bytes]) -> None:
    """One byte of one name is changed: all other events are there, and unchanged."""
    path = tmp_path / "t.json"
    path.write_bytes(texts[1])
    sound = read_trace(path)
    at = texts[1].index(b'"aten::linear"') + 5
    for byte in (b'"', b"\\", b"\x00", b"\n", b"\xff", b"}"):
        path.write_bytes(texts[1][:at] + byte + texts[1][at + 1 :])
        trace = read_trace(path)
        assert len(sound.events) - 1 <= len(trace.events) <= len(sound.events), byte
        assert sum(trace.skipped.values()) == len(sound.events) - len(trace.events), byte
        kept = np.isin(sound.events.row, trace.events.row)
        assert np.array_equal(sound.events.start_ns[kept], trace.events.start_ns), byte
