"""The runs beside a trace that a lesson's claims compare it with, found by name in its folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from trace_util.claims.scene import Scene
from trace_util.events import Trace, TraceError
from trace_util.job.rank import without_rank
from trace_util.reader import read_trace
from trace_util.reading import Reading, reading_of
from trace_util.runs import HAND_WRITTEN, run_differences

_ENDINGS = (".json.gz", ".json")
PARALLEL = "05_parallel_mlp"


def scene_of(trace: Trace, against: Sequence[Trace] | None = None) -> Scene:
    """The scene for a trace: with the traces given, or else with those that lie beside it.

    One beside it is taken only if it is the same run of another variant; what is given is taken as
    it is, and each claim then says itself where the runs are unlike.
    """
    own = reading_of(trace)
    if "rank" in trace.header.distributed and own.run.lesson == PARALLEL:
        return Scene(own, eager=own, ranks=tuple(_ranks(own, against)))
    if against is None:
        others = list(_beside(own))
    else:
        others = [reading_of(one, one.path) for one in against]
    is_own_kernel = own.run.hand_written
    return Scene(
        own,
        eager=own if _is_eager(own) else next(filter(_is_eager, others), None),
        compiled=own if own.run.compiled else next((r for r in others if r.run.compiled), None),
        warm=next((r for r in others if r.run.warm and r.run.variant == own.run.variant), None)
        if not is_own_kernel
        else None,
    )


def _ranks(own: Reading, against: Sequence[Trace] | None) -> Iterator[Reading]:
    """The other ranks of a job: those given, or else those beside it of the same name."""
    if against is not None:
        yield from (reading_of(one, one.path) for one in against)
        return
    path = Path(own.trace.path)
    pattern = without_rank(path.name)
    for other in sorted(path.parent.glob(pattern)) if "*" in pattern else ():
        if other == path or without_rank(other.name) != pattern:
            continue
        try:
            reading = reading_of(read_trace(other), str(other))
        except TraceError:
            continue  # a file of that name that is no trace is not the one looked for
        if not run_differences(own.run, reading.run):
            yield reading


def _is_eager(reading: Reading) -> bool:
    return not reading.run.compiled and not reading.run.hand_written


def _beside(own: Reading) -> Iterator[Reading]:
    for path in siblings(Path(own.trace.path), own.run.variant):
        try:
            other = reading_of(read_trace(path), str(path))
        except TraceError:
            continue  # a file of that name that is no trace is not the one looked for
        if not [d for d in run_differences(own.run, other.run) if not d.startswith("warmed up:")]:
            yield other


def siblings(path: Path, variant: str | None) -> list[Path]:
    """The files beside a lesson's trace that hold the same run in another variant.

    Tags end in the variant, or in the variant and further flags: ``64_bf16_cold_eager``,
    ``64_128_768_3072_compile_silu``.
    """
    ending = next((end for end in _ENDINGS if path.name.endswith(end)), None)
    if ending is None or variant is None:
        return []
    stem = path.name.removesuffix(ending)
    found = re.fullmatch(rf"(.*)_{re.escape(variant)}((?:_.*)?)", stem)
    if found is None:
        return []
    head, tail = found.groups()
    names = [f"{head}_{other}{tail}" for other in ("eager", "compile") if other != variant]
    folder = path.parent
    if variant in HAND_WRITTEN:
        folder = folder.parent / "03_simple_mlp"
    elif "_cold" in head:
        names.append(f"{head.replace('_cold', '_warm')}_{variant}{tail}")
    candidates = [folder / f"{name}{end}" for name in names for end in (ending, *_ENDINGS)]
    return [path for path in dict.fromkeys(candidates) if path.is_file()]
