"""Works the tables and figures of the recorded sweeps out of their traces again.

    python traces/recorded/renew_sweeps.py

What was measured stays. What is told of it, such as the regime of a point, becomes what the package
tells of that trace today.
"""

import json
from pathlib import Path

from trace_util.plot.sweep import draw_sweep
from trace_util.record.size_sweep import measured_facts

RECORDED = Path(__file__).parent


def renew(table: Path) -> None:
    """Rewrite one table and the figure beside it."""
    result = json.loads(table.read_text())
    for point in result["points"]:
        trace = table.parent / f"{point['trace']}.gz"
        point.update(measured_facts(trace), trace=point["trace"])
    table.write_text(json.dumps(result, indent=1) + "\n")
    draw_sweep(result, table.with_suffix(".svg"))


if __name__ == "__main__":
    for found in sorted(RECORDED.rglob("sweep_*.json")):
        renew(found)
        print(found.relative_to(RECORDED))
