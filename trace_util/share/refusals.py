"""What went wrong between here and the Hub, in one line that says what to do about it.

The kinds of errors are those that huggingface_hub 2.4 and hf_xet 1.8 were seen to raise: the Hub's
own answers as ``HfHubHTTPError``, the transport's as httpx errors, and everything of the storage
as the builtin ``ConnectionError`` or ``RuntimeError`` with the status in its text only.
"""

from __future__ import annotations

import errno
import re

from trace_util.events import TraceError

_STATUS = re.compile(r"HTTP status \w+ error \((\d{3})|^(\d{3}) ")

_NO_SPACE = "No space left on device"  # hf_xet passes it on in its texts, without the number


class Refusal(TraceError):
    """The Hub or the way to it said no; asking again later, or with other rights, may help."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Busy(Refusal):
    """A refusal that asking again can cure: too many requests, or a server in trouble."""

    def __init__(self, message: str, *, status: int | None, wait_s: float | None = None) -> None:
        super().__init__(message, status=status)
        self.wait_s = wait_s  # what the server asks for


class Unreachable(Refusal):
    """No answer at all."""


class NoToken(Refusal):
    """Nobody is logged in."""


class NoHub(Refusal):
    """Something answers, in another language."""


class PartlyRefused(Refusal):
    """Some files of a batch were refused; the others are stored."""

    def __init__(self, what: str | None, failures: list[dict[str, str]]) -> None:
        super().__init__(f"{what}: {len(failures)} files were refused")
        self.reasons = {str(one["path"]): _one_line(str(one["error"])) for one in failures}


def no_token(endpoint: str) -> NoToken:
    """Nobody is logged in."""
    return NoToken(
        "no Hugging Face token: run `hf auth login`, set HF_TOKEN or give --token "
        f"(a token with write access, from {endpoint}/settings/tokens)"
    )


def unreachable(endpoint: str, detail: str) -> Unreachable:
    """The endpoint does not answer."""
    return Unreachable(
        f"{endpoint} cannot be reached ({_one_line(detail)}); "
        "check the network, the proxy and HF_ENDPOINT"
    )


def no_hub(endpoint: str) -> NoHub:
    """Something answers, in another language."""
    return NoHub(
        f"{endpoint} does not answer as a Hugging Face Hub does; check HF_ENDPOINT, and whether a "
        "proxy or a login page stands in between"
    )


def of_status(
    status: int, said: str, what: str | None, endpoint: str, wait_s: float | None
) -> Refusal:
    """The refusal that an HTTP status means, for the bucket ``what`` or the account (``None``)."""
    if what is None and status == 404:
        return no_hub(endpoint)
    if status == 401 and what is not None and "nvalid" not in said:
        return Refusal(
            f"{what}: is private or not there; log in as somebody who may read it "
            "(`hf auth login`, HF_TOKEN or --token)",
            status=status,
        )
    what = what or "the account"
    said = f" ({_one_line(said)})" if said.strip() else ""
    if status == 401:
        return Refusal(
            "the token is not valid or has expired: make a new one at "
            f"{endpoint}/settings/tokens and run `hf auth login` or set HF_TOKEN",
            status=status,
        )
    if status == 403:
        return Refusal(
            f"{what}: the token may not do this{said}; it needs write access to buckets in that "
            f"namespace, see {endpoint}/settings/tokens",
            status=status,
        )
    if status == 404:
        return Refusal(f"{what}: not found, or private and not for this token", status=status)
    if status == 429:
        later = f"in {wait_s:.0f} s" if wait_s else "in a few minutes"
        return Busy(
            f"{what}: too many requests to {endpoint}; try again {later}, the rest is then sent",
            status=status,
            wait_s=wait_s,
        )
    if status >= 500 or status == 408:
        return Busy(
            f"{what}: {endpoint} answers with error {status}{said}; try again later",
            status=status,
            wait_s=wait_s,
        )
    return Refusal(f"{what}: {endpoint} answers {status}{said}", status=status)


def of_storage(error: Exception, what: str | None, endpoint: str) -> Exception:
    """The refusal behind an error of hf_xet; the error itself when it is none."""
    text = _one_line(str(error))
    if _NO_SPACE in text:
        return disk_full()
    if match := _STATUS.search(text):
        return of_status(int(match[1] or match[2]), "", what, endpoint, None)
    if isinstance(error, ConnectionError) or "onnect" in text:
        return Busy(f"{what or endpoint}: the storage cannot be reached ({text})", status=None)
    return error


def of_os(error: OSError) -> Exception:
    """The refusal behind a full disk; the error itself otherwise."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) or _NO_SPACE in str(error)
    return disk_full() if full else error


def disk_full() -> TraceError:
    """What is packed or fetched does not fit."""
    return TraceError(
        "no space left on the disk; free some, or point TMPDIR, where copies are packed and "
        "fetched to, at a disk with room (the client's own files are in HF_HOME)"
    )


def _one_line(text: str) -> str:
    """At most 160 characters of a message, without what looks like a login in it."""
    return re.sub(r"://[^/\s]*@", "://…@", " ".join(text.split()))[:160]
