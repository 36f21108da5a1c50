"""The tables of sweeps, which lie among traces and are none, through every command."""

from __future__ import annotations

import copy
import errno
import json
import os
import re
from pathlib import Path

import pytest
from conftest import RECORDED
from make_trace import complete, kernel

from trace_util.cli import main
from trace_util.events import TraceError
from trace_util.files import trace_files
from trace_util.sweeps import is_sweep, sweep_in

SWEEP = RECORDED / "nvidia-h200" / "01_matmul" / "sweep_size_bf16_eager.json"
TRACE = RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz"
TABLE = json.loads(SWEEP.read_text())
TOLD = "the table of a sweep over sizes, not a trace; trace-util plot draws it"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with ``runs`` in it: two traces and the table of a sweep."""
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / "runs"
    runs.mkdir()
    for at, name in enumerate(("a", "b")):
        events = [complete("cpu_op", "aten::mm", 1 + at, 20), kernel(5 + at, 10)]
        (runs / f"{name}.json").write_text(json.dumps({"traceEvents": events}))
    (runs / "sweep.json").write_text(json.dumps(TABLE))
    return runs


@pytest.mark.parametrize("where", ["runs", "runs/*.json"])
@pytest.mark.parametrize("command", ["summary", "explain", "compare"])
def test_sweep_among_traces_is_left_out_with_a_note(command, where, folder, capsys):
    code = main([command, where])
    told = capsys.readouterr()
    assert code == 0, told.err
    assert "sweep" not in told.out
    notes = [line for line in told.err.splitlines() if "sweep" in line]
    assert notes == [
        "note: left out the table of a sweep runs/sweep.json; trace-util plot draws it"
    ]


def test_merge_takes_the_traces_of_a_folder_without_its_sweep(folder, capsys):
    assert main(["merge", "runs", "-o", "job.json"]) == 0
    assert "left out the table of a sweep" in capsys.readouterr().err
    ranks = json.loads(Path("job.json").read_text())["merged"]["ranks"]
    assert [rank["file"] for rank in ranks] == ["a.json", "b.json"]


def test_the_example_of_the_help_succeeds(capsys):
    assert main(["summary", str(RECORDED), "--json"]) == 0
    told = capsys.readouterr()
    assert all("error" not in one for one in json.loads(told.out))


@pytest.mark.parametrize(
    "command",
    [
        ["summary"], ["explain"], ["check"], ["open", "--no-browser"], ["redact"],
        ["compare", "runs/a.json"], ["report", "-o", "x.html"],
        ["slim", "--keep", "gpu"],
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_sweep_that_is_named_is_refused_in_one_sentence(command, folder, capsys):
    out = ["out.json"] if command[0] == "slim" else []
    assert main([*command, "runs/sweep.json", *out]) == 1
    assert capsys.readouterr().err == f"error: runs/sweep.json: {TOLD}\n"


def test_folder_of_sweeps_alone_says_so(folder, capsys):
    for name in ("a", "b"):
        (folder / f"{name}.json").unlink()
    assert main(["summary", "runs"]) == 1
    told = "error: runs: no trace, only the table of a sweep; trace-util plot draws one\n"
    assert capsys.readouterr().err == told


def test_a_trace_is_known_by_its_first_bytes(tmp_path, monkeypatch):
    """However large it is, no more of it is read than its beginning."""
    import io

    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": [' + " " * 500_000 + "]}")
    taken = []
    plain = io.BufferedReader.read
    real_open = Path.open

    class Counting(io.BufferedReader):
        def read(self, size=-1):
            found = plain(self, size)
            taken.append(len(found))
            return found

    def counted(self, mode="r", *rest, **named):
        if self != path:
            return real_open(self, mode, *rest, **named)
        return Counting(io.FileIO(self))

    monkeypatch.setattr(Path, "open", counted)
    assert not is_sweep(path) and sum(taken) == 64


@pytest.mark.parametrize("begin", ["", '{"run_facts":'])
@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_plot_of_a_file_nested_without_end_is_one_line(begin, bracket, tmp_path, capsys):
    path = tmp_path / "deep.json"
    path.write_text(begin + bracket * 100_000)
    assert main(["plot", str(path), "-o", str(tmp_path / "x.svg")]) == 1
    assert re.fullmatch(rf"error: {re.escape(str(path))}: .*\n", capsys.readouterr().err)


def _damaged():
    for name in TABLE["points"][0]:
        if name in ("trace", "gpu_busy_share"):  # what is not drawn
            continue
        for value in ("x", [], True, {}):
            damaged = copy.deepcopy(TABLE)
            damaged["points"][1][name] = value
            if name != "regime" or value != "x":
                yield pytest.param(damaged, id=f"{name}={value!r}")
    for points in ([], None, 5, [None], {}, "x"):
        yield pytest.param({**TABLE, "points": points}, id=f"points={points!r}")


@pytest.mark.parametrize("damaged", [*_damaged()])
def test_a_damaged_sweep_is_one_line(damaged, tmp_path):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(damaged))
    with pytest.raises(TraceError, match="with --sweep again"):
        sweep_in(path)


def test_an_empty_name_is_no_folder(folder):
    with pytest.raises(TraceError, match="an empty name"):
        trace_files([""])


@pytest.mark.parametrize(
    "command",
    [
        ["summary"], ["explain"], ["check"], ["compare", "runs/a.json"], ["open"], ["redact"],
        ["plot", "-o", "x.svg"], ["report", "-o", "x.html"], ["merge", "-o", "x.json"],
        ["upload", "-b", "traces"], ["summary", "runs"], ["plot", "runs/a.json", "-o"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_empty_argument_is_wrong_usage_and_reads_nothing(command, folder, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*command, ""])
    assert caught.value.code == 2
    told = capsys.readouterr()
    assert told.out == "" and "an empty name; is a variable not set?" in told.err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([str(TRACE)], "{sweep}: the table of a sweep, drawn by itself: give it alone"),
        (["--step", "3"], "--step: {sweep} is the table of a sweep, without a timeline; leave"),
        (["--range", "0:9"], "--range: {sweep} is the table of a sweep, without a timeline; leave"),
        (["--align", "step"], "--align: {sweep} is the table of a sweep, without a timeline;"),
    ],
)
def test_plot_of_a_sweep_takes_nothing_that_is_of_traces(more, said, folder, capsys):
    sweep = folder / "sweep.json"
    assert main(["plot", str(sweep), *more, "-o", str(folder / "x.svg")]) == 2
    assert said.format(sweep=sweep) in capsys.readouterr().err
    assert not (folder / "x.svg").exists()
    assert main(["plot", str(sweep), "-o", str(folder / "x.svg")]) == 0


@pytest.mark.parametrize("command", ["plot", "report"])
def test_read_only_file_system_is_told_by_the_name_that_was_given(
    command, tmp_path, monkeypatch, capsys
):
    def refused(path, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    for name in ("write_text", "write_bytes", "unlink"):
        monkeypatch.setattr(Path, name, refused)
    target = tmp_path / ("x.svg" if command == "plot" else "x.html")
    assert main([command, str(TRACE), "-o", str(target)]) == 1
    assert capsys.readouterr().err == f"error: {target}: not written: Read-only file system\n"
