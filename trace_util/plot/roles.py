"""What kind of bar an event is: the few kinds that a figure tells apart by colour."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from trace_util.beneath import beneath
from trace_util.calls import Call, waits
from trace_util.events import CALL_KINDS, Kind, Trace
from trace_util.gaps import Cause
from trace_util.kernel_names import decode
from trace_util.links import Links


class Role(IntEnum):
    """A kind of bar; ``NONE`` is not drawn."""

    NONE = 0
    ANNOTATION = 1
    OP = 2
    METADATA_OP = 3  # an op beneath which nothing was launched
    LAUNCH = 4
    CALL = 5
    WAIT = 6
    GEMM = 7
    KERNEL = 8
    COPY = 9
    MEMSET = 10


MEANING = {
    Role.ANNOTATION: "annotation",
    Role.OP: "op",
    Role.METADATA_OP: "op that launches nothing",
    Role.LAUNCH: "launch call",
    Role.CALL: "other call",
    Role.WAIT: "call that waits",
    Role.GEMM: "GEMM or convolution",
    Role.KERNEL: "other kernel",
    Role.COPY: "copy",
    Role.MEMSET: "memset",
}
CALLED = {Role.LAUNCH: "launch", Role.WAIT: "wait"}  # on a bar without room for the call's name
IDLE_MEANING = {
    Cause.UNKNOWN: "the trace does not show why",
    Cause.OVERHEAD: "the CPU had not launched yet",
    Cause.SYNCHRONISE: "the CPU was waiting for it",
    Cause.PROFILER: "an artefact of the recording",
}
_MATRIX_ROLES = ("gemm", "convolution")
_PLAIN = {
    Kind.CPU_OP: Role.OP,
    Kind.USER_ANNOTATION: Role.ANNOTATION,
    Kind.RUNTIME: Role.CALL,
    Kind.DRIVER: Role.CALL,
    Kind.KERNEL: Role.KERNEL,
    Kind.MEMCPY: Role.COPY,
    Kind.MEMSET: Role.MEMSET,
}


def role_column(trace: Trace, links: Links) -> NDArray[np.uint8]:
    """:class:`Role` of every event, ``[n]``; step marks and Python frames have none."""
    events = trace.events
    of_kind = np.zeros(256, dtype=np.uint8)
    for kind, role in _PLAIN.items():
        of_kind[kind] = role
    roles: NDArray[np.uint8] = of_kind[events.kind]
    roles[[step.index for step in links.steps]] = Role.NONE
    _calls(trace, links, roles)
    _kernels(trace, roles)
    ops = np.flatnonzero(roles == Role.OP)
    if links.is_launch.any():
        roles[ops[beneath(trace, links, ops).launches == 0]] = Role.METADATA_OP
    return roles


def _calls(trace: Trace, links: Links, roles: NDArray[np.uint8]) -> None:
    events = trace.events
    calls = np.flatnonzero(events.is_kind(*CALL_KINDS) & (roles > 0))
    used = np.unique(events.name[calls]).tolist()
    waiting = [index for index in used if waits(trace.names[index])]
    roles[calls[np.isin(events.name[calls], waiting)]] = Role.WAIT
    roles[calls[links.call[calls] == Call.SYNC]] = Role.WAIT
    roles[np.flatnonzero(links.is_launch & (roles > 0))] = Role.LAUNCH


def _kernels(trace: Trace, roles: NDArray[np.uint8]) -> None:
    kernels = np.flatnonzero(roles == Role.KERNEL)
    used = np.unique(trace.events.name[kernels]).tolist()
    matrix = [index for index in used if decode(trace.names[index]).role in _MATRIX_ROLES]
    roles[kernels[np.isin(trace.events.name[kernels], matrix)]] = Role.GEMM
