"""The command line in odd surroundings."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trace_util import cli
from trace_util.cli import COMMANDS, main
from trace_util.standard_output import in_words

ROOT = Path(__file__).parents[1]
TRACE = "traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz"


def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m trace_util.cli {command}"
    return subprocess.run(
        ["sh", "-c", program], cwd=ROOT, env={**os.environ, **environment},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["summary", "explain", "check"])
def test_terminal_that_knows_only_ascii_gets_ascii(name):
    done = run(f"{name} {TRACE}", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0 and done.stdout.isascii()
    assert " us" in done.stdout and "?" not in done.stdout


def test_help_is_as_wide_as_the_terminal():
    def widest(columns: str) -> int:
        told = run("summary --help", COLUMNS=columns).stdout
        options = told.partition("options:")[2].partition("examples:")[0]
        return max(map(len, options.splitlines()))

    assert 40 < widest("60") <= 58 and 80 < widest("200") <= 198


def test_nothing_is_searched_for_cycles_at_the_end():
    program = (
        "import gc, sys; sys.argv[1:] = ['decode', 'x']; from trace_util.cli import main; main(); "
        "print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "True True"


def test_closed_output_is_no_error():
    done = run(f"summary {TRACE} >&-")
    assert done.returncode == 0 and "Traceback" not in done.stderr


def test_reader_that_leaves_is_no_error():
    done = run(f"summary {TRACE} | head -n 1")
    assert done.stdout.startswith("traces/recorded") and "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [f"summary {TRACE}", f"summary {TRACE} --json", "--help", "-V"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_takes_nothing_is_named(words, unbuffered):
    done = run(f"{words} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    errors = [line for line in done.stderr.splitlines() if not line.startswith("next: ")]
    assert (done.returncode, errors) == (1, ["error: standard output: No space left on device"])
    done = run(f"{words} | true", PYTHONUNBUFFERED=unbuffered)
    assert [line for line in done.stderr.splitlines() if not line.startswith("next: ")] == []


def test_output_of_the_caller_is_as_before(capsys):
    before = sys.stdout
    assert main(["--version"]) == 0
    assert sys.stdout is before and capsys.readouterr().out.startswith("trace-util ")


def test_file_that_cannot_be_opened_is_told_without_pythons_notation():
    error = FileNotFoundError(2, "No such file or directory", "a b.json")
    assert in_words(error) == "a b.json: No such file or directory"
    assert in_words(OSError("no network")) == "no network"


def test_package_runs_as_a_module():
    command = [sys.executable, "-m", "trace_util"]
    ran = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("trace-util ")
    ran = subprocess.run([*command, "summary"], capture_output=True, text=True)
    assert ran.returncode == 2 and ran.stderr.startswith("usage: trace-util summary ")


@pytest.mark.parametrize("name", COMMANDS)
def test_example_of_the_help_is_a_file_of_the_project(name):
    """Who has no GPU has recorded none of the names that a lesson gives its traces on one."""
    text = importlib.import_module(f"trace_util.commands.{name}").EXAMPLE + cli._usage()
    named = re.findall(r"(?<= )traces/\S+\.json\S*", text)
    assert named and all((ROOT / path).is_file() for path in named)


def test_unknown_command_is_one_line():
    done = run("nosuch")
    assert done.returncode == 2
    assert done.stderr == "error: nosuch: no such command or file; see trace-util --help\n"


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "nan", ""])
@pytest.mark.parametrize("option", ["summary --top", "explain --top", "summary --workers"])
def test_a_number_of_nothing_is_wrong_usage(option, number, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*option.split(), number, TRACE])
    assert caught.value.code == 2
    name = option.split()[1]
    said = f"argument {name}: {number!r}: give a whole number, 1 or more\n"
    assert capsys.readouterr().err.endswith(said)


@pytest.mark.parametrize(
    ("address", "package"),
    [("s3://b/x.json", "s3fs"), ("gs://b/x.json", "gcsfs"), ("https://a/x.json", "aiohttp")],
)
def test_an_address_names_the_package_that_it_needs(address, package, capsys, monkeypatch):
    pytest.importorskip("fsspec")
    for name in ("s3fs", "gcsfs", "aiohttp", "fsspec.implementations.http"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    assert main(["summary", address]) == 1
    said = f"error: {address}: reading from there needs the package {package}; "
    assert capsys.readouterr().err == f"{said}pip install {package}\n"
