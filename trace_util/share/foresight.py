"""What an upload would do, as far as that can be told without the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trace_util.outcome import Item, Upload
from trace_util.report.units import counted
from trace_util.report.units import size as size_text
from trace_util.share import consent
from trace_util.share.address import BucketName
from trace_util.share.consent import Say
from trace_util.share.index_page import announce_index
from trace_util.share.packing import Packed


@dataclass(frozen=True)
class Foresight:
    """Copies that would be sent to a bucket of which nothing could be asked, and why not."""

    name: BucketName
    files: tuple[Packed, ...]
    reason: str
    say: Say

    def planned(self) -> Upload:
        """What would be sent, if it is not there already."""
        self._announce(self.files)
        would = "dry run: would be sent, unless the bucket has it already"
        return self.outcome(skipped=tuple(self.item(one, would) for one in self.files))

    def item(self, one: Packed, reason: str | None) -> Item:
        """What is reported of a file."""
        return Item(one.candidate.shown, one.remote, None, None, reason)

    def outcome(self, **what: Any) -> Upload:
        """A result for this bucket; what could not be found out is said."""
        say, name = self.say, self.name
        say(f"The Hub was not asked: {self.reason}")
        if not name.namespace:
            say(f"So it is not known in which account the bucket {name} would be.")
        say("So it is not known whether the bucket exists, is public, and has these files already.")
        return Upload(str(self.name), None, dry_run=True, unknown=self.reason, **what)

    def _announce(self, files: Sequence[Packed]) -> None:
        size = size_text(sum(one.size_bytes for one in files))
        self.say(f"{self.name}: {counted(len(files), 'file')} would be sent at most ({size})")
        announce_index(str(self.name), files, self.say)
        consent.tell(files, self.say)
