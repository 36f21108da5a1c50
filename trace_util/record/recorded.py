"""The project's own runs on a GPU, for those who have none: which comes nearest to a run."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..reader import read_trace
from ..report import text
from ..sweeps import sweep_in

# The kernels of the Hub's package are Liger's.
ALIKE = {"hub": "liger"}
WHOSE = {"hub": "with Liger's own kernel, of which the Hub's is a build"}
GRAPH = "cuda_graph"


class Wanted(NamedTuple):
    """The run that one would have liked to record on a GPU."""

    lesson: str
    variant: str
    tag: str


def nearest_trace(wanted: Wanted) -> Path | None:
    """The recorded GPU trace that comes closest; ``None`` without the project's own traces."""
    found = _recorded(wanted.lesson, "*.json.gz")
    return _nearest(wanted, (one for one in found if not one.name.startswith("cpu_")))


def nearest_sweep(wanted: Wanted) -> Path | None:
    """The table of the recorded sweep that comes closest; ``None`` where the lesson has none."""
    return _nearest(wanted, _recorded(wanted.lesson, "sweep_*.json"))


def look_at(path: Path) -> str:
    """The command that shows a recorded run, a trace or the table of a sweep."""
    shown = text.shell_path(path)
    if path.suffix != ".json":
        return f"trace-util explain {shown}"
    return f"trace-util plot {shown} -o {text.shell_path(Path(path.with_suffix('.png').name))}"


def or_see(wanted: Wanted) -> str:
    """What to look at instead of a run that cannot be, behind a comma; empty if there is none."""
    near = nearest_trace(wanted)
    if near is None:
        return ""
    return f", or see a run recorded on a GPU{_but(wanted, near)}: {look_at(near)}"


def _but(wanted: Wanted, path: Path) -> str:
    """What a reader of the recorded run has to know of it, where it is of another kind."""
    name = path.name
    known = [
        WHOSE.get(wanted.variant, "") if f"_{wanted.variant}" not in name else "",
        "without a CUDA graph" if GRAPH in wanted.tag and GRAPH not in name else "",
    ]
    return "".join(f", {words}" for words in known if words)


def origin(path: Path) -> str:
    """How a recorded run came about: its GPU and the command, which may differ from the run's."""
    sweep = sweep_in(path)
    run = sweep["run_facts"] if sweep else read_trace(path, columns="summary").header.run
    return f"recorded on {run['gpu']} by: {run['command']}"


def _recorded(lesson: str, pattern: str) -> list[Path]:
    return sorted(Path(sys.argv[0]).parent.glob(f"traces/recorded/*/{lesson}/{pattern}"))


def _nearest(wanted: Wanted, paths: Iterable[Path]) -> Path | None:
    return min(paths, key=partial(_distance, wanted), default=None)


def _distance(wanted: Wanted, path: Path) -> tuple[bool, int, float]:
    """How unlike a recorded run is by its name: another variant, other words, other sizes."""
    name = path.name.removesuffix(".gz").removesuffix(".json")
    own, other = wanted.tag.removeprefix("cpu_").split("_"), name.split("_")
    pairs = list(zip(own, other, strict=False))
    sizes = [(int(a), int(b)) for a, b in pairs if a.isdecimal() and b.isdecimal()]
    words = sum(a != b for a, b in pairs) - sum(a != b for a, b in sizes)
    return (
        # Flags may follow the variant: 1_1_768_3072_eager_cuda_graph.
        ALIKE.get(wanted.variant, wanted.variant) not in other,
        words + abs(len(own) - len(other)),
        sum(abs(math.log(a / b)) for a, b in sizes),
    )
