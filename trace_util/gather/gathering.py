"""The facts of many ranks, gathered from wherever the work runs, and kept for the next try."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trace_util.events import TraceError
from trace_util.gather.engine import Failed, each_done, progress, worth_processes
from trace_util.gather.places import Place, find_places, read_place
from trace_util.gather.store import Store, default_path
from trace_util.job.facts import JobFacts, job_facts
from trace_util.job.grouping import jobs_of
from trace_util.job.rank import RankFacts, broken_rank, facts_of


@dataclass(frozen=True)
class Told:
    """The facts of a file as a rank, and what else the work was asked for about it."""

    rank: RankFacts
    more: Any = None


def gathered(
    targets: Sequence[str],
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    facts_file: Path | None = None,
) -> list[RankFacts]:
    """The facts of all traces that the targets name, in their order.

    ``executor`` is where the work runs, anything with the interface of ``concurrent.futures``; by
    default the cores of this machine. An interrupted call resumes: with ``facts_file`` from that
    file, which stays, and else from one in the user's cache, which is removed once all is done.

    Raises:
        TraceError: a target names no file.
    """
    places = find_places(targets)
    told = gathered_with(rank_told, places, executor, workers=workers, facts_file=facts_file)
    return [one.rank for one in told]


def read_jobs(
    targets: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    facts_file: Path | None = None,
) -> list[JobFacts]:
    """The facts of every job whose ranks are among the traces that the targets name.

    See :func:`gathered` for where the work runs.
    """
    named = [targets] if isinstance(targets, str | os.PathLike) else targets
    places = [os.fspath(target) for target in named]
    found = gathered(places, executor, workers=workers, facts_file=facts_file)
    return [job_facts(group) for group in jobs_of(found)[0]]


def rank_facts(path: str) -> RankFacts:
    """The facts of the trace at a path or an address; a broken one's say why."""
    try:
        return facts_of(read_place(path, columns="summary", processes=1), path)
    except (TraceError, OSError, MemoryError) as error:
        return broken_rank(path, str(error) or type(error).__name__)


def rank_told(path: str) -> Told:
    """The facts of a trace and nothing more."""
    return Told(rank_facts(path))


def gathered_with(
    work: Callable[[str], Told],
    places: Sequence[Place],
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    facts_file: Path | None = None,
) -> list[Told]:
    """What ``work`` tells of each place, in their order; ranks that are known are not read again.

    Raises:
        TraceError: nothing can be told of any of several files, and the reason is no refusal.
    """
    large = worth_processes([(place.path, place.size_bytes) for place in places])
    if executor is None and not large and not any("://" in place.path for place in places):
        workers = 1
    keeps = facts_file is not None or (large and len(places) > 1)
    store = Store(facts_file or default_path(places)) if keeps else None
    found: dict[int, Told] = {}
    complete = False
    try:
        for index, told in _all(work, places, store, executor, workers):
            found[index] = told
        complete = True
    finally:
        if store is not None:
            store.close(remove=complete and facts_file is None)
    return [found[index] for index in range(len(places))]


def _all(
    work: Callable[[str], Told],
    places: Sequence[Place],
    store: Store | None,
    executor: Executor | None,
    workers: int | None,
) -> Iterator[tuple[int, Told]]:
    todo = []
    for index, place in enumerate(places):
        known = store.known(place) if store else None
        if known is not None and known.rank is not None:
            yield index, Told(known)
        else:
            todo.append(index)
    failures: list[str] = []
    with progress(len(places)) as done:
        for _ in range(len(places) - len(todo)):
            done()
        files = [places[index].path for index in todo]
        for at, result in each_done(work, files, executor, workers):
            index = todo[at]
            if isinstance(result, Failed):
                failures.append(result.reason)
                result = Told(broken_rank(places[index].path, result.reason))
            elif store is not None:
                store.add(places[index], result.rank)
            done()
            yield index, result
    if len(failures) > 1 and len(failures) == len(places) and len(set(failures)) == 1:
        # All for one reason: it is the engine (no trace_util there, say) and not the files.
        raise TraceError(f"no file could be read: {failures[0]}")
