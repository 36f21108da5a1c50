"""The summary of a trace as JSON: the same facts, exact, in microseconds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec

from trace_util.events import Kind, Trace
from trace_util.facts import Facts
from trace_util.report.oddities import oddities
from trace_util.report.summary import categories
from trace_util.report.versions import versions
from trace_util.steps import step_ranks

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_NS_PER_US = Decimal(1000)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = "\U0010ffff"  # no character, and never one: https://www.unicode.org/faq/private_use.html
_MARKED = re.compile(f"{_MARK}(d[89a-f][0-9a-f]{{2}})")


def encoded(value: Any) -> str:
    """Summaries as indented JSON; decimals are written out, so that no nanosecond is lost.

    A byte of a file's name that is no text is spelled as Python does, ``\\udcff`` for 0xff: what
    ``json.loads`` makes of it opens the file.
    """
    try:
        return _indented(value)
    except UnicodeEncodeError:
        return _MARKED.sub(r"\\u\1", _indented(_marked(value)))


def _indented(value: Any) -> str:
    return msgspec.json.format(_ENCODER.encode(value), indent=2).decode() + "\n"


def _marked(value: Any) -> Any:
    """The same with what UTF-8 has no bytes for behind a mark."""
    if isinstance(value, str):
        return _SURROGATE.sub(lambda m: f"{_MARK}{ord(m[0]):04x}", value)
    if isinstance(value, Mapping):
        return {_marked(key): _marked(one) for key, one in value.items()}
    return [_marked(one) for one in value] if isinstance(value, (list, tuple)) else value


def _steps(trace: Trace, facts: Facts) -> Iterator[dict[str, Any]]:
    """The steps in order, in a merged job each with the label of its rank."""
    ranks = step_ranks(trace, facts.steps)
    for position, step in enumerate(facts.steps):
        told = _in_us(step, leave_out=("index",))
        yield {"rank": ranks[position], **told} if ranks else told


def summary_json(trace: Trace, facts: Facts, *, steps_as_text: bool = False) -> dict[str, Any]:
    """The summary of one trace; ``null`` is what the trace cannot say.

    ``steps_as_text`` spells each step out at once, for :func:`encoded`: a trace may have tens of
    thousands of them, and as texts they take a third of the memory.
    """
    run = trace.header.run
    steps: Iterable[Any] = _steps(trace, facts)
    if steps_as_text:
        steps = (msgspec.Raw(_ENCODER.encode(step)) for step in steps)
    return {
        "file": trace.path,
        "size_bytes": trace.size_bytes,
        "gpu": facts.gpu,
        "gpu_activity": facts.gpu_activity,
        "versions": versions(trace),
        "command": run.get("command"),
        "events_total": sum(trace.phases.values()),
        "complete_events": trace.phases.get("X", 0),
        "phases": trace.phases,
        "categories": categories(trace),
        "cpu_ops": int(trace.events.is_kind(Kind.CPU_OP).sum()),
        "window_start_us": us(facts.window_start_ns),
        "window_us": us(facts.window_ns),
        "gpu_busy_us": us(facts.gpu_busy_ns),
        "gpu_busy_in_window_us": us(facts.window_busy_ns),
        "gpu_busy_share": facts.busy_share,
        "devices": [_device(facts, device) for device in facts.devices],
        "steps": list(steps),
        # Positions of the steps of whose GPU work not all is told: theirs is at least that.
        "partial_steps": list(facts.partial_steps),
        "kernels": {
            "count": facts.kernel_count,
            "distinct_names": len(facts.kernels),
            "total_us": us(facts.kernel_total_ns),
            "by_name": _all(facts.kernels),
        },
        "launches": facts.launch_count,
        "launch_calls": _all(facts.launches),
        "lost_launches": facts.lost_launches,
        "graph_launches": facts.graph_launches,
        "graph_kernels": facts.graph_kernels,
        "unlinked_gpu_events": facts.unlinked_gpu_events,
        "queue_delay": _in_us(facts.queue_delay) if facts.queue_delay else None,
        "copies": sum(one.count for one in facts.copies),
        "copies_by_name": _all(facts.copies),
        "memsets": sum(one.count for one in facts.memsets),
        "memsets_by_name": _all(facts.memsets),
        "ops": _all(facts.ops),
        "annotations": _all(facts.annotations),
        "synchronisations": _all(facts.syncs),
        "overheads": _all(facts.overheads),
        "gaps": [
            {"cause": cause.name.lower(), "count": count, "total_us": us(total)}
            for cause, (count, total) in facts.gaps.by_cause().items()
        ],
        "unprofiled_step": _in_us(facts.unprofiled_step) if facts.unprofiled_step else None,
        "hidden_in_perfetto": facts.hidden_in_perfetto,
        "repairs": trace.repairs,
        "skipped": trace.skipped,
        "warnings": oddities(trace, facts),
    }


def us(ns: float | None) -> Decimal | None:
    """Nanoseconds as microseconds, exactly."""
    if ns is None:
        return None
    return Decimal(ns if isinstance(ns, int) else str(ns)) / _NS_PER_US


def _all(facts: Iterable[Any]) -> list[dict[str, Any]]:
    return [_in_us(one) for one in facts]


def _in_us(fact: Any, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """A fact's fields, those that end in ``_ns`` in microseconds."""
    kind: Any = type(fact)
    return {
        key: us(getattr(fact, name)) if key != name else getattr(fact, name)
        for name, key in _keys(kind)
        if name not in leave_out
    }


@cache
def _keys(kind: Any) -> list[tuple[str, str]]:
    """The fields of a kind of fact, and the key of each in JSON."""
    names = kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else kind._fields
    return [(name, f"{name[:-3]}_us" if name.endswith("_ns") else name) for name in names]


def _device(facts: Facts, device: Any) -> dict[str, Any]:
    share = device.window_busy_ns / facts.window_ns if facts.window_ns else None
    return {**_in_us(device), "window_busy_share": share}
