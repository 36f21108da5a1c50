"""Which events are communication between ranks."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trace_util.events import GPU_KINDS, Kind, Trace
from trace_util.kernel_names import decode
from trace_util.tally import distinct
from trace_util.timeline import Indexes

# The annotation that a backend without a GPU puts around the work of a collective, on a thread of
# its own (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, `gloo:all_reduce`). NCCL has such
# annotations too, but those only enqueue: its work are kernels.
ON_THE_HOST = re.compile(r"^(?:gloo|mpi|ucc|xccl):")
# Ops that only hand a collective over (torch/csrc/distributed/c10d/Ops.cpp, ParamCommsUtils.cpp).
HANDING_OVER = re.compile(r"^c10d::|^record_param_comms|^c10d_functional::|^_c10d_functional::")
# Collectives that no rank can leave before the last one has entered: their ends are one moment on
# all ranks. A broadcast's or a reduction's root may leave early, a send or a receive has two ends.
TOGETHER = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE
)


def collectives(trace: Trace) -> Indexes:
    """The rows of the collectives, in order of start: kernels, without GPU work annotations."""
    events = trace.events
    kernels = np.flatnonzero(events.is_kind(Kind.KERNEL))
    rows = kernels[_named(trace, kernels, _is_kernel_of_a_collective)]
    if not len(rows):
        marks = np.flatnonzero(events.is_kind(Kind.USER_ANNOTATION))
        rows = marks[_named(trace, marks, lambda name: ON_THE_HOST.match(name) is not None)]
    return rows[np.argsort(events.start_ns[rows], kind="stable")]


def on_gpu(trace: Trace) -> bool:
    """Whether any GPU work was recorded."""
    return bool(trace.events.is_kind(*GPU_KINDS).any())


def hands_over(trace: Trace, rows: Indexes) -> NDArray[np.bool_]:
    """Mask of the ops that only hand a collective over, and compute nothing."""
    return _named(trace, rows, lambda name: HANDING_OVER.match(name) is not None)


def _is_kernel_of_a_collective(name: str) -> bool:
    return decode(name).role == "communication"


def _named(trace: Trace, rows: Indexes, fits: Callable[[str], bool]) -> NDArray[np.bool_]:
    names = trace.events.name[rows]
    wanted = np.zeros(len(trace.names), dtype=bool)
    wanted[[index for index in distinct(names).tolist() if fits(trace.names[index])]] = True
    return wanted[names]
