from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from trace_util.json_strings import is_key, literal_of, pieces, text_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


def blocks_of(content: bytes, size: int) -> list[bytes]:
    return [content[i : i + size] for i in range(0, len(content), size)]


def strings_in(value: object) -> list[str]:
    """Every string of a value in the order in which JSON writes them."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in strings_in(item)]
    if isinstance(value, dict):
        return [t for key, item in value.items() for t in (key, *strings_in(item))]
    return []


@given(VALUES, st.integers(1, 40), st.booleans())
def test_pieces_join_to_the_input_and_hold_every_string(value, size, ascii_only):
    content = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    lists = list(pieces(blocks_of(content, size)))
    assert b"".join(part for parts in lists for part in parts) == content
    assert all(len(parts) % 2 == 1 for parts in lists)
    found = [text_of(part) for parts in lists for part in parts[1::2]]
    if ascii_only:
        assert found == strings_in(value)
    assert b'"' not in b"".join(part for parts in lists for part in parts[0::2])


def test_a_literal_is_never_apart_from_what_follows_it():
    content = b'{"key"  : {"a": 1}, "list": ["b", "c"]}'
    for size in range(1, len(content)):
        keys = [
            text_of(parts[i])
            for parts in pieces(blocks_of(content, size))
            for i in range(1, len(parts), 2)
            if is_key(parts, i)
        ]
        assert keys == ["key", "a", "list"]


def test_illegal_escapes_and_bytes_are_read_as_they_stand():
    assert text_of(rb'"C:\Users\me\x.py"') == r"C:\Users\me\x.py"
    assert text_of(b'"a\xffb"').encode("utf-8", "surrogateescape") == b"a\xffb"
    assert text_of(b'"one\ntwo \\u0041"') == "one\ntwo A"


def test_a_text_survives_the_round_trip():
    for text in ["plain", 'a "quoted" \\ path', "é \u2028 \x01", "half \ud800", "\udcff raw byte"]:
        assert text_of(literal_of(text)) == text
