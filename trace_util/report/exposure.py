"""What a file gives away, as text and as JSON. Values are never shown, only kinds and places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trace_util.exposure import Finding


def findings_text(findings: Sequence[Finding]) -> str:
    """Lines such as ``12 x path under "name"``, aligned; empty when there is nothing to say."""
    width = max((len(f"{finding.times:,}") for finding in findings), default=0)
    return "".join(
        f"{finding.times:>{width},} x {finding.kind} under {finding.where}\n"
        for finding in findings
    )


def findings_phrase(findings: Sequence[Finding], most: int = 3) -> str:
    """The same in one line: ``path under "name" (12), host name under "hostname" (1)``."""
    phrases = [f"{one.kind} under {one.where} ({one.times:,})" for one in findings[:most]]
    if len(findings) > most:
        phrases.append(f"{len(findings) - most} more")
    return ", ".join(phrases)


def findings_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """One object a finding: ``kind``, ``where``, ``times``."""
    return [finding._asdict() for finding in findings]
