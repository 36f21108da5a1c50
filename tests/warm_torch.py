"""Processes that need torch, forked from one that has imported it.

torch and what its profiler imports when it starts take a fresh interpreter ten seconds, and a run
of a lesson two more (torch 2.15 on two cores). The process that forks only imports; the child runs
its script in the streams, the folder and the environment asked for, to the hooks at its exit.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def run_warm(
    *words: str | Path, cwd: Path = ROOT, environment: Mapping[str, str] = os.environ,
    timeout_s: int = 240,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """The finished process of a script, or ``-m`` and a module, with what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        request = {
            "argv": list(map(str, words)),
            "cwd": str(cwd),
            "environment": dict(environment),
            "timeout_s": timeout_s,
            "out": f"{folder}/out",
            "err": f"{folder}/err",
        }
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = (Path(request[name]).read_text(encoding="utf-8") for name in ("out", "err"))
    return subprocess.CompletedProcess(request["argv"], code, out, err)


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The process that forks; it ends with this one."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)
    return server


def serve() -> None:
    """Answer requests, a line of JSON each, with exit codes until standard input closes."""
    import torch  # noqa: F401
    import torch._inductor.config  # noqa: F401

    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            code = _run(json.loads(line))
            atexit._run_exitfuncs()
            sys.stdout.flush()
            os._exit(code)  # tearing all of torch down would take another second
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(request: dict[str, Any]) -> int:
    """The exit code of the script, which runs as in a fresh interpreter."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.alarm(request["timeout_s"])
    try:
        try:
            _go_on_as(request["argv"])
        except SystemExit:
            raise
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            return 1
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _go_on_as(words: list[str]) -> None:
    """Run what an interpreter would with these words."""
    if words[0] == "-m":
        sys.path[0], sys.argv = os.getcwd(), words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = str(Path(words[0]).resolve().parent), words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    serve()
