"""Links: what goes in comes out again, however odd the name, and what cannot work is refused."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from trace_util.events import TraceError
from trace_util.focus import Focus, Note
from trace_util.perfetto import (
    NOTES_TRACK,
    public_link,
    quoted_path,
    startup_commands,
    view_fragment,
    view_parameters,
)

ODD = "run #1 50%?a&b é.json"
BUCKET = "https://huggingface.co/buckets/me/traces/resolve"
FOCUS = Focus(
    window_start_ns=1_000,
    window_end_ns=9_000,
    pinned=(r"^stream 7\b",),
    expanded=(r"^python3 421$",),
    notes=(
        Note(2_000, 500, "the CPU hadn't launched & waited"),
        Note(3_000, 0, "the fused kernel", "triton_poi_50%"),
    ),
)


def _parameters(link: str) -> dict[str, str]:
    """The parameters of a link as the UI's router reads them: the fragment is a URL of its own."""
    fragment = urlsplit(link).fragment
    assert fragment.startswith("!/?")
    inner = urlsplit("https://example.com" + fragment[1:])
    assert not inner.fragment, "a raw # cuts the route"
    return {k: v for k, [v] in parse_qs(inner.query, strict_parsing=True).items()}


@pytest.mark.parametrize(
    "name", [ODD, "a+b.json", "%25.json", "日本.json", "a/b c/d.json", "~x_-.y"]
)
def test_link_of_an_odd_name_round_trips(name: str) -> None:
    url = f"{BUCKET}/{quoted_path(name)}"
    link = public_link(url)
    inner = _parameters(link)["url"]
    assert inner == url
    assert "?" not in inner and "#" not in inner
    assert unquote(inner) == f"{BUCKET}/{name}"


def test_link_decoded_twice_is_the_file_and_holds_no_question_mark() -> None:
    link = public_link(f"{BUCKET}/{quoted_path(ODD)}")
    once = unquote(link.split("url=", 1)[1])
    assert "?" not in once
    assert unquote(once) == f"{BUCKET}/{ODD}"


def test_link_in_full() -> None:
    assert public_link("https://h.co/a%20b.json") == (
        "https://ui.perfetto.dev/#!/?url=https%3A%2F%2Fh.co%2Fa%2520b.json"
    )


def test_link_carries_the_view_and_the_commands() -> None:
    found = _parameters(public_link("https://h.co/a.json", FOCUS))
    assert found["visStart"] == "1000"
    assert found["visEnd"] == "9000"
    commands = json.loads(found["startupCommands"])
    assert [c["id"].removeprefix("dev.perfetto.") for c in commands] == [
        "AddDebugSliceTrack",
        "PinTracksByRegex",
        "ExpandTracksByRegex",
        "AddNoteAtTimestamp",
        "AddNoteAtTimestamp",
    ]
    assert commands[0]["args"][1] == NOTES_TRACK
    assert commands[1]["args"] == [r"^stream 7\b"]
    assert commands[2]["args"] == [r"^python3 421$"]
    assert commands[3]["args"] == ["2000", "the CPU hadn't launched & waited"]
    assert commands[4]["args"] == ["3000", "the fused kernel"]


def test_every_argument_is_a_text() -> None:
    # The UI validates the list with z.array(z.string()) and drops all of it otherwise.
    assert all(isinstance(a, str) for c in startup_commands(FOCUS) for a in c["args"])


def test_notes_query_selects_the_notes() -> None:
    import sqlite3

    query = startup_commands(FOCUS)[0]["args"][0]
    assert sqlite3.connect(":memory:").execute(query).fetchall() == [
        (2_000, 500, "the CPU hadn't launched & waited"),
        (3_000, 0, "the fused kernel: triton_poi_50%"),
    ]


def test_empty_focus_adds_nothing() -> None:
    assert view_parameters(None) == {}
    assert view_parameters(Focus(5, 5)) == {}
    assert view_fragment(None, "/viewer") == "#!/viewer"
    assert public_link("https://h.co/a.json", Focus(5, 5)) == public_link("https://h.co/a.json")


def test_fragment_without_a_file_waits_for_a_message() -> None:
    assert view_fragment(Focus(1, 2), "/viewer") == "#!/viewer?visStart=1&visEnd=2"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://h.co/a.json?download=true", "refuses a file address with '?'"),
        ("https://h.co/a#1.json", "refuses a file address with '?' or '#'"),
        ("http://h.co/a.json", "https addresses only"),
        ("http://localhost:9001/a.json", "https addresses only"),
        ("file:///tmp/a.json", "https addresses only"),
        ("/tmp/a.json", "https addresses only"),
        ("https:///a.json", "https addresses only"),
        ("https://[h/a.json", "not an address"),
        ("https://h.co/a b.json", "not quoted"),
        ("https://h.co/é.json", "not quoted"),
        ("https://h.co/a\n.json", "not quoted"),
        ("https://h.co/50%.json", "not quoted"),
    ],
)
def test_address_that_perfetto_cannot_fetch_is_refused(url: str, why: str) -> None:
    with pytest.raises(TraceError, match=why.replace("?", r"\?")):
        public_link(url)


def test_refusal_does_not_echo_a_login() -> None:
    with pytest.raises(TraceError, match="without it") as caught:
        public_link("https://me:pass" + "word@h.co/a.json")
    assert "password" not in str(caught.value)


def test_loopback_address_is_allowed() -> None:
    assert public_link("http://127.0.0.1:9001/x/a.json", ui="http://127.0.0.1:1").startswith(
        "http://127.0.0.1:1/#!/?url=http%3A%2F%2F127.0.0.1%3A9001"
    )
