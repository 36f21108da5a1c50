"""The ranks of a job that lie in a bucket, read through the real client from a loopback Hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_hub import Account, LoopbackHub, loopback_hub
from rank_traces import write_ranks

from trace_util.cli import main


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    with loopback_hub(tmp_path_factory.mktemp("hub")) as found:
        found.accounts["ada-token"] = Account("ada")
        yield found


def told(hub: LoopbackHub, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One command line in a process of its own, with the client's own settings."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))},
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home / "home"),
        "TMPDIR": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_TOKEN": "ada-token",
        "NO_PROXY": "*",
    }
    return subprocess.run(
        [sys.executable, "-m", "trace_util.cli", *arguments],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_ranks_in_a_bucket_are_a_job(
    hub: LoopbackHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    write_ranks(runs / "one", 3, slow={(1, 3): 500})
    write_ranks(runs / "two", 2)
    sent = told(hub, tmp_path, "upload", str(runs), "-b", "traces", "--yes")
    assert sent.returncode == 0, sent.stderr
    hub.requests.clear()
    address = "hf://buckets/ada/traces/one"
    found = told(hub, tmp_path, "summary", address, "--json", "--workers", "1")
    assert found.returncode == 0, found.stderr
    (job,) = json.loads(found.stdout)
    assert job["job"]["name"] == f"{address}/rank*.json.gz"
    assert [one["rank"] for one in job["job"]["ranks"]] == [0, 1, 2]
    assert job["job"]["steps"][1]["slow_rank"]["rank"] == 1
    assert len(hub.asked("HEAD .*/resolve/|GET .*/xet-read-token")) >= 3  # one file at a time
    assert not list(tmp_path.glob("trace-util-*"))  # and no copy is left
    assert main(["summary", str(runs / "one"), "--json"]) == 0
    (local,) = json.loads(capsys.readouterr().out)
    assert local["job"]["steps"] == job["job"]["steps"]


def test_patterns_and_single_files_in_a_bucket(hub: LoopbackHub, tmp_path: Path) -> None:
    write_ranks(tmp_path / "runs" / "three", 2)
    sent = told(hub, tmp_path, "upload", str(tmp_path / "runs"), "-b", "more", "--yes")
    assert sent.returncode == 0, sent.stderr
    address = "hf://buckets/ada/more"
    found = told(hub, tmp_path, "explain", f"{address}/th*/rank[01].json.gz", "--workers", "1")
    assert found.returncode == 0 and "2 sound of 2" in found.stdout, found.stderr
    one = told(hub, tmp_path, "summary", f"{address}/three/rank1.json.gz", "--json")
    assert json.loads(one.stdout)["file"] == f"{address}/three/rank1.json.gz"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("ada/traces/nowhere", "no .json or .json.gz file there"),
        ("ada/none/x", "ada/none"),
        ("ada", "names no bucket; write hf://buckets/NAMESPACE/BUCKET/PREFIX"),
    ],
)
def test_nothing_in_a_bucket_is_one_line(
    hub: LoopbackHub, tmp_path: Path, where: str, message: str
) -> None:
    found = told(hub, tmp_path, "summary", f"hf://buckets/{where}")
    assert found.returncode == 1 and found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("error: ") and message in line
