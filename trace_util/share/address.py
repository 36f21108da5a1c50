"""Names and addresses of buckets and of the files in them; only texts, nothing is asked for.

The rules for names are those of ``huggingface_hub.utils.validate_repo_id``, which the client does
not apply to buckets itself: it would make bucket ``q`` out of ``q?x=1``.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from trace_util.events import TraceError, UsageError
from trace_util.perfetto import quoted_path

SCHEME = "hf://buckets/"
_NAME = re.compile(r"(?=.{1,96}$)[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?", re.ASCII)


class BucketName(NamedTuple):
    """``namespace`` is ``None`` where the token's own account is meant."""

    namespace: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class FileAddress(NamedTuple):
    """A file in a bucket: ``bucket`` is ``namespace/name``."""

    bucket: str
    path: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.path}"


def bucket_name(text: str, namespace: str | None = None) -> BucketName:
    """The bucket that ``-b text -n namespace`` means, checked before any request.

    Raises:
        UsageError: not a name that a bucket can have, or two namespaces that differ.
    """
    own, slash, name = text.removeprefix(SCHEME).rstrip("/").rpartition("/")
    if slash and namespace and own != namespace:
        raise UsageError(f"{text}: names another namespace than --namespace {namespace}; say one")
    chosen = own if slash else namespace
    given = text if slash else str(namespace)
    for part, what, said in ((chosen, "namespace", given), (name, "bucket", text)):
        if part is not None:
            _check_name(part, what, said)
    return BucketName(chosen, name)


def _check_name(part: str, what: str, text: str) -> None:
    if _NAME.fullmatch(part) and "--" not in part and ".." not in part and part[-4:] != ".git":
        return
    raise UsageError(
        f"{text!r}: not a {what} name; use letters, digits, '-', '_' and '.', at most 96, "
        "not at the ends '-' or '.', nowhere '--' or '..', and at most one '/': NAMESPACE/NAME"
    )


def folder_prefix(text: str) -> str:
    """The folder in the bucket, ``""`` or ending in ``/``.

    Raises:
        UsageError: the prefix leads out of the bucket or is no path.
    """
    parts = [part for part in text.replace("\\", "/").split("/") if part]
    if any(part in (".", "..") or not part.isprintable() for part in parts):
        raise UsageError(f"{text!r}: not a folder in a bucket; give names with '/' between them")
    return "".join(f"{part}/" for part in parts)


def file_url(endpoint: str, bucket: str, path: str) -> str:
    """The address of a file on the web, quoted once; the client has no helper for it."""
    return f"{endpoint}/buckets/{bucket}/resolve/{quoted_path(path)}"


def file_address(text: str) -> FileAddress:
    """The file that ``hf://buckets/NAMESPACE/BUCKET/PATH`` or its web address means.

    Raises:
        TraceError: not such an address.
    """
    if text.startswith(SCHEME):
        namespace, _, rest = text[len(SCHEME) :].partition("/")
        name, _, path = rest.partition("/")
    else:
        parts = urlsplit(text).path.split("/")
        if len(parts) < 6 or parts[1] != "buckets" or parts[4] not in ("resolve", "blob"):
            parts = ["", "", "", "", "", ""]
        namespace, name, path = parts[2], parts[3], unquote("/".join(parts[5:]))
    if not (namespace and name and path) or ".." in path.split("/"):
        raise TraceError(f"{text}: not the address of a file; write {SCHEME}NAMESPACE/BUCKET/PATH")
    return FileAddress(str(bucket_name(f"{namespace}/{name}")), path)
