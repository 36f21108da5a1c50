"""Figures and reports replace their like, and nothing else without being told to."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import RECORDED

from trace_util.cli import main

EAGER = str(RECORDED / "nvidia-h200" / "02_linear" / "1024_32_64_eager.json.gz")
WAYS = [("plot", "x.svg", "figure"), ("report", "x.html", "report")]
FOREIGN = [
    b"<svg><!-- drawn for hours --></svg>",
    b"<html>a page</html>",
    b"\x89PNG\r\n\x1a\n",
    b"x",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("content", FOREIGN, ids=repr)
@pytest.mark.parametrize(("command", "name", "what"), WAYS)
def test_a_file_of_another_origin_is_kept(command, name, what, content, folder, capsys):
    (folder / name).write_bytes(content)
    assert main([command, EAGER, "-o", name]) == 1
    assert (folder / name).read_bytes() == content
    said = f"{name}: is there already and no {what} of trace-util; name another file or add --force"
    assert capsys.readouterr().err == f"error: {said}\n"
    assert main([command, EAGER, "-o", name, "--force"]) == 0
    assert (folder / name).read_bytes() != content


@pytest.mark.parametrize(("command", "name", "what"), WAYS)
@pytest.mark.parametrize("begin", [None, b""])
def test_its_own_earlier_file_and_an_empty_one_are_replaced(command, name, what, begin, folder):
    other = EAGER.replace("eager", "compile")
    if begin is None:
        assert main([command, other, "-o", name]) == 0
    else:
        (folder / name).write_bytes(begin)
    before = (folder / name).read_bytes()
    assert main([command, EAGER, "-o", name]) == 0
    assert (folder / name).read_bytes() != before


def test_a_png_is_known_again(folder):
    pytest.importorskip("matplotlib")
    for trace in (EAGER.replace("eager", "compile"), EAGER):
        assert main(["plot", trace, "-o", "x.png"]) == 0


def test_one_kind_does_not_replace_the_other(folder):
    """A report holds a figure, and a page may be called anything."""
    assert main(["report", EAGER, "-o", "x.html"]) == 0
    (folder / "x.html").rename(folder / "x.svg")
    assert main(["plot", EAGER, "-o", "x.svg"]) == 1


def test_all_figures_of_the_lessons_are_known_again():
    from trace_util.report.replacing import is_figure

    figures = sorted((RECORDED.parents[1] / "lessons" / "figures").glob("*.svg"))
    assert figures and all(map(is_figure, figures))
