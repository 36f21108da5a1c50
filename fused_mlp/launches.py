"""Launches of Triton kernels that cost the CPU less than Triton's own.

`kernel[grid](...)` works out at each call which compiled variant these arguments need: it inspects
every one, makes a key of them and checks the kernel's globals. That takes longer than a small
kernel runs. The callers here know what makes a variant, so they name it, and only its first launch
goes that way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import profiler

from fused_mlp.tiles import INTERPRETED

MOST = 4096  # variants and descriptors that are kept; a program of more shapes starts afresh

_compiled: dict[Hashable, Any] = {}
_descriptors: dict[Hashable, Any] = {}


def launch(
    kernel: Any, programs: int, variant: Hashable, device: torch.device, *arguments: Any, **options
) -> None:
    """Start `programs` programs of `kernel` on the current stream of `device`.

    `arguments` are all of the kernel's, in its order, the constants too. `options` are Triton's,
    such as `num_warps`. `variant` must differ where Triton would compile anew or where an option
    differs: by the dtypes, the constants, the sizes, and whether a pointer is a multiple of 16.
    """
    if torch.compiler.is_compiling() or INTERPRETED:  # the compiler traces Triton's own launch
        kernel[(programs,)](*arguments, **options)
        return
    if torch.cuda.current_device() != device.index:
        with torch.cuda.device(device):
            launch(kernel, programs, variant, device, *arguments, **options)
        return
    key = (kernel, device.index, variant)
    compiled = _compiled.get(key)
    if compiled is None:
        _kept(_compiled, key, kernel[(programs,)](*arguments, **options))
    else:
        compiled[(programs, 1, 1)](*arguments)


def checked(name: str, given: Tensor, dtypes: tuple[torch.dtype, ...]) -> None:
    """Raises `ValueError` unless `given` is of one of the dtypes, and where Triton can read it."""
    if not (given.is_cuda or INTERPRETED and given.is_cpu) or given.dtype not in dtypes:
        choice = ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        raise ValueError(
            f"{name}: {list(given.shape)} {given.dtype} on {given.device}: "
            f"a tensor on a CUDA GPU is needed, of {choice}"
        )


def row(name: str, *inputs: Tensor) -> contextlib.AbstractContextManager[None]:
    """A row of that name in a profiler's trace, with the inputs' shapes, as PyTorch's operations
    have one. Without it a trace would not say what the kernel under it computes."""
    if torch.compiler.is_compiling() or not profiler._is_profiler_enabled:
        return contextlib.nullcontext()
    return torch._C._profiler._RecordFunctionFast(name, inputs)


def descriptor(make: Callable[..., Any], matrix: Tensor, block: tuple[int, int]) -> Any:
    """`make(matrix, block)`, a tensor descriptor, checked by Triton once for each size and step.

    Raises what `make` raises.
    """
    key = (make, matrix.dtype, matrix.shape, matrix.stride(), block)
    fields = _descriptors.get(key)
    if fields is None:
        described = make(matrix, list(block))
        # Without the matrix, which would never be freed.
        _kept(_descriptors, key, (type(described), {**vars(described), "base": None}))
        return described
    described = object.__new__(fields[0])
    vars(described).update(fields[1], base=matrix)
    return described


def aligned(*tensors: Tensor) -> tuple[bool, ...]:
    """Of each tensor, whether its address is a multiple of 16, for which Triton compiles apart."""
    if torch.compiler.is_compiling():  # no addresses yet, and `launch` needs no variant
        return ()
    return tuple(tensor.data_ptr() % 16 == 0 for tensor in tensors)


def _kept(known: dict[Hashable, Any], key: Hashable, value: Any) -> None:
    if len(known) >= MOST:
        known.clear()
    known[key] = value
