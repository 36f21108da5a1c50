"""Where a lesson runs, and what can run there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, supported_activities

from ..events import TraceError
from .folders import require_writable
from .output import say

TORCH_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}

# bf16 arithmetic starts with compute capability 8.0; below, PyTorch emulates it in float32.
# https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities
BF16_CAPABILITY = (8, 0)

EAGER = "leave it out, which records the eager run"
# Where Inductor and Triton keep what they compiled (torch/_inductor/runtime/cache_dir_utils.py and
# triton/knobs.py); without them it is a folder for temporary files, or in the home folder.
CACHE_VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


def choose_device(name: str) -> torch.device:
    """The device that ``name`` (auto, cuda or cpu) stands for on this machine.

    Raises:
        TraceError: ``cuda`` was asked for and there is none that works.
    """
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        built = torch.version.cuda or torch.version.hip
        why = "no GPU is visible" if built else "this build of torch has no CUDA"
        raise TraceError(f"--device cuda: {why}; use --device cpu or --device auto")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    return device


def require_dtype(name: str, device: torch.device) -> torch.dtype:
    """The torch dtype of ``bf16``, ``fp16`` or ``fp32``.

    Raises:
        TraceError: the GPU would only emulate it.
    """
    if name == "bf16" and device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        if (major, minor) < BF16_CAPABILITY and torch.version.hip is None:
            gpu = torch.cuda.get_device_name(device)
            raise TraceError(
                f"--dtype bf16: {gpu} (sm_{major}{minor}) would emulate it, and the trace would "
                "show the emulation; use --dtype fp16"
            )
    return TORCH_DTYPES[name]


def require_compile(device: torch.device) -> None:
    """Returns when torch.compile has the tools that it needs on ``device``.

    Raises:
        TraceError: one is missing; without this check torch prints pages before it says so.
    """
    has_triton = importlib.util.find_spec("triton") is not None
    if device.type == "cuda" and not has_triton:
        raise TraceError(f"--compile: Triton is not installed (pip install triton); {EAGER}")
    variable, names = (
        ("CC", ("gcc", "clang", "cc"))
        if device.type == "cuda"
        else ("CXX", ("g++", "clang++", "c++", "cl"))
    )
    chosen = os.environ.get(variable)
    if not any(shutil.which(name) for name in ([chosen] if chosen else names)):
        missing = f"{variable}={chosen} is" if chosen else f"a compiler ({', '.join(names)}) is"
        raise TraceError(f"--compile: {missing} not on the PATH; install one, or {EAGER}")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise TraceError(f"--compile: Python.h is missing (python3-dev on Debian); or {EAGER}")
    for name in CACHE_VARIABLES:
        if os.environ.get(name):
            require_writable(Path(os.environ[name]), name)


def profiler_activities(device: torch.device) -> list[ProfilerActivity]:
    """What to record: the CPU, and the GPU when the lesson runs on it and torch can see it."""
    if device.type == "cpu":
        return [ProfilerActivity.CPU]
    if ProfilerActivity.CUDA not in supported_activities():  # type: ignore[no-untyped-call]
        say("note: this build of torch cannot record GPU activity (no Kineto/CUPTI): CPU rows only")
        return [ProfilerActivity.CPU]
    return [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def gpu_facts(device: torch.device) -> dict[str, Any]:
    """Name, vendor and compute capability of the GPU; all ``None`` on the CPU.

    Of an AMD GPU the capability is what ROCm reports by that name.
    """
    if device.type == "cpu":
        return {"gpu": None, "vendor": None, "compute_capability": None}
    major, minor = torch.cuda.get_device_capability(device)
    return {
        "gpu": torch.cuda.get_device_name(device),
        "vendor": "NVIDIA" if torch.version.hip is None else "AMD",
        "compute_capability": f"{major}.{minor}",
    }


def driver_version() -> str | None:
    """The NVIDIA driver's version, e.g. ``580.159.03``; ``None`` where it cannot be known.

    Read from ``/proc/driver/nvidia/version``, and where that is hidden (WSL, some containers) from
    NVML through torch.
    """
    try:
        words = Path("/proc/driver/nvidia/version").read_text().split()
        return next(word for word in words if word[0].isdigit() and "." in word)
    except (OSError, StopIteration):
        pass
    try:
        import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore]

        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except Exception:  # noqa: BLE001 - an optional library over an optional driver
        return None
