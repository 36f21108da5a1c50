"""How reports name a run's GPU, also where there is none."""

from __future__ import annotations

from trace_util.report.text import clean


def gpu_words(gpu: str | None, launched: bool) -> str:
    """The GPU's name; without one ``GPU not named``, or ``no GPU`` where nothing was launched."""
    return clean(gpu) if gpu else "GPU not named" if launched else "no GPU"
