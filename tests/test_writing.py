"""What is never written over: pipes, devices, folders, and the input itself."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RECORDED
from rank_traces import write_ranks

from trace_util import content
from trace_util.cli import main
from trace_util.events import TraceError

EAGER = str(RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz")
# Command lines that write a file; OUT stands for it.
WRITERS = {
    "redact": ["redact", EAGER, "OUT.json"],
    "slim": ["slim", EAGER, "OUT.json", "--keep", "no-python"],
    "merge": ["merge", "ranks", "-o", "OUT.json"],
    "plot": ["plot", EAGER, "-o", "OUT.svg"],
    "report": ["report", EAGER, "-o", "OUT.html"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the traces of two ranks in ``ranks``."""
    monkeypatch.chdir(tmp_path)
    write_ranks(tmp_path / "ranks", 2)
    return tmp_path


def written_to(command: list[str], stem: str) -> tuple[list[str], Path]:
    words = [word.replace("OUT", stem) if word.startswith("OUT") else word for word in command]
    return words, Path(next(stem + w[3:] for w in command if w.startswith("OUT")))


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_a_pipe_is_never_replaced(command, force, folder, capsys):
    words, target = written_to(command, "out")
    os.mkfifo(target)
    assert main([*words, *force]) == 2
    said = f"error: {target}: a pipe or a device, which is never replaced; name a file\n"
    assert capsys.readouterr().err == said
    assert stat.S_ISFIFO(target.lstat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device node")
@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_a_device_is_never_replaced(command, folder):
    words, target = written_to(command, "out")
    try:
        os.mknod(target, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except OSError as error:
        pytest.skip(f"no device node can be made here: {error.strerror}")
    assert main([*words, "--force"]) == 2
    assert stat.S_ISCHR(target.lstat().st_mode)


@pytest.mark.parametrize("place", ["/dev", "/proc/self/fd"])
def test_nothing_is_made_among_the_devices(place):
    """Even where the name is that of a file, as that of standard output is behind ``> file``."""
    with pytest.raises(TraceError, match="a pipe or a device"):
        content.require_target(Path(place, "trace-util-test.json"))


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_a_folder_in_the_place_of_the_file(command, folder, capsys):
    words, target = written_to(command, "out")
    target.mkdir()
    assert main([*words, "--force"]) == 2
    assert capsys.readouterr().err == f"error: {target}: a folder; name a file in it\n"


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_a_folder_that_is_not_there(command, folder, capsys):
    words, target = written_to(command, "gone/out")
    assert main(words) == 1
    said = f"error: {target}: not written: there is no folder gone\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("command", ["redact", "slim", "merge"])
def test_standard_output_takes_no_copy(command, folder, capsys):
    words = ["-" if word == "OUT.json" else word for word in WRITERS[command]]
    assert main(words) == 2
    assert "-: nothing is written to standard output; name a file" in capsys.readouterr().err
    assert not Path("-").exists()


@pytest.mark.parametrize(("command", "name"), [("plot", "in.svg"), ("report", "in.html")])
def test_a_trace_of_that_name_is_never_its_own_figure(command, name, folder, capsys):
    shutil.copy(EAGER, name)
    assert main([command, name, "-o", f"./{name}", "--force"]) == 2
    assert f"{name}: is one of the traces; name another file" in capsys.readouterr().err
    assert Path(name).read_bytes() == Path(EAGER).read_bytes()


READERS = [
    ["redact", "IN"],
    ["redact", "IN", "out.json"],
    ["slim", "IN", "out.json", "--keep", "no-python"],
    ["merge", "IN", "ranks", "-o", "out.json"],
    ["open", "IN", "--no-browser"],
]


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_device_is_refused_before_it_is_read(command, folder, capsys):
    source = os.devnull
    assert main([source if word == "IN" else word for word in command]) == 2
    assert capsys.readouterr().err == (
        f"error: {source}: has to be read twice, and a pipe or a device cannot; "
        "save it to a file first\n"
    )
    assert not Path("out.json").exists()


def test_a_full_disk_is_told_by_the_name_of_the_file(tmp_path, monkeypatch):
    target = tmp_path / "out.json"
    with (
        pytest.raises(TraceError) as told,
        content.atomic_writer(target),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(told.value) == f"{target}: not written: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_a_failure_to_read_is_not_taken_for_one_to_write(tmp_path):
    with pytest.raises(OSError, match="reading"), content.atomic_writer(tmp_path / "out.json"):
        raise OSError(errno.EIO, "reading")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_takes_no_more_bytes(tmp_path):
    """The shell's own limit stands in for a full disk."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        f"from trace_util.cli import main; sys.exit(main(['redact', {EAGER!r}, 'out.json']))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "error: out.json: not written: File too large\n")
    assert list(tmp_path.iterdir()) == []


STALLED = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.{before})
from trace_util import cli, redact
def stalled(*_):
    yield [b"half of a trace"]
    print("stalled", flush=True)
    time.sleep({seconds})
redact._rewritten = stalled
sys.argv = ["trace-util", "redact", {trace!r}, "out.json"]
sys.exit(cli.main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_leaves_nothing_behind(number, tmp_path):
    code = STALLED.format(trace=EAGER, before="SIG_DFL", seconds=60)
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "stalled\n"
            assert len(list(tmp_path.iterdir())) == 1  # what is half-written
            process.send_signal(number)
            assert process.wait(30) == 128 + number
        finally:
            process.kill()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_terminal_ends_no_command_under_nohup(tmp_path):
    code = STALLED.format(trace=EAGER, before="SIG_IGN", seconds=0.5)
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "stalled\n"
            process.send_signal(signal.SIGHUP)
            assert process.wait(30) == 1  # the half of a trace is no copy
        finally:
            process.kill()
