"""Run every command of the pages again and put what it prints below it.

    python lessons/refresh.py            # rewrites the pages and the figures
    python lessons/refresh.py --check    # only says what has changed

After traces were recorded anew, the numbers in the prose follow those in the outputs wherever it is
plain which became which. What is left for a writer is listed.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lessons import pages  # noqa: E402

_NUMBER = pages.NUMBER


def refreshed(text: str) -> tuple[str, list[str]]:
    """The page with the outputs of today, and what a writer must look at."""
    lines = text.split("\n")
    became: dict[int, dict[str, set[str]]] = {}
    for command in reversed(pages.commands(text)):
        printed = pages.output_of(command)
        section = became.setdefault(command.section, {})
        for old, new in _pairs(command.printed, printed):
            section.setdefault(old, set()).add(new)
        body = [*printed, ""] if command.printed and command.printed[-1] == "" else [*printed]
        lines[command.first : command.last] = body
    text = "\n".join(lines)
    return _with_prose(text, became)


def _pairs(before: tuple[str, ...], after: tuple[str, ...]) -> list[tuple[str, str]]:
    """The numbers of an output and of a later one, where both have the same form."""
    old = "\n".join(before).rstrip()
    new = "\n".join(after).rstrip()
    # Lines may be wrapped elsewhere when a number has more digits.
    if re.sub(r"\s+", " ", _NUMBER.sub("0", old)) != re.sub(r"\s+", " ", _NUMBER.sub("0", new)):
        return []
    return list(zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True))


def _with_prose(text: str, became: dict[int, dict[str, set[str]]]) -> tuple[str, list[str]]:
    """The page with the numbers of its prose brought up to date, and those that could not be."""
    lines = text.split("\n")
    for one in pages.spoken_numbers(text):
        now = became.get(one.section, {}).get(one.text, set())
        if len(now) == 1 and one.text not in now:
            (new,) = now
            pattern = rf"(?<![\w.,]){re.escape(one.text)}(?![\w]|[.,]\d)"
            lines[one.line] = re.sub(pattern, new, lines[one.line])
    text = "\n".join(lines)
    return text, [
        f"line {one.line + 1}: {one.text} is in no output of its section"
        for one in pages.unproved(text)
    ]


def main() -> int:
    """Refresh the pages; returns 1 where something is left to do."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, say what would")
    check = parser.parse_args().check
    left = False
    for page in (*pages.PAGES, pages.ROOT / "README.md"):
        before = page.read_text(encoding="utf-8")
        after, problems = refreshed(before)
        if page not in pages.PAGES:
            problems = []  # its prose speaks of versions and limits that no command prints
        changed = after != before
        if changed and not check:
            page.write_text(after, encoding="utf-8")
        left |= bool(problems) or (changed and check)
        print(f"{page.name}: {'changed' if changed else 'as it was'}")
        for problem in problems:
            print(f"  {problem}")
    return int(left)


if __name__ == "__main__":
    sys.exit(main())
