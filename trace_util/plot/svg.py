"""A scene as SVG: the same bytes for the same scene, texts as texts, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from trace_util.plot.scene import Box, Curve, Label, Line, Scene, Shape
from trace_util.plot.theme import DARK, LIGHT, STRIPES, THEMES

# All of these are narrower than the widths that the layout reckons with.
FACES = (
    "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', "
    "'DejaVu Sans', sans-serif"
)


def svg_text(scene: Scene, theme: str = "light") -> str:
    """The scene as a file of its own; the theme ``auto`` follows the reader's preference."""
    rules = "\n".join(_style(theme))
    return "".join(
        (
            _open(scene, 'xmlns="http://www.w3.org/2000/svg"'),
            f"<title>{_plain(scene.title)}</title>\n<desc>{_plain(scene.description)}</desc>\n",
            f"<style>\n{rules}\n</style>\n",
            _patterns(""),
            f'<rect class="paper" width="{_n(scene.width)}" height="{_n(scene.height)}"/>\n',
            *(_shape(shape, "") for shape in scene.shapes),
            "</svg>\n",
        )
    )


def svg_fragment(scene: Scene, prefix: str) -> str:
    """The scene as an element of an HTML page that carries :func:`page_style`.

    ``prefix`` keeps the ids of several figures on a page apart.
    """
    return "".join(
        (
            _open(scene, f'aria-labelledby="{prefix}t" aria-describedby="{prefix}d"'),
            f'<title id="{prefix}t">{_plain(scene.title)}</title>\n',
            f'<desc id="{prefix}d">{_plain(scene.description)}</desc>\n',
            _patterns(prefix),
            *(_shape(shape, prefix) for shape in scene.shapes),
            "</svg>\n",
        )
    )


def page_style() -> str:
    """The rules that a page needs for its figures; they follow the reader's preference."""
    return "\n".join(_style("auto"))


def _open(scene: Scene, attributes: str) -> str:
    size = f'width="{_n(scene.width)}" height="{_n(scene.height)}"'
    box = f'viewBox="0 0 {_n(scene.width)} {_n(scene.height)}"'
    return f'<svg {attributes} role="img" class="figure" {size} {box}>\n'


def _style(theme: str) -> Iterator[str]:
    if theme == "auto":
        yield f":root{{{_variables(LIGHT)}}}"
        yield f"@media(prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
        yield f"@media print{{:root{{{_variables(LIGHT)}}}}}"
        paints: Mapping[str, str] = {name: f"var(--fig-{name})" for name in LIGHT}
    else:
        paints = THEMES[theme]
    yield f".figure text{{font-family:{FACES}}}.figure .b{{font-weight:600}}"
    yield ".figure .m{text-anchor:middle}.figure .e{text-anchor:end}.figure .f{opacity:.38}"
    yield ".figure .d{stroke-dasharray:3 3}"
    for name, colour in paints.items():
        yield f".figure .{name}{{fill:{colour}}}.figure .s-{name}{{stroke:{colour};fill:none}}"
    yield f".figure .o-op{{stroke:{paints['op']}}}"


def _variables(paints: Mapping[str, str]) -> str:
    return "".join(f"--fig-{name}:{colour};" for name, colour in paints.items())


def _patterns(prefix: str) -> str:
    """The stripes of the idle paints, and the head of an arrow."""
    parts = ["<defs>\n"]
    for name, (angle, apart) in STRIPES.items():
        stripe = name.replace("idle", "hatch")
        parts.append(
            f'<pattern id="{prefix}{name}" width="{apart}" height="{apart}" '
            f'patternUnits="userSpaceOnUse" patternTransform="rotate({angle})">'
            f'<rect class="{name}" width="{apart}" height="{apart}"/>'
            f'<path class="s-{stripe}" d="M0 0V{apart}" stroke-width="1.6"/></pattern>\n'
        )
    parts.append(
        f'<marker id="{prefix}head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path class="arrow" d="M0 0.6L8 4L0 7.4z"/></marker>\n'
    )
    return "".join((*parts, "</defs>\n"))


def _shape(shape: Shape, prefix: str) -> str:
    if isinstance(shape, Box):
        return _box(shape, prefix)
    if isinstance(shape, Label):
        return _label(shape)
    if isinstance(shape, Line):
        return _line(shape)
    return _curve(shape, prefix)


def _box(box: Box, prefix: str) -> str:
    place = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    radius = f' rx="{_n(box.radius)}"' if box.radius else ""
    if box.outline and box.width > 2:  # a stroke is centred on its path
        place = (
            f'x="{_n(box.x + 0.5)}" y="{_n(box.y + 0.5)}" '
            f'width="{_n(box.width - 1)}" height="{_n(box.height - 1)}"'
        )
    faded = " f" if box.faded else ""
    if box.paint in STRIPES:
        fill = f'fill="url(#{prefix}{box.paint})" data-paint="{box.paint}"'
    else:
        fill = f'class="{box.outline and "o-" + box.outline + " "}{box.paint}{faded}"'
    if not box.title:
        return f"<rect {fill} {place}{radius}/>\n"
    return f"<rect {fill} {place}{radius}><title>{_plain(box.title)}</title></rect>\n"


def _label(label: Label) -> str:
    classes = [label.paint, *(["b"] if label.bold else [])]
    classes += {"start": [], "middle": ["m"], "end": ["e"]}[label.anchor]
    return (
        f'<text class="{" ".join(classes)}" data-role={quoteattr(label.role)} x="{_n(label.x)}" '
        f'y="{_n(label.y)}" font-size="{_n(label.size)}">{_plain(label.text)}</text>\n'
    )


def _line(line: Line) -> str:
    dashed = " d" if line.dashed else ""
    return (
        f'<path class="s-{line.paint}{dashed}" stroke-width="{_n(line.width)}" '
        f'd="M{_n(line.x1)} {_n(line.y1)}L{_n(line.x2)} {_n(line.y2)}"/>\n'
    )


def _curve(curve: Curve, prefix: str) -> str:
    bend = max((curve.y2 - curve.y1) * 0.55, 8.0)
    return (
        f'<path class="s-{curve.paint}" stroke-width="1.1" marker-end="url(#{prefix}head)" '
        f'd="M{_n(curve.x1)} {_n(curve.y1)}C{_n(curve.x1)} {_n(curve.y1 + bend)} '
        f'{_n(curve.x2)} {_n(curve.y2 - bend)} {_n(curve.x2)} {_n(curve.y2)}"/>\n'
    )


def _plain(text: str) -> str:
    """Text for XML, without the characters that XML has no place for."""
    return escape("".join(c for c in text if c >= " " and not 0xD800 <= ord(c) < 0xE000))


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
