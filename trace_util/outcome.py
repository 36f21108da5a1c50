"""What an upload did: each file sent, skipped or failed, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """One file. ``None`` where there is nothing to say: no place, no link, no reason needed."""

    path: str | None  # as the user knows it; None for a file that is only in the bucket
    remote: str | None  # its path in the bucket
    url: str | None  # where it can be fetched
    link: str | None  # where it opens in the Perfetto UI; only if it was seen to answer
    reason: str | None
    opens: bool | None = None  # whether everybody can fetch it; None: not tried, or no clear answer


@dataclass(frozen=True)
class Upload:
    """The result of an upload. ``sent`` and the links are what was seen to be in the bucket."""

    bucket: str  # NAMESPACE/NAME
    public: bool | None  # None: there is no such bucket yet
    sent: tuple[Item, ...] = ()
    skipped: tuple[Item, ...] = ()  # there already, or not for sending
    failed: tuple[Item, ...] = ()
    deleted: tuple[str, ...] = ()  # remote paths, with mirror alone
    index_url: str | None = None  # of the bucket's page, where it was written
    dry_run: bool = False
    unknown: str | None = None  # why a dry run could not ask what the bucket is and has

    @property
    def ok(self) -> bool:
        """Whether nothing failed and every address that could be tried opens."""
        return not self.failed and not self.unopened

    @property
    def unopened(self) -> tuple[Item, ...]:
        """What is in the bucket, and cannot be fetched from there all the same."""
        return tuple(item for item in (*self.sent, *self.skipped) if item.opens is False)
