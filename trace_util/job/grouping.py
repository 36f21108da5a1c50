"""Which files are the ranks of one job."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from trace_util.job.rank import RankFacts, rank_in_name, without_rank

# Reasoned: clocks that are kept in time differ by less, and cycles of a schedule are further apart.
APART_NS = 1_000_000_000


class Group(NamedTuple):
    """The ranks of one job."""

    name: str
    ranks: tuple[RankFacts, ...]


def jobs_of(found: Sequence[RankFacts]) -> tuple[list[Group], list[int]]:
    """The jobs among the files, and the positions of the files that belong to none.

    Files belong together whose names differ in the rank's number alone. Where names hold no rank,
    traces do that tell one world size and were recorded at the same time, in whatever folders. A
    rank that has several traces, one for each cycle of the schedule, is part of several jobs: its
    first trace of the first, and so on. One rank alone is no job.
    """
    by_name: dict[str, list[int]] = defaultdict(list)
    unnamed: dict[int | None, list[int]] = defaultdict(list)
    for position, one in enumerate(found):
        if one.rank is None:
            continue
        if rank_in_name(one.path) is not None:
            by_name[without_rank(one.path)].append(position)
        elif one.start_ns is not None:
            unnamed[one.world_size].append(position)
    groups = list(by_name.items())
    for members in unnamed.values():
        groups += [(_shared(found, each), each) for each in _at_once(found, members)]
    jobs = []
    taken: set[int] = set()
    for name, members in groups:
        for cycle in _cycles(found, members):
            if len(cycle) > 1:
                taken |= set(cycle)
                jobs.append(Group(name, tuple(found[position] for position in cycle)))
    return jobs, [position for position in range(len(found)) if position not in taken]


def same_rank(one: RankFacts, groups: Sequence[Group]) -> str:
    """Why a trace of a rank is in no job: another one tells the same rank; "" where none does."""
    for group in groups:
        for other in group.ranks:
            if one.rank is not None and (one.rank, one.world_size) == (
                other.rank,
                other.world_size,
            ):
                return (
                    f"{one.path}: the same rank as {other.path} ({one.rank}); "
                    f"listed apart from {group.name}"
                )
    return ""


def _at_once(found: Sequence[RankFacts], members: list[int]) -> list[list[int]]:
    """The members in sets whose recordings overlap or almost touch."""
    sets: list[list[int]] = []
    reach = 0
    for position in sorted(members, key=lambda p: found[p].start_ns or 0):
        start = found[position].start_ns or 0
        if not sets or start > reach + APART_NS:
            sets.append([])
            reach = start
        sets[-1].append(position)
        reach = max(reach, start + (found[position].window_ns or 0))
    return sets


def _shared(found: Sequence[RankFacts], members: list[int]) -> str:
    """The folder that the members share."""
    folders = [os.path.dirname(found[position].path) for position in members]
    shared = os.path.commonprefix([f"{folder}/" for folder in folders])
    return shared[: shared.rfind("/")] or "."


def _cycles(found: Sequence[RankFacts], members: list[int]) -> list[list[int]]:
    """The members as jobs in which each rank occurs once, each in order of rank."""
    by_rank: dict[int, list[int]] = defaultdict(list)
    for position in members:
        by_rank[found[position].rank or 0].append(position)
    for positions in by_rank.values():
        positions.sort(key=lambda p: (_first_step(found[p]), found[p].path))
    most = max(map(len, by_rank.values()))
    return [
        [by_rank[rank][cycle] for rank in sorted(by_rank) if cycle < len(by_rank[rank])]
        for cycle in range(most)
    ]


def _first_step(one: RankFacts) -> int:
    return one.steps[0].number if one.steps else -1
