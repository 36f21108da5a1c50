"""File names that hold bytes which are no text: what is printed as JSON still names the file."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from rank_traces import write_ranks

from trace_util.cli import main

RECORDED = Path(__file__).parents[1] / "traces" / "recorded" / "nvidia-h200" / "01_matmul"
NAME = os.fsdecode(b"bad\xff.json.gz")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has file names that are no text"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the same trace under an ordinary name and an odd one."""
    for name in ("good.json.gz", NAME):
        shutil.copy(RECORDED / "64_bf16_warm_eager.json.gz", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> object:
    assert main(list(arguments)) == 0
    out = capsys.readouterr().out
    out.encode("utf-8")  # as text it is whole, and so is what goes into a pipe
    return json.loads(out)


def files_in(value: object) -> set[str]:
    """Every text of a document that is the name of a file here."""
    if isinstance(value, dict):
        return set().union(*map(files_in, value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*map(files_in, value)) if value else set()
    return {value} if isinstance(value, str) and value and os.path.isfile(value) else set()


@pytest.mark.parametrize("command", ["summary", "explain", "check", "redact"])
def test_json_names_a_file_so_that_it_can_be_opened(command, folder, capsys):
    assert files_in(printed(capsys, command, "--json", NAME)) == {NAME}


@pytest.mark.parametrize("command", ["summary", "explain"])
def test_one_odd_name_in_a_folder_leaves_the_others_as_they_are(command, folder, capsys):
    both = printed(capsys, command, "--json", ".")
    assert isinstance(both, list) and len(both) == 2 and files_in(both) == {NAME, "good.json.gz"}
    odd, good = both
    assert {**odd, "file": good["file"]} == good


def test_both_sides_of_a_comparison_are_named(folder, capsys):
    found = printed(capsys, "compare", "--json", NAME, "good.json.gz")
    assert files_in(found) == {NAME, "good.json.gz"}


def test_facts_are_kept_of_the_others(folder, capsys):
    first = printed(capsys, "summary", "--json", ".", "--facts", "facts.jsonl")
    assert (folder / "facts.jsonl").read_bytes().count(b"\n") == 1
    assert printed(capsys, "summary", "--json", ".", "--facts", "facts.jsonl") == first


def test_a_rank_in_such_a_file_is_merged(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(write_ranks(tmp_path / "run", 2))
    Path("rank1.json").rename(NAME)
    told = printed(capsys, "merge", "--json", "rank0.json", NAME, "-o", "../job.json")
    assert files_in(told) == {"rank0.json", NAME, "../job.json"}
    ranks = json.loads(Path("../job.json").read_text("utf-8"))["merged"]["ranks"]
    assert [rank["file"] for rank in ranks] == ["rank0.json", "bad\\udcff.json.gz"]
    assert main(["summary", "../job.json"]) == 0


def test_a_kernel_that_is_no_text_is_decoded(capsys):
    (found,) = printed(capsys, "decode", "--json", os.fsdecode(b"gemm\xff"))
    assert found["raw"] == os.fsdecode(b"gemm\xff")
