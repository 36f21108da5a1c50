"""What each kernel achieves against the peaks of the GPU, as a chart and as a table."""

from __future__ import annotations

from trace_util.kernel_names import decode
from trace_util.kernel_words import kernel_words
from trace_util.plot.roofline_chart import roofline_scene
from trace_util.report.explain import CACHED, cache_note
from trace_util.report.html.markup import Child, Html, element, joined
from trace_util.report.html.sections import MOST_KERNELS, WIDTH, figure
from trace_util.report.html.subject import Subject
from trace_util.report.html.tables import number_cell, row_header, table, text_cell, time_cell
from trace_util.report.text import clean, shortened
from trace_util.report.units import share, unit_for
from trace_util.report.values import rate
from trace_util.roofline import KernelRate


def roofline(subject: Subject) -> Html | None:
    """What each kernel achieves against the peaks of the GPU, as a chart and as a table."""
    found = subject.explanation
    if not found.kernels:
        return None
    parts: list[Child] = [element("h3", "Roofline")]
    if found.roofline:
        parts.append(element("p", f"No shares of a peak: {found.roofline}."))
    scene = roofline_scene(found.kernels, found.device, WIDTH) if found.device else None
    if scene is not None and found.device is not None:
        parts.append(figure(scene, f"{subject.id}-roof-", f"Roofline of the {found.device.name}"))
    known = [one for one in found.kernels if one.flops_per_s or one.bytes_per_s][:MOST_KERNELS]
    if known:
        parts.append(_rates(known))
    if any(one.may_be_cached for one in known):
        parts.append(element("p", cache_note(found), class_="note"))
    if found.device is not None:
        source = found.device.source
        link = element("a", source, href=source, rel="noreferrer")
        note = f" ({found.device.note})" if found.device.note else ""
        parts.append(element("p", "Peaks as the vendor states them: ", link, note, class_="note"))
    return joined(*parts)


def _rates(known: list[KernelRate]) -> Html:
    unit = unit_for([one.median_ns for one in known])
    rows = [
        [
            row_header(shortened(kernel_words(decode(one.name)), 90)),
            text_cell(clean(one.op or "-")),
            time_cell(one.median_ns, unit),
            number_cell(rate(one.flops_per_s, "FLOP/s") if one.flops_per_s else "-"),
            number_cell(share(one.compute_share) if one.compute_share else "-"),
            number_cell(_least(one, rate(one.bytes_per_s, "B/s") if one.bytes_per_s else "-")),
            number_cell(_memory_share(one)),
            text_cell(one.bound or "-"),
        ]
        for one in known
    ]
    titles = ("kernel", "op", f"median, {unit.name}", "arithmetic", "of peak", "memory", "of peak",
              "nearer to")  # fmt: skip
    caption = "Achieved rates, from the ops' recorded shapes and the kernels' median times"
    return table(caption, titles, rows)


def _memory_share(one: KernelRate) -> str:
    text = _least(one, share(one.memory_share) if one.memory_share else "-")
    return (CACHED if one.may_be_cached else "") + text


def _least(one: KernelRate, text: str) -> str:
    return f"≥ {text}" if one.work.is_lower_bound and text != "-" else text
