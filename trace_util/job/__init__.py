"""Many ranks as one job, as facts: each trace's, small enough to travel, and those of all."""

from __future__ import annotations

import importlib
from typing import Any

# public name -> the module that owns it
_HOMES = {
    "JobFacts": "facts",
    "RankFacts": "rank",
    "facts_of": "rank",
    "job_comparison": "comparison",
    "job_facts": "facts",
    "jobs_of": "grouping",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trace_util.job' has no attribute {name!r}")
    return getattr(importlib.import_module(f"trace_util.job.{_HOMES[name]}"), name)
