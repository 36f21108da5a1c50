"""Steps of whose GPU work not all is known: nothing says that it was 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_trace import call, facts_of, kernel, mark, op, trace_of, written

from trace_util.claims import check
from trace_util.cli import main
from trace_util.explain import explanation
from trace_util.plot.figure import heading
from trace_util.plot.lanes import View
from trace_util.report.explain import explanation_text
from trace_util.report.html.page import report_html
from trace_util.report.summary import summary_text
from trace_util.report.summary_json import summary_json

LOST = [
    mark(2, 0, 50),
    call(5, 2, 1),
    call(10, 2, 2),
    mark(3, 60, 50),
    call(65, 2, 3),
    call(75, 2, 4),
    kernel(70, 5, 3),
    kernel(80, 5, 4),
]
ONE_LOST = [*LOST, kernel(12, 5, 1)]
UNLINKED = [mark(2, 0, 50), op(1, 9), call(5, 2, 1, name="cudaEventRecord"), kernel(10, 5, None)]
ELSEWHERE = [mark(2, 0, 50, pid=1), call(5, 2, 1, pid=2), kernel(10, 5, 1)]
WHOLE = [mark(2, 0, 50), call(5, 2, 1), kernel(10, 5, 1), mark(3, 60, 50), op(61, 9)]


@pytest.mark.parametrize(
    ("events", "partial"),
    [(LOST, (0,)), (ONE_LOST, (0,)), (UNLINKED, (0,)), (ELSEWHERE, (0,)), (WHOLE, ())],
)
def test_steps_of_which_not_all_is_told(events: list, partial: tuple[int, ...]) -> None:
    assert facts_of(*events).partial_steps == partial


def test_process_that_launches_beside_the_steps_takes_nothing_from_them() -> None:
    before = [call(5, 2, 1, pid=2), kernel(10, 5, 1)]
    assert facts_of(*before, mark(2, 60, 50, pid=1)).partial_steps == ()


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (LOST, "50.0, #3 50.0 µs on the CPU; -, 10.0 µs on the GPU"),
        (ONE_LOST, "50.0, #3 50.0 µs on the CPU; >= 5.00, 10.00 µs on the GPU"),
        (UNLINKED, "50.0 µs on the CPU; not known on the GPU"),
        (ELSEWHERE, "50.0 µs on the CPU; not known on the GPU"),
        (WHOLE, "50.0, #3 50.0 µs on the CPU; 5.00, 0 µs on the GPU"),
    ],
)
def test_explain_never_says_0_of_what_is_not_known(events: list, told: str) -> None:
    assert f"  profiled  ProfilerStep#2 {told}\n" in explanation_text(
        explanation(trace_of(*events))
    )


def test_summary_shows_parts_as_parts() -> None:
    trace = trace_of(*ONE_LOST)
    text = summary_text(trace, facts_of(*ONE_LOST))
    assert (
        "  ProfilerStep#2         50.0      >= 5.00     >= 1        -       -         2\n" in text
    )
    assert (
        "  ProfilerStep#3         50.0        10.00        2        0       0         2\n" in text
    )


def test_page_and_figure_do_not_say_0_either() -> None:
    trace, facts = trace_of(*UNLINKED), facts_of(*UNLINKED)
    page = report_html([trace])
    assert "0 in each step" not in page
    assert "in each step" in report_html([trace_of(*WHOLE[:3])])
    lines = heading(trace, facts, View(last_step=True)).lines
    assert lines[0] == "ProfilerStep#2: 50.0 µs on the CPU; not all of its GPU work is known"


def test_explain_says_that_a_file_is_no_sound_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = written({"traceEvents": WHOLE}, tmp_path)
    mended = tmp_path / "escapes.json"
    mended.write_text(sound.read_text().replace('"k"', '"C:\\Users"'))
    with pytest.raises(json.JSONDecodeError):
        json.loads(mended.read_text())
    assert main(["explain", str(mended)]) == 0
    out, err = capsys.readouterr()
    assert "the file is not sound JSON (illegal escapes: 1): read all the same, but" in out
    assert err == f"next: trace-util report {mended}\n"
    assert main(["explain", str(sound)]) == 0
    out, err = capsys.readouterr()
    assert "sound JSON" not in out
    assert err == f"next: trace-util open {sound}\n"


def test_gate_does_not_take_what_is_not_known_for_0() -> None:
    text = "kernels_per_step == 0"
    (one,) = check(trace_of(*ELSEWHERE), expectations=[text], against=()).expectations
    why = "a process without step marks launched work during it"
    assert one.reason == f"kernels_per_step cannot be known: ProfilerStep#2: {why}"
    whole = check(trace_of(*WHOLE), expectations=["kernels_per_step <= 1"], against=())
    assert whole.expectations[0].holds


def test_json_names_the_steps_of_which_not_all_is_told() -> None:
    told = [summary_json(trace_of(*e), facts_of(*e))["partial_steps"] for e in (LOST, WHOLE)]
    assert told == [[0], []]
