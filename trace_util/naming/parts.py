"""The decoded parts of a kernel's name, and the spellings of dtypes that names use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class KernelName:
    """What a kernel's name says, and nothing that it does not.

    ``None`` and empty mean that the name is silent. An architecture tag is what the kernel was
    compiled or tuned for: ``sm80_…`` and ``ampere_…`` kernels run on sm_90 GPUs too, so it does not
    tell the GPU.
    """

    raw: str
    short: str  # readable in a table: template arguments and parameters left out
    family: str | None = None  # the scheme that the name follows, e.g. "nvjet"; None: unknown
    library: str | None = None  # who made the kernel, e.g. "cuBLAS"
    role: str | None = None  # what it does: "gemm", "elementwise", "attention", …
    dtype: str | None = None  # of the inputs: "bf16", "fp16", "tf32", "fp32", …
    accumulate: str | None = None  # dtype of the sums
    output: str | None = None  # dtype of the result
    tile: str | None = None  # of the output, as one thread block computes it: "256x128"
    tile_k: int | None = None  # elements of K that one stage holds
    stages: int | None = None  # depth of the pipeline that feeds the tile from memory
    cluster: str | None = None  # thread blocks that cooperate, "1x2"
    layout: str | None = None  # of the operands as spelled: "tn", "NNT", "nhwc", …
    epilogue: tuple[str, ...] = ()  # work in the GEMM's last phase, as spelled: ("bias",)
    tensor_cores: bool | None = None  # Tensor Cores, or AMD's matrix cores
    architecture_tag: str | None = None  # "sm90", "ampere", "gfx942"
    ops: tuple[str, ...] = ()  # the PyTorch ops that it computes, merged ones each
    functor: str | None = None  # the C++ functor of an ATen kernel, "GeluCUDAKernelImpl"
    details: tuple[tuple[str, str], ...] = ()  # what else stands in the name

    @property
    def is_known(self) -> bool:
        """Whether the name follows a scheme that is known here."""
        return self.family is not None

    def as_json(self) -> dict[str, Any]:
        """Every field by its name, JSON-ready."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "epilogue": list(self.epilogue),
            "ops": list(self.ops),
            "details": dict(self.details),
        }


# Spellings seen in demangled and mangled names -> the short form that people say.
DTYPES = {
    "BFloat16": "bf16", "bfloat16_t": "bf16", "__nv_bfloat16": "bf16", "bf16": "bf16",
    "__hip_bfloat16": "bf16", "hip_bfloat16": "bf16", "nv_bfloat16": "bf16", "Bfloat16": "bf16",
    "Half": "fp16", "half_t": "fp16", "__half": "fp16", "half": "fp16", "f16": "fp16",
    "fp16": "fp16", "__half2": "fp16", "half2": "fp16",
    "float": "fp32", "f32": "fp32", "fp32": "fp32", "float2": "fp32", "float4": "fp32",
    "tfloat32_t": "tf32", "tf32": "tf32",
    "double": "fp64", "f64": "fp64", "fp64": "fp64",
    "Float8_e4m3fn": "fp8 e4m3", "float_e4m3_t": "fp8 e4m3", "__nv_fp8_e4m3": "fp8 e4m3",
    "Float8_e4m3fnuz": "fp8 e4m3", "e4m3": "fp8 e4m3", "E4m3": "fp8 e4m3",
    "Float8_e5m2": "fp8 e5m2", "float_e5m2_t": "fp8 e5m2", "__nv_fp8_e5m2": "fp8 e5m2",
    "Float8_e5m2fnuz": "fp8 e5m2", "e5m2": "fp8 e5m2", "E5m2": "fp8 e5m2",
    "int8_t": "int8", "signed char": "int8", "s8": "int8", "i8": "int8",
    "uint8_t": "uint8", "unsigned char": "uint8", "u8": "uint8",
    "int": "int32", "int32_t": "int32", "s32": "int32", "i32": "int32",
    "long": "int64", "int64_t": "int64", "i64": "int64", "long long": "int64",
    "bool": "bool",
}  # fmt: skip


def dtype_of(spelling: str) -> str | None:
    """The dtype that a C++ type spells, its namespace, ``const`` and pointer left out."""
    plain = spelling.replace(" const", "").replace("const ", "").strip(" *&")
    return DTYPES.get(plain.rsplit("::", 1)[-1])


# Tokens that several makers share. TILE: 128x64 or 128x64x32; LAYOUT: transposed or not, A B (C).
TILE = re.compile(r"^\d+x\d+(?:x\d+)?$")
LAYOUT = re.compile(r"^[nt]{2,3}$")
# The letter that BLAS puts before `gemm`: the dtype of the sums.
BLAS = {"s": "fp32", "h": "fp16", "d": "fp64", "i": "int32", "c": "complex64", "z": "complex128"}
# The digits of a Tensor Core instruction, m16n8k16 and the like, in `s16816gemm`.
INSTRUCTIONS = {
    "884": "8x8x4", "1684": "16x8x4", "1688": "16x8x8", "16816": "16x8x16", "161616": "16x16x16",
    "16832": "16x8x32", "8816": "8x8x16", "8832": "8x8x32", "16864": "16x8x64",
}  # fmt: skip


def details(**found: str | None) -> tuple[tuple[str, str], ...]:
    """The details that were found, in the order given, as (name, text)."""
    return tuple((name.replace("_", " "), text) for name, text in found.items() if text)


def tiling(tile: str | None, k_by_stages: str | None = None) -> dict[str, Any]:
    """``tile``, ``tile_k`` and ``stages`` of ``128x128x64``, or of ``128x128`` and ``64x4``.

    The second is how nvjet, cuBLAS and CUTLASS write K elements a stage and the number of stages.
    """
    sizes = tile.split("x") if tile else []
    found: dict[str, Any] = {"tile": "x".join(sizes[:2]) or None}
    if len(sizes) > 2:
        found["tile_k"] = int(sizes[2])
    if k_by_stages:
        found["tile_k"], found["stages"] = map(int, k_by_stages.split("x")[:2])
    return found
