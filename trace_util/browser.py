"""Where the user's browser is, and what it can hold."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from trace_util.report.text import shell_path, shell_word
from trace_util.view import LOOPBACK

# The UI keeps the whole trace in the browser's memory, of which a tab gets about 2 GB
# (google/perfetto issue 99); half of that leaves room for its tables.
LARGE_BYTES = 1 << 30

# Trace JSON shrinks 10 to 30 times, so that this much of it unpacks to more than that.
LARGE_PACKED_BYTES = LARGE_BYTES // 8


def is_remote(environment: Mapping[str, str]) -> bool:
    """Whether this is a shell over SSH, the browser then being on another machine."""
    return any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"))


def forward_command(port: int, environment: Mapping[str, str]) -> str:
    """The command that makes ``port`` of this machine reachable on the user's own.

    The server's own address comes from ``SSH_CONNECTION`` (sshd(8): client address and port, server
    address and port): it is the one that the user's machine has just connected to.
    """
    parts = environment.get("SSH_CONNECTION", "").split()
    host = parts[2] if len(parts) == 4 else "THIS_MACHINE"
    user = environment.get("USER") or environment.get("LOGNAME")
    target = f"{user}@{host}" if user else host
    return f"ssh -N -L {port}:{LOOPBACK}:{port} {shell_word(target)}"


def can_show(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser opened from here would be seen.

    Without a display :mod:`webbrowser` falls back to one inside the terminal, which can show
    neither the page nor the UI.
    """
    if is_remote(environment):
        return False
    if platform in ("win32", "darwin", "cygwin"):
        return True
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def show(address: str) -> bool:
    """Whether a browser was told to open ``address``."""
    return can_show(os.environ) and webbrowser.open(address)


def size_warning(path: Path) -> str | None:
    """A sentence for a file that a browser may not be able to hold; None for any other."""
    packed = path.stat().st_size
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    if packed < (LARGE_PACKED_BYTES if is_gzip else LARGE_BYTES):
        return None
    unpacked = ", and several times that once unpacked" if is_gzip else ""
    return (
        f"{path}: {packed / 2**30:.1f} GiB{unpacked}; a browser tab holds about 2 GB. If it fails: "
        f"trace_processor server http {shell_path(path)} "
        "(from https://get.perfetto.dev/trace_processor), then https://ui.perfetto.dev "
        "finds it by itself; or make a smaller copy with trace-util slim"
    )
