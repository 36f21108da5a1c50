"""Where to look first, on hand-made events whose sums can be done in one's head (times in µs)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trace_util.focus import Focus
from trace_util.highlights import focus_on
from trace_util.reader import read_trace

Event = dict[str, Any]
GEMM = "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT"
FUSED = "triton_poi_fused_gelu_mul_0"
PLAIN = "nvjet_sm90_tst_64x8_64x16_1x4_h_bz_NNT"


def on_cpu(name: str, ts: float, dur: float, cat: str = "cpu_op", **args: Any) -> Event:
    return {
        "ph": "X", "cat": cat, "name": name, "pid": 42, "tid": 42, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip


def step(number: int, ts: float, dur: float) -> Event:
    return on_cpu(f"ProfilerStep#{number}", ts, dur, "user_annotation")


def launch(ts: float, dur: float, correlation: int) -> Event:
    return on_cpu("cudaLaunchKernel", ts, dur, "cuda_runtime", correlation=correlation)


def kernel(
    name: str, ts: float, dur: float, correlation: int, *, device: int = 0, stream: int = 7
) -> Event:
    args = {"correlation": correlation, "device": device, "stream": stream}
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": ts,
        "dur": dur, "args": args,
    }  # fmt: skip


def called(kind: str, name: str, pid: int | str, tid: int | str = 0) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


NAMES = [
    called("process_name", "python (x.y)", 42),
    called("process_name", "python (x.y)", 0),
    called("thread_name", "stream 7 ", 0, 7),
    called("thread_name", "stream 20 ", 0, 20),
]

# Three steps of 100 µs. In the first the launch comes 40 µs in, later 10 µs in; each launches one
# kernel of 20 µs, 10 µs later.
STEPS = [
    step(2, 1000, 100), launch(1040, 5, 1), kernel(PLAIN, 1050, 20, 1),
    step(3, 1100, 100), launch(1110, 5, 2), kernel(PLAIN, 1120, 20, 2),
    step(4, 1200, 100), launch(1210, 5, 3), kernel(PLAIN, 1220, 20, 3),
]  # fmt: skip
AROUND = [on_cpu("PyTorch Profiler (0)", 500, 2000, "Trace")]


def focus_of(tmp_path: Path, events: list[Event]) -> Focus:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    focus = focus_on(read_trace(path))
    assert focus is not None
    return focus


def test_view_is_the_recorded_steps_and_a_fiftieth_on_either_side(tmp_path: Path) -> None:
    focus = focus_of(tmp_path, [*AROUND, *STEPS])
    assert (focus.window_start_ns, focus.window_end_ns) == (994_000, 1_306_000)


def test_view_stays_inside_the_file(tmp_path: Path) -> None:
    focus = focus_of(tmp_path, STEPS)
    assert (focus.window_start_ns, focus.window_end_ns) == (1_000_000, 1_300_000)


def test_view_includes_gpu_work_after_the_last_step(tmp_path: Path) -> None:
    late = [launch(1290, 5, 4), kernel(PLAIN, 1295, 105, 4)]
    focus = focus_of(tmp_path, [*STEPS, *late])
    assert focus.window_end_ns == 1_400_000


def test_first_launch_is_noted_against_the_later_steps(tmp_path: Path) -> None:
    [note] = [n for n in focus_of(tmp_path, STEPS).notes if "first launch" in n.text]
    assert (note.start_ns, note.duration_ns) == (1_040_000, 5_000)
    assert note.text == "first launch, 40 µs into the step (later steps: 10 µs)"
    assert note.detail == "ProfilerStep#2, cudaLaunchKernel"


def test_first_launch_is_not_counted_among_the_later_ones(tmp_path: Path) -> None:
    [note] = [n for n in focus_of(tmp_path, STEPS[:6]).notes if "first launch" in n.text]
    assert note.text == "first launch, 40 µs into the step (later steps: 10 µs)"


def test_first_launch_of_a_single_step_is_compared_with_nothing(tmp_path: Path) -> None:
    [note] = [n for n in focus_of(tmp_path, STEPS[:3]).notes if "first launch" in n.text]
    assert note.text == "first launch, 40 µs into the step"


def test_largest_gap_is_noted_with_its_cause(tmp_path: Path) -> None:
    # Gaps: 1000-1050, 1070-1120, 1140-1220 (the largest), 1240-1300.
    [note] = [n for n in focus_of(tmp_path, STEPS).notes if "without GPU work" in n.text]
    assert (note.start_ns, note.duration_ns) == (1_140_000, 80_000)
    assert note.text == "80 µs without GPU work: the CPU had not launched the next work yet"


def test_gap_behind_a_synchronise_names_it(tmp_path: Path) -> None:
    # The CPU waits from 1141 on, the GPU runs dry at 1240, and work comes again at 1400.
    events = [
        *STEPS[:6],
        step(4, 1200, 300), launch(1130, 5, 3), kernel(PLAIN, 1140, 100, 3),
        on_cpu("cudaStreamSynchronize", 1141, 240, "cuda_runtime"),
        launch(1390, 5, 4), kernel(PLAIN, 1400, 100, 4),
    ]  # fmt: skip
    [note] = [n for n in focus_of(tmp_path, events).notes if "without GPU work" in n.text]
    assert (note.start_ns, note.duration_ns) == (1_240_000, 160_000)
    assert note.text == "160 µs without GPU work: the CPU was waiting for the GPU"


def test_gap_of_the_recording_is_noted_beside_the_largest_other(tmp_path: Path) -> None:
    events = [
        step(2, 1000, 400), launch(1340, 5, 1), kernel(PLAIN, 1350, 50, 1),
        on_cpu("Activity Buffer Request", 1010, 300, "overhead"),
        step(3, 1400, 100), launch(1440, 5, 2), kernel(PLAIN, 1450, 50, 2),
        step(4, 1500, 100), launch(1520, 5, 3), kernel(PLAIN, 1530, 70, 3),
    ]  # fmt: skip
    texts = [n.text for n in focus_of(tmp_path, events).notes if "without GPU work" in n.text]
    assert texts == [
        "350 µs without GPU work: an artefact of the recording",
        "50 µs without GPU work: the CPU had not launched the next work yet",
    ]


def test_gap_below_a_hundredth_of_the_window_is_no_finding(tmp_path: Path) -> None:
    events = [
        step(2, 1000, 200), launch(1000, 1, 1), kernel(PLAIN, 1001, 99, 1),
        launch(1010, 1, 2), kernel(PLAIN, 1101, 99, 2),
    ]  # fmt: skip
    assert not [n for n in focus_of(tmp_path, events).notes if "without GPU" in n.text]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (FUSED, "fused, 20 µs: gelu, mul in one kernel"),
        (GEMM, "fused, 20 µs: gemm and bias in one"),
        (PLAIN, None),
    ],
)
def test_fused_kernel_is_noted(tmp_path: Path, name: str, text: str | None) -> None:
    events = [*STEPS, launch(1060, 5, 9), kernel(name, 1070, 20, 9)]
    notes = [n for n in focus_of(tmp_path, events).notes if "fused" in n.text]
    assert [n.text for n in notes] == ([text] if text else [])
    assert all((n.start_ns, n.duration_ns, n.detail) == (1_070_000, 20_000, name) for n in notes)


def test_dearest_fused_kernel_wins_at_its_first_run(tmp_path: Path) -> None:
    # GEMM takes 20 + 15 µs in two runs, FUSED 30 in one.
    more = [
        launch(1060, 1, 9), kernel(FUSED, 1070, 30, 9),
        launch(1160, 1, 11), kernel(GEMM, 1170, 20, 11),
        launch(1141, 1, 10), kernel(GEMM, 1145, 15, 10),
    ]  # fmt: skip
    [note] = [n for n in focus_of(tmp_path, [*STEPS, *more]).notes if "fused" in n.text]
    assert (note.start_ns, note.detail) == (1_145_000, GEMM)


def test_notes_are_in_order_of_time(tmp_path: Path) -> None:
    events = [*STEPS, launch(1060, 5, 9), kernel(FUSED, 1070, 20, 9)]
    starts = [note.start_ns for note in focus_of(tmp_path, events).notes]
    assert len(starts) == 3 and starts == sorted(starts)


def test_streams_are_pinned_the_busiest_first(tmp_path: Path) -> None:
    more = [launch(1060, 5, 9), kernel(PLAIN, 1070, 200, 9, stream=20)]
    focus = focus_of(tmp_path, [*NAMES, *STEPS, *more])
    assert focus.pinned == (r"^stream 20\b", r"^stream 7\b")


def test_at_most_four_streams_are_pinned(tmp_path: Path) -> None:
    more = [
        event
        for i in range(6)
        for event in (
            launch(1001 + i, 1, 20 + i),
            kernel(PLAIN, 1010, 50 - i, 20 + i, stream=30 + i),
        )
    ]
    assert focus_of(tmp_path, [*STEPS[:1], *more]).pinned == tuple(
        f"^Thread {number}$" for number in (30, 31, 32, 33)
    )


def test_same_stream_of_two_devices_is_one_pattern(tmp_path: Path) -> None:
    names = [*NAMES, called("thread_name", "stream 7 ", 1, 7)]
    more = [launch(1060, 5, 9), kernel(PLAIN, 1070, 20, 9, device=1)]
    assert focus_of(tmp_path, [*names, *STEPS, *more]).pinned == (r"^stream 7\b",)


def test_process_that_launches_is_expanded_with_its_name_taken_literally(tmp_path: Path) -> None:
    assert focus_of(tmp_path, [*NAMES, *STEPS]).expanded == (r"^python \(x\.y\) +42$",)
    assert focus_of(tmp_path, STEPS).expanded == ("^Process +42$",)


def test_stream_numbered_by_a_text_is_found_by_it(shared_traces: Path) -> None:
    focus = focus_on(read_trace(shared_traces / "2021-vocabulary-resnet50.json.gz"))
    assert focus is not None and focus.pinned == (r"^stream 7\b",)


def test_cpu_only_trace_has_a_view_and_no_notes(tmp_path: Path) -> None:
    focus = focus_of(tmp_path, [step(2, 1000, 100), on_cpu("aten::mm", 1010, 50), *AROUND])
    assert (focus.window_start_ns, focus.window_end_ns) == (998_000, 1_102_000)
    assert (focus.pinned, focus.expanded, focus.notes) == ((), (), ())


def test_trace_without_a_usable_event_has_no_focus(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [{**on_cpu("aten::mm", 0, 0), "dur": -5}]}))
    assert focus_on(read_trace(path)) is None
