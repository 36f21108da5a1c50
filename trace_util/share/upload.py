"""Traces to a bucket: select, look through, ask, send what is not there yet, try the links."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from trace_util.events import TraceError
from trace_util.outcome import Item, Upload
from trace_util.report.exposure import findings_phrase
from trace_util.share import address, consent, mirroring, refusals
from trace_util.share.address import BucketName
from trace_util.share.bucket import Hub, current_token, is_offline
from trace_util.share.consent import Ask, Say
from trace_util.share.delivery import Delivery
from trace_util.share.foresight import Foresight
from trace_util.share.packing import Packed, pack_all
from trace_util.share.refusals import Busy, NoHub, NoToken, Refusal, Unreachable
from trace_util.share.selection import NOT_NAMED, LeftOut, select
from trace_util.share.session import ENDPOINT
from trace_util.share.target import Target, target_of

# What keeps one from asking the Hub, and is no answer of it.
NOT_ASKED = (NoToken, NoHub, Unreachable, Busy)


def upload_traces(
    paths: str | Path | Iterable[str | Path],
    bucket: str,
    *,
    namespace: str | None = None,
    token: str | None = None,
    private: bool = False,
    yes: bool = False,
    redact: bool = False,
    prefix: str = "",
    root: str | Path | None = None,
    gzip: bool = True,
    dry_run: bool = False,
    mirror: bool = False,
    say: Say = consent.say_on_stderr,
    ask: Ask | None = None,
    quiet: bool = True,
) -> Upload:
    """Send traces and their tables to a Hugging Face bucket; returns what became of each.

    Args:
        paths: a folder, or files and folders. Names in the bucket are relative to ``root``: by
            default the folder, or the folder that all paths have in common.
        bucket: ``NAME`` (in ``namespace``, else in the token's own) or ``NAMESPACE/NAME``.
        token: by default HF_TOKEN or the one that ``hf auth login`` saved.
        private: create the bucket private. An existing one keeps its visibility.
        yes: create a missing bucket, replace another content of the same name, and send what gives
            people away, without asking.
        redact: send cleaned copies.
        dry_run: send nothing; without a token or the Hub, say what could not be found out.
        mirror: delete from the bucket the traces that the folder no longer has, if agreed.
        say: gets every notice, the visibility of the bucket among them, before anything is sent.
        ask: answers a question, by default on the terminal. Where there is none, what needs an
            answer and has no ``yes`` is refused.
        quiet: draw no progress bar.

    Raises:
        TraceError: nothing could be sent. Failures of single files are in the result instead.
    """
    name, folder = address.bucket_name(bucket, namespace), address.folder_prefix(prefix)
    given = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    selection = select(given, Path(root) if root is not None else None)
    if not selection.files:
        raise TraceError(_nothing(given, selection.left_out))
    for one in selection.left_out:
        if one.reason == NOT_NAMED:
            say(f"{one.shown} is left out: it {one.reason}")
    ask = ask or consent.terminal_ask()
    hub, target, unknown = _reached(token, name, private, dry_run=dry_run)
    with tempfile.TemporaryDirectory(prefix="trace-util-") as copies:
        packing = pack_all(
            selection.files, Path(copies), prefix=folder, gzip=gzip, redact=redact, quiet=quiet
        )
        left_out = selection.left_out + packing.left_out
        if not packing.packed and not packing.failed:
            raise TraceError(_nothing(given, left_out))
        delivery: Delivery | Foresight
        if hub is None or target is None:
            delivery = Foresight(name, packing.packed, unknown, say)
        else:
            delivery = Delivery(hub, target, packing.packed, say, ask, yes, quiet)
        if secrets := consent.with_secrets(packing.packed):
            result = _stopped(delivery, secrets)
        elif dry_run or isinstance(delivery, Foresight):
            result = delivery.planned()
        else:
            result = delivery.done()
    result = replace(
        result,
        skipped=result.skipped + _items(left_out),
        failed=result.failed + _items(packing.failed),
    )
    if mirror and hub is not None:
        kept = mirroring.kept_paths(folder, selection.files, packing.packed)
        result = mirroring.mirrored(
            hub, result, folder, kept, say=say, ask=ask, yes=yes, apart=selection.apart
        )
    return result


def _items(left_out: Sequence[LeftOut]) -> tuple[Item, ...]:
    return tuple(Item(shown, None, None, None, reason) for shown, reason in left_out)


def _stopped(delivery: Delivery | Foresight, secrets: Sequence[Packed]) -> Upload:
    """Nothing is sent, since some of the files hold secrets."""
    cure = "--redact sends a cleaned copy"
    reasons = {
        one.remote: f"holds a secret: {findings_phrase(one.findings)}; {cure}" for one in secrets
    }
    others = "not sent, since another file holds a secret"
    failed = tuple(delivery.item(one, reasons.get(one.remote, others)) for one in delivery.files)
    return delivery.outcome(failed=failed)


def _reached(
    token: str | None, name: BucketName, private: bool, *, dry_run: bool
) -> tuple[Hub | None, Target | None, str]:
    """The Hub and the bucket; for a dry run also neither, and why nothing could be asked."""
    try:
        hub = _hub(token)
        return hub, target_of(hub, name, private=private), ""
    except Refusal as refusal:
        if dry_run and (isinstance(refusal, NOT_ASKED) or is_offline()):
            return None, None, str(refusal)
        raise


def _hub(token: str | None) -> Hub:
    found = current_token(token)
    if found is None:
        raise refusals.no_token(ENDPOINT)
    return Hub(found)


def _nothing(given: Sequence[Path], left_out: Sequence[LeftOut]) -> str:
    where = ", ".join(str(path) for path in given) or "no path given"
    if not left_out:
        return f"{where}: holds no traces (.json, .json.gz)"
    more = f", and {len(left_out) - 1} more are not" if len(left_out) > 1 else ""
    return f"{where}: no trace to send; {left_out[0].shown} is not one: {left_out[0].reason}{more}"
