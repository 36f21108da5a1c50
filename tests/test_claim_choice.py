"""`trace-util check --claim`: some claims of a lesson alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trace_util.cli import main

TRACE = Path(__file__).parents[1] / "traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz"


def test_chosen_claims_alone_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(TRACE), "--claim", "2.5", "--claim", "2.1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    claims = [line.split()[:2] for line in lines if line[2:3] != " "]
    assert claims == [["holds", "2.5"], ["holds", "2.1"]]
    assert main(["check", str(TRACE), "--claim", "2.2", "--json"]) == 0
    assert [claim["id"] for claim in json.loads(capsys.readouterr().out)["claims"]] == ["2.2"]


def test_an_unknown_claim_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", str(TRACE), "--claim", "9.9"]) == 2
    assert "no claim 9.9; 02_linear has 2.1, 2.2, 2.3" in capsys.readouterr().err
