"""The README: its outputs are today's, its commands are real, its links lead somewhere."""

from __future__ import annotations

import argparse
import importlib
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from lessons import pages
from trace_util import cli, record

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = pages.commands(README)
READERS = [line for line in pages.reader_commands(README) if "&&" not in line]


class Parsed(Exception):
    """The flags were read; the lesson itself is not run here."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words[1])
def test_output_is_what_the_command_prints(command: pages.Command) -> None:
    printed = [line.rstrip() for line in command.printed]
    while printed and not printed[-1]:
        printed.pop()
    assert tuple(printed) == pages.output_of(command)


@pytest.mark.parametrize("line", [line for line in READERS if ".py" in line])
def test_lesson_command_has_real_flags(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line)
    script = next(word for word in words if word.endswith(".py"))
    environment = {"RANK": "0", "WORLD_SIZE": "2"} if words[0] == "torchrun" else {}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def begin(*_: object, **__: object) -> None:
        raise Parsed

    monkeypatch.setattr(record, "begin", begin)
    monkeypatch.setattr(sys, "argv", words[words.index(script) :])
    with pytest.raises(Parsed):
        runpy.run_path(str(ROOT / script))


def test_python_prints_what_stands_behind_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (program,) = (
        code
        for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        if "from trace_util import" in code
    )
    exec(compile(program, "README.md", "exec"), {})
    said = re.findall(r"^print\(.*\)  # (.*)$", program, re.MULTILINE)
    assert len(said) == program.count("print(") > 0
    assert capsys.readouterr().out.splitlines() == said


def test_two_commands_are_those_of_the_ci_script() -> None:
    for command in ("02_linear.py", "pytest"):
        uv = "python3 -m venv .uv && .uv/bin/pip install -q uv && .uv/bin/uv run"
        assert f"\n{uv} {command} " in README
    assert "\nuv run pytest\n" in (ROOT / ".ci" / "run").read_text()


def test_every_command_is_in_the_table_and_exists() -> None:
    table = README[README.index("## The tool") : README.index("## How to open")]
    for name in cli.COMMANDS:
        assert re.search(rf"\b{name}\b", table), name
        importlib.import_module(f"trace_util.commands.{name}")


def test_what_the_table_says_can_be_typed() -> None:
    table = README[README.index("## The tool") : README.index("## How to open")]
    told = re.findall(r"^\| `trace-util ([^`]+)`", table, re.MULTILINE)
    assert {line.split()[0] for line in told} == set(cli.COMMANDS)
    for line in told:
        name, *words = line.replace("…", "").replace("[", "").replace("]", "").split()
        parser = argparse.ArgumentParser(exit_on_error=False)
        importlib.import_module(f"trace_util.commands.{name}").add_arguments(parser)
        parser.parse_args(words)


def test_exit_codes_are_those_of_the_help() -> None:
    assert f"Exit codes: {cli.EXIT_CODES}." in " ".join(README.split())


def test_every_lesson_is_in_the_table() -> None:
    scripts = {path.name for path in ROOT.glob("0*.py")}
    assert scripts == set(re.findall(r"^\| `(\d\d_\w+\.py)`", README, re.MULTILINE))


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
