"""What names announce within a text: ``password=…``, ``--user …``, the query of an address.

The names are those of members (:func:`giveaways.kind_of_key`). A text says less surely than a
member what it means: ``token=128``, ``node=3`` and ``host=True`` stand in ordinary events, so that
here a value must look its part too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trace_util import giveaways
from trace_util.giveaways import Match

# A name that begins a word, a mark, and a value: within quotes, whose escapes may be those of any
# level, or up to what ends it in a list, in a query and on a command line. A comma ends it where
# one more pair, a blank or nothing follows.
_VALUE = r"""(?: (?P<quote>\\*["'])(?P<quoted>.*?)(?:(?<!\\)(?P=quote)|$)
      | (?P<plain>(?:[^\s;,&"'\\]|,(?!\s|[\w.-]+[=:]|$))+) )"""
_PAIR = re.compile(
    rf"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{{0,60}})=(?![=>]){_VALUE}", re.VERBOSE | re.DOTALL
)
_FLAG = re.compile(
    rf"(?<![\w-])--(?P<name>[A-Za-z][\w.-]{{0,60}})(?:=|\s+)(?!-){_VALUE}", re.VERBOSE | re.DOTALL
)
# Members of JSON, or of what Python prints, that are cut off or stand in the midst of other quotes;
# and a list's flag with its value.
_MEMBER = re.compile(
    r"""(?<!\\)(?P<around>\\*["'])(?:(?P<name>[A-Za-z_][\w.-]{0,60})(?P=around)\s*:
        |--?(?P<flag>[A-Za-z][\w-]{0,60})(?P=around)\s*,)\s*
    (?P<quote>\\*["'])(?P<value>.*?)(?:(?<!\\)(?P=quote)|$)""",
    re.VERBOSE | re.DOTALL,
)
# "token" and "cookie" name other things too; such a value must look made by a machine.
_CERTAIN_SECRET = re.compile(
    r"(?:.*[_.-])?(?:secrets?|passwd|passwords?|api[_-]?keys?|(?:secret_)?access_?key"
    r"|private_?key|credentials?)",
    re.IGNORECASE,
)
# Signed addresses: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html,
# https://learn.microsoft.com/rest/api/storageservices/create-service-sas ("sig").
_SIGNATURE = re.compile(r"(?:.*[_.-])?(?:signature|sig)", re.IGNORECASE)
# "node", "machine", "cluster", "pod" and "job" are parts of graphs, grids and programs.
_CERTAIN_NAME = re.compile(
    r"(?:.*_)?(?:host|\w*_?name|fqdn|user|login|owner|author|account|job_?id|task_?id)"
    r"|logical_server_subtype|tw_cluster",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d[\d.eE+-]*")
_TEMPLATE = ("$", "{", "%")  # a value that is filled in elsewhere
_DEVICES = frozenset({"cpu", "gpu", "cuda", "device"})


def announced(text: str) -> Iterator[Match]:
    """The values in ``text`` that their names give away; they may overlap."""
    if "=" in text:
        for pair in _PAIR.finditer(text):
            in_query = text[pair.start() - 1 : pair.start()] in ("?", "&")
            yield from _value(pair, certain=in_query, in_query=in_query)
    if "--" in text:
        for flag in _FLAG.finditer(text):
            yield from _value(flag, certain=True)
    if '"' in text or "'" in text:
        for member in _MEMBER.finditer(text):
            name: str = member["name"] or member["flag"].replace("-", "_")
            kind = giveaways.kind_of_key(name)
            if member["flag"] and kind != giveaways.SECRET:
                continue
            if kind is not None and giveaways.is_given_away(kind, member["value"]):
                yield Match(*member.span("value"), kind)


def _value(pair: re.Match[str], *, certain: bool, in_query: bool = False) -> Iterator[Match]:
    """The value of a pair, if it is to go."""
    group = "plain" if pair["plain"] is not None else "quoted"
    value, name = pair[group].rstrip(")]}>"), pair["name"]
    kind = giveaways.kind_of_key(name.replace("-", "_"))
    if in_query and _SIGNATURE.fullmatch(name):
        kind = giveaways.SECRET
    if kind is None or value.startswith(_TEMPLATE) or not giveaways.is_given_away(kind, value):
        return
    if _looks_its_part(kind, name, value, certain):
        yield Match(pair.start(group), pair.start(group) + len(value), kind)


def _looks_its_part(kind: str, name: str, value: str, certain: bool) -> bool:
    number = _NUMBER.fullmatch(value)
    if kind == giveaways.SECRET:
        if number:
            shape = giveaways.secret_number(name)
            return shape is not None and shape.fullmatch(value.encode()) is not None
        return certain or bool(_CERTAIN_SECRET.fullmatch(name)) or giveaways.is_odd(value)
    if kind == giveaways.ADDRESS:
        return "." in value or ":" in value
    if kind == giveaways.PATH:
        return "/" in value or "\\" in value
    if kind not in (giveaways.HOST, giveaways.USER, giveaways.JOB) or number:
        return False  # e-mail addresses are told by their shape; commands end nowhere in a text
    word = value.lower()
    if giveaways.is_common_word(word) or word in _DEVICES:
        return False
    return bool(_CERTAIN_NAME.fullmatch(name.replace("-", "_")))
