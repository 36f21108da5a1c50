"""Many ranks as one job: small facts of each trace, worked out where it lies, and all of them."""

from __future__ import annotations

import importlib
from typing import Any

# public name -> the module that owns it; a command line that only parses arguments loads none
_HOMES = {
    "JobFacts": "facts",
    "RankFacts": "rank",
    "gathered": "gathering",
    "job_facts": "facts",
    "jobs_of": "grouping",
    "rank_facts": "rank",
    "read_jobs": "facts",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trace_util.job' has no attribute {name!r}")
    return getattr(importlib.import_module(f"trace_util.job.{_HOMES[name]}"), name)
