from __future__ import annotations

import json
import time

import pytest

from trace_util.redact import StandIns
from trace_util.walk import Walk


def cleaned(text: str) -> str:
    """``text`` with stand-ins for all that gives something away, of which nothing may be left."""
    found = Walk({}).matches(text)
    clean = StandIns().in_text(text, found)
    assert Walk({}).matches(clean) == []
    return clean


SECRET, USER, HOST = "redacted-secret-1", "redacted-user-name-1", "redacted-host-name-1"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password=hunter2;user=alice", f"password={SECRET};user={USER}"),
        ("db: password=p,w!x,user=bob", f"db: password={SECRET},user={USER}"),
        ("connect(password=hunter2)", f"connect(password={SECRET})"),
        ("password='hunter 2' x=1", f"password='{SECRET}' x=1"),
        ("password=12345678 n=12345678", "password=0 n=12345678"),
        ("https://x.example/y?token=hunterhunter&n=1", f"https://x.example/y?token={SECRET}&n=1"),
        ("https://x.example/y?n=1&sig=abcd1234", f"https://x.example/y?n=1&sig={SECRET}"),
        ("python t.py --user alice --lr 1", f"python t.py --user {USER} --lr 1"),
        ("python t.py --host-name=box-7x", f"python t.py --host-name={HOST}"),
        ('t.py --password "hunter 2" -v', f't.py --password "{SECRET}" -v'),
        ("USER=alice MASTER_ADDR=10.0.0.3", f"USER={USER} MASTER_ADDR=redacted-network-address-1"),
        ('["--password", "hunter2"]', f'["--password", "{SECRET}"]'),
        ("{'password': 'hunter2', 'n': 3}", f"{{'password': '{SECRET}', 'n': 3}}"),
        ('{"a": 1, "password": "hunter2', f'{{"a": 1, "password": "{SECRET}'),  # cut off
        ('5" of {"password":"hunter2"}', f'5" of {{"password":"{SECRET}"}}'),
    ],
)
def test_a_name_within_a_text_gives_its_value_away(text, clean):
    assert cleaned(text) == clean


@pytest.mark.parametrize("depth", range(4))
def test_json_within_json_is_cleaned_by_the_rules_for_members(depth):
    value: object = {
        "env": {"SHELL_LEVEL": "two"},
        "password": "hünt\u2028er2",
        "hostname": "alice-laptop",
        "pin": {"secret": 12345678},
        "argv": ["train.py", "--fast"],
        "size": 12345678,
    }
    clean: object = {
        "env": {"redacted-environment-1": "redacted-environment-2"},
        "password": SECRET,
        "hostname": HOST,
        "pin": {"secret": 0},
        "argv": ["redacted-command-line-1", "redacted-command-line-2"],
        "size": 12345678,
    }
    for _ in range(depth):
        value, clean = {"cfg": json.dumps(value)}, {"cfg": json.dumps(clean)}
    assert json.loads(cleaned(json.dumps(value))) == clean


def test_a_name_that_an_inner_text_spells_with_escapes_is_known_elsewhere():
    walk = Walk({})
    walk.flagged([b"{", json.dumps(json.dumps({"user": "zoë-b"})).encode(), b"}"])
    assert walk.names["zoë-b"] == "user name"


def test_a_known_name_goes_with_the_value_that_holds_it():
    text = json.dumps({"hostname": "alice-laptop", "note": "by alice"})
    found = Walk({"alice": "user name"}).matches(text)
    assert [(text[m.start : m.end], m.kind) for m in found] == [
        ("alice-laptop", "host name"),
        ("alice", "user name"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "token=128 max_token=128 eos_token=EOS1 num_tokens=12 cookie=17",
        "cluster=2x1x1 node=attn machine=arm host=cpu host=True user=0 job=x ip=3",
        "password=None api_key=*** password=$PASSWORD secret={secret}",
        "bool operator==<token>(token, token) == password",
        "--num-tokens 128 --max-token 128 --nodes 2 --user-agent",
        '{"node": "", "max_token": 128, "name": "aten::mm", "stream": 7}',
        'f(x=\'a\', key="b"): "why: not" it\'s',
        "triton_poi_fused_0[grid=(1,), XBLOCK=256, num_warps=4]",
        'extern "C" __global__ void k(float* a)  // it\'s: "quoted"',
        "see https://github.com/x?tab=readme&q=token",
    ],
)
def test_ordinary_texts_give_nothing_away(text):
    assert Walk({}).matches(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "\\" * 100_000,
        "a=" * 50_000,
        'password="' * 20_000,
        '{"password":"hunter2"},' * 5_000,
        "'\"" * 50_000,
        "a=" + ",b" * 50_000,
    ],
    ids=["backslashes", "pairs", "open quotes", "members", "quotes", "commas"],
)
def test_a_long_text_is_looked_through_in_little_time(text):
    start = time.perf_counter()
    Walk({}).matches(text)
    assert time.perf_counter() - start < 3
