"""A job worked out by a real Dask cluster on the loopback: a scheduler and two worker processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rank_traces import cut_off, write_ranks

from trace_util.cli import main
from trace_util.gather.gathering import gathered

pytest.importorskip("distributed", reason="Dask is not installed (the extra `cluster`)")

HERE = Path(__file__).parent


def wait_for(what: Callable[[], Any], seconds: float = 60) -> Any:
    """What is true at last."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.05)
    return found


class Cluster:
    """A scheduler and worker processes, all of them ended with the block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "worked-on.txt"
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]),
            "WORKED_ON": str(self.notes),
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        told = folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--scheduler-file", str(told))
        self.address = wait_for(lambda: told.exists() and _address(told))
        self.workers = [self.worker() for _ in range(2)]

    def worker(self) -> subprocess.Popen[bytes]:
        """One more worker process, of one thread and without a nanny that would replace it."""
        return self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny",
            "--local-directory", str(self.folder),
        )  # fmt: skip

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:],
             "--host", "127.0.0.1", "--no-dashboard"],
            env=self.environment, stdout=log, stderr=log, cwd=self.folder,
        )  # fmt: skip
        log.close()
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def run(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip


def _address(told: Path) -> Any:
    try:
        return json.loads(told.read_text())["address"]
    except json.JSONDecodeError:  # half-written
        return None


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.close()


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """Eight ranks: 2 is slow in step 3, 5 is missing, 6 is cut off; the last all-reduce exposed."""
    folder = write_ranks(tmp_path / "run", 8, slow={(2, 3): 500}, leave_out=(5,))
    cut_off(folder / "rank6.json")
    return folder


COMMAND = "import sys; from trace_util.cli import main; sys.exit(main(sys.argv[1:]))"


def test_a_cluster_tells_what_one_process_tells(
    cluster: Cluster, ranks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(ranks), "--json", "--workers", "1"]) == 1
    alone = capsys.readouterr().out
    ran = cluster.run(COMMAND, "explain", str(ranks), "--json", "--scheduler", cluster.address)
    out, err = ran.communicate(timeout=120)
    assert ran.returncode == 1, err  # a rank is broken
    assert out == alone
    (told,) = json.loads(out)
    job = told["job"]
    assert job["missing_ranks"] == [5] and [one["rank"] for one in job["broken"]] == [6]
    slow = [step["slow_rank"] for step in job["steps"]]
    assert slow[0] is None and slow[2] is None
    assert (slow[1]["rank"], slow[1]["excess_us"], slow[1]["cause"]) == (2, 500, "gemm_kernel")
    # Six sound ranks wait 200 µs in the last all-reduce of each step, and five of them 500 more.
    assert sum(step["exposed_us"] for step in job["steps"]) == 3 * 6 * 200 + 5 * 500


KILLED = """
import sys
from cluster_work import slow_told
from trace_util.gather.engine import cluster
from trace_util.gather.gathering import gathered_with
from trace_util.gather.places import find_places
import msgspec
with cluster(sys.argv[1]) as executor:
    told = gathered_with(slow_told, find_places([sys.argv[2]]), executor)
print(msgspec.json.encode([one.rank for one in told]).decode())
"""


@pytest.mark.alone
def test_a_worker_that_is_killed_changes_nothing_but_time(cluster: Cluster, ranks: Path) -> None:
    import msgspec

    ran = cluster.run(KILLED, cluster.address, str(ranks))
    wait_for(lambda: cluster.notes.exists() and _workers(cluster) == 2)
    victim = cluster.workers[0]
    assert str(victim.pid) in {line.split()[0] for line in cluster.notes.read_text().splitlines()}
    victim.send_signal(signal.SIGKILL)
    out, err = ran.communicate(timeout=120)
    assert ran.returncode == 0, err
    assert out.strip() == msgspec.json.encode(gathered([str(ranks)], workers=1)).decode()
    done = [line.split() for line in cluster.notes.read_text().splitlines()]
    names = [name for _, name in done]
    twice = [name for name in names if names.count(name) > 1]
    assert len(set(names)) == 7 and twice, "no file was begun by the victim and done by another"
    assert {pid for pid, name in done if name == twice[0]} == {
        str(worker.pid) for worker in cluster.workers
    }


def _workers(cluster: Cluster) -> int:
    return len({line.split()[0] for line in cluster.notes.read_text().splitlines()})


@pytest.mark.parametrize(
    ("address", "said"),
    [("nonsense://x", "write tcp://HOST:8786"), ("tcp://127.0.0.1:1", "Connection refused")],
)
def test_no_scheduler_is_one_line(
    address: str, said: str, capsys: pytest.CaptureFixture[str], ranks: Path
) -> None:
    assert main(["summary", str(ranks), "--scheduler", address]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"error: --scheduler {address}: no scheduler answers there: {said}\n"
