"""The HTML report in headless Chromium: what it asks for, how it fits, how it opens Perfetto."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from perfetto_ui import (
    LOADED,
    PATIENCE_MS,
    chromium,
    eventually,
    screenshot,
    shown,
    slices,
    slices_of,
)

from trace_util.cli import main
from trace_util.view import offline_ui

pytestmark = pytest.mark.browser

H200 = Path(__file__).parents[1] / "traces" / "recorded" / "nvidia-h200"
EAGER = H200 / "03_simple_mlp" / "64_128_768_3072_eager.json.gz"
COMPILED = H200 / "03_simple_mlp" / "64_128_768_3072_compile.json.gz"

# Texts of a figure that lie on each other by more than a px, as this browser's own fonts set them.
MEETING = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBBox()]);
  const found = [];
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    if (p.x < q.x + q.width - 1 && q.x < p.x + p.width - 1 &&
        p.y < q.y + q.height - 3 && q.y < p.y + p.height - 3) found.push([a, b]);
  }));
  return found;
})"""
# What is wider than the window and cannot be scrolled by itself.
TOO_WIDE = """() => document.documentElement.scrollWidth - window.innerWidth"""
# Each text and what it stands on, as the browser paints them, below a contrast of 4.5.
PALE = """() => {
  const channel = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) =>
    0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0.5) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    if (e.closest("svg") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
      continue;
    const pair = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    if ((Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5)
      found.push(e.outerHTML.slice(0, 120));
  }
  return found;
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    assert main(["report", str(EAGER), str(COMPILED), "-o", str(out), "--embed"]) == 0
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_page_fits_asks_for_nothing_and_says_nothing(
    report: Path, browser: Any, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    for details in page.query_selector_all("summary"):
        details.click()
    assert said == []
    assert asked == [report.as_uri()]
    assert page.evaluate(TOO_WIDE) <= 0
    assert page.evaluate(MEETING) == []
    assert page.evaluate(PALE) == []
    screenshot(page, f"report-{width}-{scheme}")
    context.close()


def test_keyboard_reaches_the_report_and_scrolls_its_tables(report: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(report.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left >= 0")
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "region":
            break
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid", "one sees where one is"
    page.keyboard.press("ArrowRight")
    eventually(page, "document.activeElement.scrollLeft > 0")
    page.close()


def test_what_is_cut_at_the_edge_of_a_phone_says_that_it_scrolls(
    report: Path, browser: Any
) -> None:
    said = "getComputedStyle(document.querySelector('figcaption'), '::after').content"
    for width, content in ((390, '" (goes on to the right: scroll sideways)"'), (1400, "none")):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(report.as_uri())
        assert page.evaluate(said) == content
        region = page.locator("figure > .scroll").first
        cut = region.evaluate("one => one.scrollWidth > one.clientWidth")
        assert cut == (width == 390)
        assert "gradient" in region.evaluate("one => getComputedStyle(one).backgroundImage")
        page.close()


def test_landmarks_headings_and_tables_have_names(report: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation", name="Traces of this report").count() == 1
    assert page.get_by_role("heading", level=1).inner_text() == "Profile report"
    region = page.get_by_role("region", name="03_simple_mlp · 64_128_768_3072_eager")
    assert region.count() == 1
    assert page.get_by_role("table", name="The recorded steps").count() == 2
    assert page.get_by_role("img", name="03_simple_mlp").count() >= 4
    page.close()


def test_page_prints_on_paper_of_any_scheme(report: Path, browser: Any) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    wide = "[...document.querySelectorAll('svg')].every((s) => s.clientWidth <= innerWidth)"
    assert page.evaluate(wide)
    assert page.evaluate(PALE) == []
    assert len(page.pdf(format="A4")) > 20_000
    context.close()


def test_button_hands_the_file_to_the_real_perfetto(report: Path, browser: Any) -> None:
    """ui.perfetto.dev is played by the bundled UI, so that its own code judges the hand-over."""
    folder = offline_ui()
    context = browser.new_context(viewport={"width": 1400, "height": 900})

    def serve(route: Any) -> None:
        path = folder / (urlsplit(route.request.url).path.lstrip("/") or "index.html")
        if path.is_file():
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            route.fulfill(path=path, content_type=kind)
        else:
            route.abort()

    context.route("https://ui.perfetto.dev/**", serve)
    page = context.new_page()
    page.goto(report.as_uri())
    with context.expect_page() as opened:
        page.locator("button").first.click()
    ui = opened.value
    # It asks first: a file of one's own is an origin that it does not know.
    ui.get_by_role("button", name="Yes").click(timeout=PATIENCE_MS)
    ui.wait_for_function(LOADED, timeout=PATIENCE_MS)
    assert slices(ui) == slices_of(EAGER)
    low, high = shown(ui).view
    assert 0 < high - low < 5_000_000, "it opens on the recorded steps"
    eventually(
        page,
        "document.querySelector('[role=status]').textContent == 'Handed over.'",
        PATIENCE_MS / 1000,
    )
    screenshot(ui, "report-perfetto")
    context.close()
