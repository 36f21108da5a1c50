"""Names of copies and memsets, of collectives, of cuDNN's helpers, and of known namespaces."""

from __future__ import annotations

import re

from trace_util.naming.cpp import arguments, clipped, identifier, qualified
from trace_util.naming.parts import KernelName, details, dtype_of

_MEMCPY = re.compile(r"^Memcpy (\w+)(?: \((\w+) -> (\w+)\))?", re.IGNORECASE)
_ROCM_COPY = re.compile(r"^(?:Copy(Host|Device|Peer)To(Host|Device|Peer)|__amd_rocclr_copyBuffer)")
_ROCM_FILL = re.compile(r"^(?:FillBuffer|__amd_rocclr_fillBuffer\w*)")
_NCCL = re.compile(
    r"^nccl(?:Dev)?Kernel_(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv|AllToAll)?\w*"
)
# The few kernels that NCCL builds are ways into all of its functions: any protocol enters by an LL
# kernel, any reduction by Sum's, any algorithm but TREE by RING's, signed integers by unsigned ones
# (`best_kernel` of src/device/generate.py, NCCL 2.19 and later; before that "only inline kernels
# for LL", src/enqueue.cc). A group of operations enters by the kernel of its first
# (https://github.com/NVIDIA/nccl/issues/739).
_NCCL_ENTRY = ("Sum", "Prod", "Max", "Min", "MinMax", "Avg", "PreMulSum", "SumPostDiv",
               "RING", "TREE", "NVLS", "COLLNET", "PAT", "LL", "LL128", "SIMPLE")  # fmt: skip
# Those for symmetric memory are built for one algorithm each (src/device/symmetric/generate.py).
_NCCL_SYMMETRIC = re.compile(
    r"^ncclSymk?(?:Dev)?Kernel_(AllReduce|AllGather|ReduceScatter)_(\w+?)"
    r"(?:_(sum|avg)_([a-z0-9]+))?(?:_profile)?(?:\(|$)"
)
# What is in a kernel's namespace or name -> (family, library, role). The first that fits decides.
_PLACES = (
    (r"^cask_cudnn\w*::compute\w*Offsets", "cuDNN helper", "cuDNN", "helper"),
    (r"bn_(?:fw|bw)_|batchnorm", "cuDNN batch norm", "cuDNN", "normalization"),
    (r"nchwToNhwc|nhwcToNchw|scalePackedTensor|nchwAddPadding", "cuDNN layout", "cuDNN", "copy"),
    (r"winograd|im2col4d|(?:w|d)grad_\w*engine|_convolve_\w*gemm|fft2d_(?:r2c|c2r)|conv2d_\w+direct"
     r"|dgrad2d_\w+direct|reduce_wgrad|convolve_common",
     "cuDNN convolution", "cuDNN", "convolution"),
    (r"^cudnn\w*::", "cuDNN", "cuDNN", None),
    (r"^vllm::", "vLLM", "vLLM", None),
    (r"^flashinfer::", "FlashInfer", "FlashInfer", None),
    (r"^tensorrt_llm::|^moe::dev::", "TensorRT-LLM", "TensorRT-LLM", None),
    (r"^deep_gemm::", "DeepGEMM", "DeepGEMM", "gemm"),
    (r"^ck(?:_tile)?::", "Composable Kernel", "Composable Kernel", None),
    (r"^miopen|^MIOpen", "MIOpen", "MIOpen", None),
    (r"^transformer_engine::", "TransformerEngine", "TransformerEngine", None),
    (r"^(?:thrust|cub)::", "CUB", "CUB", None),
    (r"multimem_all_reduce_kernel|one_shot_all_reduce|two_shot_all_reduce",
     "symmetric memory", "PyTorch", "communication"),
)  # fmt: skip
_ROLES = (
    ("rms_norm", "normalization"), ("layer_norm", "normalization"), ("all_reduce", "communication"),
    ("quant", "quantization"), ("rotary_embedding", "elementwise"), ("cache", "copy"),
    ("softmax", "softmax"), ("routing", "routing"), ("paged_attention", "attention"),
    ("act_and_mul", "elementwise"),
)  # fmt: skip


def transfer(name: str) -> KernelName | None:
    """A copy or a memset as the profiler calls it: ``Memcpy DtoD (Device -> Device)``."""
    if match := _MEMCPY.match(name):
        direction, source, target = match.groups()
        return KernelName(
            raw=name, short=clipped(name), family="memcpy", library="CUDA", role="memcpy",
            details=details(direction=direction, source=source, target=target),
        )  # fmt: skip
    if name.lower().startswith("memset"):
        return KernelName(
            raw=name, short=clipped(name), family="memset", library="CUDA", role="memset"
        )
    if _ROCM_COPY.match(name) or _ROCM_FILL.match(name):
        role = "memcpy" if _ROCM_COPY.match(name) else "memset"
        return KernelName(
            raw=name, short=clipped(name.split("(")[0]), family=role, library="ROCm", role=role
        )
    return None


def collective(name: str) -> KernelName | None:
    """An NCCL or RCCL kernel, ``ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)``."""
    if match := _NCCL_SYMMETRIC.match(name):
        operation, algorithm, reduction, spelled = match.groups()
        return KernelName(
            raw=name, short=clipped(name.split("(")[0]), family="NCCL", library="NCCL or RCCL",
            role="communication", dtype=dtype_of(spelled or ""), ops=(operation,),
            details=details(algorithm=algorithm, reduction=reduction),
        )  # fmt: skip
    match = _NCCL.match(name)
    if match is None:
        return None
    head = match.group()
    tokens = head.split("_")[1:]
    dtype = next((d for t in tokens if t != "u8" and (d := dtype_of(t))), None)
    if head.endswith("int8_t"):  # the type's own underscore
        dtype = "uint8" if head.endswith("uint8_t") else "int8"
    # Collectives without arithmetic are one kernel for all dtypes, named after int8 and Sum.
    reduces = "Reduce" in (match.group(1) or "")
    entry = [t for t in tokens if t in _NCCL_ENTRY and (reduces or t != "Sum")]
    return KernelName(
        raw=name, short=clipped(head), family="NCCL", library="NCCL or RCCL", role="communication",
        dtype=dtype if reduces else None, ops=(match.group(1),) if match.group(1) else (),
        details=details(kernel_entry=" ".join(entry)),
    )  # fmt: skip


def by_place(name: str) -> KernelName | None:
    """A kernel whose namespace, or whose well-known name, tells its library."""
    path = qualified(name)
    place = next((place for place in _PLACES if re.search(place[0], path)), None)
    if place is None:
        return None
    _, family, library, role = place
    role = role or next((r for part, r in _ROLES if part in path.lower()), None)
    dtype = next((d for a in arguments(name) if (d := dtype_of(a)) not in (None, "bool")), None)
    last = identifier(name)
    shown = path if len(path) <= 56 else last
    return KernelName(
        raw=name, short=clipped(f"{shown}<{dtype}>" if dtype else shown), family=family,
        library=library, role=role, dtype=dtype,
        tensor_cores=False if "convolve_sgemm" in last else None,
    )  # fmt: skip
