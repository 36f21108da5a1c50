"""A Hub on the loopback, for the real huggingface_hub and hf_xet clients to talk to.

It answers what the buckets' part of the client asks for, keeps its state in memory, and logs every
request. hf_xet takes a folder for its storage when it is told ``casUrl: local://FOLDER``; one
process at a time may have it open, so the content behind a link is read from a copy of it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

_FETCH = """
import hf_xet, json, sys, time
folder, wanted = sys.argv[1], json.loads(sys.argv[2])
session = hf_xet.XetSession()
expiry = int(time.time()) + 3600
with session.new_file_download_group(
    endpoint="local://" + folder, token="x", token_expiry_unix_secs=expiry
) as group:
    for digest in wanted:
        group.start_download_file(hf_xet.XetFileInfo(digest, None), f"{folder}/{digest}")
"""


@dataclass
class Account:
    name: str
    orgs: dict[str, str] = field(default_factory=dict)
    role: str = "write"
    bucket_scope: bool = True


@dataclass
class Bucket:
    private: bool
    files: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Fault:
    """What is answered instead, ``times`` times, to requests whose "METHOD path" matches."""

    pattern: str
    status: int
    times: int = 10**9
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    after: bool = False  # do what was asked for, and then answer so all the same


class LoopbackHub:
    """The state of the Hub; ``with LoopbackHub(folder) as hub`` serves it."""

    def __init__(self, folder: Path) -> None:
        self.cas = folder / "cas"
        self.cas.mkdir(parents=True)
        self.cas_url = f"local://{self.cas}"
        self.accounts: dict[str, Account] = {}
        self.buckets: dict[str, Bucket] = {}
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.page_size = 1000
        self._contents: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> LoopbackHub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def asked(self, pattern: str) -> list[str]:
        """The requests so far whose "METHOD path" matches."""
        return [request for request in self.requests if re.search(pattern, request)]

    def fault_for(self, request: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.times > 0 and re.search(fault.pattern, request):
                    fault.times -= 1
                    return fault
        return None

    def content_of(self, bucket: str, path: str) -> bytes:
        """The bytes of a file, out of the storage that hf_xet wrote."""
        return self._contents[self.buckets[bucket].files[path]["xetHash"]]

    def stored_bytes(self) -> int:
        """The size of what hf_xet has stored; grows only when content is sent."""
        return sum(block.stat().st_size for block in self.cas.rglob("xorbs/xorbs/*"))

    def size_of(self, digest: str) -> int:
        """The size of a stored file, which only the storage knows."""
        return len(self._contents[digest])

    def learn(self, digests: set[str]) -> None:
        """Read files out of the storage by their hashes."""
        wanted = sorted(digests - self._contents.keys())
        if not wanted:
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "cas"
            shutil.copytree(self.cas, copy)
            command = [sys.executable, "-c", _FETCH, str(copy), json.dumps(wanted)]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            for digest in wanted:
                self._contents[digest] = (copy / digest).read_bytes()


class _Answered(Exception):
    """An answer other than success."""

    def __init__(self, status: int, message: str, code: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {**({"X-Error-Code": code} if code else {}), **headers}


def _handler(hub: LoopbackHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:  # a client that was told to give up does
                self.close_connection = True

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            request = f"{self.command} {self.path}"
            hub.requests.append(request)
            try:
                fault = hub.fault_for(request)
                if fault is not None:
                    time.sleep(fault.delay_s)
                if fault is None or fault.after:
                    status, content, headers = _Route(hub, self).route(body)
                if fault is not None:
                    raise _Answered(fault.status, "as the test wants it", **fault.headers)
            except _Answered as error:
                content = json.dumps({"error": error.message}).encode()
                status, headers = error.status, error.headers
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = _answer

    return Handler


Answer = tuple[int, bytes, dict[str, str]]


def _json(value: object, **headers: str) -> Answer:
    return 200, json.dumps(value).encode(), headers


class _Route:
    """One request: who asks, for what, and the answer."""

    def __init__(self, hub: LoopbackHub, request: BaseHTTPRequestHandler) -> None:
        self.hub = hub
        self.method = request.command
        split = urlsplit(request.path)
        self.parts = split.path.strip("/").split("/")
        self.query = parse_qs(split.query)
        token = (request.headers.get("Authorization") or "").removeprefix("Bearer ")
        self.account = hub.accounts.get(token)
        if token and self.account is None:
            message = "Invalid credentials in Authorization header"
            raise _Answered(401, message, **{"X-Error-Message": message})

    def route(self, body: bytes) -> Answer:
        match [unquote(part) for part in self.parts]:
            case ["api", "whoami-v2"]:
                return self._whoami()
            case ["api", "buckets", namespace, name] if self.method == "POST":
                return self._create(namespace, name, json.loads(body or b"{}"))
            case ["api", "buckets", namespace, name, *rest]:
                return self._bucket(f"{namespace}/{name}", rest, body)
            case ["buckets", namespace, name, "resolve", *rest]:
                return self._resolve(f"{namespace}/{name}", "/".join(rest))
            case ["cdn", namespace, name, *rest]:
                content = self.hub.content_of(f"{namespace}/{name}", "/".join(rest))
                return 200, content, {"Content-Type": "application/octet-stream"}
        raise _Answered(404, "no such route")

    def _whoami(self) -> Answer:
        if self.account is None:
            raise _Answered(401, "Invalid username or password.")
        orgs = [{"name": name, "roleInOrg": role} for name, role in self.account.orgs.items()]
        access = {"accessToken": {"displayName": "t", "role": self.account.role}}
        return _json({"type": "user", "name": self.account.name, "orgs": orgs, "auth": access})

    def _may_write(self, namespace: str) -> None:
        if self.account is None:
            raise _Answered(401, "Invalid username or password.")
        member = self.account.orgs.get(namespace) in ("write", "contributor", "admin")
        if not (namespace == self.account.name or member):
            raise _Answered(403, "You don't have the rights to write in this namespace")
        if self.account.role == "read" or not self.account.bucket_scope:
            raise _Answered(403, "This token has no write access to buckets")

    def _create(self, namespace: str, name: str, body: dict[str, Any]) -> Answer:
        if namespace == "me" and self.account is not None:
            namespace = self.account.name
        self._may_write(namespace)
        url = f"{self.hub.url}/buckets/{namespace}/{name}"
        if f"{namespace}/{name}" in self.hub.buckets:
            return 409, json.dumps({"error": "exists", "url": url}).encode(), {}
        private = body.get("visibility") == "private" or bool(body.get("private"))  # 2.x, 1.x
        self.hub.buckets[f"{namespace}/{name}"] = Bucket(private)
        return _json({"url": url})

    def _readable(self, bucket_id: str) -> Bucket:
        bucket = self.hub.buckets.get(bucket_id)
        namespace = bucket_id.split("/")[0]
        known = self.account is not None and (
            namespace == self.account.name or namespace in self.account.orgs
        )
        if bucket is not None and (known or not bucket.private):
            return bucket
        raise _Answered(404 if self.account else 401, "Repository not found", "RepoNotFound")

    def _bucket(self, bucket_id: str, rest: list[str], body: bytes) -> Answer:
        bucket = self._readable(bucket_id)
        match rest:
            case []:
                size = sum(entry["size"] for entry in bucket.files.values())
                created = "2026-11-30T00:00:00.000Z"
                facts = {"id": bucket_id, "private": bucket.private, "createdAt": created}
                return _json({**facts, "size": size, "totalFiles": len(bucket.files)})
            case ["tree", *prefix]:
                return self._tree(bucket_id, bucket, "/".join(prefix))
            case ["paths-info"]:
                wanted = json.loads(body)["paths"]
                return _json([bucket.files[path] for path in wanted if path in bucket.files])
            case ["batch"]:
                self._may_write(bucket_id.split("/")[0])
                return self._batch(bucket, body)
            case [("xet-write-token" | "xet-read-token") as kind]:
                if kind == "xet-write-token":
                    self._may_write(bucket_id.split("/")[0])
                expiry = int(time.time()) + 3600
                headers = {  # where huggingface_hub 1.x looks; 2.x reads the body
                    "X-Xet-Cas-Url": self.hub.cas_url,
                    "X-Xet-Access-Token": "x",
                    "X-Xet-Token-Expiration": str(expiry),
                }
                body_ = {"accessToken": "x", "exp": expiry, "casUrl": self.hub.cas_url}
                return _json(body_, **headers)
        raise _Answered(404, "no such route")

    def _tree(self, bucket_id: str, bucket: Bucket, prefix: str) -> Answer:
        paths = sorted(path for path in bucket.files if path.startswith(prefix))
        start = int(self.query.get("cursor", ["0"])[0])
        page = paths[start : start + self.hub.page_size]
        end, headers = start + len(page), {}
        if end < len(paths):
            tail = f"/{quote(prefix, safe='')}" if prefix else ""
            url = f"{self.hub.url}/api/buckets/{bucket_id}/tree{tail}?recursive=true&cursor={end}"
            headers["Link"] = f'<{url}>; rel="next"'
        return _json([bucket.files[path] for path in page], **headers)

    def _batch(self, bucket: Bucket, body: bytes) -> Answer:
        failed = []
        changes = [json.loads(line) for line in body.splitlines()]
        self.hub.learn({change["xetHash"] for change in changes if change["type"] == "addFile"})
        for change in changes:
            path = change["path"]
            if fault := self.hub.fault_for(f"FILE {path}"):
                failed.append({"path": path, "error": f"refused with {fault.status}"})
            elif change["type"] == "deleteFile":
                bucket.files.pop(path, None)
            else:
                bucket.files[path] = {
                    "type": "file",
                    "path": path,
                    "size": self.hub.size_of(change["xetHash"]),
                    "xetHash": change["xetHash"],
                    "mtime": "2026-11-30T00:00:00.000Z",
                    "uploadedAt": "2026-11-30T00:00:00.000Z",
                }
        return 422 if failed else 200, json.dumps({"failed": failed}).encode(), {}

    def _resolve(self, bucket_id: str, path: str) -> Answer:
        bucket = self._readable(bucket_id)
        if path not in bucket.files:
            raise _Answered(404, "Entry not found", "EntryNotFound")
        entry = bucket.files[path]
        token_url = f"{self.hub.url}/api/buckets/{bucket_id}/xet-read-token"
        headers = {
            "X-Xet-Hash": entry["xetHash"],
            "X-Linked-Size": str(entry["size"]),
            "Link": f'<{token_url}>; rel="xet-auth"',
            "Access-Control-Allow-Origin": "*",
            "Location": f"{self.hub.url}/cdn/{bucket_id}/{quote(path)}?signature=1",
        }
        return (200 if self.method == "HEAD" else 302), b"", headers


@contextmanager
def loopback_hub(folder: Path) -> Iterator[LoopbackHub]:
    """A running Hub with one account, ``ada``, whose token is ``ada-token``."""
    with LoopbackHub(folder) as hub:
        hub.accounts["ada-token"] = Account("ada", {"engines": "admin", "readers": "read"})
        yield hub
