"""Draw every figure of the pages again, by the command that stands under it.

python lessons/make_figures.py              # all of them
python lessons/make_figures.py 02           # those of the pages whose name begins so
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lessons import pages  # noqa: E402


def main() -> int:
    """Draw the figures; returns 0."""
    beginning = sys.argv[1] if len(sys.argv) > 1 else ""
    for page in pages.PAGES:
        if not page.name.startswith(beginning):
            continue
        for command in pages.commands(page.read_text(encoding="utf-8")):
            if command.figure is not None:
                print(f"{page.name}: {pages.output_of(command)[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
