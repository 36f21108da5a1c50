"""Names that are empty, no text, or meant to steer a terminal, through every command."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import RECORDED

from trace_util.cli import main
from trace_util.report.text import columns_of, shell_word, style_of, table

EAGER = RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz"
NAMES = ["", None, "  ", 5, [], {"a": 1}, "\x1b[2J", "\n", "ok"]
STEERING = "bad\x1b[31m\nname's \\ \udcff.json.gz"


@pytest.fixture
def nameless(tmp_path: Path) -> Path:
    """A trace whose events have every sort of bad name."""
    rows = []
    for i, name in enumerate(NAMES):
        for category, tid in (("cpu_op", 1), ("cuda_runtime", 2), ("kernel", 7), ("gpu_memcpy", 8)):
            rows.append(
                {
                    "ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid,
                    "ts": 10 * i + tid, "dur": 8,
                    "args": {"correlation": i + 1, "device": 0, "stream": tid},
                }
            )  # fmt: skip
    path = tmp_path / "nameless.json"
    path.write_text(json.dumps({"traceEvents": rows}))
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["plot", "-o", "x.svg"], ["plot", "-o", "x.svg", "--range", "0:40"],
        ["report", "-o", "x.html"], ["summary"], ["explain"], ["compare", str(EAGER)],
        ["check", "--alone", "--expect", "kernels > 0"],
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_events_without_a_name_are_shown_as_such(command, nameless, monkeypatch, capsys):
    monkeypatch.chdir(nameless.parent)
    assert main([*command, str(nameless)]) == 0
    told = capsys.readouterr()
    written = [Path(name).read_text() for name in ("x.svg", "x.html") if Path(name).exists()]
    assert "\x1b" not in "".join([told.out, told.err, *written])
    if command[0] in ("plot", "report"):
        assert "(no name)" in written[0]
    if command[0] == "summary":
        assert "\n  (no name) " in told.out


@pytest.fixture
def steering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The current folder's only trace, under a name that holds an escape and a new line."""
    monkeypatch.chdir(tmp_path)
    Path(STEERING).write_bytes(EAGER.read_bytes())
    return STEERING


@pytest.mark.parametrize(
    "command",
    [
        ["summary"], ["explain"], ["check", "--alone"], ["check", "--expect", "steps == 9"],
        ["compare", str(EAGER)], ["redact"], ["slim", "--keep", "steps"], ["summary", "nosuch"],
        ["check", "--lesson"], ["compare", "--baseline"], ["upload", "-b", "traces"],
        ["open", "--timeout", "0.01", "--no-browser"],
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("missing", [False, True])
def test_nothing_that_is_printed_steers_the_terminal(command, missing, steering, capsys):
    path = "not" + steering if missing else steering
    out = ["out\x1b[31m.json"] if command[0] == "slim" else []
    with contextlib.suppress(SystemExit):
        main([*command, path, *out])
    told = capsys.readouterr()
    assert not [c for c in told.out + told.err if c != "\n" and not c.isprintable()]
    assert "\nname" not in told.out + told.err


def test_the_next_command_can_be_pasted(steering, capsys):
    assert main(["summary", steering]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("next: ")]
    word = line.removeprefix("next: trace-util explain ")
    script = f"test -f {word}"
    assert subprocess.run(["bash", "-c", script], check=False).returncode == 0, word


@pytest.mark.parametrize("text", [STEERING, "plain.json", "a b", "", "it's", "\x1bAf", "é\t\u202e"])
def test_a_word_is_the_same_text_to_the_shell_and_safe_to_print(text):
    word = shell_word(text)
    assert word.isprintable()
    said = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert said.stdout == os.fsencode(text)
    if text.isprintable():
        assert word == shlex.quote(text)


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("abc", 100),
        ("", 100),
        ("0", 100),
        ("7", 40),
        ("-5", 100),
        ("80", 80),
        ("7" * 30, 100),
        ("²", 100),
    ],
)
def test_columns_that_are_no_width_are_not_taken(columns, width, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", columns)
    with (tmp_path / "x").open("w") as stream:
        assert style_of(stream).width == width


def test_a_table_names_rows_without_a_name():
    from trace_util.report.text import name_column, number_column

    told = table([name_column("op"), number_column("n")], [["", "1"], ["mm", "2"]])
    assert [columns_of(line) for line in told.splitlines()] == [14, 14, 14]
    assert told.splitlines()[1] == "  (no name)  1"
