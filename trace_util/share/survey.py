"""What a file that calls itself a trace really is, told while it passes by."""

from __future__ import annotations

_LFS_POINTER = b"version https://git-lfs"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Survey:
    """Watches the pieces of a text (:func:`trace_util.json_strings.pieces`)."""

    def __init__(self) -> None:
        self._head = b""
        self._depth = 0
        self._last = b""
        self._strings: set[bytes] = set()

    def feed(self, parts: list[bytes]) -> None:
        """Take note of one list of pieces."""
        if len(self._head) < 200:
            self._head += b"".join(parts[:50])[:200]
        outside = b"".join(parts[0::2])
        self._depth += outside.count(b"{") + outside.count(b"[")
        self._depth -= outside.count(b"}") + outside.count(b"]")
        self._last = (outside.rstrip() or self._last)[-1:]
        self._strings |= {b'"ph"', b'"traceEvents"', b'"nodes"'}.intersection(parts[1::2])

    @property
    def objection(self) -> str | None:
        """Why this is no trace to send, in one phrase; ``None`` when it is one."""
        head = self._head.removeprefix(_BYTE_ORDER_MARK).lstrip()
        if not head:
            return "empty"
        if head.startswith(_LFS_POINTER):
            return "a Git LFS pointer in place of the trace; `git lfs pull` fetches that"
        if head[:1] not in (b"{", b"["):
            return "not JSON"
        if self._depth != 0 or self._last not in (b"}", b"]"):
            return "half-written or damaged: its brackets do not close"
        if b'"ph"' in self._strings:
            return None
        if b'"traceEvents"' in self._strings:
            return "no events; did the schedule reach its active steps?"
        if b'"nodes"' in self._strings:
            return "an execution graph ('nodes'), not a trace ('traceEvents')"
        return "JSON, but without events ('traceEvents')"
