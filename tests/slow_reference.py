"""The facts of a trace, worked out slowly and plainly: decimals, loops over all pairs, no columns.

It knows the definitions and nothing of the package. Events are dictionaries as in the file, with
``ts`` and ``dur`` as decimals of a microsecond.
"""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from statistics import median
from typing import Any

Event = dict[str, Any]
Interval = tuple[Decimal, Decimal]

OPS = {"cpu_op", "Operator"}
CALLS = {"cuda_runtime", "Runtime", "cuda_driver"}
KERNELS = {"kernel", "Kernel"}
COPIES = {"gpu_memcpy", "Memcpy"}
MEMSETS = {"gpu_memset", "Memset"}
GPU = KERNELS | COPIES | MEMSETS
HOST = OPS | CALLS | {"user_annotation", "python_function"}


def end(event: Event) -> Decimal:
    return event["ts"] + event["dur"]


def length_of_union(intervals: list[Interval]) -> Decimal:
    """By cutting time at every border and asking of each piece whether anything covers it."""
    borders = sorted({border for interval in intervals for border in interval})
    return sum(
        (
            right - left
            for left, right in zip(borders, borders[1:], strict=False)
            if any(low <= left and right <= high for low, high in intervals)
        ),
        Decimal(0),
    )


def clipped(event: Event, low: Decimal, high: Decimal) -> Interval:
    first = min(max(event["ts"], low), high)
    return first, max(min(end(event), high), first)


def is_mark(event: Event) -> bool:
    named = re.fullmatch(r"Profiler?Step#[0-9]+", event["name"])
    return bool(named) and event["cat"] in OPS | {"user_annotation"}


def parent_of(events: list[Event], inner: int, tolerance: Decimal) -> int | None:
    """The innermost event around one: the latest to start, of those the shortest, then the last."""
    one = events[inner]
    around = []
    for i, other in enumerate(events):
        if i == inner or other["cat"] not in HOST or where(other) != where(one):
            continue
        earlier = (other["ts"], -other["dur"], i) < (one["ts"], -one["dur"], inner)
        if earlier and end(other) > one["ts"] and end(other) + tolerance >= end(one):
            around.append((other["ts"], -other["dur"], i))
    return max(around)[2] if around else None


def where(event: Event) -> tuple[Any, Any]:
    return event["pid"], event["tid"]


class Slow:
    """All that is compared, as attributes."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.gpu = [i for i, e in enumerate(events) if e["cat"] in GPU]
        self.calls = [i for i, e in enumerate(events) if e["cat"] in CALLS]
        self.marks = sorted(
            (i for i, e in enumerate(events) if is_mark(e)), key=lambda i: events[i]["ts"]
        )
        host = [e for e in events if e["cat"] in HOST]
        whole = all(e["ts"] % 1 == 0 and e["dur"] % 1 == 0 for e in host)
        tolerance = Decimal(1) if whole else Decimal("0.001")
        self.parent = {
            i: parent_of(events, i, tolerance) for i, e in enumerate(events) if e["cat"] in HOST
        }
        self.launch = {i: self._launch(i) for i in self.gpu}
        self.op = {i: self._op(self.launch[i]) for i in self.gpu}
        self.step = {i: self._step(self.launch[i]) for i in self.gpu}
        self.window = self._window()
        self.kernels = self._kernels()
        self.busy = {device: self._busy(device) for device in self._devices()}
        self.busy_in_all = self._busy(None)

    def _devices(self) -> set[int]:
        return {self.events[i]["args"]["device"] for i in self.gpu}

    def _launch(self, gpu: int) -> int | None:
        wanted = self.events[gpu]["args"]["correlation"]
        fitting = [i for i in self.calls if self.events[i]["args"]["correlation"] == wanted]
        return fitting[0] if fitting and wanted > 0 else None

    def _op(self, call: int | None) -> int | None:
        while call is not None:
            call = self.parent[call]
            if call is not None and self.events[call]["cat"] in OPS and call not in self.marks:
                return call
        return None

    def _step(self, host: int | None) -> int | None:
        """Position of the latest started step that is still going on when a host event starts."""
        if host is None:
            return None
        at, found = self.events[host]["ts"], None
        for position, mark in enumerate(self.marks):
            if self.events[mark]["ts"] <= at < end(self.events[mark]):
                found = position
        return found

    def _window(self) -> Interval:
        spans = self.marks or [
            i for i, e in enumerate(self.events) if e["cat"] in OPS and i not in self.marks
        ]
        spans = spans or self.calls or self.gpu or list(range(len(self.events)))
        low = min(self.events[i]["ts"] for i in spans)
        high = max(end(self.events[i]) for i in spans)
        launched = {i: call for i, call in self.launch.items() if call is not None}
        if not launched:
            started = self.gpu
            if not self.marks:
                low = min([low, *(self.events[i]["ts"] for i in self.gpu)])
                high = max([high, *(end(self.events[i]) for i in self.gpu)])
            inside = [i for i in started if low <= self.events[i]["ts"] <= high]
        else:
            inside = [i for i, c in launched.items() if low <= self.events[c]["ts"] <= high]
        return low, max([high, *(end(self.events[i]) for i in inside)])

    def _busy(self, device: int | None) -> tuple[Decimal, Decimal]:
        """In the whole file and inside the window, of one device or of all together."""
        mine = [
            self.events[i]
            for i in self.gpu
            if device is None or self.events[i]["args"]["device"] == device
        ]
        return (
            length_of_union([(e["ts"], end(e)) for e in mine]),
            length_of_union([clipped(e, *self.window) for e in mine]),
        )

    def _kernels(self) -> dict[str, tuple[Any, ...]]:
        """Name -> count, total, smallest, median, largest."""
        durations = defaultdict(list)
        for i in self.gpu:
            if self.events[i]["cat"] in KERNELS:
                durations[self.events[i]["name"]].append(self.events[i]["dur"])
        return {
            name: (len(each), sum(each), min(each), median(each), max(each))
            for name, each in durations.items()
        }

    def _launches_kernels(self, call: int) -> bool:
        """By its name, or because a kernel says so."""
        made = (self.events[i]["cat"] in KERNELS for i in self.gpu if self.launch[i] == call)
        return "Launch" in self.events[call]["name"] or any(made)

    def of_step(self, position: int) -> dict[str, Any]:
        """The figures of one step."""
        mine = [self.events[i] for i in self.gpu if self.step[i] == position]
        calls = [i for i in self.calls if self._step(i) == position]
        return {
            "kernels": sum(e["cat"] in KERNELS for e in mine),
            "copies": sum(e["cat"] in COPIES for e in mine),
            "memsets": sum(e["cat"] in MEMSETS for e in mine),
            "launches": sum(map(self._launches_kernels, calls)),
            "busy": length_of_union([(e["ts"], end(e)) for e in mine]),
        }

    def ops(self) -> dict[str, tuple[int, Decimal, Decimal, int, Decimal]]:
        """Name -> count, total, time without what is directly inside, launches, their GPU time."""
        found: dict[str, list[Any]] = {}
        for i, one in enumerate(self.events):
            if one["cat"] not in OPS or i in self.marks:
                continue
            inside = [
                c
                for c in self.calls
                if where(self.events[c]) == where(one)
                and one["ts"] <= self.events[c]["ts"] < end(one)
                and self._is_launch(c)
            ]
            figures = found.setdefault(one["name"], [0, Decimal(0), Decimal(0), 0, Decimal(0)])
            figures[2] += one["dur"] - sum(
                (e["dur"] for k, e in enumerate(self.events) if self._directly_in(k) == i),
                Decimal(0),
            )
            around = self._op(i)
            if around is not None and self.events[around]["name"] == one["name"]:
                continue
            figures[0] += 1
            figures[1] += one["dur"]
            figures[3] += len(inside)
            figures[4] += sum(
                (self.events[g]["dur"] for g in self.gpu if self.launch[g] in inside), Decimal(0)
            )
        return {name: tuple(figures) for name, figures in found.items()}  # type: ignore[misc]

    def _is_launch(self, call: int) -> bool:
        named = re.search("Launch|Memcpy|Memset", self.events[call]["name"])
        return bool(named) or call in self.launch.values()

    def _directly_in(self, inner: int) -> int | None:
        """The op, annotation or call next around one, past Python frames."""
        if self.events[inner]["cat"] not in HOST - {"python_function"}:
            return None
        around = self.parent[inner]
        while around is not None and self.events[around]["cat"] == "python_function":
            around = self.parent[around]
        return around

    def delays(self) -> list[Decimal]:
        """Start of each launch of kernels to the start of its first kernel."""
        first: dict[int, Decimal] = {}
        for i, call in self.launch.items():
            if call is not None and self.events[i]["cat"] in KERNELS:
                at = self.events[i]["ts"]
                first[call] = min(first.get(call, at), at)
        return sorted(at - self.events[call]["ts"] for call, at in first.items())
