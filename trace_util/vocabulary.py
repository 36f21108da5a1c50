"""The categories that PyTorch's profiler has used since 2021, and what each of them means."""

from __future__ import annotations

from trace_util.events import Kind

# Lower-case category -> kind. Today's names and those of other vendors: `ActivityType` names in
# pytorch/kineto, libkineto/src/ActivityType.cpp; those of 2021 and 2022 (`Operator`, `Kernel`,
# `Runtime`, `Memcpy`, `Memset`) as found in traces of that time.
KINDS = {
    "cpu_op": Kind.CPU_OP,
    "operator": Kind.CPU_OP,
    "user_annotation": Kind.USER_ANNOTATION,
    "python_function": Kind.PYTHON,
    "cuda_runtime": Kind.RUNTIME,
    "runtime": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME,
    "mtia_runtime": Kind.RUNTIME,
    "xpu_runtime": Kind.RUNTIME,
    "glow_runtime": Kind.RUNTIME,
    "privateuse1_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.DRIVER,
    "xpu_driver": Kind.DRIVER,
    "privateuse1_driver": Kind.DRIVER,
    "kernel": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "mtia_ccp_events": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "cuda_sync": Kind.SYNC,
    "xpu_sync": Kind.SYNC,
    "gpu_user_annotation": Kind.GPU_ANNOTATION,
    "overhead": Kind.OVERHEAD,
    "trace": Kind.BOOKKEEPING,
}

# The rows on which the profiler keeps its own books: the span of the whole recording, its first
# and its last instant. Their process is one of these texts and never a number.
BOOKKEEPING_PROCESSES = frozenset({"Spans", "Traces", ""})

# Where ops stand that have no category: what the profiler's own list of events writes, also where
# PyTorch was built without Kineto (torch/autograd/profiler_util.py, export_chrome_trace, 2.15).
OPS_PROCESS = "CPU functions"

# MTIA files its stream events (a stream that waits for another, a mark) under the same category as
# its work; they occupy no engine.
MTIA_STREAM_EVENTS = frozenset({"event_wait", "event_record"})


def kind_of(category: str) -> Kind:
    """The kind of an event of this category; letter case does not matter, unknown is ``OTHER``."""
    return KINDS.get(category.lower(), Kind.OTHER)
