"""Peaks of GPUs as their vendors state them: dense TFLOP/s by dtype, memory GB/s, SMs.

Datasheets print Tensor Core rates "with sparsity" from Ampere on, which is twice the dense rate;
the figures here are dense, and rows whose source prints only sparse ones have a note that says so.
fp16, bf16 and fp8 are the rates with fp32 sums, which is what cuBLAS runs for PyTorch (GeForce
cards are half as fast there as with fp16 sums, which is what their marketing prints). fp64 is the
rate of the matrix units where they do fp64 (from the A100 and the MI210 on), which is what a
product can reach; fp32 is without tf32. SMs are those that the driver reports: 58 on an L4, whose
chip has 60.
"""

from __future__ import annotations

from typing import NamedTuple

_NVIDIA = "https://www.nvidia.com/"
_NVIDIA_IMAGES = "https://images.nvidia.com/"
_AMD = "https://www.amd.com/en/products/accelerators/instinct/"
_DATA_CENTER = _NVIDIA + "content/dam/en-zz/Solutions/Data-Center/"
_VOLTA = _NVIDIA_IMAGES + "content/technologies/volta/pdf/"
_PAPERS = _NVIDIA_IMAGES + "aem-dam/"
_TURING = _PAPERS + "en-zz/Solutions/design-visualization/technologies/turing-architecture/"

T4 = _DATA_CENTER + "tesla-t4/t4-tensor-core-datasheet-951643.pdf"
V100 = _VOLTA + "volta-v100-datasheet-update-us-1165301-r5.pdf"
V100_SXM3 = "https://www.techpowerup.com/gpu-specs/tesla-v100-sxm3-32-gb.c3472"
A10 = _NVIDIA + "en-us/data-center/products/a10-gpu/"
A10G = (
    "https://d1.awsstatic.com/product-marketing/ec2/NVIDIA_AWS_A10G_DataSheet_FINAL_02_17_2022.pdf"
)
A100 = _DATA_CENTER + "a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"
L4 = _NVIDIA + "en-us/data-center/l4/"
L40 = _NVIDIA + "en-us/data-center/l40/"
L40S = _NVIDIA + "en-us/data-center/l40s/"
H100 = _NVIDIA + "en-us/data-center/h100/"
H100_PCIE = "https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet"
H200 = _NVIDIA + "en-us/data-center/h200/"
B200 = "https://resources.nvidia.com/en-us-blackwell-architecture"
MI210 = _AMD + "mi200/mi210.html"
MI250X = _AMD + "mi200/mi250x.html"
MI250 = _AMD + "mi200/mi250.html"
MI300X = _AMD + "mi300/mi300x.html"
MI325X = _AMD + "mi300/mi325x.html"
MI350X = _AMD + "mi350/mi350x.html"
MI355X = _AMD + "mi350/mi355x.html"
TURING = _TURING + "NVIDIA-Turing-Architecture-Whitepaper.pdf"
AMPERE = _NVIDIA + "content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"
ADA = _PAPERS + "Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"
BLACKWELL = _PAPERS + "Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"


class Row(NamedTuple):
    """One GPU: the names that CUDA or HIP reports, without their brands, and its peaks."""

    reported: tuple[str, ...]
    name: str
    sms: int
    gigabytes_per_s: float
    teraflops: dict[str, float]
    source: str
    note: str = ""


_A100 = {"fp64": 19.5, "fp32": 19.5, "tf32": 156, "fp16": 312, "bf16": 312, "int8": 624}
_H100 = {"fp64": 66.9, "fp32": 66.9, "tf32": 494.7, "fp16": 989.4, "bf16": 989.4,
         "fp8": 1978.9, "int8": 1978.9}  # fmt: skip
_NVL = {"fp64": 60, "fp32": 60, "tf32": 417.5, "fp16": 835.5, "bf16": 835.5,
        "fp8": 1670.5, "int8": 1670.5}  # fmt: skip
_MI300 = {"fp64": 163.4, "fp32": 163.4, "tf32": 653.7, "fp16": 1307.4, "bf16": 1307.4,
          "fp8": 2614.9, "int8": 2614.9}  # fmt: skip
_GCD = "one of the two dies of the card: PyTorch sees each as a GPU"
_HALVED = "Tensor Core rates without sparsity, half of what the source prints"
_MI250_NAME = "MI250X / MI250"  # what the driver calls either, told apart by its number of CUs

DATA_CENTER = (
    Row(("T4",), "T4", 40, 320, {"fp32": 8.1, "fp16": 65, "int8": 130}, T4),
    Row(("V100-SXM2-16GB", "V100-SXM2-32GB"), "V100 SXM2", 80, 900,
        {"fp64": 7.8, "fp32": 15.7, "fp16": 125}, V100),
    Row(("V100-SXM3-32GB",), "V100 SXM3", 80, 981,
        {"fp64": 8.2, "fp32": 16.4, "fp16": 130.8}, V100_SXM3,
        "not in NVIDIA's datasheet: an SXM2's work a clock at 1.597 GHz, as TechPowerUp lists it"),
    Row(("V100-PCIE-16GB", "V100-PCIE-32GB"), "V100 PCIe", 80, 900,
        {"fp64": 7, "fp32": 14, "fp16": 112}, V100),
    Row(("V100S-PCIE-32GB",), "V100S PCIe", 80, 1134,
        {"fp64": 8.2, "fp32": 16.4, "fp16": 130}, V100),
    Row(("A10",), "A10", 72, 600,
        {"fp32": 31.2, "tf32": 62.5, "fp16": 125, "bf16": 125, "int8": 250}, A10),
    Row(("A10G",), "A10G", 80, 600,
        {"fp32": 35, "tf32": 35, "fp16": 70, "bf16": 70}, A10G, "int8 left out: not checked"),
    Row(("A100-SXM4-40GB", "A100-PCIE-40GB"), "A100 40GB", 108, 1555, _A100, A100),
    Row(("A100-SXM4-80GB",), "A100 80GB SXM", 108, 2039, _A100, A100),
    Row(("A100 80GB PCIe",), "A100 80GB PCIe", 108, 1935, _A100, A100),
    Row(("L4",), "L4", 58, 300,
        {"fp32": 30.3, "tf32": 60, "fp16": 121, "bf16": 121, "fp8": 242.5, "int8": 242.5}, L4,
        _HALVED),
    Row(("L40",), "L40", 142, 864,
        {"fp32": 90.5, "tf32": 90.5, "fp16": 181.05, "bf16": 181.05, "fp8": 362, "int8": 362}, L40),
    Row(("L40S",), "L40S", 142, 864,
        {"fp32": 91.6, "tf32": 183, "fp16": 362.05, "bf16": 362.05, "fp8": 733, "int8": 733}, L40S),
    Row(("H100 PCIe",), "H100 PCIe", 114, 2000,
        {"fp64": 51.2, "fp32": 51.2, "tf32": 378, "fp16": 756, "bf16": 756, "fp8": 1513,
         "int8": 1513}, H100_PCIE, _HALVED),
    Row(("H100 80GB HBM3",), "H100 SXM", 132, 3350, _H100, H100, _HALVED),
    Row(("H100 NVL",), "H100 NVL", 132, 3900, _NVL, H100, _HALVED),
    Row(("H200",), "H200 SXM", 132, 4800, _H100, H200, _HALVED),
    Row(("H200 NVL",), "H200 NVL", 132, 4800, _NVL, H200, _HALVED),
    Row(("B200",), "B200", 148, 7700,
        {"fp64": 37, "fp32": 75, "tf32": 1100, "fp16": 2250, "bf16": 2250, "fp8": 4500,
         "int8": 4500}, B200,
        f"of an HGX B200, 180 GB; its first datasheets had 8000 GB/s and 80 fp32; {_HALVED}"),
    Row(("MI210",), "MI210", 104, 1638,
        {"fp64": 45.3, "fp32": 45.3, "fp16": 181, "bf16": 181, "int8": 181}, MI210,
        "fp32 and fp64 on the matrix cores"),
    Row(("MI250", _MI250_NAME), "MI250", 104, 1638,
        {"fp64": 45.3, "fp32": 45.3, "fp16": 181, "bf16": 181, "int8": 181}, MI250, _GCD),
    Row(("MI250X", _MI250_NAME), "MI250X", 110, 1638,
        {"fp64": 47.9, "fp32": 47.9, "fp16": 191.5, "bf16": 191.5, "int8": 191.5}, MI250X, _GCD),
    Row(("MI300X", "MI300X OAM", "MI300X VF"), "MI300X", 304, 5300, _MI300, MI300X),
    Row(("MI325X", "MI325X OAM"), "MI325X", 304, 6000, _MI300, MI325X),
    Row(("MI350X", "MI350X OAM"), "MI350X", 256, 8000,
        {"fp64": 72.1, "fp32": 144.2, "fp16": 2306.9, "bf16": 2306.9, "fp8": 4613.7,
         "int8": 4613.7}, MI350X,
        "AMD prints 2.3 PFLOP/s of fp16: to more digits, a MI355X's work a clock at 2.2 GHz"),
    Row(("MI355X", "MI355X OAM"), "MI355X", 256, 8000,
        {"fp64": 78.6, "fp32": 157.3, "fp16": 2516.6, "bf16": 2516.6, "fp8": 5033.2,
         "int8": 5033.2}, MI355X),
)  # fmt: skip

# GeForce: FLOP per SM and clock from the whitepaper; x SMs x boost clock gives its own tables
# (RTX 4090: 128 x 2.520 GHz x 512 = 165.2 TFLOP/s of bf16). The whitepapers do not have every
# model: SMs, clocks and bandwidths are as TechPowerUp lists them, of the reference cards (the
# Founders Edition of the RTX 2080 Ti boosts 6 % higher).
_PER_SM = {
    TURING: {"fp32": 128, "fp16": 512, "int8": 2048},
    AMPERE: {"fp32": 256, "tf32": 256, "fp16": 512, "bf16": 512, "int8": 2048},
    ADA: {"fp32": 256, "tf32": 256, "fp16": 512, "bf16": 512, "fp8": 1024, "int8": 2048},
    BLACKWELL: {"fp32": 256, "tf32": 256, "fp16": 512, "bf16": 512, "fp8": 1024, "int8": 2048},
}
_GEFORCE = (  # model, SMs, boost GHz, GB/s, whitepaper of its architecture
    ("2060", 30, 1.680, 336, TURING), ("2060 SUPER", 34, 1.650, 448, TURING),
    ("2070", 36, 1.620, 448, TURING), ("2070 SUPER", 40, 1.770, 448, TURING),
    ("2080", 46, 1.710, 448, TURING), ("2080 SUPER", 48, 1.815, 496, TURING),
    ("2080 Ti", 68, 1.545, 616, TURING),
    ("3060", 28, 1.777, 360, AMPERE), ("3060 Ti", 38, 1.665, 448, AMPERE),
    ("3070", 46, 1.725, 448, AMPERE), ("3070 Ti", 48, 1.770, 608, AMPERE),
    ("3080", 68, 1.710, 760, AMPERE), ("3080", 70, 1.710, 912, AMPERE),  # of 10 and of 12 GB
    ("3080 Ti", 80, 1.665, 912, AMPERE), ("3090", 82, 1.695, 936, AMPERE),
    ("3090 Ti", 84, 1.860, 1008, AMPERE),
    ("4060", 24, 2.460, 272, ADA), ("4060 Ti", 34, 2.535, 288, ADA),
    ("4070", 46, 2.475, 504, ADA), ("4070 SUPER", 56, 2.475, 504, ADA),
    ("4070 Ti", 60, 2.610, 504, ADA), ("4070 Ti SUPER", 66, 2.610, 672, ADA),
    ("4080", 76, 2.505, 717, ADA), ("4080 SUPER", 80, 2.550, 736, ADA),
    ("4090", 128, 2.520, 1008, ADA),
    ("5060", 30, 2.497, 448, BLACKWELL), ("5060 Ti", 36, 2.572, 448, BLACKWELL),
    ("5070", 48, 2.512, 672, BLACKWELL), ("5070 Ti", 70, 2.452, 896, BLACKWELL),
    ("5080", 84, 2.617, 960, BLACKWELL), ("5090", 170, 2.407, 1792, BLACKWELL),
)  # fmt: skip

_SAME_NAME = {  # cards with other memory that report the same name and SMs
    "3060": "GB/s of the 12 GB card; the one of 8 GB has 240",
    "3060 Ti": "GB/s of the card with GDDR6; the one with GDDR6X has 608",
    "4070": "GB/s of the card with GDDR6X; the one with GDDR6 has 480",
}


def _geforce(model: str, sms: int, ghz: float, bandwidth: float, source: str) -> Row:
    rates = {dtype: flops * sms * ghz / 1000 for dtype, flops in _PER_SM[source].items()}
    name = f"RTX {model}"
    note = f"at {ghz} GHz boost, as TechPowerUp lists it"
    if model in _SAME_NAME:
        note += f"; {_SAME_NAME[model]}"
    return Row((name,), name, sms, bandwidth, rates, source, note)


ROWS = DATA_CENTER + tuple(_geforce(*row) for row in _GEFORCE)

# MiB of L2 cache as CUDA tells it (`L2_cache_size` of torch.cuda.get_device_properties), of the
# V100 and the A100 as NVIDIA's whitepapers on their architectures do; by a row's name or its first
# word. Of the others it is not known here.
L2_MEBIBYTES = {
    "T4": 4, "V100": 6, "V100S": 6, "A100": 40, "H100": 50, "H200": 60, "B200": 126, "RTX 4090": 72,
}  # fmt: skip
