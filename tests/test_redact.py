from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trace_util import content
from trace_util.cli import main
from trace_util.events import TraceError
from trace_util.exposure import findings_of, has_secrets
from trace_util.redact import redact_trace

TOKEN = "hf_" + "x" * 34
PLANTED = [TOKEN, "gpu-box-17", "ada.lovelace", "carol1", "hunter2xyz", "my project", "nightly-run"]


EXACT = "1712195495519761.132"  # more digits than a float holds


def planted_trace() -> dict:
    return {
        "schemaVersion": 1,
        "metadata": {
            "system": {
                "env": {"HF_TOKEN": TOKEN, "LS": {"COLORS": ["a", "b"]}, "EMPTY": ""},
                "hostname": "gpu-box-17",
                "argv": ["python", "train.py", "--password", "hunter2xyz"],
            },
            "env": {},
            "after": "an empty environment",
        },
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "ts": 0,
             "args": {"name": "python /home/ada.lovelace/my project/train.py on gpu-box-17"}},
            {"ph": "X", "cat": "python_function", "pid": 1, "tid": 2, "ts": 10.001, "dur": 2.5,
             "name": "/home/ada.lovelace/my project/net.py(33): forward",
             "args": {"Call stack": "/home/ada.lovelace/my project/a.py(1): f"}},
            {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 2, "ts": 4242, "dur": 1,
             "name": "aten::mm", "args": {"External id": 7, "note": "by ada.lovelace"}},
            {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 12, "dur": 5.25, "name": "gemm",
             "args": {"correlation": 1, "grid": [1, 2, 3], "owner": "carol1"}},
            {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 2, "ts": 9, "dur": 9,
             "name": "run of carol1 with " + TOKEN, "args": {}},
        ],
        "tw_job": "nightly-run",
        "traceName": "/home/ada.lovelace/my project/x.json",
    }  # fmt: skip


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    path = tmp_path / "planted.json"
    path.write_text(json.dumps(planted_trace()).replace("4242", EXACT))
    return path


def shape_of(value: object) -> object:
    """A value with every string reduced to "s": what may not change."""
    if isinstance(value, str):
        return "s"
    if isinstance(value, list):
        return [shape_of(item) for item in value]
    if isinstance(value, dict):
        return [("s", shape_of(item)) for item in value.values()]
    return value


def events_of(document: dict) -> list:
    keys = ("ph", "cat", "pid", "tid", "ts", "dur")
    return [[event.get(key) for key in keys] for event in document["traceEvents"]]


def test_no_planted_value_is_left_and_events_are_the_same(planted, tmp_path):
    redaction = redact_trace(planted, tmp_path / "clean.json", names={})
    clean = json.loads((tmp_path / "clean.json").read_text())
    text = json.dumps(clean, ensure_ascii=False)
    assert [value for value in PLANTED if value in text] == []
    assert events_of(clean) == events_of(json.loads(planted.read_text()))
    assert shape_of(clean) == shape_of(json.loads(planted.read_text()))
    assert redaction.strings_changed == sum(
        a != b for a, b in zip(strings_in(planted_trace()), strings_in(clean), strict=True)
    )
    assert clean["metadata"]["after"] == "an empty environment"


def strings_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in strings_in(item)]
    if isinstance(value, dict):
        return [t for key, item in value.items() for t in (key, *strings_in(item))]
    return []


def test_numbers_are_copied_as_they_were_written(planted, tmp_path):
    redact_trace(planted, tmp_path / "clean.json", names={})
    outside = re.compile(r'"(?:[^"\\]|\\.)*"')
    before, after = planted.read_text(), (tmp_path / "clean.json").read_text()
    assert outside.sub("", before) == outside.sub("", after)
    assert EXACT in after


def test_names_stay_apart_and_keep_the_function(planted, tmp_path):
    redact_trace(planted, tmp_path / "clean.json", names={})
    clean = json.loads((tmp_path / "clean.json").read_text())
    frame = clean["traceEvents"][1]
    assert re.fullmatch(r"redacted-path-\d+/net\.py\(33\): forward", frame["name"])
    assert frame["args"]["Call stack"].endswith("/a.py(1): f")
    assert frame["name"].split("/")[0] == frame["args"]["Call stack"].split("/")[0]
    assert clean["traceEvents"][2]["name"] == "aten::mm"
    assert clean["traceEvents"][2]["args"]["note"] == "by redacted-user-name-1"


def test_findings_name_kinds_and_places_and_no_value(planted):
    findings = findings_of(planted, names={})
    assert has_secrets(findings)
    assert findings[0] == ("secret", '"HF_TOKEN"', 1)
    assert ("host name", '"hostname"', 1) in findings
    assert ("secret", '"argv"', 1) in findings  # what follows "--password"
    assert ("path", '"name"', 2) in findings
    assert not any(value in str(findings) for value in PLANTED)


def test_a_name_of_this_machine_is_found_anywhere(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"traceEvents": [{"ph": "X", "name": "step on turing-7", "ts": 1, "dur": 1}]}')
    assert findings_of(path, names={}) == ()
    assert findings_of(path, names={"turing-7": "host name"}) == (("host name", '"name"', 1),)
    assert findings_of(path, names={"turing": "user name"}) == (("user name", '"name"', 1),)
    assert findings_of(path, names={"tur": "user name"}) == ()


def test_an_op_is_no_person(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"user": "gelu", "traceEvents": [{"ph": "X", "name": "aten::gelu"}]}')
    redact_trace(path, tmp_path / "clean.json", names={})
    clean = json.loads((tmp_path / "clean.json").read_text())
    assert clean["traceEvents"][0]["name"] == "aten::gelu"
    assert clean["user"] == "redacted-user-name-1"


def test_escaped_values_are_found(tmp_path):
    path = tmp_path / "x.json"
    hidden = "".join(f"\\u{ord(c):04x}" for c in TOKEN)
    path.write_text('{"traceEvents": [{"ph": "X", "name": "' + hidden + '", "ts": 1, "dur": 1}]}')
    assert has_secrets(findings_of(path, names={}))
    redact_trace(path, tmp_path / "clean.json", names={})
    assert TOKEN not in json.dumps(json.loads((tmp_path / "clean.json").read_text()))


def test_what_a_string_holds_is_cleaned_as_members_are(tmp_path, capsys):
    path, clean = tmp_path / "x.json", tmp_path / "clean.json"
    config = {"env": {"SHELL_LEVEL": "two"}, "password": "hunter2", "hostname": "turing-7"}
    held = {
        "cfg": json.dumps({"n": 3, **config}),
        "opts": "password=hunter3;user=alan-t",
        "url": "https://x.example/y?token=hunter4hunter",
        "note": "t.py --user alan-s --password=hunter5",
        "list": ["--token", "hunter6", "kept"],
    }
    path.write_text(json.dumps({**held, "traceEvents": [{"ph": "X", "name": "turing-7 f"}]}))
    redact_trace(path, clean, names={})
    text = clean.read_text()
    assert all(f"hunter{n}" not in text for n in range(2, 7))
    assert all(word not in text for word in ("turing", "two", "alan", "SHELL_LEVEL"))
    after = json.loads(text)
    assert json.loads(after["cfg"])["n"] == 3 and after["list"][2] == "kept"
    assert after["traceEvents"][0]["name"] == json.loads(after["cfg"])["hostname"] + " f"
    for member, value in held.items():
        path.write_text(json.dumps({member: value, "traceEvents": []}))
        assert has_secrets(findings_of(path, names={})), member


@pytest.mark.parametrize(
    "held",
    [
        {"email": [{"secret": "'"}]},  # too short for a secret, and in a list of what is to go
        {"env": {"path": {"cwd": {"secret": "x"}}}},
        {"cfg": json.dumps({"api_key": {"password": {"password": "{", "x": "alan-t"}}})},
        {"cfg": json.dumps({"job_id": [{"name": "alan-t"}, ["x"]]})},
        {"a": {"password": {"password": "hunter2x"}}, "b": [{"password": "1"}]},
    ],
)
def test_names_of_members_within_what_is_to_go_are_not_searched_for(held, tmp_path):
    path, clean = tmp_path / "x.json", tmp_path / "clean.json"
    path.write_text(json.dumps({**held, "traceEvents": [{"ph": "X", "name": "password f"}]}))
    redact_trace(path, clean, names={})  # which proves that nothing is left
    assert json.loads(clean.read_text())["traceEvents"][0]["name"] == "password f"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from(["HF_TOKEN", "x", "env", "argv", "host", "n", "user"]), max_size=4),
    st.sampled_from(["{}", "by {}", "/home/turing-7/a b/{}.py(3): f", 'say "{}"\\', "ümläut {}"]),
    st.integers(1, 64),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_a_token_at_any_depth_is_found_and_goes(tmp_path, keys, around, size, escaped, indent):
    value: object = [around.format(TOKEN), {"k": 1.25}, "plain"]
    for key in keys:
        value = {"before": {"env": []}, key: value, "after": "kept as it is"}
    path, clean = tmp_path / "x.json", tmp_path / "clean.json"
    path.write_text(json.dumps({"d": value}, ensure_ascii=escaped, indent=indent), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "BLOCK_BYTES", size)
        assert has_secrets(findings_of(path, names={}))
        redact_trace(path, clean, names={})
        assert findings_of(clean, names={}) == ()
    after = json.loads(clean.read_text("utf-8"))
    assert TOKEN not in json.dumps(after) and "turing-7" not in json.dumps(after)
    assert shape_of(after) == shape_of({"d": value})
    if not {"env", "argv", "HF_TOKEN"} & set(keys):
        assert strings_in(after).count("kept as it is") == len(keys)


def test_a_copy_that_differs_is_not_kept(planted, tmp_path, monkeypatch):
    def write_and_lose_an_event(target, blocks):
        target.write_bytes(b"".join(blocks).replace(b'"ts": 12', b'"ts": 13'))

    monkeypatch.setattr(content, "write_atomically", write_and_lose_an_event)
    with pytest.raises(TraceError, match="came out different"):
        redact_trace(planted, tmp_path / "clean.json", names={})
    assert not (tmp_path / "clean.json").exists()


def test_a_copy_that_still_gives_away_is_not_kept(planted, tmp_path, monkeypatch):
    def write_and_leak(target, blocks):
        target.write_bytes(b"".join(blocks).replace(b"redacted-secret-1", TOKEN.encode()))

    monkeypatch.setattr(content, "write_atomically", write_and_leak)
    with pytest.raises(TraceError, match="could not be cleaned") as caught:
        redact_trace(planted, tmp_path / "clean.json", names={})
    assert TOKEN not in str(caught.value)
    assert not (tmp_path / "clean.json").exists()


def test_the_copy_is_gzipped_by_its_name_and_always_the_same(planted, tmp_path):
    redact_trace(planted, tmp_path / "a.json.gz", names={})
    redact_trace(planted, tmp_path / "b.json.gz", names={})
    redact_trace(planted, tmp_path / "c.json", names={})
    packed = (tmp_path / "a.json.gz").read_bytes()
    assert packed == (tmp_path / "b.json.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "c.json").read_bytes()


def test_a_clean_trace_is_copied_byte_for_byte(shared_traces, tmp_path):
    source = shared_traces / "h200" / "03_eager.json.gz"
    redaction = redact_trace(source, tmp_path / "copy.json", names={})
    assert redaction.findings == () and redaction.strings_changed == 0
    assert (tmp_path / "copy.json").read_bytes() == gzip.decompress(source.read_bytes())


def test_real_traces_with_stacks_come_out_clean(shared_traces, tmp_path):
    source = shared_traces / "a100-triton.json.gz"
    assert findings_of(source, names={}) == (("path", '"kernel_file"', 1),)
    redact_trace(source, tmp_path / "clean.json", names={})
    assert findings_of(tmp_path / "clean.json", names={}) == ()
    before = json.loads(gzip.decompress(source.read_bytes()))
    after = json.loads((tmp_path / "clean.json").read_text())
    assert shape_of(after) == shape_of(before)
    assert [e.get("name") for e in after["traceEvents"]] == [
        e.get("name") for e in before["traceEvents"]
    ]


def test_a_table_is_cleaned_as_text(tmp_path):
    table = tmp_path / "x.txt"
    table.write_text(f"Name  Source\naten::mm  /home/ada/net.py(3): f\nby ada1 {TOKEN}\n")
    redaction = redact_trace(table, tmp_path / "clean.txt", names={"ada1": "user name"})
    assert {finding.kind for finding in redaction.findings} == {"path", "secret", "user name"}
    assert (tmp_path / "clean.txt").read_text() == (
        "Name  Source\naten::mm  redacted-path-1/net.py(3): f\n"
        "by redacted-user-name-1 redacted-secret-1\n"
    )


def test_command_reports_without_an_output_and_refuses_to_overwrite(planted, tmp_path, capsys):
    assert main(["redact", str(planted)]) == 0
    out = capsys.readouterr().out
    assert '1 x secret under "HF_TOKEN"' in out
    assert not any(value in out for value in PLANTED)
    clean = tmp_path / "clean.json"
    assert main(["redact", str(planted), str(clean)]) == 0
    assert "everything outside of strings is the same" in capsys.readouterr().err
    assert main(["redact", str(planted), str(clean)]) == 1
    assert capsys.readouterr().err == f"error: {clean}: is there already; " + (
        "name another file or add --force\n"
    )
    assert main(["redact", str(planted), str(planted), "--force"]) == 2
    assert "is the trace itself" in capsys.readouterr().err
    assert main(["redact", str(planted), str(clean), "--force", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"][0] == {"kind": "secret", "where": '"HF_TOKEN"', "times": 1}
    assert document["strings_changed"] > 0
    assert main(["redact", str(tmp_path / "none.json")]) == 1
    said = f"error: {tmp_path / 'none.json'}: No such file or directory\n"
    assert capsys.readouterr().err == said


def test_the_last_member_of_a_file_is_named_too(tmp_path):
    path = tmp_path / "last.json"
    path.write_text(json.dumps({"traceEvents": [], "hostname": "box7", "user": "joe1"}))
    assert [(one.kind, one.where) for one in findings_of(path, {})] == [
        ("host name", '"hostname"'),
        ("user name", '"user"'),
    ]
    path.write_text(json.dumps(["box7", "joe1", TOKEN]))
    assert [one.where for one in findings_of(path, {})] == ["a list"]


@pytest.mark.parametrize(
    "member",
    [
        {"cmd": f"python train.py --token {TOKEN}"},
        {"command": f"python 02_linear.py --token {TOKEN}"},
        {"host": f"box:{TOKEN}"},
        {"cwd": f"/home/ada/{TOKEN}"},
        {"argv": ["train.py", TOKEN]},
        {"env": {"note": f"is {TOKEN}"}},
    ],
    ids=lambda member: next(iter(member)),
)
def test_a_token_is_a_secret_whatever_the_member_that_holds_it(member, tmp_path):
    path = tmp_path / "told.json"
    path.write_text(json.dumps({"metadata": member, "traceEvents": []}))
    assert has_secrets(findings_of(path, {}))
    redact_trace(path, tmp_path / "clean.json", {})
    assert TOKEN not in (tmp_path / "clean.json").read_text()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (b"", "an empty file"),
        (b"<!doctype html><title>Sign in</title>", "an HTML page"),
        (b'"x"', "JSON, but no trace"),
        (b"null", "JSON, but no trace"),
        (bytes(range(256)), "a binary file of an unknown kind"),
        (b'{"ph": 1}', "JSON, but no trace"),
    ],
    ids=lambda value: repr(value)[:20],
)
@pytest.mark.parametrize("out", [[], ["out.json"]])
def test_what_is_no_trace_is_not_called_clean(content, what, out, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("in.json").write_bytes(content)
    assert main(["redact", "in.json", *out]) == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(f"error: in.json: {what}")
    assert not Path("out.json").exists()


EVENT = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
BARE = "hf_" + "Q" * 34
# <T> stands for the token, <E> for an event.
OUTSIDE = {
    "a string that never closes": '{"traceEvents": [<E>, {"ph": "X", "name": "<T>',
    "an escape in it": '{"traceEvents": [<E>, {"name": "\\u0068f_<REST>',
    "behind the trace": '{"traceEvents": [<E>]}\nexport t=<T>',
    "unquoted": '{"x": <T>, "traceEvents": [<E>]}',
    "single quotes": "{'x': '<T>', \"traceEvents\": [<E>]}",
    "a comment": '{/* <T> */"traceEvents": [<E>]}',
    "an unquoted value of a telling name": '{"password": hunter2, "traceEvents": [<E>]}',
}


def _filled(text: str) -> str:
    return text.replace("<REST>", BARE[3:]).replace("<T>", BARE).replace("<E>", EVENT)


@pytest.mark.parametrize("padding", [0, (1 << 20) - 120])  # the second lets a block end near it
@pytest.mark.parametrize("text", OUTSIDE.values(), ids=OUTSIDE)
def test_a_secret_outside_of_strings_is_found_and_never_copied(text, padding, tmp_path, capsys):
    path, copy = tmp_path / "x.json", tmp_path / "copy.json"
    path.write_text(" " * padding + _filled(text))
    assert main(["redact", str(path)]) == 0
    said = capsys.readouterr().out
    assert "secret under text outside of quotes" in said and "nothing away" not in said
    assert main(["redact", str(path), str(copy)]) == 1
    told = capsys.readouterr().err
    assert "cannot be cleaned: 1 x secret in text outside of quotes" in told and BARE not in told
    assert not copy.exists()


@pytest.mark.parametrize(
    ("encode", "what"),
    [
        (lambda text: text.encode("utf-16"), "UTF-16 text"),
        (lambda text: gzip.compress(gzip.compress(text.encode())), "gzip within gzip"),
    ],
)
def test_bytes_that_hide_strings_are_refused(encode, what, tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_bytes(encode(json.dumps(planted_trace())))
    for arguments in ([], [str(tmp_path / "copy.json")]):
        assert main(["redact", str(path), *arguments]) == 1
        assert what in capsys.readouterr().err
    assert not (tmp_path / "copy.json").exists()


def test_odd_numbers_and_constants_are_nothing_outside(tmp_path):
    path = tmp_path / "x.json"
    odd = f'{{"a": NaN, "b": [-Infinity, 1E-5, true, false, null], "traceEvents": [{EVENT}]}}\n'
    path.write_text(odd)
    assert redact_trace(path, tmp_path / "copy.json", names={}).findings == ()


def test_a_copy_whose_proof_is_interrupted_is_not_kept(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    source = tmp_path / "t.json"
    source.write_text(json.dumps(planted_trace()))
    monkeypatch.setattr("trace_util.redact._prove", interrupted)
    with pytest.raises(KeyboardInterrupt):
        redact_trace(source, tmp_path / "clean.json")
    assert not (tmp_path / "clean.json").exists()


# What a member holds, and what numbers are left of it; nothing here is anybody's secret.
NUMBERS = [
    ({"password": 12345678}, [0]),
    ({"api_key": -4242.5}, [0]),
    ({"hf_token": 987654321}, [0]),
    ({"secret": [1234, 5, [6789.5], True]}, [0, 5, 0]),
    ({"passwords": {"num": {"n": 12345}, "a": 1}, "b": 4321}, [0, 1, 4321]),
    ({"env": {"note": 80801, "DB_PASSWORD": 112233}}, [80801, 0]),
    ({"token": [31415926, 50256]}, [0, 50256]),
]
INNOCENT = {
    "num_tokens": 12800000, "max_token": 40960000, "eos_token": 50256123, "s_per_token": 0.00012345,
    "token": 4096, "tokens": [50256123], "password": None, "use_password": True, "secret": 7,
    "External id": 12345678, "Sequence number": 12345678, "Ev Idx": 12345678, "cookie": 123456789,
    "has_secret": False, "correlation": 12345678, "Fwd thread id": 12345678,
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 9, 1 << 20])
@pytest.mark.parametrize(("member", "left"), NUMBERS, ids=[next(iter(m)) for m, _ in NUMBERS])
def test_a_number_under_a_secret_name_becomes_0(member, left, size, tmp_path, monkeypatch):
    monkeypatch.setattr(content, "BLOCK_BYTES", size)
    path, copy = tmp_path / "x.json", tmp_path / "copy.json"
    path.write_text(json.dumps({"a": 1111, "m": member, "b": 2222, **INNOCENT}))
    assert has_secrets(findings_of(path, names={}))
    redaction = redact_trace(path, copy, names={})
    assert findings_of(copy, names={}) == ()
    after = json.loads(copy.read_text())
    assert {key: value for key, value in after.items() if key != "m"} == {
        "a": 1111, "b": 2222, **INNOCENT,
    }  # fmt: skip
    assert numbers_in(after["m"]) == left
    assert redaction.numbers_changed == left.count(0)


def numbers_in(value: object) -> list[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    return [] if isinstance(value, (bool, str)) or value is None else [value]


def test_innocent_numbers_are_copied_byte_for_byte(tmp_path):
    path, copy = tmp_path / "x.json", tmp_path / "copy.json"
    path.write_text(json.dumps({"args": INNOCENT, "list": [INNOCENT, 12345678]}))
    redaction = redact_trace(path, copy, names={})
    assert redaction.findings == () and redaction.numbers_changed == 0
    assert copy.read_bytes() == path.read_bytes()


def test_command_says_how_many_numbers_are_0_now(tmp_path, capsys):
    path, copy = tmp_path / "x.json", tmp_path / "copy.json"
    path.write_text(f'{{"password": 12345678, "traceEvents": [{EVENT}]}}')
    assert main(["redact", str(path), str(copy)]) == 0
    told = capsys.readouterr()
    assert told.out == '1 x secret under "password"\n'
    assert told.err.endswith("the same, byte for byte, but for 1 secret number, now 0\n")
