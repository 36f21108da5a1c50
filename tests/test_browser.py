"""The real Perfetto UI, by link and by message: every event is there, and the finding shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from perfetto_ui import (
    PATIENCE_MS,
    chromium,
    events_of,
    ns,
    query,
    screenshot,
    shown,
    slices,
    slices_of,
    ui_server,
)

from trace_util.facts import trace_facts
from trace_util.focus import Focus
from trace_util.highlights import focus_on
from trace_util.perfetto import NOTES_TRACK, public_link, quoted_path
from trace_util.reader import read_trace
from trace_util.view import hand_over, offline_ui

pytestmark = pytest.mark.browser

ODD = "run #1 50%?a&b é.json.gz"
H200 = Path(__file__).parents[1] / "traces" / "recorded" / "nvidia-h200"
COMPILED = H200 / "03_simple_mlp" / "64_128_768_3072_compile.json.gz"
TRACES = [
    H200 / "01_matmul" / "64_bf16_cold_eager.json.gz",
    H200 / "03_simple_mlp" / "1_1_768_3072_eager_cuda_graph.json.gz",
]
GPU_WORK = "'kernel', 'gpu_memcpy', 'gpu_memset'"
HANDED_OVER = "The trace is in the Perfetto UI"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    yield context
    context.close()


def focus_of(path: Path) -> Focus:
    focus = focus_on(read_trace(path))
    assert focus is not None and focus.notes
    return focus


def assert_shows_the_finding(page: Any, path: Path, focus: Focus) -> None:
    """The steps are in view, the streams are pinned, and every note is on the notes' track."""
    seen = shown(page)
    assert seen.view == (focus.window_start_ns, focus.window_end_ns)
    steps = [e for e in events_of(path) if e["ph"] == "X" and e["name"].startswith("ProfilerStep#")]
    on_host = [e for e in steps if e["cat"] == "user_annotation"]
    assert len(on_host) == 3
    for step in on_host:
        assert seen.view[0] <= ns(step["ts"]) < ns(step["ts"]) + ns(step["dur"]) <= seen.view[1]
    assert seen.pinned[0] == NOTES_TRACK
    assert any(name.startswith("stream 7 ") for name in seen.pinned[1:])
    assert len(seen.expanded) == 1 and seen.expanded[0].startswith("python")
    rows = query(page, "select ts, dur, name from __debug_track_0 order by ts")
    assert rows == [[str(n.start_ns), str(n.duration_ns), n.label] for n in focus.notes]


def assert_holds_the_events(page: Any, path: Path) -> None:
    """The UI's slices are the file's complete events and its instants.

    But for GPU events that cross another on their stream, which a replayed graph does have: this UI
    drops them, and our count of them is the number that is missing.
    """
    events = events_of(path)
    expected = sum(event["ph"] in ("X", "i", "I") for event in events)
    hidden = trace_facts(read_trace(path)).hidden_in_perfetto
    assert query(page, "select count(*) from slice") == [[str(expected - hidden)]]
    found, wanted = slices(page), slices_of(path)
    assert not found - wanted
    assert sum((wanted - found).values()) == hidden
    assert hidden == 0 or "cuda_graph" in path.name


@pytest.fixture(scope="module")
def compiled_by_link(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    with ui_server({ODD: COMPILED}) as address:
        url = f"{address}/files/{quoted_path(ODD)}"
        page.goto(public_link(url, focus_of(COMPILED), ui=address))
        yield page
    context.close()


def test_recorded_trace_opens_by_link_on_the_finding(compiled_by_link: Any) -> None:
    assert_shows_the_finding(compiled_by_link, COMPILED, focus_of(COMPILED))
    screenshot(compiled_by_link, "link-compiled")


def test_recorded_trace_opens_by_link_with_every_event(compiled_by_link: Any) -> None:
    shown(compiled_by_link)
    assert_holds_the_events(compiled_by_link, COMPILED)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}-{path.stem[:-5]}")
def test_other_recorded_traces_open_by_link_with_every_event(context: Any, path: Path) -> None:
    focus = focus_of(path)
    page = context.new_page()
    with ui_server({ODD: path}) as address:
        page.goto(public_link(f"{address}/files/{quoted_path(ODD)}", focus, ui=address))
        assert_shows_the_finding(page, path, focus)
        assert_holds_the_events(page, path)
        screenshot(page, f"link-{path.parent.name}-{path.stem[:-5]}")


def test_evidence_of_the_notes_is_where_they_point(compiled_by_link: Any) -> None:
    page = compiled_by_link
    shown(page)
    notes = focus_of(COMPILED).notes
    gaps = [note for note in notes if "without GPU work" in note.text]
    launch, fused = (note for note in notes if note not in gaps)
    found = "select name, dur from slice where ts = {} and dur = {}"
    assert query(page, found.format(launch.start_ns, launch.duration_ns)) == [
        ["cuLaunchKernelEx", str(launch.duration_ns)]
    ]
    [[name, _]] = query(page, found.format(fused.start_ns, fused.duration_ns))
    assert name is not None and name.startswith("triton_poi_fused_")
    # No work of the GPU touches a gap, and the next piece begins where it ends.
    work = f"select count(*) from slice where category in ({GPU_WORK}) and "
    assert gaps
    for gap in gaps:
        end_ns = gap.start_ns + gap.duration_ns
        assert query(page, work + f"ts < {end_ns} and ts + dur > {gap.start_ns}") == [["0"]]
        assert query(page, work + f"ts = {end_ns}") == [["1"]]


def test_trace_opens_by_message_in_the_offline_ui(context: Any) -> None:
    focus = focus_of(COMPILED)
    asked: list[str] = []
    context.on("requestfinished", lambda request: asked.append(request.url))
    page = context.new_page()
    with hand_over(COMPILED, focus, offline=True) as server:
        page.goto(server.address)
        page.wait_for_selector("body.open", state="attached", timeout=PATIENCE_MS)
        [ui] = [frame for frame in page.frames if "/ui/" in frame.url]
        assert_shows_the_finding(ui, COMPILED, focus)
        page.locator("#state", has_text=HANDED_OVER).wait_for(state="attached", timeout=PATIENCE_MS)
        assert server.wait(10)
        screenshot(page, "message-offline")
    assert_holds_the_events(ui, COMPILED)
    assert shown(ui).notes == [(note.start_ns, note.label) for note in focus.notes]
    assert {urlsplit(url).hostname for url in asked} == {"127.0.0.1"}


def _as_public(context: Any, files: dict[str, Path]) -> list[str]:
    """Serve the bundled UI as https://ui.perfetto.dev, and ``files`` by address; what was asked."""
    asked: list[str] = []
    folder = offline_ui()

    def answer(route: Any) -> None:
        url = route.request.url
        asked.append(url)
        path = folder / (unquote(urlsplit(url).path).lstrip("/") or "index.html")
        if url in files:
            route.fulfill(path=str(files[url]), headers={"Access-Control-Allow-Origin": "*"})
        elif url.startswith("https://ui.perfetto.dev/") and path.is_file():
            route.fulfill(path=str(path))
        else:
            route.abort()

    context.route(lambda url: not url.startswith("http://127.0.0.1"), answer)
    # As a popup blocker does, but every time: the first window is refused, that of a click opens.
    context.add_init_script(
        "{ const open = window.open; let first = true;"
        " window.open = (...a) => first ? (first = false, null) : open.apply(window, a); }"
    )
    return asked


def test_public_link_fetches_the_file_from_the_bucket(browser: Any) -> None:
    focus = focus_of(COMPILED)
    # The bundle lets its pages fetch from loopback alone; the public UI from any https host.
    context = browser.new_context(bypass_csp=True)
    url = "https://huggingface.co/buckets/me/traces/resolve/" + quoted_path(f"03/{ODD}")
    asked = _as_public(context, {url: COMPILED})
    page = context.new_page()
    page.goto(public_link(url, focus))
    assert_shows_the_finding(page, COMPILED, focus)
    assert_holds_the_events(page, COMPILED)
    assert url in asked
    context.close()


def test_trace_opens_by_message_in_the_public_ui(context: Any) -> None:
    focus = focus_of(COMPILED)
    asked = _as_public(context, {})
    page = context.new_page()
    with hand_over(COMPILED, focus) as server:
        page.goto(server.address)
        page.wait_for_selector("#go:not([hidden])", state="attached", timeout=PATIENCE_MS)
        screenshot(page, "message-public-page")
        with context.expect_page() as opened:
            page.click("#go")
        ui = opened.value
        page.locator("#state", has_text=HANDED_OVER).wait_for(state="attached", timeout=PATIENCE_MS)
        assert server.wait(10)
    seen = shown(ui)
    assert seen.view == (focus.window_start_ns, focus.window_end_ns)
    assert_holds_the_events(ui, COMPILED)
    rows = query(ui, "select ts, dur, name from __debug_track_0 order by ts")
    assert rows == [[str(n.start_ns), str(n.duration_ns), n.text] for n in focus.notes]
    # Neither in an address nor in a body does the trace reach the UI's host, or anybody.
    assert not any("triton" in url or "python3" in url for url in asked)


def test_late_click_works_after_the_server_has_ended(context: Any) -> None:
    _as_public(context, {})
    page = context.new_page()
    with hand_over(COMPILED, focus_of(COMPILED)) as server:
        page.goto(server.address)
        page.wait_for_selector("#go:not([hidden])", state="attached", timeout=PATIENCE_MS)
    page.click("#go")
    page.locator("#state", has_text=HANDED_OVER).wait_for(state="attached", timeout=PATIENCE_MS)


def test_every_gpu_event_counted_as_hidden_is_missing_in_the_ui(
    context: Any, shared_traces: Path
) -> None:
    path = shared_traces / "b200-same-stream-overlaps.json.gz"
    hidden = trace_facts(read_trace(path)).hidden_in_perfetto
    page = context.new_page()
    with ui_server({"t": path}) as address:
        page.goto(public_link(f"{address}/files/t", ui=address))
        shown(page)
        [[count]] = query(page, f"select count(*) from slice where category in ({GPU_WORK})")
    in_file = sum(e["ph"] == "X" and f"'{e.get('cat')}'" in GPU_WORK for e in events_of(path))
    assert hidden > 0
    assert int(count or 0) == in_file - hidden
