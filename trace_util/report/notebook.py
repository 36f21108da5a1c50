"""How traces and facts show themselves where they are looked at: a prompt, or a notebook's cell."""

from __future__ import annotations

from pathlib import Path

from trace_util.events import Events, Trace
from trace_util.facts import Facts
from trace_util.kernel_names import decode
from trace_util.kernel_words import kernel_words
from trace_util.report.html.markup import Html, element, joined
from trace_util.report.text import clean, shortened
from trace_util.report.units import counted, duration, share, size, unit_for

MOST_KERNELS = 10
_CELL = "padding:.15em .8em;text-align:{}"


def events_repr(events: Events) -> str:
    """``<Events: 140>``."""
    return f"<Events: {len(events):,}>"


def trace_repr(trace: Trace) -> str:
    """``<Trace eager.json.gz: 140 events, 5.72 kB, 03_simple_mlp on NVIDIA H200>``."""
    run = trace.header.run
    origin = [run.get("lesson"), run.get("gpu")]
    told = " on ".join(clean(str(one)) for one in origin if one)
    parts = [counted(len(trace.events), "event"), size(trace.size_bytes), told]
    name = shortened(Path(trace.path).name, 60)
    return f"<Trace {name}: {', '.join(part for part in parts if part)}>"


def facts_repr(facts: Facts) -> str:
    """``<Facts: window 921 µs, GPU busy 704 µs (76.4 %), 15 kernels, 3 steps>``."""
    return f"<Facts: {', '.join(f'{name} {text}'.strip() for name, text in _figures(facts))}>"


def _figures(facts: Facts) -> list[tuple[str, str]]:
    figures = [("window", duration(facts.window_ns))]
    if facts.gpu_activity == "recorded":
        busy = f"{duration(facts.window_busy_ns)} ({share(facts.busy_share)})"
        figures.append(("GPU busy", busy))
    else:
        figures.append(("GPU activity", facts.gpu_activity))
    if facts.unprofiled_step is not None:
        figures.append(("unprofiled step", duration(facts.unprofiled_step.median_ns)))
    figures.append(("", counted(facts.kernel_count, "kernel")))
    figures.append(("", counted(len(facts.steps), "step")))
    return figures


def trace_html(trace: Trace) -> str:
    """What a trace is: its file, its run and what it holds, as a small table."""
    run = trace.header.run
    rows = [
        ("file", f"{Path(trace.path).name}, {size(trace.size_bytes)}"),
        ("events", f"{len(trace.events):,} ({counted(len(trace.names), 'name')})"),
    ]
    rows += [(key, str(run[key])) for key in ("command", "gpu", "recorded_at") if run.get(key)]
    rows += [
        (what, f"{count:,}") for what, count in (*trace.repairs.items(), *trace.skipped.items())
    ]
    return _table([[clean(key), clean(text)] for key, text in rows])


def facts_html(facts: Facts) -> str:
    """The figures of a trace, and its kernels with their names decoded."""
    figures = element("p", facts_repr(facts).removeprefix("<Facts: ").removesuffix(">"))
    shown = facts.kernels[:MOST_KERNELS]
    if not shown:
        return figures
    unit = unit_for([kernel.total_ns for kernel in shown])
    rows = [
        [
            shortened(kernel_words(decode(kernel.name)), 90),
            f"{kernel.count:,}",
            unit.number(kernel.total_ns),
            share(kernel.total_ns / facts.kernel_total_ns) if facts.kernel_total_ns else "-",
        ]
        for kernel in shown
    ]
    head = ["kernel", "count", f"total, {unit.name}", "of kernel time"]
    left = len(facts.kernels) - len(shown)
    more = element("p", f"and {counted(left, 'other kernel')}") if left else None
    return joined(figures, _table(rows, head), more)


def _table(rows: list[list[str]], head: list[str] | None = None) -> Html:
    """A table that needs no style sheet: a notebook's own may be missing when it is shared."""
    titles = [_cell("th", text, i) for i, text in enumerate(head or [])]
    lines = [element("tr", *(_cell("td", text, i) for i, text in enumerate(row))) for row in rows]
    top = element("thead", element("tr", *titles)) if titles else None
    return element("table", top, element("tbody", *lines))


def _cell(tag: str, text: str, column: int) -> Html:
    is_number = column > 0 and (tag == "th" or text[:1].isdigit())
    return element(tag, text, style=_CELL.format("right" if is_number else "left"))
