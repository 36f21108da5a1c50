"""Broken copies of recorded traces: what is taken out, put in or renamed in the JSON."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Document = dict[str, Any]
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


def load(path: Path) -> Document:
    """The trace as plain JSON."""
    return json.loads(gzip.decompress(path.read_bytes()))


def broken_copy(path: Path, folder: Path, edit: Callable[[Document], None]) -> Path:
    """An edited copy in ``folder``, with the lesson folders beside it as they are."""
    copies = folder / "lessons"
    for lesson in path.parents[1].iterdir():
        shutil.copytree(lesson, copies / lesson.name, dirs_exist_ok=True)
    document = load(path)
    edit(document)
    copy = copies / path.parent.name / path.name
    copy.write_bytes(gzip.compress(json.dumps(document).encode(), 1))
    return copy


def complete(document: Document, part: str, *categories: str) -> list[Document]:
    """The complete events whose name holds ``part``, in order of start."""
    found = [
        event
        for event in document["traceEvents"]
        if event.get("ph") == "X"
        and part in event["name"]
        and (not categories or event.get("cat") in categories)
    ]
    return sorted(found, key=lambda event: event["ts"])


def remove(part: str, *categories: str, which: int = 1) -> Callable[[Document], None]:
    """Take out the event of that position among those of the name."""

    def edit(document: Document) -> None:
        victim = complete(document, part, *categories)[which]
        document["traceEvents"] = [e for e in document["traceEvents"] if e is not victim]

    return edit


def remove_all(*categories: str) -> Callable[[Document], None]:
    """Take out every event of the categories."""

    def edit(document: Document) -> None:
        document["traceEvents"] = [
            event for event in document["traceEvents"] if event.get("cat") not in categories
        ]

    return edit


def unlink(*categories: str) -> Callable[[Document], None]:
    """Take away what GPU events are linked to their launch and their op by."""

    def edit(document: Document) -> None:
        for event in complete(document, "", *categories):
            for name in ("correlation", "External id"):
                event["args"].pop(name, None)

    return edit


def rename(old: str, new: str, *categories: str) -> Callable[[Document], None]:
    """Replace a part of all names that hold it."""

    def edit(document: Document) -> None:
        events = complete(document, old, *categories)
        assert events, old
        for event in events:
            event["name"] = event["name"].replace(old, new)

    return edit


def put_in(
    name: str, inside: str, category: str = "cpu_op", at: float = 0.5, **args: Any
) -> Callable[[Document], None]:
    """Put an event of no length into the middle of the second event named ``inside``."""

    def edit(document: Document) -> None:
        around = complete(document, inside, "cpu_op", "user_annotation", *CALLS)[1]
        document["traceEvents"].append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": around["pid"],
                "tid": around["tid"],
                "ts": round(around["ts"] + at * around["dur"], 3),
                "dur": 0.001,
                "args": args,
            }
        )

    return edit


def scale(factor: float, *categories: str) -> Callable[[Document], None]:
    """Make events longer or shorter."""

    def edit(document: Document) -> None:
        for event in complete(document, "", *categories):
            event["dur"] = round(event["dur"] * factor, 3)

    return edit


def set_run(**facts: Any) -> Callable[[Document], None]:
    """Change run facts."""
    return lambda document: document["run_facts"].update(facts)


def together(*edits: Callable[[Document], None]) -> Callable[[Document], None]:
    """Several edits, in order."""

    def edit(document: Document) -> None:
        for one in edits:
            one(document)

    return edit


def twice(document: Document) -> None:
    """Put the steps after the first one behind the last once more: samples enough to compare."""
    marks = complete(document, "ProfilerStep#", "user_annotation")
    events = [e for e in complete(document, "") if e.get("cat") != "Trace"]
    last = max(e["ts"] + e["dur"] for e in events)
    host = [e for e in events if e["ts"] >= marks[1]["ts"] and "stream" not in e["args"]]
    called = {e["args"].get("correlation") for e in host if e.get("cat") in CALLS}
    work = [e for e in events if e.get("cat") in GPU and e["args"]["correlation"] in called]
    for event in json.loads(json.dumps(host + work)):
        event["ts"] = round(event["ts"] + last - marks[1]["ts"] + 100, 3)
        for name in {"correlation", "External id"} & set(event["args"]):
            event["args"][name] += 1_000_000
        stem, mark, number = event["name"].partition("ProfilerStep#")
        if mark:
            event["name"] = f"{stem}{mark}{int(number) + len(marks) - 1}"
        document["traceEvents"].append(event)


def ranked(document: Document) -> None:
    """Replace all times by their ranks in µs, so that a new recording changes no text.

    The order on the CPU stays, and so does that on the GPU, which begins 1 ms later.
    """
    document["traceEvents"] = [
        event
        for event in document["traceEvents"]
        if event.get("ph") == "X" and event.get("cat") not in ("Trace", "gpu_user_annotation")
    ]
    for first, on_gpu in ((0, False), (1000, True)):
        events = [e for e in document["traceEvents"] if (e.get("cat") in GPU) == on_gpu]
        spans = [(round(1000 * e["ts"]), round(1000 * (e["ts"] + e["dur"]))) for e in events]
        times = sorted({time for span in spans for time in span})
        rank = {time: float(first + number) for number, time in enumerate(times)}
        for event, (start, end) in zip(events, spans, strict=True):
            event["ts"], event["dur"] = rank[start], rank[end] - rank[start]
