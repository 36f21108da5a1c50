"""The events of a trace: what every other module of the package reads.

A trace is a header (what the file says of itself) and one row per complete event (Chrome-trace
phase ``X``), kept as numpy columns. All times are int64 nanoseconds on the file's own clock; add
``Header.base_time_ns`` for wall-clock time. Texts are interned: a column holds an index into the
table of the same name in :class:`Trace`.
"""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]


class TraceError(ValueError):
    """A trace, a file or a request that cannot be used: what, which one, and what to do."""


class UsageError(TraceError):
    """A request that is wrong whatever the trace holds: exit code 2 on the command line."""


class Kind(IntEnum):
    """What an event is, decided by its category and never by its name.

    GPU events, those that count as work on a device, are ``KERNEL``, ``MEMCPY`` and ``MEMSET``.
    """

    OTHER = 0
    CPU_OP = 1
    USER_ANNOTATION = 2
    PYTHON = 3
    RUNTIME = 4
    DRIVER = 5
    KERNEL = 6
    MEMCPY = 7
    MEMSET = 8
    SYNC = 9
    GPU_ANNOTATION = 10
    OVERHEAD = 11
    BOOKKEEPING = 12


GPU_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
CALL_KINDS = (Kind.RUNTIME, Kind.DRIVER)


class Shapes(NamedTuple):
    """The recorded inputs of an op, as the profiler spells them (JSON texts; "" when absent)."""

    dims: str
    types: str
    strides: str
    concrete: str


class LaunchShape(NamedTuple):
    """How a kernel was launched; ``None`` where the trace does not say.

    ``shared_bytes`` is per block; ``occupancy`` is the profiler's own estimate, 0 to 100.
    """

    grid: tuple[int, ...] | None
    block: tuple[int, ...] | None
    registers: int | None
    shared_bytes: int | None
    occupancy: float | None


class Events(Struct, frozen=True, eq=False):
    """Complete events in file order; every column is ``[n]``.

    ``-1`` in an index column means "the event does not say". ``correlation`` 0 or -1 is "no link".
    """

    row: Ints  # position in the file's list of events, of any phase
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    name: Ints  # -> Trace.names
    category: Ints  # -> Trace.categories
    kind: NDArray[np.uint8]  # Kind
    process: Ints  # -> Trace.processes
    thread: Ints  # -> Trace.threads
    device: Ints  # GPU number, -1 for the host
    stream: Ints  # -1 for the host
    correlation: Ints
    external_id: Ints
    size_bytes: Ints  # of a copy or a memset, -1 elsewhere
    shapes: Ints  # -> Trace.shapes
    launch: Ints  # -> Trace.launches

    def __len__(self) -> int:
        return len(self.start_ns)

    def __repr__(self) -> str:
        from trace_util.report.notebook import events_repr

        return events_repr(self)

    @property
    def end_ns(self) -> NDArray[np.int64]:
        """Start plus duration, int64 nanoseconds ``[n]``."""
        return self.start_ns + self.duration_ns

    def ends(self, rows: Ints | NDArray[np.bool_]) -> NDArray[np.int64]:
        """:attr:`end_ns` of some events only."""
        return self.start_ns[rows] + self.duration_ns[rows]

    def is_kind(self, *kinds: Kind) -> NDArray[np.bool_]:
        """Mask ``[n]`` of the events of the given kinds."""
        found = np.zeros(len(self.kind), dtype=bool)
        for kind in kinds:
            found |= self.kind == int(kind)  # a plain number, or NumPy compares as int64
        return found


class Header(Struct, frozen=True):
    """What a trace says of itself. ``None`` or empty where it does not."""

    device_properties: tuple[dict[str, Any], ...] = ()
    base_time_ns: int | None = None
    record_end_ns: int | None = None  # of the instant "Record Window End", on the file's clock
    run: dict[str, Any] = field(default_factory=dict)  # this project's run facts (record/run.py)
    distributed: dict[str, Any] = field(default_factory=dict)
    other: dict[str, Any] = field(default_factory=dict)  # every other top-level key


class Trace(Struct, frozen=True, eq=False):
    """A trace file, read: header, events, the tables that they index, and what was odd."""

    path: str
    size_bytes: int
    header: Header
    events: Events
    names: tuple[str, ...]
    categories: tuple[str, ...]
    processes: tuple[str | int, ...]
    threads: tuple[str | int, ...]
    shapes: tuple[Shapes, ...]
    launches: tuple[LaunchShape, ...]
    phases: dict[str, int]  # events of each phase in the file, X included
    process_names: dict[str | int, str] = field(default_factory=dict)
    thread_names: dict[tuple[str | int, str | int], str] = field(default_factory=dict)
    repairs: dict[str, int] = field(default_factory=dict)  # what was mended, and how often
    skipped: dict[str, int] = field(default_factory=dict)  # what was left out, and how often
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from trace_util.report.notebook import trace_repr

        return trace_repr(self)

    def _repr_html_(self) -> str:
        from trace_util.report.notebook import trace_html

        return trace_html(self)

    def name_of(self, row: int) -> str:
        """The name of the event at index ``row`` of the columns."""
        return self.names[int(self.events.name[row])]


def require_trace(given: object, function: str) -> None:
    """Return if ``given`` is a trace, as the public ``function`` takes it.

    Raises:
        UsageError: it is the path of one, or something else.
    """
    if isinstance(given, Trace):
        return
    if isinstance(given, str | os.PathLike):
        path = repr(os.fspath(given))
        raise UsageError(f"{function}: {path} is a path; hand over read_trace({path}), the trace")
    kind = type(given).__name__
    raise UsageError(f"{function}: takes a trace, as read_trace(path) gives it, not {kind}")
