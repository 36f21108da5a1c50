"""The page of a bucket: a README.md with one line a trace."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from trace_util.events import TraceError
from trace_util.report.text import clean
from trace_util.share.address import file_url
from trace_util.share.bucket import Hub, content_hashes
from trace_util.share.consent import Say
from trace_util.share.glimpse import Glimpse
from trace_util.share.packing import Packed

PAGE = "README.md"
_BEGIN = "<!-- trace-util: this table is rewritten by each upload, the text around it is kept -->"
_END = "<!-- trace-util: end -->"
_TOP = "# Traces\n\nRecorded with torch.profiler. A link opens the trace in the Perfetto UI.\n"
_HEAD = "| trace | lesson | GPU | versions | verdict | Perfetto |\n|---|---|---|---|---|---|\n"
_ROW_PATH = re.compile(r"^\| \[.*?\]\([^)\s]*?/resolve/([^)\s]+)\)")

Row = tuple[str, Glimpse, str | None]  # a trace's path in the bucket, what it is, its link


def announce_index(bucket: str, files: Sequence[Packed], say: Say) -> None:
    """Say, before the files are sent, what is written beside them."""
    if any(not one.candidate.is_table for one in files):
        say(
            f"{bucket}: its {PAGE} gets a line for each trace with lesson, GPU, versions, verdict "
            "and link, unless it is somebody's own"
        )


def write_index(hub: Hub, bucket: str, rows: Sequence[Row], say: Say) -> str | None:
    """The address of the bucket's page, brought up to date; ``None`` where that was not possible.

    The page is a courtesy: its failure is said and is no failure of the upload.
    """
    try:
        lines = {row[0]: _line(hub, bucket, row) for row in rows}
        with tempfile.TemporaryDirectory(prefix="trace-util-") as folder:
            page = Path(folder) / PAGE
            there = set(hub.listing(bucket))
            if PAGE in there:
                hub.fetch(bucket, PAGE, page)
            old = page.read_bytes().decode("utf-8") if page.exists() else None
            if old is not None and _BEGIN not in old:
                say(f"{bucket}: its {PAGE} is somebody's own and is left as it is")
                return None
            page.write_bytes(_page(old, lines, there).encode("utf-8"))
            if hub.hashes(bucket, [PAGE]).get(PAGE) != content_hashes([page])[0]:
                hub.send(bucket, [(page, PAGE)])
    except UnicodeDecodeError:
        say(f"{bucket}: its {PAGE} is not UTF-8 text, so somebody's own, and is left as it is")
        return None
    except TraceError as error:
        say(f"the page of {bucket} was not written: {error}")
        return None
    return file_url(hub.endpoint, bucket, PAGE)


def _page(old: str | None, lines: dict[str, str], there: set[str]) -> str:
    """The page with new lines for these traces, and the old ones of the others that are there."""
    before, _, rest = (old or f"{_TOP}\n{_BEGIN}\n{_END}\n").partition(_BEGIN)
    table, _, after = rest.partition(_END)
    known = {unquote(m[1]): line for line in table.splitlines() if (m := _ROW_PATH.match(line))}
    known = {path: line for path, line in {**known, **lines}.items() if path in there}
    body = "".join(f"{known[path]}\n" for path in sorted(known))
    return f"{before}{_BEGIN}\n{_HEAD}{body}{_END}{after}"


def _line(hub: Hub, bucket: str, row: Row) -> str:
    remote, about, link = row
    name = f"[{_plain(remote)}]({file_url(hub.endpoint, bucket, remote)})"
    texts = (about.lesson, about.gpu, about.versions, about.verdict)
    opens = f"[open]({link})" if link else "–"
    return f"| {' | '.join([name, *(_plain(text) or '–' for text in texts), opens])} |"


def _plain(text: str) -> str:
    """``text`` as Markdown shows it literally, within a table: on one line."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", clean(text))
