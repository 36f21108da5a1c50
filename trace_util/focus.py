"""What a viewer should show first: a stretch of time, tracks to keep in sight, notes on the events.

Plain data between :mod:`trace_util.highlights`, which finds it in a trace, and the makers of links
and pages, which need nothing of the trace itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Note:
    """A text on a stretch of the timeline: that of the event or the gap that it speaks of.

    ``text`` is ours; ``detail`` quotes the trace (names of kernels, steps and ops).
    """

    start_ns: int
    duration_ns: int
    text: str
    detail: str = ""

    @property
    def label(self) -> str:
        """Text and detail as one."""
        return f"{self.text}: {self.detail}" if self.detail else self.text


@dataclass(frozen=True)
class Focus:
    """The part of the timeline to show, the tracks to keep in sight and the notes to put on it.

    Times are ns on the file's own clock, which is also the one that Perfetto shows: it reads
    Kineto's ``ts`` (µs) as ns without another origin. ``pinned`` and ``expanded`` are regular
    expressions for names of tracks.
    """

    window_start_ns: int
    window_end_ns: int
    pinned: tuple[str, ...] = ()
    expanded: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def without_names(self) -> Focus:
        """The same without anything quoted from the trace but the names of GPU streams.

        For addresses that a third party gets to read: the public UI tells its address to Google's
        analytics (``ui/src/frontend/analytics_impl.ts``), and a private trace may name anything.
        """
        notes = tuple(replace(note, detail="") for note in self.notes)
        return replace(self, expanded=(), notes=notes)
