"""What ``import trace_util`` offers: listed, and plain about what it takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import RECORDED

import trace_util
from trace_util import TraceError

TRACE = RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz"
TAKE_A_TRACE = ["link", "trace_facts", "explanation", "check", "comparison"]


def test_public_names_are_listed_and_there():
    assert set(trace_util.__all__) <= set(dir(trace_util))
    for name in trace_util.__all__:
        assert getattr(trace_util, name) is not None


@pytest.mark.parametrize("path", [str(TRACE), TRACE], ids=["text", "path"])
@pytest.mark.parametrize("name", TAKE_A_TRACE)
def test_path_in_the_place_of_a_trace_is_answered_with_what_reads_it(name, path):
    with pytest.raises(TraceError) as caught:
        getattr(trace_util, name)(path)
    shown = repr(str(TRACE))
    said = f"{name}: {shown} is a path; hand over read_trace({shown}), the trace"
    assert str(caught.value) == said


def test_paths_among_the_traces_are_found():
    trace = trace_util.read_trace(TRACE)
    for call in (
        lambda: trace_util.comparison([trace, str(TRACE)]),
        lambda: trace_util.check(trace, against=[str(TRACE)]),
    ):
        with pytest.raises(TraceError, match="is a path; hand over read_trace"):
            call()


def test_one_trace_is_not_compared():
    with pytest.raises(TraceError, match="one trace has nothing to be compared with"):
        trace_util.comparison(trace_util.read_trace(TRACE))


def test_what_is_neither_is_named_by_its_type():
    with pytest.raises(TraceError, match="takes a trace, as read_trace.path. gives it, not dict$"):
        trace_util.trace_facts({})


def test_functions_of_many_ranks_take_paths_of_any_kind(tmp_path: Path):
    folder = RECORDED / "cpu-x2" / "05_parallel_mlp"
    for named in (folder, str(folder), [folder]):
        (job,) = trace_util.read_jobs(named)
        assert len(job.ranks) == 2
    merged = trace_util.merge_traces(sorted(folder.glob("*.json.gz")), str(tmp_path / "job.json"))
    assert len(merged.ranks) == 2 and (tmp_path / "job.json").exists()
    with pytest.raises(TraceError, match="two traces or more make a job"):
        trace_util.merge_traces(TRACE, tmp_path / "one.json")
