"""Records, reads, explains, checks, compares, draws and shares torch.profiler traces.

Names are imported on first use: ``import trace_util`` loads neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> the module that owns it
_HOMES = {
    "Trace": "events",
    "TraceError": "events",
    "read_trace": "reader",
    "link": "links",
    "trace_facts": "facts",
    "explanation": "explain",
    "check": "claims",
    "comparison": "compare",
    "decode": "kernel_names",
    "upload_traces": "share",
    "read_jobs": "gather",
    "job_facts": "job",
    "merge_traces": "merge",
}

__all__ = ["__version__", *_HOMES]


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trace_util' has no attribute {name!r}")
    module = importlib.import_module(f"trace_util.{_HOMES[name]}")
    value = globals()[name] = getattr(module, name)
    return value
