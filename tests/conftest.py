"""What several test modules share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "traces" / "recorded"


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """A folder of public real-world traces that is laid beside some checkouts, not part of this."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip("the folder of public traces is not beside this checkout")
    return folder
