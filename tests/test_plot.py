"""The timeline figure: what is in it, where it lies, and that no text meets another."""

from __future__ import annotations

import json
import random
import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from contrast import contrast
from msgspec.structs import replace
from rank_traces import rank_document

from trace_util.cli import main
from trace_util.events import GPU_KINDS, TraceError
from trace_util.facts import trace_facts
from trace_util.links import HOST_KINDS, link
from trace_util.merge import merge_traces
from trace_util.plot.callouts import Wish, placed
from trace_util.plot.figure import heading, timeline
from trace_util.plot.lanes import View, panel_of
from trace_util.plot.lettering import fitting, text_width
from trace_util.plot.roles import Role
from trace_util.plot.scale import Axis
from trace_util.plot.scene import Box, Curve, Scene
from trace_util.plot.svg import svg_text
from trace_util.plot.theme import DARK, INK_ON, LIGHT
from trace_util.reader import read_trace
from trace_util.report.units import duration, share

RECORDED = Path(__file__).parents[1] / "traces" / "recorded"
TRACES = sorted((RECORDED / "nvidia-h200").glob("*/*.json.gz"))
EAGER = RECORDED / "nvidia-h200/03_simple_mlp/64_128_768_3072_eager.json.gz"
MATMUL = RECORDED / "nvidia-h200/01_matmul/64_bf16_warm_eager.json.gz"
WHOLE = View()
PAINTS = {role.name.lower() for role in Role}


def scene(path: Path, view: View = WHOLE) -> Scene:
    return timeline([read_trace(path)], view)


def bars(figure: Scene) -> list[Box]:
    return [shape for shape in figure.shapes if isinstance(shape, Box) and shape.paint in PAINTS]


def written(path: Path, *, with_name: str) -> Path:
    """A trace with one op, one launch and one kernel, all of one name."""
    call = {"correlation": 1, "External id": 1}
    rows = [
        ("cpu_op", with_name, 0, 50, 1, {"External id": 1}),
        ("cuda_runtime", "cudaLaunchKernel", 10, 10, 1, call),
        ("kernel", with_name, 30, 15, 7, {**call, "device": 0, "stream": 7}),
    ]
    events = [
        {
            "ph": "X",
            "cat": cat,
            "name": name,
            "ts": ts,
            "dur": dur,
            "pid": 1,
            "tid": tid,
            "args": args,
        }
        for cat, name, ts, dur, tid, args in rows
    ]
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def overlapping(figure: Scene) -> list[tuple[str, str]]:
    found = [(a, b) for a, b in combinations(figure.labels, 2) if a.bounds.meets(b.bounds)]
    return [(a.text, b.text) for a, b in found]


@pytest.mark.parametrize("view", [View(), View(step=3), View(range_ns=(0, 60_000))], ids=str)
@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_text_meets_another_or_leaves_the_page(path: Path, view: View) -> None:
    figure = scene(path, view)
    assert overlapping(figure) == []
    assert all(label.bounds.left >= 0 for label in figure.labels)
    assert all(label.bounds.right <= figure.width for label in figure.labels)
    assert all(label.bounds.bottom <= figure.height for label in figure.labels)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_text_lies_on_its_bar_or_beside_all_bars(path: Path) -> None:
    figure = scene(path)
    for label in figure.labels:
        if label.role not in ("bar", "idle"):
            continue
        under = [b for b in bars(figure) if _meets(label.bounds, b)]
        inside = [
            b for b in under if b.x <= label.bounds.left and label.bounds.right <= b.x + b.width
        ]
        assert len(under) == len(inside) <= 1, label.text


def _meets(bounds, box: Box) -> bool:  # type: ignore[no-untyped-def]
    return (
        bounds.left < box.x + box.width
        and box.x < bounds.right
        and bounds.top < box.y + box.height
        and box.y < bounds.bottom
    )


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_event_of_the_window_is_in_a_bar_and_every_launch_has_its_arrow(path: Path) -> None:
    trace = read_trace(path)
    links = link(trace)
    facts = trace_facts(trace, links)
    panel = panel_of(trace, links, facts, View(), resolution_ns=2000)
    events = trace.events
    low, high = facts.window_start_ns, facts.window_end_ns
    inside = (events.start_ns < high) & (events.end_ns > low)
    marks = [step.index for step in links.steps]
    host = events.is_kind(*HOST_KINDS) & inside
    host[marks] = False
    gpu = events.is_kind(*GPU_KINDS) & inside
    drawn = {is_gpu: sum(bar.count for lane in panel.lanes for bar in lane.bars
                         if lane.is_gpu == is_gpu) for is_gpu in (False, True)}  # fmt: skip
    assert drawn == {False: host.sum(), True: gpu.sum()}
    launched = len({int(row) for row in links.launch[gpu] if row >= 0})
    assert len(panel.arrows) == launched > 0
    assert [mark.name for mark in panel.marks] == [step.name for step in facts.steps]
    idle = sum(gap.end_ns - gap.start_ns for gap in panel.idle)
    assert idle == int(facts.gaps.duration_ns.sum())


def test_ranks_that_share_a_device_number_have_lanes_of_their_own(tmp_path: Path) -> None:
    # Ranks 0 and 8 of two nodes: each runs on its node's GPU 0, on stream 7 and on NCCL's 20.
    paths = []
    for rank in (0, 8):
        paths.append(str(tmp_path / f"rank{rank}.json"))
        Path(paths[-1]).write_text(json.dumps(rank_document(rank, 9)), encoding="utf-8")
    merge_traces(paths, tmp_path / "job.json")
    trace = read_trace(tmp_path / "job.json")
    links = link(trace)
    facts = trace_facts(trace, links)
    panel = panel_of(trace, links, facts, View(), resolution_ns=2000)
    lanes = [lane for lane in panel.lanes if lane.is_gpu]
    assert [lane.title for lane in lanes] == [
        "rank 0 stream 7",
        "rank 0 stream 20",
        "rank 8 stream 7",
        "rank 8 stream 20",
    ]
    assert {lane.depth for lane in lanes} == {1}  # nothing overlaps on a stream
    assert len(panel.idle) == len(facts.gaps.duration_ns)
    assert {gap.lanes for gap in panel.idle} == {
        tuple(at for at, lane in enumerate(panel.lanes) if lane.title.startswith(rank))
        for rank in ("rank 0 ", "rank 8 ")
    }


def test_the_figure_of_a_matmul_names_what_the_lesson_speaks_of() -> None:
    figure = scene(MATMUL, View(step=4))
    texts = [label.text for label in figure.labels]
    for expected in ("steps", "CPU", "GPU stream 7", "matmul_add", "aten::matmul", "aten::mm"):
        assert expected in texts
    assert any(text.startswith("GEMM 64x8 NNT · ") for text in texts)
    assert any(text.startswith("add · ") for text in texts)
    assert any("python 01_matmul.py" in text and "NVIDIA H200" in text for text in texts)
    assert sum(isinstance(shape, Curve) for shape in figure.shapes) == 2


def test_ops_that_launch_nothing_are_drawn_hollow() -> None:
    trace = read_trace(EAGER)
    links = link(trace)
    panel = panel_of(trace, links, trace_facts(trace, links), View(step=3), resolution_ns=1)
    roles = {bar.title.split(",")[0]: bar.role for bar in panel.lanes[0].bars}
    hollow = {name for name, role in roles.items() if role == Role.METADATA_OP}
    assert {"aten::t", "aten::transpose", "aten::as_strided", "aten::_unsafe_view"} <= hollow
    assert not {"aten::mm", "aten::linear", "aten::gelu", "aten::mul"} & hollow


def test_one_step_ends_with_its_last_kernel_and_fades_the_work_of_others() -> None:
    trace = read_trace(EAGER)
    links = link(trace)
    facts = trace_facts(trace, links)
    step = next(step for step in facts.steps if step.number == 3)
    panel = panel_of(trace, links, facts, View(step=3), resolution_ns=1)
    assert panel.start_ns == step.start_ns
    assert panel.end_ns == max(step.start_ns + step.duration_ns, step.last_gpu_end_ns)
    gpu = [bar for lane in panel.lanes if lane.is_gpu for bar in lane.bars]
    own = [bar for bar in gpu if not bar.faded]
    assert len(own) == step.kernels + step.memsets + step.copies
    assert len(gpu) > len(own), "this step is chosen because another one's work runs into it"


def test_stacked_traces_share_one_scale_and_begin_below_each_other() -> None:
    traces = [read_trace(MATMUL), read_trace(EAGER)]
    facts = [trace_facts(trace) for trace in traces]
    figure = timeline(traces, View(last_step=True))
    marks = [b for b in figure.shapes if isinstance(b, Box) and b.paint == "step"]
    firsts = [mark for mark in marks if mark.x == min(m.x for m in marks)]
    assert len(firsts) == 2
    drawn = [mark.width + 1 for mark in firsts]
    told = [one.steps[-1].duration_ns for one in facts]
    assert drawn[0] / drawn[1] == pytest.approx(told[0] / told[1], rel=0.01)


def test_a_large_trace_makes_no_large_figure(tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", with_name="aten::add")
    document = json.loads(path.read_text())
    once = document["traceEvents"]
    document["traceEvents"] = [
        {
            **e,
            "ts": e["ts"] + 100 * i,
            "args": {**e["args"], "correlation": i + 1, "External id": i},
        }
        for i in range(4000)
        for e in once
    ]
    path.write_text(json.dumps(document))
    trace = read_trace(path)
    links = link(trace)
    facts = trace_facts(trace, links)
    panel = panel_of(trace, links, facts, View(), resolution_ns=1_000_000)
    found = [bar for lane in panel.lanes for bar in lane.bars]
    assert sum(bar.count for bar in found) == 12_000
    assert len(found) <= 3 * 400 + 3, "one bar for each cell, depth and role"
    assert len(timeline([trace]).shapes) < 3000


@pytest.mark.parametrize("seed", range(20))
def test_callouts_never_meet_and_no_leader_crosses_a_text(seed: int) -> None:
    dice = random.Random(seed)
    wishes = [Wish(dice.uniform(0, 400), ("M" * dice.randint(1, 12), "M")) for _ in range(25)]
    found = placed(wishes, 10, 0, 400, lines=3)
    assert found
    for a, b in combinations(found, 2):
        if a.line == b.line:
            assert a.right <= b.left or b.right <= a.left
        upper, lower = sorted((a, b), key=lambda place: place.line)
        if upper.line != lower.line:
            assert not upper.left < lower.x < upper.right
    assert all(place.left >= 0 and place.right <= 400 for place in found)


def test_the_largest_are_named_where_not_all_have_room() -> None:
    small = [Wish(5.0 * i, ("Memset",), 60 if i % 2 else 1) for i in range(80)]
    large = [Wish(52.0, ("GEMM",), 900), Wish(203.0, ("softmax",), 800), Wish(391.0, ("add",), 700)]
    texts = [one.text for one in placed([*small, *large], 10, 0, 400, lines=3)]
    assert {"GEMM", "softmax", "add"} < set(texts)
    assert texts.count("Memset") > 5, "what room is left is used"
    short = [wish._replace(weight=1) for wish in small]
    texts = [one.text for one in placed([*short, *large], 10, 0, 400, lines=3)]
    assert sorted(texts) == ["GEMM", "add", "softmax"], "and not for what hardly counts"


def test_range_is_told_of_itself_and_not_of_the_window() -> None:
    trace = read_trace(MATMUL)
    facts = trace_facts(trace)
    text = heading(trace, facts, View(range_ns=(0, 1000))).lines[0]
    assert text == "0 µs to 1.00 µs since the start of the window: GPU busy 0 µs of 1.00 µs (0 %)"
    whole = (0, facts.window_ns or 0)
    assert (
        heading(trace, facts, View(range_ns=whole))
        .lines[0]
        .endswith(
            f"GPU busy {duration(facts.window_busy_ns)} of {duration(facts.window_ns)} "
            f"({share(facts.busy_share)})"
        )
    )


def test_fitting_takes_the_longest_that_fits_and_cuts_the_last() -> None:
    width = text_width("GEMM 256x128", 10)
    assert fitting(("GEMM 256x128 TNT", "GEMM 256x128", "GEMM"), width, 10) == "GEMM 256x128"
    assert fitting(("aten::addmm",), text_width("aten::…", 10), 10) == "aten::…"
    assert fitting(("aten::addmm",), text_width("aten", 10), 10) == ""


def test_text_width_is_that_of_the_widest_face() -> None:
    paths = pytest.importorskip("matplotlib.textpath")
    fonts = pytest.importorskip("matplotlib.font_manager")
    face = fonts.FontProperties(family="DejaVu Sans", size=100)
    for text in ("ProfilerStep#2 · 235 µs on the CPU", "GEMM 256x128 TNT", "aten::_unsafe_view"):
        measured = paths.TextPath((0, 0), text, prop=face).get_extents().width
        assert measured <= text_width(text, 100) < measured * 1.05


def test_ticks_are_round_and_as_far_apart_as_their_numbers_need() -> None:
    axis = Axis(longest_ns=82_500, left=100, width=800)
    assert [text for _, text in axis.ticks(82_500)] == [str(10 * i) for i in range(9)]
    assert axis.unit == "µs"
    assert axis.x(0) == 100
    assert axis.x(82_500) == 900
    assert Axis(3_000_000_000, 0, 800).unit == "s"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_ink_can_be_read_on_its_paint(theme: dict[str, str]) -> None:
    pairs = [*INK_ON.items(), ("paper", "ink"), ("paper", "muted"), ("step", "ink")]
    pairs += [(paint, "ink") for paint in theme if paint.startswith(("idle", "hatch"))]
    poor = {pair: contrast(theme[pair[0]], theme[pair[1]]) for pair in pairs}
    assert {pair: c for pair, c in poor.items() if c < 4.5} == {}


def test_light_and_dark_have_the_same_paints() -> None:
    assert LIGHT.keys() == DARK.keys()


def test_svg_is_well_formed_and_the_same_twice() -> None:
    once, twice = (svg_text(scene(EAGER)) for _ in range(2))
    assert once == twice
    root = ElementTree.fromstring(once)
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}title") is not None
    assert root.find(f"{space}desc") is not None
    texts = [element.text for element in root.iter(f"{space}text")]
    assert texts == [label.text for label in scene(EAGER).labels]
    used = {name for e in root.iter() for name in e.get("class", "").split()}
    rules = root.find(f"{space}style").text
    assert all(f".{name}" in rules for name in used if name != "figure")


def test_themes_differ_in_colour_alone(tmp_path: Path) -> None:
    for theme in ("light", "dark", "auto"):
        out = tmp_path / f"{theme}.svg"
        assert main(["plot", str(MATMUL), "-o", str(out), "--theme", theme]) == 0
    light, dark, auto = (
        (tmp_path / f"{theme}.svg").read_text() for theme in ("light", "dark", "auto")
    )
    body = {text.partition("</style>")[2] for text in (light, dark, auto)}
    assert len(body) == 1
    assert LIGHT["paper"] in light and DARK["paper"] not in light
    assert DARK["paper"] in dark and LIGHT["lane"] not in dark
    assert "prefers-color-scheme:dark" in auto
    assert all(colour in auto for colour in (LIGHT["lane"], DARK["lane"]))


def test_svg_shows_a_hostile_name_as_text(tmp_path: Path) -> None:
    name = "</text><script>alert(1)</script>&\x1b[31m\ud800]]>"
    trace = written(tmp_path / "t.json", with_name=name)
    text = svg_text(scene(trace))
    assert "<script" not in text
    assert "&lt;script" in text
    assert {e.tag.rpartition("}")[2] for e in ElementTree.fromstring(text).iter()} <= {
        "svg", "title", "desc", "style", "defs", "pattern", "marker", "path", "rect", "text",
    }  # fmt: skip


def test_png_lays_its_texts_as_planned(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from trace_util.plot.png import drawn, write_png

    figure = scene(MATMUL)
    picture = drawn(figure, LIGHT)
    renderer = picture.canvas.get_renderer() if hasattr(picture.canvas, "get_renderer") else None
    if renderer is None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        renderer = FigureCanvasAgg(picture).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in picture.axes[0].texts]
    assert len(boxes) == len(figure.labels)
    for a, b in combinations(boxes, 2):
        meets = a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1
        assert not meets
    for name in ("a.png", "b.png"):
        write_png(figure, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_command_writes_the_figure_and_quotes_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fig.svg"
    assert main(["plot", str(MATMUL), "--step", "4", "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    text = out.read_text()
    assert f"drawn by: trace-util plot {MATMUL.name} --step 4" in text
    assert str(RECORDED.parent) not in text, "a figure is shared; folders of this machine are not"
    assert [path.name for path in tmp_path.iterdir()] == ["fig.svg"]


def test_a_png_without_matplotlib_is_one_line_that_names_the_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["plot", str(MATMUL), "-o", str(tmp_path / "fig.png")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "torch-profiling-lessons[plot]" in said
    assert list(tmp_path.iterdir()) == []
    assert main(["plot", str(MATMUL), "-o", str(tmp_path / "fig.svg")]) == 0


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["-o", "x.pdf"], "x.pdf: a figure is an .svg or a .png", 2),
        (["-o", "x.svg", "--step", "9"], "has no step 9; it has 2, 3, 4", 1),
        (["-o", "x.svg", "--range", "5:1"], "--range 5:1: give two times in µs", 2),
        (["-o", "x.svg", "--range", "nan:1"], "--range nan:1: give two times in µs", 2),
        (["-o", "x.svg", "--range", "900000:900001"], "nothing happens from 900000 to", 1),
        (["-o", "x.svg", "--range", "0:1", "--step", "2"], "both say what to show", 2),
        (["-o", "x.svg", "--width", "12"], "--width 12: give 480 to 4000 px", 2),
        (["-o", "x.svg", "--width", "1e7"], "--width 10000000: give 480 to 4000 px", 2),
        (["-o", "x.png", "--theme", "auto"], "only an .svg can follow the reader", 2),
        (["-o", "no/such/folder/x.svg"], "not written: there is no folder no/such/folder", 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_drawn_is_one_line(
    arguments: list[str], said: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(MATMUL), *arguments]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_trace_without_an_event_is_refused() -> None:
    trace = read_trace(MATMUL)
    facts = replace(trace_facts(trace), window_start_ns=None, window_end_ns=None)
    with pytest.raises(TraceError, match="nothing to draw"):
        panel_of(trace, link(trace), facts, View(), 1)


def test_public_traces_of_all_ages_can_be_drawn(shared_traces: Path) -> None:
    for path in sorted(shared_traces.glob("*.json.gz")):
        if path.name.startswith("not-a-trace"):
            continue
        figure = timeline([read_trace(path)])
        assert overlapping(figure) == [], path.name
        assert len(figure.shapes) < 15_000, path.name
        ElementTree.fromstring(svg_text(figure))
