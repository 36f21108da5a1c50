"""Packed copies to their bucket: what is there already, consent, sending, links that were tried."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from trace_util.events import TraceError
from trace_util.outcome import Item, Upload
from trace_util.perfetto import public_link
from trace_util.report.text import shell_word
from trace_util.report.units import size as size_text
from trace_util.share import answer, consent, sending
from trace_util.share.address import FileAddress, file_url
from trace_util.share.bucket import Hub, content_hashes
from trace_util.share.consent import Ask, Say
from trace_util.share.glimpse import Glimpse, glimpse
from trace_util.share.index_page import announce_index, write_index
from trace_util.share.packing import Packed
from trace_util.share.target import Target

THERE_ALREADY = "there already, with the same content"
REPLACES = "replaces another content of this name"
_LINKS_AT_ONCE = 8


@dataclass(frozen=True)
class Delivery:
    """Copies on their way to a bucket."""

    hub: Hub
    target: Target
    files: tuple[Packed, ...]
    say: Say
    ask: Ask | None
    yes: bool
    quiet: bool

    def planned(self) -> Upload:
        """What :meth:`done` would do; nothing is created or sent."""
        same, new, replaced = self._compared(self._hashes())
        self._announce(new, replaced)
        skipped = [self.item(one, THERE_ALREADY) for one in same]
        for one in new:
            instead = f", and {REPLACES}" if one.remote in replaced else ""
            skipped.append(self.item(one, f"dry run: would be sent{instead}"))
        return self.outcome(skipped=tuple(skipped), dry_run=True)

    def done(self) -> Upload:
        """Send what is not there yet, once that is agreed, and try the links.

        Raises:
            TraceError: not agreed, or the bucket could not be made.
        """
        hashes = self._hashes()
        same, new, replaced = self._compared(hashes)
        self._announce(new, replaced)
        if new:
            consent.obtain(self.target, new, replaced, yes=self.yes, ask=self.ask)
        target = _made(self.hub, self.target, self.say)
        failed = self._send(new, hashes)
        sent = [one for one in new if one.remote not in failed]
        traces = [one for one in (*same, *sent) if not one.candidate.is_table]
        seen = {one.remote: glimpse(one.copy) for one in traces}
        links = self._tried([*same, *sent], seen, target)
        index_url = None
        if sent:
            rows = [(path, about, links[path].link) for path, about in seen.items()]
            index_url = write_index(self.hub, target.bucket, rows, self.say)
        return replace(
            self.outcome(index_url=index_url),
            public=not target.private,
            sent=tuple(
                _also(REPLACES, links[one.remote]) if one.remote in replaced else links[one.remote]
                for one in sent
            ),
            skipped=tuple(_also(THERE_ALREADY, links[one.remote]) for one in same),
            failed=tuple(self.item(one, failed[one.remote]) for one in new if one.remote in failed),
        )

    def item(self, one: Packed, reason: str | None, link: str | None = None) -> Item:
        """What is reported of a file."""
        url = file_url(self.hub.endpoint, self.target.bucket, one.remote)
        return Item(one.candidate.shown, one.remote, url, link, reason)

    def outcome(self, **what: Any) -> Upload:
        """A result for this bucket."""
        public = not self.target.private if self.target.exists else None
        return Upload(self.target.bucket, public, **what)

    def _hashes(self) -> dict[str, str]:
        digests = content_hashes([one.copy for one in self.files])
        return {one.remote: digest for one, digest in zip(self.files, digests, strict=True)}

    def _compared(self, hashes: dict[str, str]) -> tuple[list[Packed], list[Packed], set[str]]:
        """The files that the bucket has already, by content, the others, and the remote paths of
        those among the others under whose name the bucket has another content."""
        there = self.hub.hashes(self.target.bucket, list(hashes)) if self.target.exists else {}
        same: list[Packed] = []
        new: list[Packed] = []
        for one in self.files:
            (same if there.get(one.remote) == hashes[one.remote] else new).append(one)
        return same, new, {one.remote for one in new if one.remote in there}

    def _announce(self, new: Sequence[Packed], replaced: set[str]) -> None:
        if not new:
            self.say(f"{self.target.bucket}: nothing new to send")
            return
        size = size_text(sum(one.size_bytes for one in new))
        consent.announce(self.target, new, size, self.say)
        announce_index(self.target.bucket, new, self.say)
        consent.tell_replaced(self.target, sorted(replaced), self.say)

    def _send(self, new: Sequence[Packed], hashes: dict[str, str]) -> dict[str, str]:
        """Send; returns why a file is not in the bucket, for each that is not."""
        parcels = [sending.Parcel(one.copy, one.remote, one.size_bytes) for one in new]
        failed = sending.send_all(self.hub, self.target.bucket, parcels, quiet=self.quiet)
        wanted = {one.remote: hashes[one.remote] for one in new}
        there = sending.really_there(self.hub, self.target.bucket, wanted)
        if there is None:  # nobody to ask: what the sending said stands
            return failed
        lost = "was sent, but the bucket does not have it; run it again"
        return {path: failed.get(path, lost) for path in wanted if path not in there}

    def _tried(
        self, files: Sequence[Packed], seen: dict[str, Glimpse], target: Target
    ) -> dict[str, Item]:
        """The files with their links, each tried as a stranger; by remote path."""
        with ThreadPoolExecutor(_LINKS_AT_ONCE) as pool:
            items = pool.map(lambda one: self._try_link(one, seen.get(one.remote), target), files)
            return {one.remote: item for one, item in zip(files, items, strict=True)}

    def _try_link(self, one: Packed, about: Glimpse | None, target: Target) -> Item:
        if target.private:
            command = shell_word(str(FileAddress(target.bucket, one.remote)))
            how = f"private; trace-util open {command}" if about else None
            return self.item(one, _joined(how, about.warning if about else None))
        item = self.item(one, None)
        assert item.url is not None
        opens, said = answer.try_address(item.url, one.copy)
        if opens is False:
            return replace(item, reason=f"its link does not open: {said}", opens=False)
        reason = f"its link could not be tried: {said}" if opens is None else None
        link = public_link(item.url, about.focus) if about else None
        reason = _joined(reason, about.warning if about else None)
        return replace(item, link=link, reason=reason, opens=opens)


def _made(hub: Hub, target: Target, say: Say) -> Target:
    """The bucket, created if it was missing, as the Hub then describes it."""
    if target.exists:
        return target
    hub.create(target.bucket, target.private)
    private = hub.is_private(target.bucket)
    if private is None or (target.private and not private):
        raise TraceError(f"{target.bucket}: could not be made {target.visibility}; nothing is sent")
    if private != target.private:
        say(f"{target.bucket}: was made private, as its organisation wants it")
    return Target(target.bucket, True, private)


def _also(reason: str, item: Item) -> Item:
    return replace(item, reason=_joined(reason, item.reason))


def _joined(*reasons: str | None) -> str | None:
    return "; ".join(filter(None, reasons)) or None
