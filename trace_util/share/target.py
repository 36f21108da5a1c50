"""Where an upload goes and whether it may: account, namespace, bucket and visibility."""

from __future__ import annotations

from dataclasses import dataclass

from trace_util.events import TraceError
from trace_util.share.address import BucketName
from trace_util.share.bucket import Account, Hub


@dataclass(frozen=True)
class Target:
    """The bucket as it is (``exists``) or as it will be made."""

    bucket: str  # NAMESPACE/NAME
    exists: bool
    private: bool

    @property
    def visibility(self) -> str:
        """``public`` or ``private``."""
        return "private" if self.private else "public"


def target_of(hub: Hub, name: BucketName, *, private: bool) -> Target:
    """The bucket that ``name`` means for this token.

    Raises:
        TraceError: the token or the account may not write there, or the bucket is public and a
            private one was asked for.
    """
    account = hub.account()
    namespace = name.namespace or account.name
    _check_rights(account, namespace, hub.endpoint)
    bucket = f"{namespace}/{name.name}"
    found = hub.is_private(bucket)
    if found is None and namespace != account.name and namespace not in account.organisations:
        raise TraceError(f"{namespace}: no such namespace for this token; {_own(account)}")
    if found is False and private:
        raise TraceError(
            f"{bucket}: is public already, and --private only says how to create one; name another "
            f"bucket, or change this one at {hub.endpoint}/buckets/{bucket}/settings"
        )
    return Target(bucket, found is not None, private if found is None else found)


def _check_rights(account: Account, namespace: str, endpoint: str) -> None:
    if account.role == "read":
        raise TraceError(
            f"the token of {account.name} can only read; make one with write access at "
            f"{endpoint}/settings/tokens and run `hf auth login` or set HF_TOKEN"
        )
    if account.organisations.get(namespace) == "read":
        raise TraceError(f"{namespace}: {account.name} may only read there; {_own(account)}")


def _own(account: Account) -> str:
    names = [n for n, role in sorted(account.organisations.items()) if role != "read"]
    places = ", ".join([account.name, *names])
    return f"it is {account.name}'s and can write to: {places}"
