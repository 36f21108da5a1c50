"""A GPU's name -> its peaks: dense FLOP/s by dtype and memory bandwidth, with their source.

``None`` where the GPU is not in the table: a roofline against a guessed peak would be worse than
none. The table is ``trace_util.device_table``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trace_util.device_table import L2_MEBIBYTES, ROWS, Row
from trace_util.events import Header

# How ROCm spells the names of its GPUs, and a torch that was built for it its version.
_AMD_NAME = re.compile(r"\b(?:AMD|Radeon|Instinct|MI\d{2,3}[A-Z]?|gfx\d+\w*)\b", re.IGNORECASE)
_ROCM_TORCH = re.compile(r"\+rocm|\+gfx", re.IGNORECASE)
_BRANDS = re.compile(r"^(?:(?:NVIDIA|AMD|Tesla|GeForce|Instinct) )+", re.IGNORECASE)


@dataclass(frozen=True)
class Device:
    """What a GPU can do at most, as its vendor states it."""

    name: str
    sms: int  # streaming multiprocessors, or compute units
    bytes_per_s: float
    flops_per_s: dict[str, float]  # dense, by dtype: "fp16", "bf16", "tf32", "fp32", "fp8", …
    source: str  # URL
    note: str = ""
    l2_bytes: int | None = None  # of L2 cache; None: not known

    def peak_flops_per_s(self, dtype: str | None) -> float | None:
        """The dense peak for a dtype as kernel names spell it; ``None`` where there is none."""
        if dtype is None:
            return None
        return self.flops_per_s.get("fp8" if dtype.startswith("fp8") else dtype)


def device(name: str | None, sms: int | None = None) -> Device | None:
    """The peaks of the GPU of that name, ``None`` when unknown.

    ``sms`` tells variants of one name apart (without it such a name is unknown), and refuses a GPU
    that has other than its data says (a partition of it, for one).
    """
    bare = _BRANDS.sub("", (name or "").strip())
    rows = [row for row in ROWS if bare in row.reported and sms in (None, 0, row.sms)]
    return _device(rows[0]) if len(rows) == 1 else None


def device_of(header: Header) -> Device | None:
    """The peaks of the GPU that recorded a trace, from its run facts or its device properties.

    Several GPUs of one machine count as one kind only when all have the same name.
    """
    properties = [p for p in header.device_properties if p.get("name")]
    names = {str(p["name"]) for p in properties}
    if len(names) == 1:
        sms = properties[0].get("numSms")
        return device(names.pop(), sms if isinstance(sms, int) else None)
    if names:
        return None
    return device(gpu_name(header))


def gpu_name(header: Header) -> str | None:
    """The name of the GPU as the trace spells it; ``None`` when it does not."""
    for properties in header.device_properties:
        if properties.get("name"):
            return str(properties["name"])
    gpu = header.run.get("gpu")
    return str(gpu) if gpu else None


def is_amd(header: Header, run: Mapping[str, Any] | None = None) -> bool:
    """Whether AMD's GPUs recorded a trace; ``run``: other run facts than the header's.

    The run facts say so (``vendor``); where they do not, the versions and the GPUs' names do.
    """
    run = header.run if run is None else run
    if isinstance(vendor := run.get("vendor"), str):
        return vendor == "AMD"
    versions = run.get("versions")
    torch = str(versions.get("torch")) if isinstance(versions, dict) else ""
    if "hip_runtime_version" in header.other or _ROCM_TORCH.search(torch):
        return True
    names = [run.get("gpu"), *(one.get("name") for one in header.device_properties)]
    return any(_AMD_NAME.search(str(name)) for name in names if name)


def nvidia_capabilities(
    header: Header, run: Mapping[str, Any] | None = None
) -> tuple[tuple[int, int], ...]:
    """The distinct compute capabilities of the NVIDIA GPUs, in the order of the trace.

    Empty where they are not told, and for AMD's GPUs: ROCm reports numbers by the same names
    (9.4 for gfx942), which mean something else.
    """
    run = header.run if run is None else run
    if is_amd(header, run):
        return ()
    if told := re.fullmatch(r"(\d+)\.(\d+)", str(run.get("compute_capability"))):
        return ((int(told[1]), int(told[2])),)
    found = [(one.get("computeMajor"), one.get("computeMinor")) for one in header.device_properties]
    known = [
        (major, minor if isinstance(minor, int) else 0)
        for major, minor in found
        if isinstance(major, int) and major > 0
    ]
    return tuple(dict.fromkeys(known))


def _device(row: Row) -> Device:
    l2 = L2_MEBIBYTES.get(row.name, L2_MEBIBYTES.get(row.name.split()[0]))
    return Device(
        name=row.name,
        sms=row.sms,
        bytes_per_s=row.gigabytes_per_s * 1e9,
        flops_per_s={dtype: rate * 1e12 for dtype, rate in row.teraflops.items()},
        source=row.source,
        note=row.note,
        l2_bytes=None if l2 is None else l2 * 2**20,
    )
