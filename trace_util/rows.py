"""The rows of a trace as typed objects: what is decoded of each event, and what is passed over.

Three ways to decode a list of events, each slower and more forgiving than the one before:
``Decoders.quick`` (times as numbers), ``Decoders.exact`` (times as texts) and ``lenient_rows`` (one
by one, whatever the types).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

ABSENT = Raw(b"")
Scalar = int | float | str | None


class BriefArgs(Struct, gc=False, frozen=True):
    """The arguments that a summary needs; -1 where the event has none."""

    device: Any = -1
    stream: Any = -1
    correlation: Any = -1
    size_bytes: Any = field(default=-1, name="bytes")


class Args(Struct, gc=False, frozen=True):
    """The arguments that some column keeps, in the order in which Kineto writes them."""

    external_id: Any = field(default=-1, name="External id")
    concrete: Raw = field(default=ABSENT, name="Concrete Inputs")
    types: Raw = field(default=ABSENT, name="Input type")
    strides: Raw = field(default=ABSENT, name="Input Strides")
    dims: Raw = field(default=ABSENT, name="Input Dims")
    device: Any = -1
    stream: Any = -1
    correlation: Any = -1
    size_bytes: Any = field(default=-1, name="bytes")
    external_id_2021: Any = field(default=-1, name="external id")
    registers: Raw = field(default=ABSENT, name="registers per thread")
    shared_bytes: Raw = field(default=ABSENT, name="shared memory")
    grid: Raw = ABSENT
    block: Raw = ABSENT
    occupancy: Raw = field(default=ABSENT, name="est. achieved occupancy %")


class ExactArgs(Args, gc=False, frozen=True):
    """``Args`` for files whose times must be read from their texts.

    Those of msprof (Ascend) are among them, whose device tasks and CANN calls have no category and
    are told by these arguments.
    """

    task_type: Any = field(default=None, name="Task Type")
    level: Any = None


class Instant(Struct, gc=False, frozen=True, tag_field="ph", tag="i"):
    """An instant (``i``); of interest is the one named ``Record Window End``."""

    name: Any = ""
    ts: Raw = ABSENT


class Meta(Struct, gc=False, frozen=True, tag_field="ph", tag="M"):
    """A metadata row: the name of a process or of a thread, among others."""

    name: Any = ""
    pid: Any = -1
    tid: Any = -1
    args: Any = None


# The other phases in use are counted and not kept; a rarer one is read the lenient way.
OTHER_PHASES = "sftIBEbneC"


def _passed_over(phase: str) -> type[Struct]:
    return msgspec.defstruct(
        f"Phase{ord(phase)}", [], gc=False, frozen=True, tag_field="ph", tag=phase
    )


PHASE_OF: dict[type, str] = {_passed_over(phase): phase for phase in OTHER_PHASES}
PHASE_OF |= {Instant: "i", Meta: "M"}


def _complete(args: type[Struct], time: Any, absent: Any) -> type[Struct]:
    fields = [
        ("cat", str, ""),
        ("name", str, ""),
        ("pid", Scalar, ""),
        ("tid", Scalar, ""),
        ("ts", time, absent),
        ("dur", time, absent),
        ("args", args, args()),
    ]
    return msgspec.defstruct("Complete", fields, gc=False, frozen=True, tag_field="ph", tag="X")


class _Loose(Struct, gc=False):
    """An event of which nothing is taken for granted."""

    ph: Any = None
    cat: Any = ""
    name: Any = ""
    pid: Any = ""
    tid: Any = ""
    ts: Raw = ABSENT
    dur: Raw = ABSENT
    args: Raw = ABSENT


_ITEMS = msgspec.json.Decoder(list[Raw])
_LOOSE = msgspec.json.Decoder(_Loose)
_ANY = msgspec.json.Decoder(dict[str, Raw])


class Decoders:
    """The decoders for all columns, or for those of a summary."""

    def __init__(self, brief: bool) -> None:
        self.quick_row = _complete(BriefArgs if brief else Args, Scalar, None)
        self.exact_row = _complete(ExactArgs, Raw, ABSENT)
        others = tuple(PHASE_OF)
        self.quick = msgspec.json.Decoder(list[_union(self.quick_row, others)])  # type: ignore[misc]
        exact = _union(self.exact_row, others)
        self.exact = msgspec.json.Decoder(list[exact])  # type: ignore[valid-type]
        self._one = msgspec.json.Decoder(exact)
        self._args = msgspec.json.Decoder(ExactArgs)

    def lenient(
        self, text: bytes | memoryview, repairs: Counter[str], skipped: Counter[str]
    ) -> list[Any]:
        """The rows of a JSON list, one by one; what is no event is counted in ``skipped``.

        Raises ``msgspec.DecodeError`` where the list itself is malformed.
        """
        rows = []
        for item in _ITEMS.decode(text):
            try:
                rows.append(self._one.decode(item))
            except msgspec.ValidationError:
                rows.append(self._loosened(item, repairs, skipped))
        return rows

    def _loosened(self, item: Raw, repairs: Counter[str], skipped: Counter[str]) -> Any:
        try:
            loose = _loose(item)
        except msgspec.ValidationError:
            skipped["items that are no events"] += 1
            return None
        if loose.ph != "X":
            return _other(loose, skipped)
        repairs["fields of an unexpected type"] += 1
        return self.exact_row(
            cat=_text(loose.cat),
            name=_text(loose.name),
            pid=_key(loose.pid),
            tid=_key(loose.tid),
            ts=loose.ts,
            dur=loose.dur,
            args=self._loose_args(loose.args),
        )

    def _loose_args(self, text: Raw) -> Any:
        try:
            return self._args.decode(text)
        except msgspec.DecodeError:
            return ExactArgs()


def _loose(item: Raw) -> _Loose:
    """An event of which nothing is taken for granted; no event is a ``ValidationError``."""
    try:
        return _LOOSE.decode(item)
    except msgspec.ValidationError:
        event = _ANY.decode(item)
    # A number is too large to be read, which must not lose the others.
    loose = _Loose(**{name: event[name] for name in ("ts", "dur", "args") if name in event})
    for name in ("ph", "cat", "name", "pid", "tid"):
        if name in event:
            setattr(loose, name, _value(event[name]))
    return loose


def _value(text: Raw) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        return bytes(text).decode()


def _union(first: type, others: tuple[type, ...]) -> Any:
    union: Any = first
    for other in others:
        union = union | other
    return union


class Other(Struct, gc=False, frozen=True):
    """An event of a phase that the format does not know."""

    phase: str


def _other(loose: _Loose, skipped: Counter[str]) -> Any:
    if not isinstance(loose.ph, str):
        skipped["events without a phase"] += 1
        return None
    if loose.ph == "M":
        return Meta(name=loose.name, pid=_key(loose.pid), tid=_key(loose.tid))
    return Other(loose.ph)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _key(value: Any) -> Any:
    return value if isinstance(value, (int, float, str)) else _text(value)
