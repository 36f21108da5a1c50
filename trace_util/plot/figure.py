"""Traces -> the scene of their timelines, with headings from what the traces say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trace_util.blocks import rows_where
from trace_util.events import GPU_KINDS, Trace, TraceError
from trace_util.facts import Facts, trace_facts
from trace_util.links import Links, link
from trace_util.plot.lanes import View, panel_of, span_of
from trace_util.plot.layout import scene_of
from trace_util.plot.paper import Heading, plot_width
from trace_util.plot.scene import Scene
from trace_util.report.text import clean
from trace_util.report.units import duration, share
from trace_util.timeline import clip, union_ns

WIDTH = 960.0
NARROWEST, WIDEST = 480.0, 4000.0
WHOLE_WINDOW = View()
CELL = 2.0  # px; bars narrower than that are merged with their neighbours


def timeline(
    traces: Sequence[Trace],
    view: View = WHOLE_WINDOW,
    *,
    width: float = WIDTH,
    cell: float = CELL,
    titled: bool = True,
    footer: str = "",
    links: Sequence[Links] = (),
    facts: Sequence[Facts] = (),
) -> Scene:
    """The timelines of some traces, stacked on one scale.

    What stands around the figure may say already what it is of: then ``titled`` is false.

    Raises:
        TraceError: no trace, or one without what the view asks for.
    """
    if not traces:
        raise TraceError("no trace to draw; name one")
    links = links or [link(trace) for trace in traces]
    facts = facts or [trace_facts(*both) for both in zip(traces, links, strict=True)]
    whole = list(zip(traces, links, facts, strict=True))
    spans = [span_of(trace, facts, view) for trace, _, facts in whole]
    resolution = max(end - start for start, end, _ in spans) / plot_width(width) * cell
    panels = [panel_of(*one, view, resolution) for one in whole]
    headings = [heading(trace, one, view, titled=titled) for trace, _, one in whole]
    return scene_of(panels, headings, width, footer)


def heading(trace: Trace, facts: Facts, view: View, *, titled: bool = True) -> Heading:
    """Title, busy share, and the command, GPU and versions of a trace."""
    run = trace.header.run
    title = Path(trace.path).name
    if isinstance(run.get("lesson"), str) and isinstance(run.get("tag"), str):
        title = f"{run['lesson']} · {run['tag']}"
    lines = (_activity(trace, facts, view), _provenance(trace, facts) if titled else "")
    return Heading(clean(title), tuple(clean(line) for line in lines if line), titled)


def _activity(trace: Trace, facts: Facts, view: View) -> str:
    if view.step is not None or view.last_step:
        step = next((s for s in facts.steps if s.number == view.step), facts.steps[-1])
        if facts.gpu_activity != "recorded":
            return f"{step.name}: {duration(step.duration_ns)} on the CPU"
        on_cpu = f"{step.name}: {duration(step.duration_ns)} on the CPU"
        if facts.steps.index(step) in facts.partial_steps:
            return f"{on_cpu}; not all of its GPU work is known"
        return f"{on_cpu}; it launched {duration(step.gpu_busy_ns)} of GPU work"
    if view.range_ns is not None and facts.window_start_ns is not None:
        return _of_range(trace, facts, facts.window_start_ns, *view.range_ns)
    if facts.window_busy_ns is None or facts.window_ns is None:
        return f"window {duration(facts.window_ns)}"
    return (
        f"GPU busy {duration(facts.window_busy_ns)} of the window's {duration(facts.window_ns)} "
        f"({share(facts.busy_share)})"
    )


def _of_range(trace: Trace, facts: Facts, zero_ns: int, low_ns: int, high_ns: int) -> str:
    shown = f"{duration(low_ns)} to {duration(high_ns)} since the start of the window"
    if facts.gpu_activity != "recorded":
        return shown
    events = trace.events
    gpu = rows_where(events.is_kind(*GPU_KINDS))
    inside = clip(events.start_ns[gpu], events.ends(gpu), zero_ns + low_ns, zero_ns + high_ns)
    busy, length = union_ns(*inside), high_ns - low_ns
    part = share(busy / length)
    return f"{shown}: GPU busy {duration(busy)} of {duration(length)} ({part})"


def _provenance(trace: Trace, facts: Facts) -> str:
    run = trace.header.run
    versions = run.get("versions")
    told = versions if isinstance(versions, dict) else {}
    named = [f"{name} {told[name]}" for name in ("torch", "driver") if told.get(name)]
    gpu = facts.gpu or ("no GPU" if facts.gpu_activity == "none" else None)
    return " · ".join(str(part) for part in (run.get("command"), gpu, *named) if part)
