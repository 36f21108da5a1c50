"""Coverage-guided fuzzing of the reader, by hand: finds bytes that lead it where no test has been.

Not collected by pytest, and atheris is no dependency. In an environment with the project in it:

    pip install atheris
    python tests/fuzz_atheris.py corpus -max_total_time=600

``corpus`` is a folder (made if missing) that starts with recorded traces in several layouts, whole
and cut down to a few events, and grows by the inputs that reach new code. A crash file that atheris
leaves behind is run again with ``python tests/fuzz_atheris.py crash-...``.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

with atheris.instrument_imports(include=["trace_util"]):
    from trace_util import event_list
    from trace_util.events import TraceError
    from trace_util.reader import read_trace

from test_fuzz import SMALL, assert_whole  # noqa: E402
from trace_text import LAYOUTS  # noqa: E402

# Small chunks, so that small inputs have cuts between chunks too.
event_list.CHUNK_BYTES = 256
_PATH = Path(tempfile.mkdtemp()) / "t.json"


def test_one_input(data: bytes) -> None:
    """Read the bytes as a trace; nothing but a ``TraceError`` may come of it."""
    _PATH.write_bytes(data)
    try:
        assert_whole(read_trace(_PATH, columns="summary" if len(data) % 2 else "all"))
    except TraceError as error:
        assert "\n" not in str(error)


def write_seeds(folder: Path) -> None:
    """Recorded events in every layout, sound and damaged in known ways."""
    folder.mkdir(parents=True, exist_ok=True)
    trace = json.loads(gzip.decompress(SMALL.read_bytes()))
    few = trace | {"traceEvents": trace["traceEvents"][:6] + trace["traceEvents"][-4:]}
    few["deviceProperties"] = few["deviceProperties"][:1]
    for name, layout in LAYOUTS.items():
        text = layout(few).encode()
        stem = name.replace(" ", "-")
        (folder / stem).write_bytes(text)
        (folder / f"{stem}.gz").write_bytes(gzip.compress(text))
        (folder / f"{stem}.cut").write_bytes(text[: len(text) * 2 // 3])
        (folder / f"{stem}.nan").write_bytes(text.replace(b'"dur": ', b'"dur": NaN', 1))
        (folder / f"{stem}.quote").write_bytes(text.replace(b"aten::", b'"aten"\\:', 3))


if __name__ == "__main__":
    if len(sys.argv) > 1 and not os.path.isfile(sys.argv[1]) and sys.argv[1][0] != "-":
        write_seeds(Path(sys.argv[1]))
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
