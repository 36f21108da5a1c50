"""Hand-made traces: events put down one by one, in microseconds, and read back by the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trace_util.events import Trace
from trace_util.reader import read_trace

GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
ADD = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>)"
)
DTOD = "Memcpy DtoD (Device -> Device)"
HTOD = "Memcpy HtoD (Pageable -> Device)"
DTOH = "Memcpy DtoH (Device -> Pageable)"


class MadeTrace:
    """A trace in the making."""

    def __init__(
        self, gpu: str = "NVIDIA H200", sms: int = 132, major: int = 9, **run: Any
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.header: dict[str, Any] = {
            "deviceProperties": [{"id": 0, "name": gpu, "numSms": sms, "computeMajor": major}],
            "run_facts": run,
        }
        self.correlation = 0

    def host(self, category: str, name: str, start: float, duration: float, **args: Any) -> None:
        """An event on the CPU thread."""
        place = {"ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": duration}
        self.events.append(place | {"cat": category, "name": name, "args": args})

    def step(self, number: int, start: float, duration: float) -> None:
        """A step mark."""
        self.host("user_annotation", f"ProfilerStep#{number}", start, duration)

    def op(self, name: str, start: float, duration: float, *dims: tuple[int, ...]) -> None:
        """An op; its tensors are bf16."""
        args: dict[str, Any] = {}
        if dims:
            args = {"Input Dims": [list(d) for d in dims], "Concrete Inputs": [""] * len(dims)}
            args["Input type"] = ["c10::BFloat16"] * len(dims)
        self.host("cpu_op", name, start, duration, **args)

    def call(self, name: str, start: float, duration: float) -> None:
        """A runtime call that launches nothing."""
        self.host("cuda_runtime", name, start, duration)

    def work(
        self, name: str, launch: float, start: float, duration: float, *,
        call: str = "cudaLaunchKernel", stream: int = 7, size: int | None = None,
    ) -> None:  # fmt: skip
        """GPU work, and the call that launched it at ``launch``."""
        self.correlation += 1
        self.host("cuda_runtime", call, launch, 4, correlation=self.correlation)
        self.gpu(name, start, duration, stream=stream, size=size, correlation=self.correlation)

    def gpu(
        self, name: str, start: float, duration: float, *,
        stream: int = 7, size: int | None = None, correlation: int = 0,
    ) -> None:  # fmt: skip
        """GPU work alone."""
        category = next((c for c in ("memcpy", "memset") if name.lower().startswith(c)), "")
        args = {"device": 0, "stream": stream, "correlation": correlation}
        if size is not None:
            args["bytes"] = size
        place = {"ph": "X", "pid": 0, "tid": stream, "ts": start, "dur": duration, "args": args}
        self.events.append(
            place | {"cat": f"gpu_{category}" if category else "kernel", "name": name}
        )

    def read(self, folder: Path, name: str = "made.json") -> Trace:
        """The trace as the reader sees it."""
        path = folder / name
        path.write_text(json.dumps(self.header | {"traceEvents": self.events}))
        return read_trace(str(path))


def unprofiled(median: float, count: int = 100) -> dict[str, Any]:
    """Run facts with the time of a step without the profiler, in microseconds."""
    return {
        "unprofiled_step_us": {
            "median": median, "min": median * 0.9, "max": median * 1.2, "n": count, "clock": "wall",
        }
    }  # fmt: skip


def full_steps(steps: int = 3, **run: Any) -> MadeTrace:
    """Steps of one 4096 GEMM each, 171 µs of GPU work launched every 200 µs: nothing to mend."""
    made = MadeTrace(**(run or unprofiled(175)))
    for i in range(steps):
        at = 200 * i
        made.step(i + 2, at, 190)
        made.op("aten::mm", at + 10, 20, (4096, 4096), (4096, 4096))
        made.work(GEMM, at + 15, at + 25, 171)
    return made
