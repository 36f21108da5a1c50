"""The arguments of commands that can answer about many traces, and where their work then runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trace_util.gather.gathering import Told
    from trace_util.gather.places import Place

WHERE = "a trace, a folder, a pattern, hf://buckets/USER/BUCKET/PREFIX or another address"


def add_where_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where the work on many traces runs and where its facts are kept."""
    from trace_util.argument_types import at_least_one

    group = parser.add_argument_group("many traces")
    add = group.add_argument
    add("--workers", type=at_least_one, metavar="N",
        help="processes on this machine; default: its cores")  # fmt: skip
    add("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at tcp://HOST:8786 "
        "(the extra `cluster`); each worker reads its traces itself")  # fmt: skip
    add("--facts", metavar="FILE", help="keep the ranks' facts in FILE, and read no trace again "
        "that is in there unchanged; default: kept only while the job is being read")  # fmt: skip


def places_meant(targets: Sequence[str]) -> list[Place]:
    """The files that the targets name; what is left out among them is said on stderr.

    Raises:
        TraceError: a target names no file, or its place cannot be reached.
    """
    from trace_util.gather.places import find_places
    from trace_util.report.hints import say

    return find_places(targets, say)


def told_of(
    arguments: argparse.Namespace, places: Sequence[Place], work: Callable[[str], Told]
) -> list[Told]:
    """What ``work`` tells of each place, run where the arguments say.

    Raises:
        TraceError: no scheduler answers, or the facts cannot be kept where they should be.
    """
    from pathlib import Path

    from trace_util.gather.engine import cluster
    from trace_util.gather.gathering import gathered_with

    facts_file = Path(arguments.facts) if arguments.facts else None
    with cluster(arguments.scheduler) as executor:
        return gathered_with(
            work, places, executor, workers=arguments.workers, facts_file=facts_file
        )
