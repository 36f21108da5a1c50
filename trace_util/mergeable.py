"""Which traces can be ranks of one job: what a first look at each shows, and what forbids it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trace_util.clocks import End, collective_ends
from trace_util.events import Header, TraceError, UsageError
from trace_util.gather.places import local_copy
from trace_util.job.rank import incomplete, rank_in_name
from trace_util.links import link
from trace_util.reader import read_trace


@dataclass(frozen=True)
class Seen:
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


def look(path: str, file: str) -> Seen:
    """A first look at ``file``, which the user calls ``path``.

    Raises:
        TraceError: it is no trace, or a merged job already.
    """
    with local_copy(file) as here:
        trace = read_trace(here, columns="summary", processes=1)
    if isinstance(trace.header.other.get("merged"), dict):
        raise TraceError(f"{path}: is a merged job already; give the traces of its ranks instead")
    links = link(trace)
    told = trace.header.distributed.get("rank")
    start = int(trace.events.start_ns.min()) if len(trace.events) else 0
    return Seen(
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


def require_job(
    seen: list[Seen], refused: list[str], target: Path, steps: Sequence[int] | None
) -> None:
    """Return if these files make a job, which can be written to ``target``.

    Raises:
        UsageError: ``target`` is one of them.
        TraceError: they are fewer than two, no ranks of one job, or none has one of the steps.
    """
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


def _require_ranks(seen: list[Seen]) -> None:
    """Return if the traces can be ranks of one job, as far as they say.

    Raises:
        TraceError: two are copies of one recording, or of different workloads.
    """
    found: dict[Any, Seen] = {}
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


def _require_one_run(first: Seen, other: Seen) -> None:
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


def _count(number: int) -> str:
    return "is one" if number else "is none"
