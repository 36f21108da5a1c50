"""Gathers the facts of many traces: from any place, on any executor, resumed where it was left."""

from __future__ import annotations

import importlib
from typing import Any

# public name -> its module; a command line that only parses arguments loads none
_HOMES = {"gathered": "gathering", "rank_facts": "gathering", "read_jobs": "gathering"}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trace_util.gather' has no attribute {name!r}")
    return getattr(importlib.import_module(f"trace_util.gather.{_HOMES[name]}"), name)
