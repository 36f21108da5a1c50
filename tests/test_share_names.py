"""Names in a bucket: no cleaned one hides another file, and none bends the bucket's page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from loopback_hub import Account, loopback_hub
from make_trace import kernel

from trace_util.share.packing import pack_all
from trace_util.share.selection import select

TORCH = "_4242.1700000000000.pt.trace.json"  # behind the host's name, as torch spells it


def trace(path: Path, gpu: str = "NVIDIA H200") -> Path:
    text = {"deviceProperties": [{"id": 0, "name": gpu}], "traceEvents": [kernel()]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(text))
    return path


def packed(folder: Path, *names: str) -> tuple[list[str], list[str]]:
    """The remote names of files under these names, cleaned, and why others are not sent."""
    for name in names:
        trace(folder / "traces" / name)
    copies = folder / "copies"
    copies.mkdir()
    files = select([folder / "traces"]).files
    found = pack_all(files, copies, prefix="", gzip=True, redact=True, quiet=True)
    return [one.remote for one in found.packed], [one.reason for one in found.failed]


def test_a_cleaned_name_that_another_file_has_is_not_sent_over_it(tmp_path: Path) -> None:
    remotes, failed = packed(
        tmp_path, f"a/node-x7{TORCH}", f"a/node-x8{TORCH}", f"b/node-x8{TORCH}", "c/x.json"
    )
    assert remotes == [
        f"a/redacted-host-name-1{TORCH}.gz",
        f"b/redacted-host-name-1{TORCH}.gz",
        "c/x.json.gz",
    ]
    assert failed == ["its cleaned name is that of another file; rename it"]


def test_a_gpu_of_many_lines_has_one_on_the_page(tmp_path: Path) -> None:
    trace(tmp_path / "traces" / "odd.json", gpu="H200\n\n# Not a title\n| not | a row |\u202e")
    with loopback_hub(tmp_path / "hub") as hub:
        hub.accounts["ada-token"] = Account("ada")
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))},
            **{"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": "ada-token"},
            **{"HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "*"},
        }
        command = ["upload", str(tmp_path / "traces"), "-b", "traces", "--yes"]
        sent = subprocess.run(
            [sys.executable, "-m", "trace_util", *command],
            env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert sent.returncode == 0, sent.stderr
        page = hub.content_of("ada/traces", "README.md").decode()
    (row,) = [line for line in page.splitlines() if "odd.json.gz" in line]
    assert r"H200\\n\\n\# Not a title\\n\| not \| a row \|\\u202e" in row
    assert [line for line in page.splitlines() if line.startswith("#")] == ["# Traces"]
