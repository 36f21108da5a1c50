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
from trace_util.clocks import End, Shift, clock_shift, collective_ends
from trace_util.document import Document
from trace_util.events import GPU_KINDS, Header, Kind, Trace, TraceError, UsageError
from trace_util.gather.places import is_address, local_copy
from trace_util.job.rank import incomplete, rank_in_name
from trace_util.links import HOST_KINDS, Links, link
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


@dataclass(frozen=True)
class _Seen:
    """What the first look at a file is for."""

    path: str
    file: str  # to be read: of a pipe the copy
    rank: int | None
    header: Header
    start_ns: int  # of the first event, on the rank's wall clock
    complete: int
    steps: frozenset[int]
    ends: tuple[End, ...]
    incomplete: str | None


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
    seen: list[_Seen] = []
    refused = []
    for path, file in files:
        try:
            seen.append(_look(path, file))
        except TraceError as error:
            refused.append(str(error).replace(file, path))
        done()
    _require(seen, refused, target, steps)
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


def _look(path: str, file: str) -> _Seen:
    with local_copy(file) as here:
        trace = read_trace(here, columns="summary", processes=1)
    if isinstance(trace.header.other.get("merged"), dict):
        raise TraceError(f"{path}: is a merged job already; give the traces of its ranks instead")
    links = link(trace)
    told = trace.header.distributed.get("rank")
    start = int(trace.events.start_ns.min()) if len(trace.events) else 0
    return _Seen(
        path=path,
        file=file,
        rank=told if isinstance(told, int) else rank_in_name(path),
        header=trace.header,
        start_ns=start + (trace.header.base_time_ns or 0),
        complete=trace.phases.get("X", 0),
        steps=frozenset(step.number for step in links.steps),
        ends=collective_ends(trace, links),
        incomplete=incomplete(trace),
    )


def _require(
    seen: list[_Seen], refused: list[str], target: Path, steps: Sequence[int] | None
) -> None:
    if len(seen) < 2:
        why = f" ({refused[0]})" if refused else ""
        raise TraceError(f"merge: two traces or more make a job, here {_count(len(seen))}{why}")
    _require_ranks(seen)
    for one in seen:
        if target.exists() and Path(one.path).exists() and target.samefile(one.path):
            raise UsageError(f"{target}: is one of the traces; name another file for the job")
    if steps is not None and not any(one.steps & set(steps) for one in seen):
        numbers = sorted(set().union(*(one.steps for one in seen)))
        has = f"#{numbers[0]} to #{numbers[-1]}" if numbers else "no step marks"
        raise TraceError(f"--steps: no rank has one of these; the traces have {has}")


def _require_ranks(seen: list[_Seen]) -> None:
    """Return if the traces can be ranks of one job, as far as they say.

    Raises:
        TraceError: two are copies of one recording, or of different workloads.
    """
    found: dict[Any, _Seen] = {}
    for one in seen:
        other = found.setdefault((one.rank, one.start_ns, one.complete, one.steps), one)
        if other is not one and one.complete:
            raise TraceError(
                f"{one.path}: the same recording as {other.path}; give each rank of a job once"
            )
    runs = [one for one in seen if one.header.run.get("lesson")]
    for first, other in zip(runs, runs[1:], strict=False):
        _require_one_run(first, other)
    told = [(one.header.distributed.get("world_size"), one) for one in seen]
    sizes = {size: one for size, one in told if isinstance(size, int)}
    if len(sizes) > 1:
        (few, first), (many, other) = list(sizes.items())[:2]
        raise TraceError(
            f"merge: {first.path} is of {few} ranks and {other.path} of {many}, so they are of two "
            "jobs; merge each by itself"
        )


def _require_one_run(first: _Seen, other: _Seen) -> None:
    """Return if two lessons ran the same with the same flags.

    Raises:
        TraceError: they did not.
    """
    runs = (first.header.run, other.header.run)
    kinds = [f"{run.get('lesson')} {run.get('variant')}" for run in runs]
    instead = "trace-util compare compares them, trace-util plot lays them below each other"
    if kinds[0] != kinds[1]:
        raise TraceError(
            f"merge: these are runs of {kinds[0]} and of {kinds[1]}, and not the ranks of one job; "
            f"{instead}"
        )
    told = [run.get("flags") for run in runs]
    mine, theirs = (flags if isinstance(flags, dict) else {} for flags in told)
    unlike = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    if unlike:
        said = [", ".join(f"--{name} {flags[name]}" for name in unlike) for flags in (mine, theirs)]
        raise TraceError(
            f"merge: {first.path} ran with {said[0]} and {other.path} with {said[1]}, so they are "
            f"not the ranks of one job; {instead}"
        )


def is_merged(path: Path) -> bool:
    """Whether a file is a job that was written here, by what stands before its events."""
    try:
        begin = next(iter(content.blocks(path)), b"")
    except (TraceError, OSError):
        return False
    return b'"merged":' in begin.partition(b'"traceEvents"')[0]


def _count(number: int) -> str:
    return "is one" if number else "is none"


def _file_name(path: str) -> str:
    """A file's own name, as viewers can show it: bytes that are no text are spelled out."""
    return clean(path.replace("\\", "/").rpartition("/")[2])


def _labels(seen: list[_Seen]) -> list[str]:
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
    seen: list[_Seen],
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


def _rewritten(one: _Seen, rank: Rank, write: Write, steps: Sequence[int] | None) -> int:
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
