"""The book: each command prints what the page says, each number is one that a command printed."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from lessons import pages, refresh  # noqa: E402
from trace_util.plot.scene import Label  # noqa: E402

TEXTS = {page.name: page.read_text(encoding="utf-8") for page in pages.PAGES}
SCRIPTS = {
    "01-matmul.md": "01_matmul.py",
    "02-linear.md": "02_linear.py",
    "03-simple-mlp.md": "03_simple_mlp.py",
    "03-kernels-mlp.md": "03_kernels_mlp.py",
    "05-parallel-mlp.md": "05_parallel_mlp.py",
}
STARTS = {"05-parallel-mlp.md": "torchrun --nproc_per_node 2"}  # the others': python
COMMANDS = [
    pytest.param(command, id=f"{name}:{command.first}")
    for name, text in TEXTS.items()
    for command in pages.commands(text)
]
FIGURES = [one for one in COMMANDS if one.values[0].figure is not None]
SPACE = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("command", [one for one in COMMANDS if one not in FIGURES])
def test_command_prints_what_the_page_says(command: pages.Command) -> None:
    said = _without_end(command.printed)
    assert list(pages.output_of(command)) == said, "python lessons/refresh.py brings it up to date"


@pytest.mark.parametrize("name", TEXTS)
def test_every_number_is_printed_by_a_command_of_its_section(name: str) -> None:
    assert [(one.line + 1, one.text) for one in pages.unproved(TEXTS[name])] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_name_in_code_letters_is_in_an_output_or_the_script(name: str) -> None:
    text = TEXTS[name]
    known = (ROOT / SCRIPTS[name]).read_text(encoding="utf-8")
    for command in pages.commands(text):
        known += "\n".join((command.text, *command.printed, ""))
    known += "\n".join(pages.reader_commands(text))
    known += svg_texts(text)
    told = {one.text for one in pages.spoken_names(text)}
    allowed = {"…_tn_align8"}  # the published guide's
    unknown = {one for one in told - allowed if one not in known and not is_callable(one)}
    assert unknown == set()


def svg_texts(text: str) -> str:
    figures = [one.figure for one in pages.commands(text) if one.figure]
    return "\n".join(path.read_text(encoding="utf-8") for path in figures)


def is_callable(name: str) -> bool:
    """Whether torch has it: ``torch.compile``, ``torch.profiler``, ``nn.Linear``."""
    import torch

    found: Any = {"torch": torch, "nn": torch.nn}.get(name.split(".")[0])
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None


@pytest.mark.parametrize("command", FIGURES)
def test_figure_can_be_drawn_again(command: pages.Command, tmp_path: Path) -> None:
    assert command.figure is not None
    words = command.words
    words[words.index("-o") + 1] = str(tmp_path / "again.svg")
    again = pages.Command(
        shlex.join(words), command.variables, command.printed, command.first, command.last,
        command.section,
    )  # fmt: skip
    path, *table = pages.output_of(again)
    assert path == str(tmp_path / "again.svg")
    assert table == _without_end(command.printed[1:]), "a sweep is printed as a table too"
    old, new = (ElementTree.parse(path) for path in (command.figure, tmp_path / "again.svg"))
    assert texts_of(old) == texts_of(new)
    assert shapes_of(old) == shapes_of(new)
    lanes = [text for role, text in texts_of(new) if role == "lane"]
    if table:
        assert lanes == ["µs a step", "TFLOP/s"]
    else:
        assert lanes[:2] == ["steps", "CPU"]
        launched = any(text.startswith("GPU") for text in lanes)
        on_cpu = any("/cpu" in word for word in command.words)
        assert launched != on_cpu
    assert overlaps_in(new) == []


def _without_end(lines: tuple[str, ...]) -> list[str]:
    """The lines of an output without the blank ones that end it."""
    return "\n".join(lines).rstrip("\n").split("\n") if any(lines) else []


def texts_of(tree: Any) -> list[tuple[str, str]]:
    return [(e.get("data-role"), e.text) for e in tree.getroot().iter(f"{SPACE}text")]


def shapes_of(tree: Any) -> Counter[str]:
    marked = (e.get("class") or e.get("data-paint") for e in tree.getroot().iter())
    return Counter(mark for mark in marked if mark)


def overlaps_in(tree: Any) -> list[tuple[str, str]]:
    anchors = {"m": "middle", "e": "end"}
    labels = []
    for e in tree.getroot().iter(f"{SPACE}text"):
        classes = e.get("class").split()
        anchor = next((anchors[c] for c in classes if c in anchors), "start")
        x, y, size = (float(e.get(key)) for key in ("x", "y", "font-size"))
        labels.append(Label(x, y, e.text, size, classes[0], anchor, "b" in classes))
    return [(a.text, b.text) for a, b in combinations(labels, 2) if a.bounds.meets(b.bounds)]


@pytest.mark.parametrize("name", TEXTS)
def test_links_and_figures_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", TEXTS[name])
    assert all((ROOT / "lessons" / link).exists() for link in links)
    drawn = [one.figure for one in pages.commands(TEXTS[name]) if one.figure]
    shown = [ROOT / "lessons" / link for link in links if link.endswith(".svg")]
    assert shown == drawn, "each has its command below"


def test_every_figure_is_on_a_page() -> None:
    kept = {path.name for path in (ROOT / "lessons/figures").glob("*.svg")}
    assert kept <= {
        name for text in TEXTS.values() for name in re.findall(r"figures/([^)\s]+)", text)
    }


def words_of(command: str) -> tuple[str, list[str]]:
    """What starts the script, and the words from its name on."""
    words = shlex.split(command)
    at = next(i for i, word in enumerate(words) if word.endswith(".py"))
    return shlex.join(words[:at]), words[at:]


@pytest.mark.parametrize("name", SCRIPTS)
def test_commands_for_the_readers_gpu_are_ones_that_the_script_takes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trace_util import record

    class Parsed(Exception):
        pass

    def begin(*_: Any, **run: Any) -> NoReturn:
        raise Parsed(run["tag"])

    for variable, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(record, "begin", begin)
    monkeypatch.setattr(record, "interpretable", lambda _, flags: flags)
    asked = [one for one in pages.reader_commands(TEXTS[name]) if ".py" in one]
    assert len(asked) >= 2
    tags = set()
    for command in asked:
        start, (script, *flags) = words_of(command)
        assert (start, script) == (STARTS.get(name, "python"), SCRIPTS[name])
        monkeypatch.setattr(sys, "argv", [script, *flags])
        with pytest.raises(Parsed) as tag:
            runpy.run_path(str(ROOT / script))
        tags.add(str(tag.value))
    words = [word for one in pages.commands(TEXTS[name]) for word in one.words]
    own = {
        re.sub(r"^cpu_|_rank[\d*]+$", "", Path(word).name.removesuffix(".json.gz"))
        for word in words
        if word.endswith(".json.gz") and Path(word).parent.name == Path(SCRIPTS[name]).stem
    }
    assert own <= tags, "each trace that the page reads is one that its reader can record"


@pytest.mark.parametrize("name", TEXTS)
def test_no_pipe_hides_an_exit_code_that_the_page_speaks_of(name: str) -> None:
    speaks = {section for _, section, line in pages._prose(TEXTS[name]) if "exit code" in line}
    piped = [one.text for one in pages.commands(TEXTS[name]) if " | " in one.text]
    there = [one.text for one in pages.commands(TEXTS[name]) if one.section in speaks]
    assert [text for text in there if text in piped] == []


PAGE = """# A page

Busy for 8.64 µs, see `Step#2` of an H200.

## Part

Here it is 5 and 1,024.

```console
$ T=traces/recorded/nvidia-h200/02_linear
$ trace-util check $T/1024_32_64_eager.json.gz --guess kernels_per_step=5 | tail -n 1
  wrong    kernels_per_step: guessed 5, is 1
```

| | A100 (the guide) | H200 |
|---|---|---|
| kernels | 77 | 1 |
"""


def test_a_number_that_no_command_of_its_section_prints_is_found() -> None:
    assert [one.text for one in pages.unproved(PAGE)] == ["8.64", "1,024"]
    (command,) = pages.commands(PAGE)
    assert command.section == 1
    assert command.words[-1] == "kernels_per_step=5"
    assert pages.output_of(command) == command.printed


def test_refresh_brings_outputs_and_the_numbers_of_the_prose_up_to_date() -> None:
    drifted = PAGE.replace("is 1\n", "is 9\n").replace("| 1 |", "| 9 |")
    again, left = refresh.refreshed(drifted)
    assert again == PAGE
    assert left == [
        "line 3: 8.64 is in no output of its section",
        "line 7: 1,024 is in no output of its section",
    ]


def test_pages_hold_their_conventions() -> None:
    for name, text in TEXTS.items():
        assert text.count("```") % 2 == 0, name
        too_long = [
            line for at, _, line in pages._prose(text) if len(line) > 100 and "|" not in line
        ]
        assert too_long == [], name
        assert not re.search(r"(/work|/tmp|/root|/home)\b", text), name
