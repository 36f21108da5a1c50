"""Achieved rates of kernels: FLOP/s and bytes/s from their ops' shapes, and shares of the peak.

A kernel gets its op's work when it is the only kernel of the op's call, or the only one there that
multiplies (a split-K sum or a layout change beside it does not). Where several share the work the
trace cannot say which did what, and the rates are ``None`` with that reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trace_util.calls import Call
from trace_util.devices import Device
from trace_util.events import Ints, Kind, Shapes, Trace
from trace_util.kernel_names import KernelName, decode
from trace_util.links import Links
from trace_util.shapes import inputs
from trace_util.tally import distinct, middle
from trace_util.work import Work, elementwise_work, op_work

PRODUCTS = ("gemm", "convolution", "attention")
NO_OP = "launched outside any recorded op"
IN_GRAPH = "replayed by a graph, which does not tell the ops"


@dataclass(frozen=True)
class KernelRate:
    """Kernels of one name, launched by calls of one op with the same shapes."""

    name: str
    op: str | None
    count: int
    total_ns: int
    median_ns: float
    work: Work  # of one call
    peak_flops_per_s: float | None = None
    peak_bytes_per_s: float | None = None
    l2_bytes: int | None = None

    @property
    def flops_per_s(self) -> float | None:
        """Achieved, over the median duration."""
        return _rate(self.work.flops, self.median_ns)

    @property
    def bytes_per_s(self) -> float | None:
        """Achieved; at least this where the work's bytes are a lower bound."""
        return _rate(self.work.size_bytes, self.median_ns)

    @property
    def intensity(self) -> float | None:
        """FLOP per byte."""
        if self.work.flops is None or not self.work.size_bytes:
            return None
        return self.work.flops / self.work.size_bytes

    @property
    def compute_share(self) -> float | None:
        """The part of the dense peak FLOP/s for its dtype, 0 to 1."""
        return _share(self.flops_per_s, self.peak_flops_per_s)

    @property
    def memory_share(self) -> float | None:
        """The part of the peak memory bandwidth, 0 to 1; over 1 where a cache took part."""
        return _share(self.bytes_per_s, self.peak_bytes_per_s)

    @property
    def may_be_cached(self) -> bool:
        """Whether part of its traffic is, or may be, between it and the L2 cache alone.

        It is where memory could not move as much in the time. It may be where all of it fits into
        the cache, if it was there from the kernels before; below half of the peak, where memory
        could be no limit anyway, that is not asked.
        """
        share, moved = self.memory_share or 0.0, self.work.size_bytes or 0
        fits = self.l2_bytes is not None and moved <= self.l2_bytes and not self.work.is_lower_bound
        return share > 1 or (fits and share >= 0.5)

    @property
    def bound(self) -> str | None:
        """``"compute"`` or ``"memory"``: which peak its work comes nearer to."""
        compute, memory = self.compute_share, self.memory_share
        if memory is None or (compute is None and self.work.flops is None and memory < 0.5):
            return None
        return "compute" if compute is not None and compute > memory else "memory"


def kernel_rates(trace: Trace, links: Links, device: Device | None) -> tuple[KernelRate, ...]:
    """The rates of every kernel by name, op and shapes, most total time first."""
    events = trace.events
    rows = np.flatnonzero(events.is_kind(Kind.KERNEL))
    if not len(rows):
        return ()
    ops = links.op[rows]
    sole = _does_the_work(trace, rows, ops)
    op_name = np.where(ops >= 0, events.name[ops], -1)
    shapes = np.where(ops >= 0, events.shapes[ops], -1)
    launch = links.launch[rows]
    graph = (launch >= 0) & (links.call[launch] == Call.GRAPH)
    keys = np.stack([events.name[rows], op_name, shapes, sole, graph]).astype(np.int64)
    order = np.lexsort(keys)
    ordered = keys[:, order]
    bounds = np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)) + 1
    rates = [
        _rate_of(trace, keys[:, part[0]].tolist(), events.duration_ns[rows[part]], device)
        for part in np.split(order, bounds)
    ]
    return tuple(sorted(rates, key=lambda rate: -rate.total_ns))


def _rate_of(
    trace: Trace, key: list[int], durations: NDArray[np.int64], device: Device | None
) -> KernelRate:
    name, op, shapes, sole, graph = key
    kernel = decode(trace.names[name])
    op_text = trace.names[op] if op >= 0 else None
    if graph:
        work = Work(reason=IN_GRAPH)
    elif op_text is None:
        work = Work(reason=NO_OP)
    elif not sole:
        work = Work(reason=f"several kernels share the work of {op_text}")
    else:
        work = _work(kernel, op_text, trace.shapes[shapes] if shapes >= 0 else None)
    dtype = kernel.dtype if kernel.dtype in ("tf32", "bf16", "fp16") else work.dtype
    return KernelRate(
        name=kernel.raw,
        op=op_text,
        count=len(durations),
        total_ns=int(durations.sum()),
        median_ns=middle(durations.tolist()),
        work=work,
        peak_flops_per_s=device.peak_flops_per_s(dtype) if device else None,
        peak_bytes_per_s=device.bytes_per_s if device else None,
        l2_bytes=device.l2_bytes if device else None,
    )


def _work(kernel: KernelName, op: str, shapes: Shapes | None) -> Work:
    found = op_work(op, shapes)
    if found.reason.startswith("no formula") and kernel.role == "elementwise" and shapes:
        # An op that someone else defined (an autograd function, a custom op) around a kernel that
        # is known to compute element by element.
        given = inputs(shapes)
        return (elementwise_work(given) if given else None) or found
    return found


def _does_the_work(trace: Trace, rows: NDArray[np.int64], ops: Ints) -> NDArray[np.bool_]:
    """Whether each kernel is the one that its op's call is about, ``[rows]``."""
    events = trace.events
    name = events.name[rows]
    used = distinct(name)
    multiplies = np.zeros(len(trace.names), dtype=bool)
    multiplies[[i for i in used.tolist() if decode(trace.names[i]).role in PRODUCTS]] = True
    product = multiplies[name]
    size = len(events) + 1
    kernels = np.bincount(ops + 1, minlength=size)
    products = np.bincount(ops[product] + 1, minlength=size)
    alone = kernels[ops + 1] == 1
    leads = product & (products[ops + 1] == 1)
    does: NDArray[np.bool_] = (ops >= 0) & (alone | leads)
    return does


def _rate(amount: int | None, duration_ns: float) -> float | None:
    if not amount or duration_ns <= 0:
        return None
    return amount / duration_ns * 1e9


def _share(rate: float | None, peak: float | None) -> float | None:
    return None if rate is None or not peak else rate / peak
