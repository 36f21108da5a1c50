"""Writes what the profiler saw: the trace with its run facts, and the table."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from torch.profiler import profile

from ..events import TraceError
from .output import say
from .run import Run, run_facts
from .timing import StepTime

TABLE_ROWS = 15
# Kineto's last key is the path that it wrote to, which would give the reader's folders away
# (libkineto/src/output_json.cpp, ChromeTraceLogger::finalizeTrace).
TRACE_NAME = re.compile(rb'"traceName": "(?:[^"\\]|\\.)*"')
# Kineto does not tell of a full disk: it leaves the file out or cuts it off.
CUT_OFF = "the profiler could not write all of it; is the disk full?"
END_BYTES = 16_384  # more than either end of the file needs to hold its own keys
# Kineto puts the path into the trace as it is, so that a quote in it ends the text, and takes a
# backslash for a slash when it gives the file its name (output_json.cpp, torch 2.15).
NOT_FOR_KINETO = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')

RUN_FACTS = b'{"run_facts": '  # how a trace begins


class Saved(NamedTuple):
    """The files of one recorded run."""

    run: Run
    trace: Path
    table: Path


def save(
    run: Run,
    prof: profile,
    *,
    unprofiled: StepTime,
    relative_error: float | None,
) -> Saved:
    """The trace and the table of ``prof``, written beside each other under the run's name.

    Each file appears whole or not at all; those of an earlier run of the same name are replaced.

    Raises:
        TraceError: the profiler recorded no step, or the disk would not take the files.
    """
    facts = run_facts(run)
    facts["unprofiled_step_us"] = unprofiled._asdict()
    facts |= error_facts(relative_error)
    saved = Saved(run, run.path, run.path.with_suffix(".txt"))
    replaced = _replaced(saved.trace, facts["flags"]) if saved.trace.exists() else ""
    try:
        # Both are written before either takes its name: no table is left without its trace.
        with whole_file(saved.table) as table, whole_file(saved.trace) as trace:
            table.write_text(_table(prof, run) + "\n", encoding="utf-8")
            _export(prof, trace, facts, saved.trace.name)
    except OSError as error:
        raise TraceError(f"{saved.trace}: not written: {error.strerror or error}") from None
    if replaced:
        say(f"note: {replaced}")
    return saved


def error_facts(relative_error: float | None) -> dict[str, float | bool | None]:
    """What the trace says of the result; JSON has no infinity, for which a flag stands."""
    if relative_error is None:
        return {"relative_error": None, "output_finite": None}
    is_finite = math.isfinite(relative_error)
    return {"relative_error": relative_error if is_finite else None, "output_finite": is_finite}


def _replaced(path: Path, flags: dict[str, object]) -> str:
    """That the file at ``path`` is replaced, and which flags of its run were others."""
    earlier = _earlier_flags(path)
    # The name tells on which device it ran; `auto` and that device are the same.
    told = [name for name in flags if name != "device" and name in earlier]
    others = [name for name in told if earlier[name] != flags[name]]
    if "steps" in others and _is_sum(earlier) and _is_sum(flags):
        others.remove("steps")
    if not others:
        return f"replaced the earlier {path}"
    was, is_ = (" ".join(_flag(name, of[name]) for name in others) for of in (earlier, flags))
    return f"replaced the earlier {path}, recorded with {was}, by this one with {is_}"


def _is_sum(flags: dict[str, object]) -> bool:
    """Whether ``--steps`` says no more than the flags that it is by default the sum of."""
    parts = [flags.get(name) for name in ("wait", "warmup_steps", "active")]
    return flags["steps"] == sum(part for part in parts if isinstance(part, int))


def _earlier_flags(path: Path) -> dict[str, object]:
    """The flags that a trace says it was recorded with; none where it says nothing."""
    with suppress(OSError, ValueError, KeyError), path.open("rb") as file:
        text = file.read(END_BYTES).decode("utf-8", "replace")
        begin = RUN_FACTS.decode()
        if text.startswith(begin):
            flags = json.JSONDecoder().raw_decode(text, len(begin))[0]["flags"]
            return flags if isinstance(flags, dict) else {}
    return {}


def _flag(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"--{'' if value else 'no-'}{name}"
    return f"--{name} {value}"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write that becomes ``path`` when the block ends well and is gone otherwise."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _table(prof: profile, run: Run) -> str:
    key = "self_cuda_time_total" if run.device.type == "cuda" else "self_cpu_time_total"
    return str(prof.key_averages().table(sort_by=key, row_limit=TABLE_ROWS))


def _export(prof: profile, part: Path, facts: dict[str, object], name: str) -> None:
    """The one export, with the run facts put in front of the profiler's own keys.

    They are spliced as bytes: the file may hold names that are not valid UTF-8, and a large one
    would cost seconds to parse.
    """
    own_name = b'"traceName": ' + json.dumps(name).encode()
    with _kineto_file(part) as plain:
        prof.export_chrome_trace(str(plain))
        if not plain.exists():
            raise OSError(errno.ENOSPC, CUT_OFF)
        with plain.open("rb") as source, part.open("wb") as target:
            head = source.read(END_BYTES)
            before, brace, after = head.partition(b"{")
            if before.strip() or not brace:
                raise TraceError(f"{name}: torch wrote no trace; did the steps become active?")
            target.write(RUN_FACTS + json.dumps(facts).encode() + b"," + after)
            shutil.copyfileobj(source, target, 1 << 20)
        with part.open("r+b") as target:
            target.seek(max(0, os.path.getsize(part) - END_BYTES))
            start = target.tell()
            tail = target.read()
            target.seek(start)
            target.truncate()
            tail, ends = TRACE_NAME.subn(lambda _: own_name, tail)
            target.write(tail)
        if not ends or not tail.rstrip().endswith(b"}"):
            raise OSError(errno.ENOSPC, CUT_OFF)


@contextmanager
def _kineto_file(part: Path) -> Iterator[Path]:
    """A file for Kineto to write, beside ``part`` unless its folder has a name that Kineto spoils.

    It is gone when the block ends.
    """
    elsewhere: AbstractContextManager[str] = nullcontext(str(part.parent))
    if NOT_FOR_KINETO.search(str(part.parent)):
        elsewhere = tempfile.TemporaryDirectory(prefix="trace-util-")
    with elsewhere as folder:
        plain = Path(folder, part.with_suffix(".kineto").name)
        try:
            yield plain
        finally:
            plain.unlink(missing_ok=True)
            # Kineto's name for it until it is whole (seen with torch 2.15).
            plain.with_name(f"{plain.name}.tmp").unlink(missing_ok=True)
