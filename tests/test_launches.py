"""The launcher that spares Triton's look-up: what it keeps, and when it asks Triton again."""

from __future__ import annotations

import contextlib
import gc
import weakref

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed here")

from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from fused_mlp import launches  # noqa: E402

GPU = torch.device("cuda", 0)


class Kernel:
    """Stands for a Triton kernel: notes its launches, and answers with what it compiled."""

    def __init__(self):
        self.looked_up, self.direct = [], []

    def __getitem__(self, grid):
        return lambda *args, **options: self._looked_up(grid, args, options)

    def _looked_up(self, grid, args, options):
        self.looked_up.append((grid, args, options))
        return Compiled(self)


class Compiled:
    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        return lambda *args: self.kernel.direct.append((grid, args))


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(launches, "INTERPRETED", False)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(launches, "_compiled", {})
    monkeypatch.setattr(launches, "_descriptors", {})
    return Kernel()


def test_only_the_first_launch_of_a_variant_asks_triton(kernel):
    for programs, value in ((3, "a"), (4, "b"), (5, "c")):
        launches.launch(kernel, programs, "variant", GPU, value, 7, num_warps=8)
    assert kernel.looked_up == [((3,), ("a", 7), {"num_warps": 8})]
    assert kernel.direct == [((4, 1, 1), ("b", 7)), ((5, 1, 1), ("c", 7))]
    launches.launch(kernel, 1, "another", GPU, "d")
    assert len(kernel.looked_up) == 2


def test_a_variant_is_compiled_for_each_device(kernel, monkeypatch):
    entered = []

    @contextlib.contextmanager
    def device(wanted):
        entered.append(wanted)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: wanted.index)
        yield

    monkeypatch.setattr(torch.cuda, "device", device)
    launches.launch(kernel, 1, "variant", GPU, "a")
    launches.launch(kernel, 1, "variant", torch.device("cuda", 1), "b")
    assert entered == [torch.device("cuda", 1)]
    assert len(kernel.looked_up) == 2 and not kernel.direct


@pytest.mark.parametrize("why", ("interpreted", "compiling"))
def test_triton_launches_itself_where_it_must(kernel, monkeypatch, why):
    if why == "interpreted":
        monkeypatch.setattr(launches, "INTERPRETED", True)
    else:
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    for _ in range(2):
        launches.launch(kernel, 1, "variant", GPU, "a")
    assert len(kernel.looked_up) == 2 and not launches._compiled


def test_what_is_kept_is_bounded(kernel, monkeypatch):
    monkeypatch.setattr(launches, "MOST", 3)
    for size in range(10):
        launches.launch(kernel, 1, size, GPU)
        assert len(launches._compiled) <= 3


def test_a_kept_descriptor_is_triton_s_own_but_for_the_matrix(kernel):
    first, second = torch.randn(2, 48, 64).half().unbind()
    for matrix in (first, second, first[::2], first.bfloat16()):
        found = launches.descriptor(TensorDescriptor.from_tensor, matrix, (16, 32))
        wanted = TensorDescriptor.from_tensor(matrix, [16, 32])
        assert type(found) is TensorDescriptor and found.base is matrix
        assert {**vars(found), "base": None} == {**vars(wanted), "base": None}
    assert len(launches._descriptors) == 3


def test_no_matrix_is_kept_alive(kernel):
    matrix = torch.randn(16, 16).half()
    seen = weakref.ref(matrix)
    for _ in range(2):
        launches.descriptor(TensorDescriptor.from_tensor, matrix, (16, 16))
    del matrix
    gc.collect()
    assert seen() is None


def test_alignment_is_of_the_address():
    x = torch.zeros(64)
    assert launches.aligned(x, x[1:], x[4:]) == (True, False, True)
