from __future__ import annotations

import pytest
import torch

from tests import kernel_cases

pytest.importorskip("triton", reason="Triton is not installed here")


def test_geglu_in_the_interpreter():
    kernel_cases.run("geglu_cases", interpreted=True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_geglu_on_the_gpu():
    kernel_cases.run("geglu_cases", interpreted=False)
