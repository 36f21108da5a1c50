"""The parts of a page that speak of one trace: verdict, figures, steps, ops, kernels, roofline."""

from __future__ import annotations

from decimal import Decimal

from trace_util.facts import Facts
from trace_util.findings.finding import Finding
from trace_util.kernel_names import decode
from trace_util.kernel_words import kernel_words
from trace_util.plot.figure import timeline
from trace_util.plot.lanes import View
from trace_util.plot.scene import Scene
from trace_util.plot.svg import svg_fragment
from trace_util.report.decode import label_rows
from trace_util.report.html.markup import Child, Html, element, joined
from trace_util.report.html.subject import Subject
from trace_util.report.html.tables import (
    Cell,
    count_cell,
    number_cell,
    row_header,
    table,
    text_cell,
    time_cell,
)
from trace_util.report.oddities import oddities
from trace_util.report.text import NO_NAME, clean, shortened
from trace_util.report.units import Unit, count_at_least, counted, duration, share, unit_for
from trace_util.report.values import filled
from trace_util.steps import StepFacts
from trace_util.tally import middle
from trace_util.views import VIEW_OPS

WIDTH = 1040.0  # px of a figure
CELL = 3.0  # px; what is narrower than that is merged, so that the page stays small
MOST_KERNELS = 60
MOST_OPS = 25
MOST_STEPS = 60


def verdict(subject: Subject) -> Html:
    """What bounds the run, in one sentence, the figures behind it, and what is odd."""
    found = subject.explanation
    name = found.regime.name
    reason = filled(found.regime.reason, found.regime.values)
    sentence = element(
        "p",
        element("strong", name[0].upper() + name[1:]) if name else None,
        reason[0].upper() + reason[1:] + ".",
        class_="verdict",
    )
    return joined(sentence, _tiles(found.facts), _findings(subject))


def _tiles(facts: Facts) -> Html:
    tiles = [_tile("Window", facts.window_ns, "window_us")]
    if facts.gpu_activity == "recorded":
        part = f"{share(facts.busy_share)} of the window" if facts.busy_share is not None else ""
        tiles.append(_tile("GPU busy", facts.window_busy_ns, "gpu_busy_in_window_us", part))
    step = facts.unprofiled_step
    if step is not None:
        spread = f"median of {step.count}, without the profiler" if step.count else ""
        tiles.append(_tile("A step", step.median_ns, "unprofiled_step.median_us", spread))
    if facts.steps:
        tiles.append(_profiled_tile(facts))
    tiles.append(_count_tile("Kernels", facts.kernel_count, "kernels.count", _each_step(facts)))
    tiles.append(_count_tile("Launches", facts.launch_count, "launches", ""))
    return element("dl", *tiles, class_="tiles")


def _profiled_tile(facts: Facts) -> Html:
    """The median mark, without wide steps where there are others, as the findings have it."""
    shown = [step for step in facts.steps if not step.wide] or facts.steps
    wide = len(facts.steps) - len(shown)
    note = f"median of {counted(len(shown), 'recorded step')}"
    note += f", {wide} wide kept out" if wide else ""
    median = middle([step.duration_ns for step in shown])
    return _tile("A step, profiled", median, None, note)


def _each_step(facts: Facts) -> str:
    if facts.partial_steps:
        return ""
    counts = {step.kernels for step in facts.steps}
    return f"{counts.pop():,} in each step" if len(counts) == 1 else ""


def _tile(title: str, ns: float | None, field: str | None, note: str = "") -> Html:
    exact = None if ns is None else str(Decimal(str(ns)) / 1000)
    value = element("span", duration(ns), data_field=field, data_exact=exact)
    return element("div", element("dt", title), element("dd", value, _small(note)))


def _count_tile(title: str, number: int, field: str, note: str) -> Html:
    value = element("span", f"{number:,}", data_field=field, data_exact=number)
    return element("div", element("dt", title), element("dd", value, _small(note)))


def _small(note: str) -> Html | None:
    return element("small", note) if note else None


def _findings(subject: Subject) -> Html:
    odd = [element("li", text) for text in oddities(subject.trace, subject.facts)]
    found = [element("li", _finding(one)) for one in subject.explanation.findings]
    if not found and not odd:
        return element("p", "Nothing odd was found.")
    parts: list[Child] = [element("h3", "What was found")]
    if found:
        parts.append(element("ul", *found, class_="findings"))
    if odd:
        parts += [element("h3", "What to know of the recording"), element("ul", *odd)]
    return joined(*parts)


def _finding(one: Finding) -> Html:
    claim = filled(one.claim, one.values)
    return joined(
        element("strong", one.kind.value, ": "),
        claim[0].upper() + claim[1:] + ".",
        element("br") if one.next_step else None,
        f"Next: {one.next_step}." if one.next_step else None,
    )


def timelines(subject: Subject) -> Html:
    """The whole window, and one step of it where there are several."""
    views = [(View(), "the whole window")]
    if len(subject.facts.steps) > 1:
        views.append((View(last_step=True), f"one step, {clean(subject.facts.steps[-1].name)}"))
    return joined(
        element("h3", "Timeline"),
        *(
            figure(_timeline(subject, view), f"{subject.id}-time{i}-", f"Timeline, {what}")
            for i, (view, what) in enumerate(views)
        ),
    )


def _timeline(subject: Subject, view: View) -> Scene:
    return timeline(
        [subject.trace],
        view,
        width=WIDTH,
        cell=CELL,
        titled=False,
        links=[subject.links],
        facts=[subject.facts],
    )


def figure(scene: Scene, prefix: str, caption: str) -> Html:
    """A figure in a region that can be scrolled by keyboard."""
    region = element(
        "div",
        Html(svg_fragment(scene, prefix)),
        class_="scroll",
        role="region",
        aria_label=caption,
        tabindex="0",
    )
    return element("figure", region, element("figcaption", caption))


def steps(subject: Subject) -> Html | None:
    """The recorded steps."""
    facts = subject.facts
    if not facts.steps:
        return None
    shown = facts.steps[:MOST_STEPS]
    unit = unit_for([time for s in shown for time in (s.duration_ns, s.gpu_busy_ns)])
    rows = [
        [
            row_header(clean(step.name)),
            time_cell(step.duration_ns, unit),
            *_gpu_cells(step, unit, index in facts.partial_steps),
            count_cell(step.launches),
        ]
        for index, step in enumerate(shown)
    ]
    titles = ("step", f"on the CPU, {unit.name}", f"its GPU work, {unit.name}", "kernels",
              "memsets", "copies", "launches")  # fmt: skip
    more = len(facts.steps) - len(shown)
    note = f"and {counted(more, 'more step')}" if more else ""
    caption = "The recorded steps, each with the GPU work that it launched"
    return joined(element("h3", "Steps"), table(caption, titles, rows, note))


def _gpu_cells(step: StepFacts, unit: Unit, partial: bool) -> list[Cell]:
    """What a step did on the GPU; not exact where the trace does not tell all of it."""
    counts = (step.kernels, step.memsets, step.copies)
    if not partial:
        return [time_cell(step.gpu_busy_ns, unit), *map(count_cell, counts)]
    least = [unit.at_least(step.gpu_busy_ns, True), *(count_at_least(n, True) for n in counts)]
    return [number_cell(text) for text in least]


def kernels(subject: Subject) -> Html | None:
    """The kernels by name, decoded."""
    facts = subject.facts
    if not facts.kernels:
        return None
    shown = facts.kernels[:MOST_KERNELS]
    unit = unit_for([k.total_ns for k in shown])
    each = unit_for([k.median_ns for k in shown])
    rows = [
        [
            row_header(kernel_cell(kernel.name)),
            text_cell(clean(kernel.op or "-")),
            count_cell(kernel.count),
            time_cell(kernel.total_ns, unit),
            _share_cell(kernel.total_ns, facts.kernel_total_ns),
            time_cell(kernel.min_ns, each),
            time_cell(kernel.median_ns, each),
            time_cell(kernel.max_ns, each),
        ]
        for kernel in shown
    ]
    titles = ("kernel", "launched by", "count", f"total, {unit.name}", "of kernel time",
              f"min, {each.name}", f"median, {each.name}", f"max, {each.name}")  # fmt: skip
    left = facts.kernels[MOST_KERNELS:]
    time = share(sum(k.total_ns for k in left) / facts.kernel_total_ns) if left else ""
    note = f"and {counted(len(left), 'more name')} with {time} of the time" if left else ""
    return joined(
        element("h3", "Kernels"),
        table("Kernels by name, most time first; a name opens to its parts", titles, rows, note),
    )


def _share_cell(part: int, whole: int) -> Cell:
    return number_cell(share(part / whole) if whole else "-", part / whole if whole else None)


def kernel_cell(name: str) -> Html:
    """A kernel in words; it opens to the full name and what stands in it."""
    decoded = decode(name)
    parts = [("full name", shortened(name, 600)), *label_rows(decoded)]
    rows = (element("div", element("dt", label), element("dd", text)) for label, text in parts)
    words = shortened(kernel_words(decoded), 90).strip() or NO_NAME
    return element("details", element("summary", words), element("dl", *rows))


def _no_launch(op: str) -> Cell:
    """What launches nothing may be work of the CPU, unless it is known for a view."""
    return number_cell("none: metadata only" if op in VIEW_OPS else "none", 0)


def ops(subject: Subject) -> Html | None:
    """The CPU ops by name, those that launch nothing marked."""
    facts = subject.facts
    if not facts.ops:
        return None
    shown = facts.ops[:MOST_OPS]
    unit = unit_for([time for op in shown for time in (op.total_ns, op.self_ns)])
    gpu = unit_for([op.gpu_ns for op in shown])
    rows = [
        [
            row_header(shortened(op.name, 90).strip() or NO_NAME),
            count_cell(op.count),
            time_cell(op.total_ns, unit),
            time_cell(op.self_ns, unit),
            count_cell(op.launches) if op.launches else _no_launch(op.name),
            time_cell(op.gpu_ns, gpu),
        ]
        for op in shown
    ]
    titles = ("op", "count", f"total, {unit.name}", f"self, {unit.name}", "launches",
              f"GPU time, {gpu.name}")  # fmt: skip
    more = len(facts.ops) - len(shown)
    note = f"and {counted(more, 'more op')}" if more else ""
    return joined(
        element("h3", "CPU ops"), table("CPU ops by name, most CPU time first", titles, rows, note)
    )
