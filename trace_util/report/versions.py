"""The versions that a trace names, in its header or in the run facts of a lesson."""

from __future__ import annotations

from trace_util.events import Trace


def versions(trace: Trace) -> dict[str, str]:
    """What ran -> its version, as people write it; only what the trace says."""
    run = trace.header.run.get("versions")
    found = {} if not isinstance(run, dict) else {k: str(v) for k, v in run.items() if v}
    other = trace.header.other
    for key in ("cuda_runtime", "cuda_driver"):
        number = other.get(f"{key}_version")
        if isinstance(number, int):
            found[key] = f"{number // 1000}.{number % 1000 // 10}"  # 13000 is 13.0
    for key in ("hip_runtime", "hip_driver"):
        number = other.get(f"{key}_version")
        if isinstance(number, int):  # HIP_VERSION: major, two digits of minor, five of patch
            found[key] = f"{number // 10**7}.{number // 10**5 % 100}.{number % 10**5}"
    nccl = trace.header.distributed.get("nccl_version")
    if isinstance(nccl, str):
        found["nccl"] = nccl
    return found
