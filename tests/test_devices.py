"""Peaks by GPU name: what is known, what is refused, and that the table is consistent."""

from __future__ import annotations

import pytest

from trace_util.device_table import ROWS
from trace_util.devices import device, device_of, gpu_name, is_amd, nvidia_capabilities
from trace_util.events import Header


@pytest.mark.parametrize(
    ("name", "known_as", "dtype", "teraflops", "gigabytes_per_s"),
    [
        ("Tesla T4", "T4", "fp16", 65, 320),
        ("Tesla V100-SXM2-16GB", "V100 SXM2", "fp16", 125, 900),
        ("Tesla V100-SXM3-32GB", "V100 SXM3", "fp16", 130.8, 981),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti", "fp16", 53.8, 616),
        ("NVIDIA GeForce RTX 3090", "RTX 3090", "bf16", 71.16, 936),
        ("NVIDIA GeForce RTX 4090", "RTX 4090", "bf16", 165.2, 1008),
        ("NVIDIA GeForce RTX 4090", "RTX 4090", "fp8 e4m3", 330.3, 1008),
        ("NVIDIA GeForce RTX 5090", "RTX 5090", "bf16", 209.5, 1792),
        ("NVIDIA A10", "A10", "bf16", 125, 600),
        ("NVIDIA A10G", "A10G", "bf16", 70, 600),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB", "tf32", 156, 1555),
        ("A100-SXM4-40GB", "A100 40GB", "bf16", 312, 1555),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM", "bf16", 312, 2039),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe", "bf16", 312, 1935),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM", "fp64", 19.5, 2039),
        ("NVIDIA L4", "L4", "bf16", 121, 300),
        ("NVIDIA L40S", "L40S", "bf16", 362.05, 864),
        ("NVIDIA H100 PCIe", "H100 PCIe", "bf16", 756, 2000),
        ("NVIDIA H100 80GB HBM3", "H100 SXM", "bf16", 989.4, 3350),
        ("NVIDIA H100 80GB HBM3", "H100 SXM", "fp64", 66.9, 3350),
        ("NVIDIA H100 NVL", "H100 NVL", "bf16", 835.5, 3900),
        ("NVIDIA H200", "H200 SXM", "bf16", 989.4, 4800),
        ("NVIDIA B200", "B200", "fp16", 2250, 7700),
        ("AMD Instinct MI210", "MI210", "bf16", 181, 1638),
        ("AMD Instinct MI250X", "MI250X", "fp16", 191.5, 1638),
        ("AMD Instinct MI300X", "MI300X", "bf16", 1307.4, 5300),
        ("AMD Instinct MI300X VF", "MI300X", "fp8 e4m3", 2614.9, 5300),
        ("AMD Instinct MI325X", "MI325X", "bf16", 1307.4, 6000),
        ("AMD Instinct MI350X", "MI350X", "bf16", 2306.9, 8000),
        ("AMD Instinct MI355X", "MI355X", "bf16", 2516.6, 8000),
    ],
)
def test_device_has_its_dense_peaks(name, known_as, dtype, teraflops, gigabytes_per_s):
    found = device(name)
    assert found.name == known_as
    assert found.peak_flops_per_s(dtype) == pytest.approx(teraflops * 1e12, rel=0.002)
    assert found.bytes_per_s == gigabytes_per_s * 1e9
    assert found.source.startswith("https://")


@pytest.mark.parametrize(
    "name",
    [None, "", "AMD Radeon Graphics", "ARTEMIS", "NVIDIA A100-PG509-200", "NVIDIA H100", "T400",
     "Tesla V100-SXM3-32GB-H", "AMD Instinct MI250X / MI250", "NVIDIA GeForce RTX 3080",
     "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D", "NVIDIA A100X", "H2000",
     "NVIDIA H100 80GB HBM3 MIG 1g.10gb"],
)  # fmt: skip
def test_unknown_device_is_none(name):
    assert device(name) is None


def test_number_of_sms_tells_variants_apart():
    assert device("NVIDIA GeForce RTX 3080", 68).bytes_per_s == 760e9
    assert device("NVIDIA GeForce RTX 3080", 70).bytes_per_s == 912e9
    assert device("AMD Instinct MI250X / MI250", 104).name == "MI250"
    assert device("AMD Instinct MI250X / MI250", 110).name == "MI250X"
    assert device("NVIDIA GeForce RTX 2060", 34) is None  # the 12 GB card, of which no data
    assert device("NVIDIA H200", 132).name == "H200 SXM"
    assert device("NVIDIA H200", 60) is None  # a partition is no H200


def test_rows_are_consistent():
    assert len({(row.name, row.sms) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert device(row.name if "RTX" in row.name else None, row.sms) or "RTX" not in row.name
        rates = row.teraflops
        assert rates["fp32"] < rates["fp16"], row.name
        # Half the width, twice the rate, on every one of these Tensor Cores; tf32 is half of bf16.
        if "bf16" in rates:
            assert rates["fp16"] == rates["bf16"]
        if "fp8" in rates:
            assert rates["fp8"] == pytest.approx(2 * rates["bf16"], rel=0.02), row.name
        if "tf32" in rates:
            assert rates["tf32"] == pytest.approx(rates["bf16"] / 2, rel=0.03), row.name
        # From the L4 (5 GB/s an SM) to the B200 (54); a slip of a digit would fall outside.
        assert 4 <= row.gigabytes_per_s / row.sms <= 60, row.name


def header(*names, sms=132, run=None):
    properties = tuple({"name": name, "numSms": sms} for name in names)
    return Header(device_properties=properties, run=run or {})


def test_device_of_a_trace():
    assert device_of(header("NVIDIA H200", "NVIDIA H200")).name == "H200 SXM"
    assert device_of(header("NVIDIA H200", "NVIDIA B200", sms=0)) is None
    assert device_of(header("", "")) is None
    assert device_of(header(run={"gpu": "NVIDIA H200"})).name == "H200 SXM"
    assert gpu_name(header("", "AMD Radeon Graphics")) == "AMD Radeon Graphics"
    assert gpu_name(Header()) is None


AMD = {"name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4}
H200 = {"name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0}
T4 = {"name": "Tesla T4", "computeMajor": 7, "computeMinor": 5}
TOLD = {"gpu": "AMD Instinct MI300X", "compute_capability": "9.4"}


@pytest.mark.parametrize(
    ("properties", "run", "other", "amd", "capabilities"),
    [
        ((AMD,), {}, {}, True, ()),
        ((H200, H200), {}, {}, False, ((9, 0),)),
        ((H200, T4), {}, {}, False, ((9, 0), (7, 5))),
        ((), {"compute_capability": "8.6"}, {}, False, ((8, 6),)),
        ((H200,), {"compute_capability": "8.0"}, {}, False, ((8, 0),)),
        ((), {}, {}, False, ()),
        ((), {"gpu": None, "vendor": None, "compute_capability": None}, {}, False, ()),
        # Run facts of before they told the vendor: the name decides, and what else is AMD's.
        ((), TOLD, {}, True, ()),
        (({**AMD, "name": "Device 738c"},), {"versions": {"torch": "2.9.1+rocm6.4"}}, {}, True, ()),
        (({**AMD, "name": ""},), {}, {"hip_runtime_version": 60443484}, True, ()),
        # Where they tell it, that decides.
        ((), {**TOLD, "gpu": "Graphics", "vendor": "AMD"}, {}, True, ()),
        ((H200,), {"vendor": "NVIDIA", "compute_capability": "9.0"}, {}, False, ((9, 0),)),
    ],
)  # fmt: skip
def test_compute_capability_is_nvidias(properties, run, other, amd, capabilities):
    found = Header(device_properties=properties, run=run, other=other)
    assert is_amd(found) is amd
    assert nvidia_capabilities(found) == capabilities
    assert nvidia_capabilities(Header(device_properties=properties, other=other), run) == (
        capabilities
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_vendor_is_told_from_every_name_of_the_table(row):
    for name in row.reported:
        brand = "AMD " if row.name.startswith("MI") else "NVIDIA "
        assert is_amd(Header(run={"gpu": brand + name})) is row.name.startswith("MI")
        assert is_amd(Header(run={"gpu": name})) is row.name.startswith("MI")
