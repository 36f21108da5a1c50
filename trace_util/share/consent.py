"""What is said, and what is asked, before anything leaves the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from trace_util.events import TraceError
from trace_util.exposure import Finding, has_secrets
from trace_util.report.exposure import findings_phrase
from trace_util.report.hints import say
from trace_util.report.units import counted
from trace_util.share.packing import Packed
from trace_util.share.target import Target

Say = Callable[[str], None]
Ask = Callable[[str], bool]

_MOST_LINES = 20


def say_on_stderr(text: str) -> None:
    """Print a line on stderr."""
    say(text)


def terminal_ask() -> Ask | None:
    """Asks on the terminal; ``None`` where there is none to ask on."""
    return _ask if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def announce(target: Target, files: Sequence[Packed], size: str, say: Say) -> None:
    """Say where the files go, who can read them there, and what they give away."""
    who = "only its members" if target.private else "anybody on the internet"
    new = "" if target.exists else " (to be created)"
    say(f"{target.bucket}{new}: {target.visibility}; {who} can read what is sent there ({size})")
    tell(files, say)


def tell(files: Sequence[Packed], say: Say) -> None:
    """Say what the files give away."""
    telling = [one for one in files if one.findings]
    for one in telling[:_MOST_LINES]:
        say(f"{one.candidate.shown}: gives away {findings_phrase(one.findings)}")
    if len(telling) > _MOST_LINES:
        say(f"and {len(telling) - _MOST_LINES} more files that give something away")


def tell_replaced(target: Target, paths: Sequence[str], say: Say) -> None:
    """Say which files of the bucket would be lost."""
    for path in paths[:_MOST_LINES]:
        say(f"{target.bucket}: has another {path}, which would be replaced")
    if len(paths) > _MOST_LINES:
        say(f"and {len(paths) - _MOST_LINES} more that would be replaced")


def obtain(
    target: Target,
    files: Sequence[Packed],
    replaced: Collection[str],
    *,
    yes: bool,
    ask: Ask | None,
) -> None:
    """Return if the files may be sent as things stand, and the contents ``replaced`` be lost.

    Raises:
        TraceError: somebody said no, or there is a question and nobody to ask.
    """
    telling = _all_findings(files) if not target.private else ()
    if yes or (target.exists and not telling and not replaced):
        return
    if ask is None:
        raise TraceError(_unasked(target, telling, replaced))
    what = "Send" if target.exists else f"Create the {target.visibility} bucket and send"
    instead = f" and replace {len(replaced)} there" if replaced else ""
    despite = " all the same" if telling else ""
    if not ask(f"{what} {counted(len(files), 'file')} to {target.bucket}{instead}{despite}?"):
        raise TraceError(f"{target.bucket}: not agreed to; nothing was sent")


def _unasked(target: Target, telling: Sequence[Finding], replaced: Collection[str]) -> str:
    if not target.exists:
        return (
            f"{target.bucket}: there is no such bucket, and no terminal to ask on; add --yes to "
            f"create it, {target.visibility}{'' if target.private else ' (or private: --private)'}"
        )
    if not telling:
        more = f", and {len(replaced) - 1} more" if len(replaced) > 1 else ""
        return (
            f"{target.bucket}: has another {min(replaced)}{more}; add --yes to replace what is "
            "there, or send to another folder with --prefix"
        )
    return (
        f"{target.bucket}: is public, and the files give away {findings_phrase(telling)}; add "
        "--redact to send cleaned copies, or --yes to send them as they are"
    )


def _all_findings(files: Sequence[Packed]) -> tuple[Finding, ...]:
    """The findings of all files, added up."""
    sums: dict[tuple[str, str], Finding] = {}
    for finding in (finding for one in files for finding in one.findings):
        known = sums.setdefault((finding.kind, finding.where), finding._replace(times=0))
        sums[finding.kind, finding.where] = known._replace(times=known.times + finding.times)
    return tuple(sums.values())


def with_secrets(files: Sequence[Packed]) -> list[Packed]:
    """The files that hold a secret, with the secrets alone as findings."""
    return [
        replace(one, findings=tuple(f for f in one.findings if has_secrets([f])))
        for one in files
        if has_secrets(one.findings)
    ]
