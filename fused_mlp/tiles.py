"""Which output tile a program works on, and how large the tiles are for a given problem and GPU."""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
import triton
import triton.language as tl


@triton.jit
def tile_at(index, tiles_m, tiles_n, BAND: tl.constexpr):
    """Row and column of tile number `index`: column by column through bands of BAND rows, so that
    programs that run together share rows of x and rows of the weight in the L2 cache."""
    band = index // (BAND * tiles_n) * BAND
    height = min(tiles_m - band, BAND)
    within = index % (BAND * tiles_n)
    return band + within % height, within // height


INTERPRETED = not isinstance(tile_at, triton.JITFunction)  # TRITON_INTERPRET=1


class Tiles(NamedTuple):
    """One launch configuration: `m` tokens by `n` packed rows a tile, `k` of the sum a step."""

    m: int
    n: int
    k: int
    warps: int
    stages: int  # steps of the sum in shared memory at a time
    band: int = 16  # tiles of tokens that run beside each other (`tile_at`)


# Each the fastest of the shapes tried on an H200 for its range of tokens.
LARGE = Tiles(m=128, n=256, k=64, warps=8, stages=4)
LARGE_HOPPER = LARGE._replace(k=32, stages=8)  # finer: its groups of warps may drift further apart
LARGE_SHARED_BYTES = 229_656  # a block's shared memory as compiled: the stages and the result
MIDDLE = Tiles(m=64, n=128, k=64, warps=4, stages=4)
FEW_TOKENS = Tiles(m=16, n=128, k=128, warps=8, stages=4)
FEW_TOKENS_NARROW = Tiles(m=16, n=64, k=128, warps=4, stages=4)
# For the 64 KiB of shared memory that a block has on the oldest GPUs with tensor cores.
OLDER = Tiles(m=128, n=128, k=32, warps=8, stages=3)
OLDER_FEW_TOKENS = Tiles(m=16, n=64, k=64, warps=4, stages=3)

# A wave of MIDDLE tiles, two to a multiprocessor, does half the work of a wave of LARGE ones, one
# to each, in this part of the time (H200, 128 to 1024 tokens, 768 to 4096 columns of x).
MIDDLE_WAVE = 0.55


class Launch(NamedTuple):
    """Which of the kernels, `hopper`, `descriptor` or `pointer`, and its configuration."""

    kernel: str
    tiles: Tiles


class Gpu(NamedTuple):
    multiprocessors: int
    copy_engine: bool  # and room in shared memory for LARGE
    hopper: bool


@functools.lru_cache(maxsize=1024)
def launch_for(tokens: int, columns: int, gpu: Gpu, describable: bool) -> Launch:
    """The launch for `tokens` rows of x and `columns` packed rows of the weight.

    The largest tiles move the fewest bytes, but a last wave that leaves multiprocessors idle takes
    as long as a full one. `describable`: the copy engine can address the matrices.
    """

    def waves(tiles: Tiles, resident: int) -> int:
        count = triton.cdiv(tokens, tiles.m) * triton.cdiv(columns, tiles.n)
        return triton.cdiv(count, gpu.multiprocessors * resident)

    if not gpu.copy_engine:
        return Launch("pointer", OLDER_FEW_TOKENS if tokens <= OLDER_FEW_TOKENS.m else OLDER)
    if tokens <= FEW_TOKENS.m:
        every_one_works = columns >= FEW_TOKENS.n * gpu.multiprocessors
        return Launch("pointer", FEW_TOKENS if every_one_works else FEW_TOKENS_NARROW)
    if not describable:
        return Launch("pointer", OLDER)
    if waves(LARGE, 1) <= MIDDLE_WAVE * waves(MIDDLE, 2):
        return Launch("hopper", LARGE_HOPPER) if gpu.hopper else Launch("descriptor", LARGE)
    return Launch("descriptor", MIDDLE)


@torch.compiler.assume_constant_result  # a compiler would look through the cache, with a warning
def gpu_of(device: int | None) -> Gpu:
    """What the launch depends on. Triton's interpreter is taken for one multiprocessor."""
    return _gpu_of(device)


@functools.cache
def _gpu_of(device: int | None) -> Gpu:
    if INTERPRETED:
        return Gpu(multiprocessors=1, copy_engine=True, hopper=False)
    found = torch.cuda.get_device_properties(device)
    shared_bytes = getattr(found, "shared_memory_per_block_optin", 0)
    return Gpu(
        multiprocessors=found.multi_processor_count,
        copy_engine=found.major >= 9 and shared_bytes >= LARGE_SHARED_BYTES,
        hopper=found.major == 9,
    )
