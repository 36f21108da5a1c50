"""The traces of many ranks as one: a view of the job, with the ranks' clocks brought together.

Each rank's events are rewritten as they are read, so that memory follows the largest rank and not
the job.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trace_util import content
from trace_util.cautions import SOURCE_INCOMPLETE
from trace_util.clocks import Shift, clock_shift
from trace_util.document import Document
from trace_util.events import GPU_KINDS, Kind, Trace, TraceError, UsageError
from trace_util.gather.places import is_address, local_copy
from trace_util.links import HOST_KINDS, Links, link
from trace_util.mergeable import Seen, look, require_job
from trace_util.reader import read_trace
from trace_util.renumbering import Intervals, Rank, Renumbering
from trace_util.report.text import clean
from trace_util.sieve import DROP, KEEP, LOOK
from trace_util.sources import Source
from trace_util.spool import rereadable

Write = Callable[[bytes], Any]


@dataclass(frozen=True)
class MergedRank:
    """What became of one file."""

    path: str
    label: str
    events: int  # complete events written
    shift: Shift
    incomplete: str | None = None  # why the file does not hold all that was recorded


@dataclass(frozen=True)
class Merged:
    """What became of all of them."""

    target: str
    size_bytes: int
    ranks: tuple[MergedRank, ...]
    steps: tuple[int, ...] | None  # the chosen ones; None: all
    refused: tuple[str, ...]  # why files are not in it


def merge_traces(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    steps: Sequence[int] | None = None,
    done: Callable[[], None] = lambda: None,
) -> Merged:
    """Write the traces at ``paths`` (or addresses) into ``target`` as one.

    ``steps`` keeps those steps only. ``done`` is called after each of the two looks at a file.

    Raises:
        UsageError: ``target`` is one of them.
        TraceError: fewer than two of the files are traces, or none has one of the steps.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    named = [os.fspath(path) for path in given]
    target = Path(target)
    content.require_target(target)
    with ExitStack() as kept:
        files = [
            path if is_address(path) else str(kept.enter_context(rereadable(path)))
            for path in named
        ]
        return _merged(list(zip(named, files, strict=True)), target, steps, done)


def _merged(
    files: Sequence[tuple[str, str]],
    target: Path,
    steps: Sequence[int] | None,
    done: Callable[[], None],
) -> Merged:
    """The same; with each path comes the file to read."""
    seen: list[Seen] = []
    refused = []
    for path, file in files:
        try:
            seen.append(look(path, file))
        except TraceError as error:
            refused.append(str(error).replace(file, path))
        done()
    require_job(seen, refused, target, steps)
    seen.sort(key=lambda one: (one.rank is None, one.rank or 0))
    shifts = [clock_shift(seen[0].ends, one.ends) for one in seen]
    starts = [one.start_ns + shift.shift_ns for one, shift in zip(seen, shifts, strict=True)]
    # A whole second, so that both viewers' doubles and people can handle the times.
    base = min(starts) // 1_000_000_000 * 1_000_000_000
    labels = _labels(seen)
    events = []
    with _opened(target, seen, labels, shifts, base, steps) as write:
        for position, one in enumerate(seen):
            add = (one.header.base_time_ns or 0) - base + shifts[position].shift_ns
            rank = Rank(labels[position], position, add)
            events.append(_rewritten(one, rank, write, steps))
            done()
    ranks = zip(seen, labels, events, shifts, strict=True)
    return Merged(
        str(target),
        target.stat().st_size,
        tuple(
            MergedRank(one.path, label, count, shift, one.incomplete)
            for one, label, count, shift in ranks
        ),
        tuple(steps) if steps is not None else None,
        tuple(refused),
    )


def step_numbers(text: str) -> list[int]:
    """The numbers that ``2-4,7`` means.

    Raises:
        UsageError: it means none.
    """
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        match = re.fullmatch(r"#?(\d{1,9})(?:-#?(\d{1,9}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last - first > 100_000:
            raise UsageError(f"--steps {text}: not step numbers; write 3, 2-4 or 2-4,7")
        found |= set(range(first, last + 1))
    return sorted(found)


def is_merged(path: Path) -> bool:
    """Whether a file is a job that was written here, by what stands before its events."""
    try:
        begin = next(iter(content.blocks(path)), b"")
    except (TraceError, OSError):
        return False
    return b'"merged":' in begin.partition(b'"traceEvents"')[0]


def _file_name(path: str) -> str:
    """A file's own name, as viewers can show it: bytes that are no text are spelled out."""
    return clean(path.replace("\\", "/").rpartition("/")[2])


def _labels(seen: list[Seen]) -> list[str]:
    """``rank 3``; the file's name too where ranks are unknown or there are several of one."""
    ranks = [one.rank for one in seen]
    if None not in ranks and len(set(ranks)) == len(ranks):
        return [f"rank {rank}" for rank in ranks]
    names = [_file_name(one.path) for one in seen]
    return [
        f"{'rank ?' if rank is None else f'rank {rank}'} ({name.partition('.json')[0]}, {at})"
        for at, (rank, name) in enumerate(zip(ranks, names, strict=True))
    ]


@contextmanager
def _opened(
    target: Path,
    seen: list[Seen],
    labels: list[str],
    shifts: list[Shift],
    base_ns: int,
    steps: Sequence[int] | None,
) -> Iterator[Write]:
    """Writes an event; the file is whole when the block ends, and not there otherwise."""
    ranks = [
        {
            "label": label,
            "rank": one.rank,
            "file": _file_name(one.path),
            "clock_shift_us": shift.shift_ns / 1000,
            **({SOURCE_INCOMPLETE: True} if one.incomplete else {}),
            **({"run_facts": one.header.run} if one.header.run else {}),
        }
        for one, label, shift in zip(seen, labels, shifts, strict=True)
    ]
    devices: list[Any] = list(seen[0].header.device_properties)
    header = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        "deviceProperties": devices,
        "merged": {"ranks": ranks, "steps": list(steps) if steps is not None else None},
    }
    with content.atomic_writer(target) as file:
        file.write(msgspec.json.encode(header)[:-1] + b',\n"traceEvents": [')
        separators = chain((b"\n",), repeat(b",\n"))
        yield lambda event: file.write(next(separators) + event)
        file.write(b"\n]}\n")


def _rewritten(one: Seen, rank: Rank, write: Write, steps: Sequence[int] | None) -> int:
    """How many complete events of a rank were written."""
    with local_copy(one.file) as path:
        codes, within = (None, None) if steps is None else _chosen(path, steps)
        renumbering = Renumbering(rank, write, codes, within)
        Document(Source(path).blocks(), renumbering).read()
    renumbering.write_names()
    wanted = one.complete if codes is None else int((codes == KEEP).sum())
    if renumbering.complete + renumbering.left_out != wanted:
        raise TraceError(
            f"{one.path}: {renumbering.complete} of {wanted} events could be copied; did it change?"
        )
    return renumbering.complete


def _chosen(
    path: str, steps: Sequence[int]
) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], Intervals]:
    """What to do with each row of a file, and the times between which the chosen steps ran."""
    trace = read_trace(path, processes=1)
    links = link(trace)
    chosen = [i for i, step in enumerate(links.steps) if step.number in set(steps)]
    within = _intervals(trace, links, chosen)
    events = trace.events
    is_in = np.zeros(len(events), dtype=bool)
    for start, end in zip(*within, strict=True):
        is_in |= (events.start_ns >= start) & (events.start_ns <= end)
    gpu, host = events.is_kind(*GPU_KINDS), events.is_kind(*HOST_KINDS)
    lost = (links.launch < 0) & (links.op < 0)
    by_step = np.isin(links.step, chosen)
    mask = np.where(host | (gpu & ~lost), by_step, is_in)
    mask[[links.steps[i].index for i in chosen]] = True
    mask &= events.kind != Kind.BOOKKEEPING
    rows = sum(trace.phases.values()) + sum(trace.skipped.values())
    codes = np.full(max(rows, int(events.row.max(initial=0)) + 1), LOOK, dtype=np.uint8)
    codes[events.row] = np.where(mask, KEEP, DROP)
    return codes, within


def _intervals(trace: Trace, links: Links, chosen: list[int]) -> Intervals:
    """From each chosen step's start to its end, or that of the last GPU work it launched."""
    events = trace.events
    gpu = np.flatnonzero(events.is_kind(*GPU_KINDS))
    starts, ends = [], []
    for index in chosen:
        step = links.steps[index]
        mine = gpu[links.step[gpu] == index]
        starts.append(step.start_ns)
        ends.append(int(events.ends(mine).max(initial=step.end_ns)))
    return Intervals(starts, ends)
