"""Makes a large trace of a recorded one, for benchmarks.

The steps of the recorded trace are repeated, with times, step numbers and ids that go on, in the
layout that the profiler wrote: ``python large_trace.py RECORDED FILE MEGABYTES``.
"""

import gzip
import re
import sys
from pathlib import Path

_NUMBERS = re.compile(
    r'(?P<time>(?<="ts": )\d+\.\d+)'
    r'|(?P<step>(?<="ProfilerStep#)\d+)'
    r'|(?P<id>(?<="External id": )\d+|(?<="correlation": )\d+|(?<="id": )\d+)'
)


def write_large_trace(source: Path, path: Path, megabytes: int) -> None:
    """Repeat the events of a recorded trace until the file has this size."""
    opener = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt") as file:
        text = file.read()
    begin = text.index('"traceEvents": [') + len('"traceEvents": [')
    end = text.index("\n  }\n  ]", begin) + len("\n  }")
    events = text[begin:end]
    # The rows that name processes and threads, and the instants, stand at the end, once.
    last_step = events.rindex(
        '\n  },\n  {\n    "name": "process_name"', 0, events.index('"labels"')
    )
    repeated, once = events[: last_step + len("\n  }")], events[last_step + len("\n  }") :]
    pieces, kinds, values = _template(repeated)
    times = [float(value) for kind, value in zip(kinds, values, strict=True) if kind == "time"]
    period = max(times) - min(times) + 100.0
    steps = 1 + max((int(v) for k, v in zip(kinds, values, strict=True) if k == "step"), default=0)
    ids = 1 + max(int(v) for k, v in zip(kinds, values, strict=True) if k == "id")
    with path.open("w") as file:
        written = file.write(text[:begin])
        for copy in range(sys.maxsize):
            numbers = (
                _shifted(k, v, copy, period, steps, ids) for k, v in zip(kinds, values, strict=True)
            )
            pairs = zip(pieces[:-1], numbers, strict=True)
            parts = [part for pair in pairs for part in pair] + [pieces[-1]]
            written += file.write(("," if copy else "") + "".join(parts))
            if written >= megabytes * 1_000_000:
                break
        file.write(once + text[end:])


def _template(text: str) -> tuple[list[str], list[str], list[str]]:
    pieces, kinds, values, at = [], [], [], 0
    for match in _NUMBERS.finditer(text):
        pieces.append(text[at : match.start()])
        kinds.append(match.lastgroup or "")
        values.append(match[0])
        at = match.end()
    return [*pieces, text[at:]], kinds, values


def _shifted(kind: str, value: str, copy: int, period: float, steps: int, ids: int) -> str:
    if kind == "time":
        return f"{float(value) + copy * period:.3f}"
    return str(int(value) + copy * (steps if kind == "step" else ids))


if __name__ == "__main__":
    write_large_trace(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
