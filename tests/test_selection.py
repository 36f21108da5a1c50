from __future__ import annotations

import os
from pathlib import Path

import pytest

from trace_util.events import TraceError
from trace_util.share.address import (
    bucket_name,
    file_address,
    file_url,
    folder_prefix,
)
from trace_util.share.selection import NOT_NAMED, Selection, select


def made(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")


def relative(selection: Selection) -> list[str]:
    return [candidate.relative for candidate in selection.files]


def reasons(selection: Selection) -> dict[str, str]:
    return {Path(shown).name: reason for shown, reason in selection.left_out}


def test_traces_and_their_tables_in_order_of_their_paths(tmp_path):
    made(
        tmp_path, "b/x.json", "a/x.json.gz", "a/x.txt", "b/x.json.txt", "a/y.txt", "c.pt.trace.json"
    )
    selection = select([tmp_path])
    assert relative(selection) == [
        "a/x.json.gz", "a/x.txt", "b/x.json", "b/x.json.txt", "c.pt.trace.json"
    ]  # fmt: skip
    assert [candidate.is_table for candidate in selection.files] == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert reasons(selection) == {"y.txt": "a text, but not the table of a trace here"}


def test_names_are_relative_to_what_the_paths_have_in_common(tmp_path):
    made(tmp_path, "t/a/x.json", "t/b/x.json", "t/b/y.json")
    one, two = tmp_path / "t" / "a" / "x.json", tmp_path / "t" / "b"
    assert relative(select([one])) == ["x.json"]
    assert relative(select([one, two])) == ["a/x.json", "b/x.json", "b/y.json"]
    assert relative(select([one], root=tmp_path / "t")) == ["a/x.json"]
    assert relative(select([two, two / "y.json"])) == ["x.json", "y.json"]
    with pytest.raises(TraceError, match="lies outside of"):
        select([one], root=two)


def test_a_relative_path_and_dots_are_understood(tmp_path, monkeypatch):
    made(tmp_path, "t/a/x.json")
    monkeypatch.chdir(tmp_path / "t")
    assert relative(select([Path(".")])) == ["a/x.json"]
    assert relative(select([Path("../t/a")])) == ["x.json"]
    assert select([Path("a")]).files[0].shown == "a/x.json"


def test_links_inside_are_followed_once_and_links_out_are_not(tmp_path):
    made(tmp_path, "t/a/x.json", "secret.json")
    os.symlink(tmp_path / "t" / "a" / "x.json", tmp_path / "t" / "in.json")
    os.symlink("../secret.json", tmp_path / "t" / "out.json")
    os.symlink(tmp_path / "t" / "none.json", tmp_path / "t" / "dangling.json")
    os.symlink(tmp_path / "t", tmp_path / "t" / "a" / "loop")
    os.symlink("circle_b.json", tmp_path / "t" / "circle_a.json")
    os.symlink("circle_a.json", tmp_path / "t" / "circle_b.json")
    os.symlink("self", tmp_path / "t" / "self")
    selection = select([tmp_path / "t"])
    assert relative(selection) == ["a/x.json", "in.json"]
    assert reasons(selection) == {
        "out.json": "a link that leads out of the folder",
        "dangling.json": "a link to nothing",
        "circle_a.json": "a link to nothing",
        "circle_b.json": "a link to nothing",
        "self": "a link to nothing",
        "loop": "a link to a folder, whose files go under their own names",
    }


def test_a_folder_that_is_a_link_is_walked(tmp_path):
    made(tmp_path, "real/x.json")
    os.symlink(tmp_path / "real", tmp_path / "traces")
    assert relative(select([tmp_path / "traces"])) == ["x.json"]
    assert relative(select([tmp_path / "traces" / "x.json"], root=tmp_path)) == ["real/x.json"]
    assert relative(select([tmp_path / "real" / "x.json"], root=tmp_path / "traces")) == ["x.json"]


def test_a_hidden_folder_is_one_line(tmp_path):
    made(tmp_path, ".git/a.json", ".git/b.json", "x.json")
    selection = select([tmp_path])
    assert relative(selection) == ["x.json"]
    assert reasons(selection) == {".git": "hidden"}


def test_recorded_traces_are_sent_where_their_folder_is_named(tmp_path):
    made(tmp_path, "t/recorded/h200/a.json", "t/recorded.json", "t/x/recorded/b.json")
    selection = select([tmp_path / "t"])
    assert relative(selection) == ["recorded.json"]
    assert reasons(selection) == {"recorded": NOT_NAMED}
    assert selection.apart == ("recorded/", "x/recorded/")
    assert relative(select([tmp_path / "t" / "recorded"])) == ["h200/a.json"]
    both = select([tmp_path / "t", tmp_path / "t" / "recorded"])
    assert relative(both) == ["recorded.json", "recorded/h200/a.json"]
    assert both.apart == ("x/recorded/",)


def test_names_that_a_terminal_or_a_bucket_would_misread_are_left_out(tmp_path):
    made(tmp_path, "a\x1b[31m.json", "b\\c.json", "good é #?&%.json", "line\nbreak.json")
    (tmp_path / os.fsdecode(b"\xff.json")).write_text("{}")
    selection = select([tmp_path])
    assert relative(selection) == ["good é #?&%.json"]
    shown = {Path(one.shown).name for one in selection.left_out}
    assert shown == {"a\\x1b[31m.json", "b\\c.json", "line\\nbreak.json", "\\udcff.json"}
    assert all("\x1b" not in one.shown and "\n" not in one.shown for one in selection.left_out)


def test_nothing_there_is_an_error(tmp_path):
    with pytest.raises(TraceError, match="none: no such file or folder"):
        select([tmp_path / "none"])


def test_bucket_names():
    assert bucket_name("traces") == (None, "traces")
    assert bucket_name("traces", "team") == ("team", "traces")
    assert bucket_name("team/traces", "team") == ("team", "traces")
    assert bucket_name("hf://buckets/team/a_b.c-d/") == ("team", "a_b.c-d")


def test_folders_in_the_bucket():
    assert folder_prefix("") == folder_prefix("/") == ""
    assert folder_prefix("/h200//today") == "h200/today/"
    for bad in ("..", "a/../b", "./a", "a\nb"):
        with pytest.raises(TraceError, match="not a folder in a bucket"):
            folder_prefix(bad)


def test_addresses_of_files_go_both_ways():
    path = "02 linear/run #1 50%?a&b é.json"
    address = file_address(f"hf://buckets/ada/traces/{path}")
    assert address == ("ada/traces", path)
    assert str(address) == f"hf://buckets/ada/traces/{path}"
    url = file_url("https://huggingface.co", *address)
    assert url.startswith(
        "https://huggingface.co/buckets/ada/traces/resolve/02%20linear/run%20%231"
    )
    assert file_address(url) == address
    for bad in (
        "hf://buckets/ada/traces", "hf://buckets/ada/traces/", "hf://buckets//x/y",
        "hf://buckets/ada/traces/../x", "https://huggingface.co/ada/traces", "x.json", "",
        "https://huggingface.co/buckets/ada/traces/resolve/..%2Fx",
    ):  # fmt: skip
        with pytest.raises(TraceError):
            file_address(bad)
