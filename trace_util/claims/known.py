"""Where GPUs are known to differ from a claim, and why: data, keyed by claim and architecture.

The claims were first written for an A100 (sm_80). An entry here was seen in recorded traces: those
of an H200 (sm_90; torch 2.11, CUDA 13.0) and, for ``nvjet``, of a B200 (sm_100).
"""

from __future__ import annotations

NVJET_LAUNCH = (
    "cuBLAS takes an nvjet kernel on this architecture and launches it by cuLaunchKernelEx, "
    "without asking for the occupancy first"
)
BADD = (
    "the GEMM's name changes on this architecture, from bz to badd: it adds to what the output "
    "holds, and that is the bias that was copied there"
)

# (claim, major compute capability) -> why it is otherwise there.
KNOWN: dict[tuple[str, int], str] = {
    ("1.5", 9): NVJET_LAUNCH,
    ("1.5", 10): NVJET_LAUNCH,
    ("1.7", 9): BADD,
    ("1.7", 10): BADD,
    ("3.4", 9): NVJET_LAUNCH,
    ("3.4", 10): NVJET_LAUNCH,
}

# Major compute capabilities on which the tiles of claim 3.3 were seen as it says.
TILES_SEEN = (8, 9)


def known_reason(claim: str, major: int | None) -> str | None:
    """Why a claim is known to be otherwise on an architecture, ``None`` when it is not known."""
    return KNOWN.get((claim, major)) if major is not None else None
