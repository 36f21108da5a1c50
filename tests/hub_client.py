"""Runs trace-util command lines, each in a process of its own, with the client already imported.

Started with HF_ENDPOINT set, it reads one request a line (JSON: ``arguments``, ``cwd``,
``environment``, ``out``, ``err``), forks, and answers with the child's exit code. A fresh
interpreter for each of some fifty command lines would spend a minute on imports.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any


def run(request: dict[str, Any]) -> int:
    """Be the child: run one command line with its own streams, folder and environment."""
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["cwd"])
    os.environ.update(request["environment"])
    sys.stdin = os.fdopen(0)
    try:
        return _main(request["arguments"])
    except BaseException:
        traceback.print_exc()
        return 99
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _main(arguments: list[str]) -> int:
    from trace_util.cli import main
    from trace_util.events import TraceError
    from trace_util.share import download
    from trace_util.share.bucket import Hub

    if arguments[0] not in ("@download", "@put"):
        return main(arguments)
    try:
        if arguments[0] == "@put":  # a file that is in the bucket by other means
            hub, (to, local, path) = Hub(os.environ["HF_TOKEN"]), arguments[1:]
            return len(hub.send(to, [(Path(local), path)]))
        print(download(*arguments[1:]))
        return 0
    except TraceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def serve() -> None:
    """Answer requests until standard input closes."""
    from trace_util.share import bucket

    bucket.WAITS_S = tuple(wait / 10 for wait in bucket.WAITS_S)
    while line := sys.stdin.readline():
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(run(request))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
