"""What is mended in broken JSON, and how often that is counted."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace_util import repair
from trace_util.repair import has_doubled_keys, mended_characters, mended_event, mended_name


def characters(text: bytes) -> tuple[bytes, dict[str, int]]:
    repairs: Counter[str] = Counter()
    return mended_characters(text, repairs), dict(+repairs)


def event(text: bytes) -> tuple[bytes, dict[str, int]]:
    repairs: Counter[str] = Counter()
    return mended_event(text, repairs), dict(+repairs)


@pytest.mark.parametrize(
    ("text", "mended", "repairs"),
    [
        (b'"plain"', b'"plain"', {}),
        (rb'"C:\Users\new"', rb'"C:\\Users\\new"', {"illegal escapes": 1}),
        (rb'"a\\b\x"', rb'"a\\b\\x"', {"illegal escapes": 1}),
        (rb'"say \"hi\" \q"', rb'"say \"hi\" \\q"', {"illegal escapes": 1}),
        (rb'"\q" "\n"', rb'"\\q" "\n"', {"illegal escapes": 1}),
        (rb'"\u12"', rb'"\\u12"', {"illegal escapes": 1}),
        (rb'"\ud83d\ude00"', rb'"\ud83d\ude00"', {}),
        (rb'"\ud83dx"', rb'"\ufffdx"', {"illegal escapes": 1}),
        (rb'"\ude00\ud83d"', rb'"\ufffd\ufffd"', {"illegal escapes": 2}),
        (rb'"\\ud83d"', rb'"\\ud83d"', {}),
        (rb'"\\\ud83d\ude00"', rb'"\\\ud83d\ude00"', {}),
        (rb'"\\\ud83d"', rb'"\\\ufffd"', {"illegal escapes": 1}),
        (b'"a\x00\x01b\x1f"', '"a\ufffdb\ufffd"'.encode(), {"raw control characters": 2}),
        (b'{"a":\n1,\r\n"b":\ttrue}', b'{"a":\n1,\r\n"b":\ttrue}', {}),
        (b'"a\nb\t\r c"', '"a\ufffdb\t\r c"'.encode(), {"raw control characters": 1}),
        (b'"a\xffb"', '"a\ufffdb"'.encode(), {"bytes that are not UTF-8": 1}),
        (b'"\xe6\xbc"', '"\ufffd"'.encode(), {"bytes that are not UTF-8": 2}),
        (b'{"a": NaN}', b'{"a": null}', {"NaN or infinite numbers": 1}),
        (b'{"a":-Infinity,"b":inf}', b'{"a":null,"b":null}', {"NaN or infinite numbers": 2}),
        (b'{"a": -nan(ind)}', b'{"a": null}', {"NaN or infinite numbers": 1}),
        (b'{"a": ": NaN, "}', b'{"a": ": NaN, "}', {}),
        (b'{"a": "x: NaN, y"}', b'{"a": "x: NaN, y"}', {}),
        (b'{"a": "nano"}', b'{"a": "nano"}', {}),
    ],
)
def test_characters(text: bytes, mended: bytes, repairs: dict[str, int]) -> None:
    assert characters(text) == (mended, repairs)


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        (b'{"a": [1, NaN]}', {"a": [1, None]}, {"NaN or infinite numbers": 1}),
        (b'{"a": , "b": }', {"a": None, "b": None}, {"missing or unreadable values": 2}),
        (b'{"a": 1,}', {"a": 1}, {"stray commas": 1}),
        (b'{"a": [1, 2, ], }', {"a": [1, 2]}, {"stray commas": 2}),
        (b'{"a": 1,, "b": 2}', {"a": 1, "b": 2}, {"stray commas": 1}),
        (b'{"a": 0x1f, "b": 1.5}', {"a": None, "b": 1.5}, {"missing or unreadable values": 1}),
        (b'{"a": "x "y" z"}', {"a": 'x "y" z'}, {"unescaped quotes": 2}),
        (b'{"a": "f("x", 1)", "b": 2}', {"a": 'f("x", 1)', "b": 2}, {"unescaped quotes": 2}),
        (b'{"a": "f("x", "y")", "b": 2}', {"a": 'f("x", "y")', "b": 2}, {"unescaped quotes": 4}),
        (b'{"a": "x\ny\t"}', {"a": "x\ufffdy\ufffd"}, {"raw control characters": 2}),
        (b'{"a"b": 1}', None, {}),
        (b'{"a"b"c": 1}', None, {}),
        (b'{"a": 1, "pid"0,"tid": 2, "b": 3}', None, {}),
        (b'{"a": ["b "c" d"]}', {"a": ['b "c" d']}, {"unescaped quotes": 2}),
        (b'{"a": "spliced", "b": "two "c": 1}', None, {}),
        (b'{"a": "never closed}', None, {}),
    ],
)
def test_event(text: bytes, value: object, repairs: dict[str, int]) -> None:
    mended, counted = event(text)
    if value is None:
        with pytest.raises(ValueError):
            json.loads(mended)
    else:
        assert json.loads(mended) == value
        assert counted == repairs


@pytest.mark.parametrize(
    ("text", "doubled"),
    [
        (b'{"a": 1, "b": 2}', False),
        (b'{"a": 1, "a": 1}', True),
        (b'{"a": {"b": 1, "b": 2}}', True),
        (b'{"a": {"b": 1}, "b": {"a": 1}}', False),
        (b'{"a": 1, "\\u0061": 2}', True),
        (b'{"a": 1, "a": ', False),  # no JSON, and so for others to judge
        (b'[[{"a": "\xff"}]]', False),
    ],
)
def test_doubled_keys(text: bytes, doubled: bool) -> None:
    assert has_doubled_keys(text) is doubled


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.text('",:{}[]\\\n Na', max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=JSON, indent=st.sampled_from([None, 1, 4]), is_ascii=st.booleans())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_sound_json_is_left_alone(value: object, indent: int | None, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode()
    assert characters(text) == (text, {})
    assert event(text) == (text, {})


PIECES = st.lists(
    st.sampled_from(
        [
            *('"a"', '"b": "c"', '"d": 1', '"e": -1.5e3', '"f": true', '"g": null', '"h": NaN'),
            *('"i": "x "y" z"', '"j": 01', '"k":', '"l": "\\"', '"m": {', '"n": [', "]", "}", "{"),
            *(",", ", ", " ,\n", '"', ":", "x", "\t", "\x01", "-", '"o\n": 1', '"": ""'),
        ]
    ),
    max_size=24,
)


@given(pieces=PIECES, comma=st.sampled_from([",", ", ", ""]))
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_members_passed_at_once_are_mended_as_one_by_one(pieces: list[str], comma: str) -> None:
    text = ("{" + comma.join(pieces) + "}").encode()
    at_once = event(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repair, "_MEMBERS", re.compile(rb"(?!)"))
        assert at_once == event(text)


@given(data=st.binary(max_size=200))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_bytes_become_sound_characters(data: bytes) -> None:
    mended, _ = characters(data)
    mended.decode("utf-8")
    assert not set(mended) & (set(range(32)) - {9, 10, 13})
    event(data)


@pytest.mark.parametrize(
    ("name", "mended", "repairs"),
    [
        ("aten::mm", "aten::mm", {}),
        ("two\nlines\tand é", "two\nlines\tand é", {}),
        ("red \x1b[31m", "red \ufffd[31m", {"control characters in names": 1}),
        ("c1 \x9b31m", "c1 \ufffd31m", {"control characters in names": 1}),
        ("C:\new\table.py", r"C:\new\table.py", {"paths with unescaped backslashes": 1}),
        ("C:\\new.py", "C:\\new.py", {}),
    ],
)
def test_name(name: str, mended: str, repairs: dict[str, int]) -> None:
    counted: Counter[str] = Counter()
    assert (mended_name(name, counted), dict(+counted)) == (mended, repairs)
