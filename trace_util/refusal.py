"""Says in one sentence why a file is no trace, and what it seems to be instead."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Final

from trace_util.document import CUT_OFF as NO_END
from trace_util.document import EVENTS_KEY, JUNK, Document
from trace_util.sources import CUT_OFF, DAMAGED, STDIN, Source
from trace_util.sweeps import KEYS as SWEEP_KEYS

# How files start that have been given for traces, and what they are.
STARTS: Final = (
    (
        b"version https://git-lfs",
        "a Git LFS pointer; fetch the file itself with `git lfs pull`",
    ),
    (b"<!doctype html", "an HTML page, perhaps a login page saved in place of the file"),
    (b"<html", "an HTML page, perhaps a login page saved in place of the file"),
    (b"<?xml", "an XML document, not a trace"),
    (b"PK\x03\x04", "a zip archive; unpack it and name the .json inside"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first (`zstd -d`)"),
    (b"\x04\x22\x4d\x18", "compressed with lz4; decompress it first (`lz4 -d`)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it and name the .json inside"),
    (b"{\x00", "UTF-16 text without its mark; save it as UTF-8 (`iconv -f UTF-16LE -t UTF-8`)"),
    (b"[\x00", "UTF-16 text without its mark; save it as UTF-8 (`iconv -f UTF-16LE -t UTF-8`)"),
    (b"\x00{", "UTF-16 text without its mark; save it as UTF-8 (`iconv -f UTF-16BE -t UTF-8`)"),
    (b"\x00[", "UTF-16 text without its mark; save it as UTF-8 (`iconv -f UTF-16BE -t UTF-8`)"),
    (b"BZh", "compressed with bzip2; decompress it first (`bunzip2`)"),
    (b"\xfd7zXZ", "compressed with xz; decompress it first (`unxz`)"),
    (b"SQLite format 3", "an SQLite database, such as Nsight Systems exports; not a trace"),
    (b"\x89PNG", "a picture, not a trace"),
    (b"%PDF", "a PDF document, not a trace"),
    (b"\x80\x04", "a Python pickle, such as a memory snapshot; not a trace"),
    (b"\x80\x05", "a Python pickle, such as a memory snapshot; not a trace"),
    (b"\x7fELF", "a program, not a trace"),
    (b"Traceback (most recent call last)", "the output of a program that failed, not a trace"),
)

# How `key_averages().table()` starts (torch/autograd/profiler_util.py, `_build_table`), which the
# lessons write beside each trace: a rule, and a row of titles.
_TABLE: Final = re.compile(rb"-{8,}(?:  -{8,})+ *\r?\n *Name  .*\bSelf CPU")

WHOLE_BYTES: Final = 4000  # what is shorter is looked at as a whole; a document keeps 4096

# Of the header that kineto writes before the events (output_json.cpp) and of what torch adds there.
TRACE_KEYS: Final = {"schemaVersion", "deviceProperties", "distributedInfo", "displayTimeUnit"}

SHOWN_BYTES: Final = 1024  # what must be harmless before the first few of them are shown

NO_EVENTS: Final = "no events; did the schedule reach its active steps?"


def refusal(source: Source, document: Document) -> str:
    """The sentence for a file in which no complete event was found."""
    return f"{source.path}: {_reason(source, document)}"


def _reason(source: Source, document: Document) -> str:
    start = document.start.lstrip()
    if not source.bytes_read:
        return "an empty file; was the export interrupted?"
    if not document.window.text_bytes and {CUT_OFF, DAMAGED} & source.notes.keys():
        return "a gzip file that is cut off or damaged before its first byte of text; copy it again"
    if not document.window.text_bytes:
        return "an empty gzip file: an empty trace; was the export interrupted?"
    for bytes_, what in STARTS:
        if start[: len(bytes_)].lower() == bytes_.lower():
            return what
    if document.top == b"[":
        return _list_reason(document)
    if document.top == b"{":
        return _object_reason(document)
    if not start:
        return "nothing but blanks; was the export interrupted?"
    if not start.strip(b"\x00"):
        return "nothing but zero bytes; the disk may have filled up while it was written"
    if _TABLE.match(start):
        return "a profiler's table of operations, not a trace; " + _trace_beside(source.path)
    if b"\x00" in start:
        return "a binary file of an unknown kind, not a trace"
    if document.window.text_bytes < WHOLE_BYTES and (kind := _kind_of(start)):
        return f"JSON, but no trace: it is {kind}, and a trace is an object or a list"
    return "not JSON, and so no trace" + _beginning(start)


def _trace_beside(path: str) -> str:
    """What to read in the place of a table: the trace that lies beside it, if one does."""
    stem = os.path.splitext(path)[0]
    for trace in (stem + ".json.gz", stem + ".json"):
        if path != STDIN and os.path.isfile(trace):
            return f"read the trace beside it, {trace}"
    return "read the trace of the same run, a .json or .json.gz file"


def _kind_of(text: bytes) -> str:
    """What a whole JSON text is, if it is one: ``a number``."""
    try:
        return _kind(json.loads(text))
    except (ValueError, RecursionError):
        return ""


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return "a number"


def _list_reason(document: Document) -> str:
    if document.intake.phases or document.intake.skipped:
        return "a JSON list without one complete event that can be read" + _counts(document)
    return "an empty JSON list: " + NO_EVENTS


def _object_reason(document: Document) -> str:
    header = document.header
    if not document.lists and not isinstance(header.get(EVENTS_KEY), (list, type(None))):
        what = _kind(header[EVENTS_KEY])
        return f"its traceEvents is {what} and not a list of events; did the export fail?"
    if document.lists or EVENTS_KEY in header:
        if document.intake.skipped or document.intake.repairs:
            return "no event of it can be read" + _counts(document)
        if document.intake.phases:
            return "no complete events, only " + _phases(document)
        return NO_EVENTS
    if NO_END in document.intake.repairs and header.keys() & TRACE_KEYS:
        return "cut off in its header, before its first event; copy it again, or record again"
    if header.keys() >= SWEEP_KEYS:
        return "the table of a sweep over sizes, not a trace; trace-util plot draws it"
    if "nodes" in header and "schema" in header:
        return "an execution graph (`nodes`), as ExecutionTraceObserver writes it, not a timeline"
    if "nbformat" in header:
        return "a Jupyter notebook, not a trace"
    if "segments" in header or "device_traces" in header:
        return "a memory snapshot, not a timeline"
    if "resourceSpans" in header:
        return "an OpenTelemetry export, not a profiler trace"
    if not header and JUNK in document.intake.repairs:
        return "not JSON, and so no trace" + _beginning(document.start)
    if not header:
        return "an empty JSON object: no traceEvents in it"
    if {"ph", "ts"} <= header.keys():
        return "one event a line and no list around them; a trace is one JSON object"
    keys = ", ".join(json.dumps(key[:30]) for key in list(header)[:5])
    shown = f" (its keys: {keys})" if _may_be_shown(" ".join(header)) else ""
    return f"JSON, but no trace: it has no traceEvents{shown}"


def _counts(document: Document) -> str:
    skipped = +document.intake.skipped
    counts = ", ".join(f"{reason}: {count}" for reason, count in skipped.items())
    return f" ({counts})" if counts else ""


def _phases(document: Document) -> str:
    phases = document.intake.phases.items()
    return ", ".join(f"{count} of phase {phase[:8]!r}" for phase, count in phases)


def _beginning(start: bytes) -> str:
    """How a file starts, unless a secret may stand there: a message ends up in logs."""
    if not _may_be_shown(start[:SHOWN_BYTES].decode("utf-8", "replace")):
        return "; it may hold a secret, so nothing of it is shown"
    return f" (it starts with {json.dumps(start[:24].decode('utf-8', 'replace'))})"


def _may_be_shown(text: str) -> bool:
    from trace_util.giveaways import may_be_shown

    return may_be_shown(text)
