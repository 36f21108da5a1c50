"""HTML out of Python values: every text is escaped, whoever wrote it."""

from __future__ import annotations

from html import escape

# Elements without an end tag.
_VOID = ("meta", "br", "input")


class Html(str):
    """Text that is HTML already and must not be escaped again."""

    __slots__ = ()


Child = Html | str | None


def plain(text: str) -> Html:
    """``text`` as HTML; control characters, which HTML forbids, become visible escapes."""
    safe = "".join(c if c.isprintable() or c in "\n " else _visible(c) for c in text)
    return Html(escape(safe, quote=True))


def _visible(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def element(tag: str, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """An element. ``class_`` and ``for_`` lose their mark, ``data_x`` becomes ``data-x``.

    An attribute that is ``None`` or ``False`` is left out, one that is ``True`` has no value.
    """
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        written.append(f" {name}" if value is True else f' {name}="{plain(str(value))}"')
    opening = f"<{tag}{''.join(written)}>"
    if tag in _VOID:
        return Html(opening)
    return Html(f"{opening}{joined(*children)}</{tag}>")


def joined(*children: Child) -> Html:
    """Children one after the other; ``None`` is nothing."""
    return Html(
        "".join(
            child if isinstance(child, Html) else plain(child)
            for child in children
            if child is not None
        )
    )
