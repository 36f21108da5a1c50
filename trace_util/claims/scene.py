"""What a claim is judged on: a trace, and the runs beside it."""

from __future__ import annotations

from dataclasses import dataclass

from trace_util.reading import Reading


@dataclass(frozen=True)
class Scene:
    """The trace that is checked, and the runs beside it that some claims compare it with."""

    own: Reading
    eager: Reading | None = None  # may be `own`
    compiled: Reading | None = None  # may be `own`
    warm: Reading | None = None  # the same run, warmed up, beside a cold one
    ranks: tuple[Reading, ...] = ()  # the other ranks of the same job

    @property
    def major(self) -> int | None:
        """The major compute capability of an NVIDIA GPU."""
        return self.own.run.capability[0] if self.own.run.capability else None
