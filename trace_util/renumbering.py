"""Rewrites the events of one rank for a file that holds many: its own processes, ids and clock.

What is not rewritten is kept byte for byte: names, categories, durations, threads, and arguments
but for the numbers that link events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from trace_util.another_trace import refuse_another_trace
from trace_util.events import GPU_KINDS, Kind
from trace_util.intake import Intake
from trace_util.sieve import DROP, LOOK
from trace_util.times import INVALID_NS, nanoseconds_of_texts
from trace_util.vocabulary import BOOKKEEPING_PROCESSES, kind_of

# Larger than any id of one process (CUPTI's correlation ids have 32 bits), and decimal: the id that
# was 12 on the third file is 20000000012. A double holds it for 900,000 files.
ID_STRIDE: Final = 10_000_000_000
_DIGITS: Final = 30  # of a number that is read as one; no writer has ids of that length
# Process numbers of one rank; the host, its GPUs and the profiler's own rows need a few.
PROCESS_STRIDE: Final = 1000

_ROWS: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_LINKING: Final = re.compile(
    rb'("(?:correlation|[Ee]xternal id|Python (?:parent )?id|Ev Idx)"\s*:\s*)'
    rb"([1-9]\d{0,29})(?=\s*[,}])"
)
# Written anew, by rank; the rows of a process's threads are kept.
_ANEW: Final = frozenset({b'"process_name"', b'"process_labels"', b'"process_sort_index"'})
_DEVICE_KINDS: Final = (*GPU_KINDS, Kind.GPU_ANNOTATION, Kind.SYNC)


class Intervals(NamedTuple):
    """Times of a rank's own clock between which rows without a duration are kept."""

    start_ns: Sequence[int]
    end_ns: Sequence[int]

    def hold(self, at_ns: int) -> bool:
        """Whether a time lies within one of them."""
        pairs = zip(self.start_ns, self.end_ns, strict=True)
        return any(start <= at_ns <= end for start, end in pairs)


class Rank(NamedTuple):
    """What sets the events of a rank apart."""

    label: str  # "rank 3"
    position: int  # among the merged files
    add_ns: int  # to every time


class Renumbering(Intake):
    """Is given the events of a rank as an :class:`Intake` is, and writes them rewritten.

    ``codes`` says for each row whether it stays (``None``: all do); rows with ``LOOK`` are no
    complete events and stay when they lie within the intervals.
    """

    def __init__(
        self,
        rank: Rank,
        write: Callable[[bytes], Any],
        codes: NDArray[np.uint8] | None = None,
        within: Intervals | None = None,
    ) -> None:
        super().__init__("summary")
        self._rank = rank
        self._write = write
        self._codes = codes
        self._within = within
        self._first_id = rank.position * ID_STRIDE
        self._numbers: dict[bytes, int] = {}  # a process as the rank spells it -> its new number
        self._roles: dict[int, str] = {}  # new number -> what the process is
        self._named: dict[bytes, str] = {}
        self._threads: list[dict[str, msgspec.Raw]] = []
        self.complete = 0  # complete events written
        self.left_out = 0  # complete events without a time

    def add(self, text: bytes | memoryview, gaps: Sequence[int] = ()) -> None:
        """Write the events of a JSON list that stay."""
        rows = _ROWS.decode(text)
        refuse_another_trace(text)
        numbers = self.numbers(len(rows), gaps).tolist()
        self.rows += len(rows) + len(gaps)
        times = nanoseconds_of_texts([bytes(row.get("ts", b"null")) for row in rows])
        for number, row, at in zip(numbers, rows, times.tolist(), strict=True):
            code = LOOK if self._codes is None else int(self._codes[number])
            if code != DROP:
                self._keep(row, at)

    def _keep(self, row: dict[str, msgspec.Raw], at_ns: int) -> None:
        phase = bytes(row.get("ph", b""))
        if phase == b'"M"':
            self._keep_name(row)
            return
        if phase == b'"X"':
            if at_ns == INVALID_NS:
                self.left_out += 1
                return
            self.complete += 1
        elif self._within is not None and (at_ns == INVALID_NS or not self._within.hold(at_ns)):
            return
        number = self._number(bytes(row.get("pid", b'""')))
        if number not in self._roles:
            self._roles[number] = _role(row)
        row["pid"] = msgspec.Raw(b"%d" % number)
        if at_ns != INVALID_NS:
            row["ts"] = _microseconds(at_ns + self._rank.add_ns)
        if self._first_id:
            self._renumber(row)
        self._write(msgspec.json.encode(row))

    def _renumber(self, row: dict[str, msgspec.Raw]) -> None:
        for key in ("id", "bind_id"):
            if key in row:
                row[key] = self._own_id(bytes(row[key]))
        scope = _members(bytes(row.get("id2", b"")))
        if "global" in scope:
            scope["global"] = self._own_id(bytes(scope["global"]))
            row["id2"] = msgspec.Raw(msgspec.json.encode(scope))
        args = row.get("args")
        if args is not None:
            row["args"] = msgspec.Raw(_LINKING.sub(self._own_number, bytes(args)))

    def _own_id(self, text: bytes) -> msgspec.Raw:
        if text.isdigit() and len(text) <= _DIGITS:
            return msgspec.Raw(b"%d" % (int(text) + self._first_id))
        value = _plain(text) or text.decode("utf-8", "replace")
        return msgspec.Raw(msgspec.json.encode(f"{self._rank.position}:{value}"))

    def _own_number(self, found: re.Match[bytes]) -> bytes:
        return found.group(1) + b"%d" % (int(found.group(2)) + self._first_id)

    def _number(self, spelled: bytes) -> int:
        if spelled not in self._numbers:
            first = PROCESS_STRIDE * (self._rank.position + 1)
            self._numbers[spelled] = first + len(self._numbers)
        return self._numbers[spelled]

    def _keep_name(self, row: dict[str, msgspec.Raw]) -> None:
        spelled = bytes(row.get("pid", b'""'))
        if bytes(row.get("name", b"")) == b'"process_name"':
            args = msgspec.json.decode(row.get("args", b"null"))
            if isinstance(args, dict) and isinstance(args.get("name"), str):
                self._named[spelled] = args["name"].strip()
        if bytes(row.get("name", b"")) not in _ANEW:
            self._threads.append(row)

    def write_names(self) -> None:
        """Write the names of the processes that have events, with the rank in them."""
        for spelled, number in self._numbers.items():
            role = self._roles[number]
            if role == "host":
                role = self._named.get(spelled) or _plain(spelled)
            elif role == "GPU":
                role = f"GPU {_plain(spelled)}"
            name = f"{self._rank.label}: {role}" if role else self._rank.label
            order = self._rank.position * PROCESS_STRIDE + (role != "" and number % PROCESS_STRIDE)
            for kind, args in (
                ("process_name", {"name": name}),
                ("process_sort_index", {"sort_index": order}),
            ):
                told = {"ph": "M", "name": kind, "pid": number, "tid": 0, "args": args}
                self._write(msgspec.json.encode(told))
        for row in self._threads:
            spelled = bytes(row.get("pid", b'""'))
            if spelled in self._numbers:
                row["pid"] = msgspec.Raw(b"%d" % self._numbers[spelled])
                row.pop("ts", None)
                self._write(msgspec.json.encode(row))


def _role(row: dict[str, msgspec.Raw]) -> str:
    """What the process of an event is: "GPU", "host", or the profiler's own name for its rows."""
    spelled = _plain(bytes(row.get("pid", b'""')))
    if spelled in BOOKKEEPING_PROCESSES:
        return spelled or "profiler"
    kind = kind_of(_plain(bytes(row.get("cat", b'""'))))
    return "GPU" if kind in _DEVICE_KINDS else "host"


def _members(text: bytes) -> dict[str, msgspec.Raw]:
    """What an object says; nothing for what is no object."""
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return {}


def _plain(text: bytes) -> str:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return ""
    return str(value)


def _microseconds(ns: int) -> msgspec.Raw:
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return msgspec.Raw(f"{sign}{ns // 1000}.{ns % 1000:03d}".encode())
