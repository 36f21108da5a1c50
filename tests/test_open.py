"""`trace-util open` and `link` as a shell sees them: output, exit codes, Ctrl-C, ports."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest

from trace_util.cli import main
from trace_util.highlights import focus_on
from trace_util.reader import read_trace

H200 = Path(__file__).parents[1] / "traces" / "recorded" / "nvidia-h200"
TRACE = H200 / "03_simple_mlp" / "64_128_768_3072_compile.json.gz"
GRAPH = H200 / "03_simple_mlp" / "1_1_768_3072_eager_cuda_graph.json.gz"
ONLINE = "https://huggingface.co/buckets/me/traces/resolve/a%20b.json.gz"

# None of the variables by which a browser or SSH is recognised, whatever runs these tests.
QUIET = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("SSH_") and name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
}


@contextmanager
def opened(
    *arguments: str, environment: Mapping[str, str] = QUIET
) -> Iterator[subprocess.Popen[str]]:
    """A running `trace-util open`; it is killed should the test leave it running."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trace_util.cli", "open", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(environment),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32,}/", line), line
    return line


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code and what was written until then."""
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_open_ends_once_the_trace_is_handed_over() -> None:
    with opened(str(TRACE)) as process:
        address = address_of(process)
        with urllib.request.urlopen(address + "trace", timeout=10) as answer:
            assert answer.read() == TRACE.read_bytes()
        done = urllib.request.Request(address + "done", method="POST")
        assert urllib.request.urlopen(done, timeout=10).status == 204
        code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert err == (
        "open this address in a browser; Ctrl-C ends the waiting\nthe trace is in the Perfetto UI\n"
    )


def test_ctrl_c_ends_it_quietly_and_frees_the_port() -> None:
    with opened(str(TRACE)) as process:
        port = int(address_of(process).split(":")[2].split("/")[0])
        assert not is_free(port)
        process.send_signal(signal.SIGINT)
        code, _, err = ended(process)
    assert code == 0, "it is how one ends the waiting"
    # The address is printed before the line that says so.
    assert err in ("", "open this address in a browser; Ctrl-C ends the waiting\n")
    assert is_free(port)


def test_same_port_can_be_had_again_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for _ in range(2):
        with opened(str(TRACE), "--port", str(port)) as process:
            address = address_of(process)
            assert f":{port}/" in address
            urllib.request.urlopen(address, timeout=10).close()  # leaves a TIME_WAIT behind
            process.send_signal(signal.SIGINT)
            ended(process)


def test_nobody_coming_is_said_after_the_timeout() -> None:
    with opened(str(TRACE), "--timeout", "0.3") as process:
        code, _, err = ended(process)
    assert code == 1
    assert err.splitlines()[-1] == (
        f"error: {TRACE}: not handed over, and 0.3 s without a request; "
        "start again, with a longer --timeout if need be"
    )


def test_busy_port_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["open", str(TRACE), "--port", str(port)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[-1].startswith(f"error: port {port} on 127.0.0.1 is busy; stop")


def test_over_ssh_the_forward_command_is_printed_and_no_browser_opened() -> None:
    environment = {
        **QUIET,
        "SSH_CONNECTION": "10.0.0.5 51111 10.0.0.9 22",
        "USER": "ada",
        "DISPLAY": ":0",
        "BROWSER": "sh -c 'exit 1' %s",
    }
    with opened(str(TRACE), environment=environment) as process:
        port = address_of(process).split(":")[2].split("/")[0]
        assert process.stderr is not None
        told = [process.stderr.readline().rstrip("\n") for _ in range(3)]
        process.send_signal(signal.SIGINT)
        ended(process)
    assert told == [
        "over SSH: run this where the browser is, then open the address there:",
        f"  ssh -N -L {port}:127.0.0.1:{port} ada@10.0.0.9",
        "open this address in a browser; Ctrl-C ends the waiting",
    ]


def test_browser_is_told_the_address(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    fake = tmp_path / "browser"
    fake.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.part && mv {seen}.part {seen}\n')
    fake.chmod(0o755)
    with opened(str(TRACE), environment={**QUIET, "BROWSER": f"{fake} %s"}) as process:
        address = address_of(process)
        done = urllib.request.Request(address + "done", method="POST")
        urllib.request.urlopen(done, timeout=10).close()
        assert ended(process)[2] == "the trace is in the Perfetto UI\n"
    assert seen.read_text() == address


def test_events_that_the_ui_hides_are_warned_of() -> None:
    with opened(str(GRAPH), "--timeout", "0.1") as process:
        err = ended(process)[2]
    assert re.search(
        r"^warning: [2-9]\d* GPU events overlap another one on the same stream; ", err, re.MULTILINE
    )


def damaged(folder: Path) -> Path:
    path = folder / "damaged.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "C:\\windows", "pid": 1, "tid": 1, '
        '"ts": 1, "dur": 2}]}'
    )
    return path


def test_repaired_file_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = damaged(tmp_path)
    with opened(str(path), "--timeout", "0.1") as process:
        err = ended(process)[2]
    found = re.search(r"^warning: .*damaged.json: read with repairs: .*may refuse the file$",
        err, re.MULTILINE)  # fmt: skip
    assert found
    assert main(["link", str(path), ONLINE]) == 0  # and of a link, in the same words
    shown = capsys.readouterr()
    assert shown.err == found[0] + "\n" and shown.out.startswith("https://ui.perfetto.dev/")


def test_file_that_is_no_trace_is_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.json"
    page.write_text("<!doctype html><title>404</title>")  # the UI "opens" it without a word
    for path in (page, tmp_path / "missing.json"):
        assert main(["open", str(path)]) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith(f"error: {path}: ") and shown.err.count("\n") == 1


def test_bucket_address_is_downloaded_and_removed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, Path]] = []

    def download(address: str, folder: Path) -> Path:
        asked.append((address, folder))
        path = Path(folder) / "a.json.gz"
        path.write_bytes(TRACE.read_bytes())
        return path

    monkeypatch.setattr("trace_util.share.download", download)
    address = "hf://buckets/me/traces/03/a.json.gz"
    assert main(["open", address, "--timeout", "0.1", "--no-browser"]) == 1
    assert "a.json.gz: not handed over" in capsys.readouterr().err
    [(seen, folder)] = asked
    assert seen == address and not folder.exists()


@pytest.mark.parametrize(
    "arguments",
    [["--port", "65536"], ["--port", "x"], ["--timeout", "0"], ["--timeout", "nan"], []],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    trace = [str(TRACE)] if arguments else []
    with pytest.raises(SystemExit) as caught:
        main(["open", *trace, *arguments])
    assert caught.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


# --- link -------------------------------------------------------------------------------------


def test_link_prints_one_line_that_opens_on_the_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["link", str(TRACE), ONLINE]) == 0
    shown = capsys.readouterr()
    assert shown.err == "" and shown.out.count("\n") == 1
    link = shown.out.strip()
    assert link.startswith("https://ui.perfetto.dev/#!/?url=https%3A%2F%2Fhuggingface.co%2Fbuckets")
    trace = read_trace(TRACE)
    noted = focus_on(trace)
    assert noted is not None and len(noted.notes) >= 2
    for note in noted.notes:  # once as a flag, once on the track of the notes
        assert unquote(unquote(link)).count(note.text) >= 2
    assert "visStart=" in link and "PinTracksByRegex" in link


def test_link_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", str(TRACE), ONLINE]) == 0
    line = capsys.readouterr().out.strip()
    assert main(["link", "--json", str(TRACE), ONLINE]) == 0
    assert json.loads(capsys.readouterr().out) == {"url": ONLINE, "link": line}


def test_link_refuses_what_perfetto_cannot_fetch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", str(TRACE), ONLINE + "?download=true"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ") and "leave the query out" in shown.err
