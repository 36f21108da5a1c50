"""What a reader of a trace should be told before its numbers are believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trace_util import batch, impossible, repair, salvage, sources
from trace_util import document as doc
from trace_util.document import Document
from trace_util.intake import NO_DURATION, NO_START, Intake
from trace_util.sources import Source

# From this much JSON on, the page of the Perfetto UI (about 2 GB of memory) is slow or fails.
LARGE_BYTES: Final = 500_000_000

TWO_WRITERS: Final = (
    "the text breaks off and goes on in the middle of the file: it is damaged, or two "
    "writers (two ranks, two runs) had one path; give each its own"
)

# Repairs of the bytes themselves: a strict JSON reader, and Perfetto, stumbles over each.
_REFUSED: Final = (
    repair.ESCAPES,
    repair.CONTROLS,
    repair.ENCODING,
    repair.NUMBERS,
    repair.QUOTES,
    repair.VALUES,
    repair.COMMAS,
    repair.NO_COMMA,
    doc.CUT_OFF,
    doc.JUNK,
    sources.CUT_OFF,
    sources.DAMAGED,
)
_MOST_NAMED: Final = 5  # lists, or keys, of which one sentence tells

# What slim and merge write into the header of a copy beside what they made it of.
SOURCE_INCOMPLETE: Final = "source_incomplete"
BROKEN: Final = (batch.BROKEN, salvage.LAST_EVENT, salvage.GIVEN_UP, doc.HEADER)
IMPOSSIBLE: Final = (
    impossible.NO_TIME,
    impossible.NEGATIVE,
    impossible.TOO_LONG,
    impossible.TOO_FAR,
    impossible.AT_ZERO,
    NO_START,
    NO_DURATION,
)


def cautions(source: Source, document: Document) -> tuple[str, ...]:
    """The warnings of a trace that could be read, the gravest first."""
    return tuple(_cautions(source, document, document.intake))


def _cautions(source: Source, document: Document, intake: Intake) -> Iterator[str]:
    if what := unsound(intake.repairs, intake.skipped):
        yield f"the file is not sound JSON ({what}): read all the same, but Perfetto will refuse it"
    if intake.skipped[batch.BROKEN] or document.has_two_texts:
        yield TWO_WRITERS
    elif doc.FURTHER_LISTS in +intake.repairs:
        yield _several_lists(document.lists)
    if document.conflicts:
        yield _conflicts(list(document.conflicts))
    if doc.CUT_OFF in intake.repairs or sources.CUT_OFF in source.notes:
        yield "the end of the file is missing: events and totals are those of what is there"
    if is_of_incomplete(document.header):
        yield (
            "a copy of what was left of a file that was cut off or damaged: events and totals are "
            "those of what was there"
        )
    impossible = _listed(intake.skipped, IMPOSSIBLE)
    if impossible:
        yield f"left out, for their times cannot be true: {impossible}"
    if document.window.text_bytes > LARGE_BYTES:
        size = document.window.text_bytes / 1e9
        yield (
            f"{size:.1f} GB of JSON is much for the Perfetto UI: `trace_processor server http "
            f"{source.path}` loads it outside the browser; gzip it before sharing"
        )


def unsound(repairs: Mapping[str, int], skipped: Mapping[str, int]) -> str:
    """What makes a file no sound JSON, so that Perfetto refuses it, in words; "" where it is."""
    return "; ".join(filter(None, (_listed(repairs, _REFUSED), _listed(skipped, BROKEN))))


def _several_lists(counts: list[int]) -> str:
    each = " and ".join(f"{count:,}" for count in counts[:_MOST_NAMED])
    more = " and more" * (len(counts) > _MOST_NAMED)
    return (
        f"its traceEvents stands {len(counts):,} times, with {each}{more} events: all are read "
        "(Perfetto reads several lists too) and the figures are of all together, where json.load "
        "keeps the last alone; if two ranks or runs wrote the file, give each its own path"
    )


def _conflicts(keys: list[str]) -> str:
    import json

    from trace_util.giveaways import may_be_shown

    first = keys[:_MOST_NAMED]
    named = ", ".join(json.dumps(key[:30]) for key in first)
    named += f" and {len(keys) - len(first):,} more" * (len(keys) > len(first))
    if not may_be_shown(" ".join(first)):
        named = f"{len(keys):,} {'key' if len(keys) == 1 else 'keys'}"
    return (
        f"its header gives unlike values to one key ({named}): the last is taken, as JSON is read"
    )


def is_of_incomplete(header: Mapping[str, Any]) -> bool:
    """Whether a copy says of itself that a file which it was made of was not whole."""
    merged = header.get("merged")
    ranks = merged.get("ranks") if isinstance(merged, dict) else None
    notes = [header.get("slimmed"), *(ranks if isinstance(ranks, list) else [])]
    return any(isinstance(one, dict) and one.get(SOURCE_INCOMPLETE) is True for one in notes)


def _listed(counts: Mapping[str, int], reasons: tuple[str, ...]) -> str:
    return ", ".join(f"{reason}: {counts[reason]}" for reason in reasons if counts.get(reason))
