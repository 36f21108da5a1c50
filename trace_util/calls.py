"""What a runtime or driver call does, told by its name: CUDA, HIP, XPU and MTIA spellings.

Names are those of the vendors' API references: CUDA runtime and driver
(https://docs.nvidia.com/cuda/cuda-runtime-api, https://docs.nvidia.com/cuda/cuda-driver-api), HIP
(https://rocm.docs.amd.com/projects/HIP), oneAPI Unified Runtime and Level Zero
(``urEnqueueKernelLaunch``, ``zeCommandListAppendLaunchKernel``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from trace_util.blocks import in_blocks
from trace_util.events import Ints
from trace_util.tally import distinct


class Call(IntEnum):
    """What a call does to the device. The first four put work on a stream: they are launches."""

    OTHER = 0
    KERNEL = 1  # launches one kernel
    GRAPH = 2  # replays a graph: one call, many kernels
    COPY = 3
    MEMSET = 4
    SYNC = 5  # the CPU waits for the device
    OCCUPANCY = 6  # asks how many blocks fit, as libraries do before they choose a launch
    CAPTURE_BEGIN = 7  # what follows goes into a graph and not to the device
    CAPTURE_END = 8


LAUNCHES = (Call.KERNEL, Call.GRAPH, Call.COPY, Call.MEMSET)
KERNEL_LAUNCHES = (Call.KERNEL, Call.GRAPH)

# The first pattern that is found decides. A copy without `Async` or a HIP copy "WithStream" waits
# for the device as well; `BLOCKING_COPY` knows those.
_PATTERNS = (
    (Call.CAPTURE_BEGIN, r"StreamBeginCapture"),
    (Call.CAPTURE_END, r"StreamEndCapture"),
    (Call.GRAPH, r"GraphLaunch|EnqueueCommandBuffer"),
    (
        Call.KERNEL,
        r"Launch(?:Cooperative)?Kernel|KernelLaunch|^(?:cuda|hip)Launch(?:$|ByPtr)|^cuLaunch(?:Grid)?$",
    ),
    (Call.SYNC, r"Synchronize|(?:Event|Queue|Fence)(?:Wait|HostSynchronize|Finish)$"),
    (Call.OCCUPANCY, r"Occupancy"),
    (Call.MEMSET, r"(?:cuda|cu|hip)Memset|^ur\w*Enqueue\w*Fill|AppendMemoryFill"),
    (Call.COPY, r"(?:cuda|cu|hip)Memcpy|^ur\w*Enqueue\w*(?:Memcpy|Copy)|AppendMemoryCopy"),
)
_KNOWN = tuple((call, re.compile(pattern)) for call, pattern in _PATTERNS)

BLOCKING_COPY = re.compile(r"^(?:cuda|cu|hip)Memcpy(?!.*Async)")


def call_of(name: str) -> Call:
    """What the call of this name does."""
    for call, pattern in _KNOWN:
        if pattern.search(name):
            return call
    return Call.OTHER


def waits(name: str) -> bool:
    """Whether the call of this name keeps the CPU until the device has done something."""
    return call_of(name) is Call.SYNC or BLOCKING_COPY.search(name) is not None


def call_column(names: Sequence[str], name: Ints, is_call: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """:class:`Call` of the calls, ``OTHER`` elsewhere, ``[n]``; each name is looked at once."""
    column = np.full(len(name), Call.OTHER, dtype=np.uint8)
    by_name = np.full(len(names), Call.OTHER, dtype=np.uint8)
    seen: set[int] = set()
    for rows in in_blocks(is_call):
        new = set(distinct(name[rows]).tolist()) - seen
        seen |= new
        for one in new:
            by_name[one] = call_of(names[one])
        column[rows] = by_name[name[rows]]
    return column


def is_any(call: NDArray[np.uint8], wanted: Sequence[Call]) -> NDArray[np.bool_]:
    """Mask ``[n]`` of the calls that are one of the wanted ones."""
    found = np.zeros(len(call), dtype=bool)
    for one in wanted:
        found |= call == int(one)  # a plain number, or NumPy compares as int64
    return found
