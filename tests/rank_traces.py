"""Traces of the ranks of a made-up job whose figures one can work out in one's head.

Every step of every rank, in µs from the step's start: the CPU launches two kernels, ``gemm`` (600)
and then ``add`` (100), and two all-reduces. The first runs beside ``add`` for 80 and is hidden; the
second begins when the rank is done with its own work and ends on all ranks together, 200 after the
last one has come; the CPU waits for it. ``slow`` makes a rank's ``gemm`` longer in a step, ``late``
keeps its CPU outside any op for longer before it launches; the step then takes all ranks longer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from make_trace import Event, annotation, call, kernel, mark, op

STEP_US, GEMM_US, ADD_US, HIDDEN_US, LAST_US = 2000, 600, 100, 80, 200
BEGIN_US = 100  # after the step's start the GPU begins
FIRST_STEP = 2
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
BASE_NS = 1_790_000_000_000_000_000

Extra = Mapping[tuple[int, int], float]  # (rank, step number) -> µs


def arrival_us(rank: int, number: int, slow: Extra, late: Extra) -> float:
    """When a rank is done with its own work, from the start of the step."""
    extra = slow.get((rank, number), 0) + late.get((rank, number), 0)
    return BEGIN_US + GEMM_US + ADD_US + extra


def rank_document(
    rank: int,
    world: int,
    *,
    steps: int = 3,
    slow: Extra | None = None,
    late: Extra | None = None,
    clock_us: float = 0.0,
    told: bool = True,
) -> dict[str, Any]:
    """The trace of one rank; its clock is ``clock_us`` ahead."""
    slow, late = slow or {}, late or {}
    events: list[Event] = []
    at = clock_us
    for index in range(steps):
        number = FIRST_STEP + index
        arrivals = [arrival_us(one, number, slow, late) for one in range(world)]
        own = arrivals[rank]
        end = at + max(arrivals) + LAST_US
        period = STEP_US + max(arrivals) - arrival_us(-1, number, {}, {})
        host = dict(pid=1000 + rank, tid=1000 + rank)
        wait = late.get((rank, number), 0)
        gemm = GEMM_US + slow.get((rank, number), 0)
        first = 10 * index + 1  # correlation ids are the same on every rank
        start = at + BEGIN_US + wait
        add = start + gemm
        ready = at + own
        on = dict(device=rank % 8)
        comm = dict(device=rank % 8, stream=20, name=REDUCE)
        events += [
            mark(number, at, period, **host),
            annotation(at + wait + 5, 90, "forward", **host),
            op(at + wait + 10, 40, "aten::mm", **host, **{"External_id": first}),
            call(at + wait + 20, 10, first, **host),
            op(at + wait + 50, 20, "aten::add", **host, **{"External_id": first + 1}),
            call(at + wait + 55, 5, first + 1, **host),
            call(at + wait + 72, 4, first + 2, **host),
            call(at + wait + 78, 4, first + 3, **host),
            call(
                at + wait + 100, end - at - wait - 100, None, name="cudaStreamSynchronize", **host
            ),
            kernel(start, gemm, first, name="gemm_kernel", **on),
            kernel(add, ADD_US, first + 1, name="add_kernel", **on),
            kernel(add, HIDDEN_US, first + 2, **comm),
            kernel(ready, end - ready, first + 3, **comm),
        ]
        for id, ts, place in (
            (first, at + wait + 20, host),
            (first, start, dict(pid=rank % 8, tid=7)),
        ):
            phase = "s" if place is host else "f"
            arrow = {"ph": phase, "id": id, "ts": ts, "cat": "ac2g", "name": "ac2g", **place}
            events.append(arrow if phase == "s" else {**arrow, "bp": "e"})
        at += period
    names: list[Event] = []
    for pid, label in ((1000 + rank, "CPU"), (rank % 8, f"GPU {rank % 8}")):
        for name, args in (
            ("process_name", {"name": "python"}),
            ("process_labels", {"labels": label}),
            ("process_sort_index", {"sort_index": pid}),
        ):
            names.append({"ph": "M", "name": name, "ts": 0, "pid": pid, "tid": 0, "args": args})
    header: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": rank % 8, "name": "NVIDIA H200"}],
        "baseTimeNanoseconds": BASE_NS,
        "displayTimeUnit": "ms",
    }
    if told:
        header["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world}
    return {**header, "traceEvents": [*names, *events]}


def write_ranks(folder: Path, world: int, *, leave_out: tuple[int, ...] = (), **how: Any) -> Path:
    """The ranks of a job as ``rank0.json`` and so on in a folder, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(world):
        if rank not in leave_out:
            text = json.dumps(rank_document(rank, world, **how))
            (folder / f"rank{rank}.json").write_text(text)
    return folder


def cut_off(path: Path, part: float = 0.6) -> None:
    """Cut a file off, as a full disk does."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
