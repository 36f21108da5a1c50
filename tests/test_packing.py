from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from trace_util.share import packing
from trace_util.share.packing import NotPossible, NotWanted, pack, pack_all
from trace_util.share.selection import Candidate

TRACE = '{"traceEvents": [{"ph": "X", "name": "aten::mm", "ts": 1, "dur": 2}]}'


def candidate(path: Path, relative: str = "") -> Candidate:
    return Candidate(path, str(path), relative or path.name, path.suffix == ".txt")


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies"


def test_a_copy_holds_what_the_file_holds(tmp_path, copies):
    path = tmp_path / "x.json"
    path.write_text(TRACE)
    packed = pack(candidate(path), copies, gzip=True, redact=False)
    assert packed.remote == "x.json.gz"
    assert gzip.decompress(packed.copy.read_bytes()) == TRACE.encode()
    assert packed.size_bytes == packed.copy.stat().st_size
    again = pack(candidate(path), copies, gzip=True, redact=False)
    assert again.copy != packed.copy and again.copy.read_bytes() == packed.copy.read_bytes()
    plain = pack(candidate(path), copies, gzip=False, redact=False)
    assert plain.remote == "x.json" and plain.copy.read_text() == TRACE


def test_a_file_that_vanished(tmp_path, copies):
    with pytest.raises(NotPossible, match="vanished before it could be read"):
        pack(candidate(tmp_path / "gone.json"), copies, gzip=True, redact=False)


def test_a_file_that_changed_while_it_was_read(tmp_path, copies, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text(TRACE)
    plain = packing.hashlib.sha256

    def appending():
        with path.open("a") as file:
            file.write(" ")
        return plain()

    monkeypatch.setattr(packing.hashlib, "sha256", appending)
    with pytest.raises(NotPossible, match="is still being written; send it once it is complete"):
        pack(candidate(path), copies, gzip=True, redact=False)


def test_a_copy_that_does_not_hold_what_was_read(tmp_path, copies, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text(TRACE)
    plain = packing.content.blocks
    monkeypatch.setattr(
        packing.content,
        "blocks",
        lambda copy: (block.replace(b'"dur": 2', b'"dur": 3') for block in plain(copy)),
    )
    with pytest.raises(NotPossible, match="does not hold what was read; is the disk sound"):
        pack(candidate(path), copies, gzip=True, redact=False)


def test_half_of_a_trace_wherever_it_is_cut(tmp_path, copies):
    path = tmp_path / "x.json"
    for end in range(1, len(TRACE)):
        path.write_text(TRACE[:end])
        with pytest.raises(NotWanted):
            pack(candidate(path), copies, gzip=True, redact=False)
    whole = gzip.compress(TRACE.encode())
    for end in range(2, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(NotWanted):
            pack(candidate(path), copies, gzip=True, redact=False)


def test_names_in_file_names_are_found_and_cleaned(tmp_path, copies):
    name = "turing-7_4711.1732900000000.pt.trace.json"
    path = tmp_path / name
    path.write_text(TRACE)
    packed = pack(candidate(path), copies, gzip=True, redact=False)
    assert packed.findings == (("host name", "the file's name", 1),)
    cleaned = pack(candidate(path), copies, gzip=True, redact=True)
    assert cleaned.findings == ()
    assert cleaned.remote == "redacted-host-name-1_4711.1732900000000.pt.trace.json.gz"


def test_a_redacted_copy_says_nothing_of_what_was_planted(tmp_path, copies):
    token = "hf_" + "x" * 34
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**json.loads(TRACE), "env": {"HF_TOKEN": token}}))
    assert pack(candidate(path), copies, gzip=True, redact=False).findings[0].kind == "secret"
    for packed in (True, False):
        one = pack(candidate(path), copies, gzip=packed, redact=True)
        data = one.copy.read_bytes()
        assert one.findings == () and (data[:2] == b"\x1f\x8b") is packed
        text = gzip.decompress(data) if packed else data
        assert token.encode() not in text
        assert json.loads(text)["traceEvents"] == json.loads(TRACE)["traceEvents"]


def test_what_cannot_be_packed_is_told_apart(tmp_path, copies):
    for name, text in (("a.json", TRACE), ("b.json", "{}"), ("a.txt", "table")):
        (tmp_path / name).write_text(text)
    files = [candidate(tmp_path / name) for name in ("a.json", "a.txt", "b.json", "gone.json")]
    found = pack_all(files, copies, prefix="p/", gzip=True, redact=False, quiet=True)
    assert [one.remote for one in found.packed] == ["p/a.json.gz", "p/a.txt"]
    assert [Path(one.shown).name for one in found.left_out] == ["b.json"]
    assert [Path(one.shown).name for one in found.failed] == ["gone.json"]


def test_a_secret_in_a_comment_is_found_and_no_cleaned_copy_is_made(tmp_path, copies):
    path = tmp_path / "x.json"
    path.write_text(TRACE.replace("{", "{/* hf_" + "x" * 34 + " */", 1))
    packed = pack(candidate(path), copies, gzip=True, redact=False)
    assert [one.kind for one in packed.findings] == ["secret"]
    with pytest.raises(NotPossible, match="cannot be cleaned: 1 x secret"):
        pack(candidate(path), copies, gzip=True, redact=True)
