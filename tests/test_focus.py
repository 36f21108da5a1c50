"""The data between a trace and its links: what it says, what it leaves out for third parties."""

from __future__ import annotations

import subprocess
import sys

from trace_util.focus import Focus, Note


def test_label_joins_text_and_detail() -> None:
    assert Note(0, 1, "fused").label == "fused"
    assert Note(0, 1, "fused", "my_kernel").label == "fused: my_kernel"


def test_without_names_keeps_the_view_the_streams_and_our_own_words() -> None:
    focus = Focus(1, 9, (r"^stream 7\b",), ("^host 12$",), (Note(2, 3, "fused", "my_kernel"),))
    assert focus.without_names() == Focus(1, 9, (r"^stream 7\b",), (), (Note(2, 3, "fused"),))
    assert focus.expanded == ("^host 12$",)


def test_links_and_pages_do_not_load_what_reads_traces() -> None:
    code = (
        "import sys, trace_util.perfetto, trace_util.view; "
        "sys.exit(any(f'trace_util.{m}' in sys.modules for m in ('reader', 'facts', 'highlights')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
