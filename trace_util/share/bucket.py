"""The calls to the Hub, each tried a bounded number of times in a bounded time.

This package alone imports huggingface_hub. Left to itself, the client waits without a limit for an
answer, asks again for 23 s when nobody listens, sleeps as long as a ``Retry-After`` says, and its
storage keeps trying for minutes. Here every request is one try with a time limit, and this module
alone decides what is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from huggingface_hub import HfApi, constants, get_token
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from trace_util.events import TraceError
from trace_util.share import refusals
from trace_util.share.refusals import Busy, PartlyRefused, Refusal, Unreachable
from trace_util.share.session import ENDPOINT, TRANSPORT_ERROR, no_bars, single_requests, within

FIRST_CONTACT_S = 6.0  # name resolution, connection and answer together
WAITS_S = (0.5, 1.0, 2.0)  # between tries
LONGEST_WAIT_S = 10.0  # a server that asks for more is reported instead

T = TypeVar("T")


@dataclass(frozen=True)
class Account:
    """Who a token belongs to: the role of the token, and the account's role in each organisation.

    ``role`` is ``read``, ``write``, ``fineGrained`` or, where the Hub does not say, ``None``.
    """

    name: str
    role: str | None
    organisations: dict[str, str | None]


class Hub:
    """One endpoint with one token (``None``: nobody)."""

    def __init__(self, token: str | None) -> None:
        self.endpoint = ENDPOINT
        self._api = HfApi(endpoint=ENDPOINT, token=token or False)

    def account(self) -> Account:
        """Whose token this is: the first contact, which fails within ``FIRST_CONTACT_S`` a try."""
        found = self._patiently(
            lambda: within(FIRST_CONTACT_S, lambda: self._one_try(self._api.whoami, None)),
            retry_unreachable=False,
        )
        try:
            access = (found.get("auth") or {}).get("accessToken") or {}
            organisations = {one["name"]: one.get("roleInOrg") for one in found.get("orgs") or ()}
            return Account(found["name"], access.get("role"), organisations)
        except (AttributeError, KeyError, TypeError) as error:
            raise refusals.no_hub(self.endpoint) from error

    def is_private(self, bucket: str) -> bool | None:
        """Whether the bucket is private; ``None`` when there is none that this token may see."""
        try:
            info = self._ask(lambda: self._api.bucket_info(bucket), bucket)
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise
        return bool(info.private)

    def create(self, bucket: str, private: bool) -> None:
        """Make the bucket; one that is there already is no error."""
        self._ask(lambda: self._api.create_bucket(bucket, private=private, exist_ok=True), bucket)

    def hashes(self, bucket: str, paths: Sequence[str]) -> dict[str, str]:
        """The storage's content hash of each of the paths that is in the bucket."""
        if not paths:
            return {}
        found = self._ask(lambda: list(self._api.get_bucket_paths_info(bucket, paths)), bucket)
        return {file.path: file.xet_hash for file in found}

    def listing(self, bucket: str, prefix: str = "") -> list[str]:
        """The paths of all files whose path begins with ``prefix``."""
        tree = self._api.list_bucket_tree
        found = self._ask(lambda: list(tree(bucket, prefix or None, recursive=True)), bucket)
        return [file.path for file in found if file.type == "file"]

    def send(self, bucket: str, files: Sequence[tuple[Path, str]]) -> dict[str, str]:
        """Upload exactly these files; returns what the Hub refused, by remote path."""
        return self._batch(bucket, add=[(str(local), remote) for local, remote in files])

    def delete(self, bucket: str, paths: Sequence[str]) -> dict[str, str]:
        """Delete exactly these files; returns what the Hub refused, by remote path."""
        return self._batch(bucket, delete=list(paths))

    def fetch(self, bucket: str, path: str, target: Path) -> None:
        """Download one file."""

        def download() -> None:
            with no_bars():
                self._api.download_bucket_files(bucket, [(found[0], target)])

        infos = self._api.get_bucket_paths_info
        found = self._ask(lambda: list(infos(bucket, [path])), bucket)
        if not found:
            raise Refusal(f"{bucket}: holds no {path}", status=404)
        self._ask(download, bucket)

    def _batch(self, bucket: str, **changes: Any) -> dict[str, str]:
        def batch() -> None:
            with no_bars():
                self._api.batch_bucket_files(bucket, **changes)

        try:
            self._ask(batch, bucket)
        except PartlyRefused as refusal:
            return refusal.reasons
        return {}

    def _ask(self, call: Callable[[], T], what: str) -> T:
        return self._patiently(lambda: self._one_try(call, what))

    def _patiently(self, call: Callable[[], T], retry_unreachable: bool = True) -> T:
        """The call's result, asked again after a growing wait while that can help."""
        for wait in (*WAITS_S, None):
            try:
                return call()
            except (Busy, Unreachable) as refusal:
                if wait is None or (isinstance(refusal, Unreachable) and not retry_unreachable):
                    raise
                asked = refusal.wait_s if isinstance(refusal, Busy) else None
                if asked is not None and asked > LONGEST_WAIT_S:
                    raise
                time.sleep(max(wait, asked or 0.0))
        raise AssertionError("the last try either returns or raises")

    def _one_try(self, call: Callable[[], T], what: str | None) -> T:
        """The call's result, or its error as a refusal in one line about the bucket ``what``."""
        try:
            with single_requests(what, self.endpoint):
                return call()
        except TraceError:
            raise
        except OfflineModeIsEnabled:
            raise Refusal(
                "HF_HUB_OFFLINE is set, so nothing is sent or fetched; unset it"
            ) from None
        except HfHubHTTPError as error:
            if failures := _failures_in(error):
                raise PartlyRefused(what, failures) from None
            status, said = error.response.status_code, error.server_message or ""
            raise refusals.of_status(status, said, what, self.endpoint, None) from None
        except TRANSPORT_ERROR as error:
            raise refusals.unreachable(self.endpoint, str(error)) from None
        except (ValueError, KeyError, TypeError) as error:  # an answer that is none of a Hub's
            raise refusals.no_hub(self.endpoint) from error
        except (ConnectionError, RuntimeError) as error:
            raise refusals.of_storage(error, what, self.endpoint) from error
        except OSError as error:
            raise refusals.of_os(error) from error


def current_token(token: str | None) -> str | None:
    """The token to use: the one given, else HF_TOKEN, else the saved one, else ``None``.

    Raises:
        Refusal: it cannot be a token; sent all the same, the client's error would quote it.
    """
    found = (token or get_token() or "").strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise Refusal("the token holds characters that no token has; copy it again")
    return found or None


def is_offline() -> bool:
    """Whether the client was told to send no request."""
    return bool(constants.HF_HUB_OFFLINE)


def content_hashes(paths: Sequence[Path]) -> list[str]:
    """The hash that the storage gives to each file's content, worked out here; nothing is sent."""
    from hf_xet import hash_files  # type: ignore[import-untyped]

    return [info.hash for info in hash_files([str(path) for path in paths])] if paths else []


def _failures_in(error: HfHubHTTPError) -> list[dict[str, str]]:
    """The files that a batch's answer names as refused; only newer clients read them out."""
    if known := getattr(error, "failures", None):
        return list(known)
    if error.response.status_code != 422:
        return []
    return list(error.response.json().get("failed", ()))
