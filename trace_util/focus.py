"""What a viewer should show first: the recorded steps, the GPU's stream, notes on the evidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A text on a stretch of the timeline: that of the event or the gap that it speaks of."""

    start_ns: int
    duration_ns: int
    text: str


@dataclass(frozen=True)
class Focus:
    """The part of the timeline to show, the tracks to keep in sight and the notes to put on it.

    Times are ns on the file's own clock, which is also the one that Perfetto shows: it reads
    Kineto's ``ts`` (µs) as ns without another origin. ``pinned`` are regular expressions for names
    of tracks.
    """

    window_start_ns: int
    window_end_ns: int
    pinned: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
