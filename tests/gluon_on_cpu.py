"""Runs a warp-specialised Gluon kernel on the CPU: Triton's interpreter knows no Gluon.

The kernel's own Python functions run, one thread for each group of warps, over stand-ins for the
few operations that it uses. The stand-ins are as unkind as the hardware may be: shared memory
begins as NaN, a copy overwrites its target at once, and neither a multiplication nor a copy to
global memory reads its operands before it is waited for. So a stage that is freed or refilled too
early gives wrong numbers, and a barrier that is never reached ends as a `TimeoutError`.
"""

from __future__ import annotations

import threading
from collections import deque
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

DEADLOCK_S = 20.0


class Barrier:
    """An mbarrier: a phase is complete when `count` have arrived and the expected bytes have."""

    def __init__(self, changed: threading.Condition) -> None:
        self.changed, self.phases, self.arrived, self.missing_bytes = changed, 0, 0, 0

    def init(self, count: int) -> None:
        self.count = count

    def advance(self, arrivals: int, missing_bytes: int) -> None:
        with self.changed:
            self.arrived += arrivals
            self.missing_bytes += missing_bytes
            assert self.arrived <= self.count, "more arrivals than the barrier counts"
            if self.arrived == self.count and self.missing_bytes == 0:
                self.arrived = 0
                self.phases += 1
                self.changed.notify_all()

    def wait(self, parity: int) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.phases % 2 != parity, DEADLOCK_S):
                raise TimeoutError("deadlock at a barrier")


class Descriptor:
    def __init__(self, matrix: Tensor, block: tuple[int, int]) -> None:
        self.matrix, self.block, self.dtype, self.layout = matrix, block, matrix.dtype, None

    def window(self, at: list[int]) -> tuple[Tensor, tuple[slice, slice]]:
        inside = self.matrix[
            at[0] : at[0] + self.block[0], at[1] : at[1] + self.block[1]
        ]  # clipped at the edges, as the copy engine clips
        return inside, (slice(inside.shape[0]), slice(inside.shape[1]))


class Shared:
    def __init__(self, values: Tensor) -> None:
        self.values = values

    def index(self, i: int) -> Shared:
        assert 0 <= i < len(self.values)
        return Shared(self.values[i])

    def permute(self, order: tuple[int, ...]) -> Shared:
        return Shared(self.values.permute(order))

    def store(self, values: Tensor) -> None:
        assert values.shape == self.values.shape and values.dtype == self.values.dtype
        self.values.copy_(values)


class Warps(threading.local):
    """What one group of warps has under way."""

    def __init__(self) -> None:
        self.products: deque[tuple[Tensor, Shared, Shared]] = deque()
        self.stores: deque[tuple[Tensor, Tensor]] = deque()


def run(module: ModuleType, kernel: str, programs: int, activate: Any, *arguments: Any) -> None:
    """Run `module`'s `kernel` for every program, one after the other."""
    for program in range(programs):
        namespace = _namespace(module, program, activate)
        namespace[kernel](*arguments)


def _namespace(module: ModuleType, program: int, activate: Any) -> dict[str, Any]:
    changed, warps, failures = threading.Condition(), Warps(), []

    def allocate(dtype: Any, shape: list[int], layout: Any) -> Any:
        if layout == "barriers":
            barriers = [Barrier(changed) for _ in range(shape[0])]
            return SimpleNamespace(index=barriers.__getitem__)
        return Shared(torch.full(shape, float("nan"), dtype=dtype))

    def specialise(partitions: list[Any], worker_warps: list[int], registers: list[int]) -> None:
        assert len(worker_warps) == len(registers) == len(partitions) - 1
        threads = [
            threading.Thread(target=guarded, args=partition, daemon=True)
            for partition in partitions
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * DEADLOCK_S)
        if failures:
            raise failures[0]

    def guarded(function: Any, arguments: tuple[Any, ...]) -> None:
        try:
            function(*arguments)
            assert not warps.products and not warps.stores, "left with work under way"
        except BaseException as failure:  # handed to the thread that started this one
            failures.append(failure)

    def copy_in(source: Descriptor, at: list[int], ready: Barrier, target: Shared) -> None:
        inside, where = source.window(at)
        assert target.values.shape == source.block
        target.values.zero_()
        target.values[where] = inside
        ready.advance(0, -target.values.numel() * target.values.element_size())

    def copy_out(target: Descriptor, at: list[int], source: Shared) -> None:
        inside, where = target.window(at)
        warps.stores.append((inside, source.values[where]))

    def store_wait(pending: int) -> None:
        while len(warps.stores) > pending:
            inside, values = warps.stores.popleft()
            inside.copy_(values)

    def multiply(a: Shared, b: Shared, accumulator: Tensor, is_async: bool) -> Tensor:
        assert is_async
        warps.products.append((accumulator, a, b))
        return accumulator

    def multiply_wait(pending: int, deps: tuple[Tensor]) -> Tensor:
        while len(warps.products) > pending:
            accumulator, a, b = warps.products.popleft()
            accumulator += a.values.float() @ b.values.float()
        return deps[0]

    def arrive(barrier: Barrier, count: int = 1, pred: bool = True) -> None:
        if pred:
            barrier.advance(count, 0)

    namespace = dict(vars(module))
    namespace |= {
        name: FunctionType(item.fn.__code__, namespace, name)
        for name, item in vars(module).items()
        if hasattr(item, "fn") and item.fn.__module__.startswith("fused_mlp")
    }
    namespace |= {
        "_activated": activate,
        "copy_in": copy_in,
        "copy_out": copy_out,
        "fence_async_shared": lambda: None,
        "warpgroup_mma": multiply,
        "warpgroup_mma_wait": multiply_wait,
        "tma": SimpleNamespace(store_wait=store_wait),
        "mbarrier": SimpleNamespace(
            MBarrierLayout=lambda: "barriers",
            init=lambda barrier, count: barrier.init(count),
            expect=lambda barrier, size: barrier.advance(1, size),
            wait=Barrier.wait,
            arrive=arrive,
        ),
        "gl": SimpleNamespace(
            cdiv=lambda a, b: -(-a // b),
            program_id=lambda axis: program,
            static_range=range,
            float32=torch.float32,
            int64=torch.int64,
            zeros=lambda shape, dtype, layout: torch.zeros(shape, dtype=dtype),
            split=lambda x: x.unbind(-1),
            NVMMADistributedLayout=lambda *shape: None,
            allocate_shared_memory=allocate,
            warp_specialize=specialise,
        ),
    }
    return namespace
