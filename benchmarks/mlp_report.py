"""What `benchmarks/mlp.py` says of its measurements: tables, goals and Markdown.

A result is the plain dictionary that the script prints as JSON; nothing here needs a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from rich.table import Table

Result = dict[str, Any]
Row = dict[str, Any]

# Trips of a [tokens, hidden] tensor to or from device memory. Eager: gate and up out, gate in and
# gelu out, both in and their product out, the product in. One pointwise kernel saves two of them;
# the activation in the GEMM's epilogue leaves the product's two.
TRIPS = {"eager": 8, "fused": 2}
POINTWISE_TRIPS = 6
OURS = ("triton", "fused", "eager graph", "triton graph", "fused graph")


def flop(row: Row) -> int:
    return 6 * row["tokens"] * row["dim"] * row["hidden"]


def traffic_bytes(row: Row, itemsize: int = 2) -> int:
    """The least that the variant's kernels move: x, weights, result, and the trips in between."""
    kind = row["variant"].removesuffix(" graph")
    trips = TRIPS.get(kind, POINTWISE_TRIPS)
    ends = 2 * row["tokens"] * row["dim"] + 3 * row["dim"] * row["hidden"]
    return itemsize * (ends + trips * row["tokens"] * row["hidden"])


def rates(row: Row) -> tuple[float, float]:
    """TFLOP/s and TB/s of a row."""
    us = row["step_us"]["median"]
    return flop(row) / us / 1e6, traffic_bytes(row) / us / 1e6


def baselines(rows: Iterable[Row]) -> list[Row]:
    """Of the rows of one shape, those of others: eager, compiled in any mode, and Liger."""
    return [row for row in rows if row["variant"] not in (*OURS, "three GEMMs")]


def _median(rows: Iterable[Row], choose: Callable[[str], bool], key: str = "step_us") -> float:
    return min((row[key]["median"] for row in rows if choose(row["variant"])), default=math.nan)


def is_compiled(variant: str) -> bool:
    return variant.startswith("compile")


def cases(result: Result) -> dict[tuple[str, int], list[Row]]:
    """The MLP rows by shape and tokens, in the order measured."""
    grouped: dict[tuple[str, int], list[Row]] = {}
    for row in result["mlp"]:
        grouped.setdefault((row["shape"], row["tokens"]), []).append(row)
    return grouped


class Goal(NamedTuple):
    goal: str
    measured: float
    wanted: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Never for what was not measured, which is NaN."""
        return self.measured <= self.wanted if self.at_most else self.measured >= self.wanted


def goals(result: Result) -> list[Goal]:
    """What was aimed at, beside what came out. Ratios are times of the others over ours.

    Two of the three compile modes replay CUDA graphs. So over many shapes the best of them meets
    the better of ours, launched or replayed; at the lessons' shape, ours is also shown launched.
    """
    grouped = cases(result)
    seed = grouped.get(("BERT-base", 8192), [])
    fused, replayed = (_time(seed, "fused"), _time(seed, "fused graph"))
    compiled = _median(seed, is_compiled)
    gemms = _time(seed, "three GEMMs")
    large = [rows for (_, tokens), rows in grouped.items() if tokens in (2048, 8192)]
    ratios = [
        _median(rows, is_compiled) / _median(rows, lambda name: name in ("fused", "fused graph"))
        for rows in large
    ]
    # Kernels alone: the same GEMMs as the compiler's and a pointwise kernel as fast as its own.
    replays = [_time(rows, "triton graph") / _time(rows, "fused graph") for rows in large]
    one = grouped.get(("BERT-base", 1), [])
    one_replayed = _time(one, "fused graph")
    many = f"{len(ratios)} shapes, 2048 and 8192 tokens"
    return [
        *_pointwise_goals(result["pointwise"]),
        Goal("MLP, 8192 tokens: best compile mode / fused", compiled / fused, 1.25),
        Goal("MLP, 8192 tokens: best compile mode / fused graph", compiled / replayed, 1.25),
        Goal("MLP, 8192 tokens: Liger / fused", _time(seed, "liger") / fused, 1.3),
        Goal("MLP, 8192 tokens: fused / three cuBLAS GEMMs", fused / gemms, 1.03, at_most=True),
        Goal(f"{many}: best compile mode / ours, least", min(ratios, default=math.nan), 1.0),
        Goal(f"{many}: best compile mode / ours, geometric mean", _mean(ratios), 1.08),
        Goal(f"{many}: unfused / fused, replayed, least", min(replays, default=math.nan), 1.0),
        Goal(f"{many}: unfused / fused, replayed, geometric mean", _mean(replays), 1.08),
        Goal("batch 1: eager / fused graph", _time(one, "eager") / one_replayed, 5),
        # The other modes replay CUDA graphs themselves.
        Goal(
            "batch 1: compile without graphs / fused graph",
            _time(one, "compile default") / one_replayed,
            4,
        ),
    ]


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def _time(rows: list[Row], variant: str) -> float:
    return _median(rows, lambda name: name == variant)


def _pointwise_goals(rows: list[Row]) -> list[Goal]:
    def time(variant: str) -> float:
        return _median(rows, lambda name: name == variant, "replayed_us")

    return [
        Goal("GeGLU [8192, 3072], µs", time("triton"), 39, at_most=True),
        Goal("GeGLU: Liger / ours", time("liger") / time("triton"), 1.15),
        Goal("GeGLU: Inductor / ours", time("compile default") / time("triton"), 1.03),
    ]


# Cells, the same for the terminal and for Markdown.

POINTWISE_HEAD = (
    "variant",
    "replayed µs",
    "min",
    "max",
    "n",
    "cold µs",
    "TB/s",
    "of copy",
    "error",
)
MLP_HEAD = (
    "shape", "tokens", "variant", "µs a step", "min", "max", "n", "kernels",
    "TFLOP/s", "of GEMM", "TB/s", "of copy", "best other / this", "error",
)  # fmt: skip


def pointwise_cells(result: Result) -> list[tuple[str, ...]]:
    copy = result["ceilings"]["copy_tb_s"]
    cells = []
    for row in result["pointwise"]:
        rate = row["bytes"] / row["replayed_us"]["median"] / 1e6
        cells.append((
            row["variant"], *_times(row["replayed_us"]), _us(row["cold_us"]["median"]),
            f"{rate:.2f}", f"{rate / copy:.0%}", _error(row),
        ))  # fmt: skip
    return cells


def mlp_cells(result: Result) -> list[tuple[str, ...]]:
    ceilings = result["ceilings"]
    cells = []
    for (shape, tokens), rows in cases(result).items():
        best = min((row["step_us"]["median"] for row in baselines(rows)), default=math.nan)
        for row in rows:
            tflop_s, tb_s = rates(row)
            gemms = row["variant"] == "three GEMMs"
            cells.append((
                shape, str(tokens), row["variant"], *_times(row["step_us"]),
                "-" if row["kernels"] is None else str(row["kernels"]),
                f"{tflop_s:.1f}", f"{tflop_s / ceilings['gemm_tflop_s']:.0%}",
                *(("-", "-") if gemms else (f"{tb_s:.2f}", f"{tb_s / ceilings['copy_tb_s']:.0%}")),
                f"{best / row['step_us']['median']:.2f}", _error(row),
            ))  # fmt: skip
    return cells


SIDE_BY_SIDE = (
    "eager", "compile default", "compile reduce-overhead", "compile max-autotune", "liger",
    "triton", "fused", "eager graph", "fused graph", "three GEMMs",
)  # fmt: skip
SIDE_BY_SIDE_HEAD = (
    "shape", "tokens", *SIDE_BY_SIDE,
    "TFLOP/s", "of GEMM", "TB/s", "of copy", "best compile mode / best fused",
)  # fmt: skip


def side_by_side_cells(result: Result) -> list[tuple[str, ...]]:
    """One line a shape: the median µs of every variant, and the rates of the better `fused`."""
    ceilings = result["ceilings"]
    cells = []
    for (shape, tokens), rows in cases(result).items():
        times = [_time(rows, name) for name in SIDE_BY_SIDE]
        ours = [row for row in rows if row["variant"] in ("fused", "fused graph")]
        best = min(ours, key=lambda row: row["step_us"]["median"])
        tflop_s, tb_s = rates(best)
        cells.append((
            shape, str(tokens), *("-" if math.isnan(us) else _us(us) for us in times),
            f"{tflop_s:.1f}", f"{tflop_s / ceilings['gemm_tflop_s']:.0%}",
            f"{tb_s:.2f}", f"{tb_s / ceilings['copy_tb_s']:.0%}",
            f"{_median(rows, is_compiled) / best['step_us']['median']:.2f}",
        ))  # fmt: skip
    return cells


def goal_cells(result: Result) -> list[tuple[str, ...]]:
    return [
        (
            goal.goal,
            f"{goal.measured:.2f}" if goal.measured < 10 else f"{goal.measured:.1f}",
            f"{'at most' if goal.at_most else 'at least'} {goal.wanted:g}",
            "met" if goal.met else "not met",
        )
        for goal in goals(result)
    ]


def _times(times: dict[str, float]) -> tuple[str, ...]:
    return _us(times["median"]), _us(times["min"]), _us(times["max"]), str(times["n"])


def _us(us: float) -> str:
    return f"{us:.1f}" if us < 1000 else f"{us:,.0f}"


def _error(row: Row) -> str:
    return "-" if row["relative_error"] is None else f"{row['relative_error']:.1e}"


def sections(result: Result) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, head and cells of every table."""
    return [
        ("GeGLU alone, [8192, 3072]", POINTWISE_HEAD, pointwise_cells(result)),
        ("The whole MLP, forward", MLP_HEAD, mlp_cells(result)),
        ("Goals", ("goal", "measured", "wanted", ""), goal_cells(result)),
    ]


def conditions(result: Result) -> str:
    """One line: what ran where."""
    ceilings, versions = result["ceilings"], result["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"`{result['command']}` on an {result['gpu']}, {result['dtype']}, {named}, "
        f"{result['date']}, runs of {result['run_us'] / 1e3:g} ms: copy "
        f"{ceilings['copy_tb_s']:.2f} TB/s, GEMM {ceilings['gemm_tflop_s']:.0f} TFLOP/s."
    )


WIDE = 160  # characters that the tables take with every column
LESS = ("min", "max", "n", "kernels", "TFLOP/s", "of GEMM", "TB/s", "of copy", "error", "cold µs")


def tables(result: Result, width: int = WIDE) -> list[Table]:
    """A table for each section; where they would not fit, without the columns in ``LESS``."""
    made = []
    for title, head, cells in sections(result):
        kept = [i for i, name in enumerate(head) if width >= WIDE or name not in LESS]
        table = Table(title=title)
        for i in kept:
            left = i == 0 or head[i] == "variant"
            table.add_column(head[i], justify="left" if left else "right")
        for row in cells:
            table.add_row(*(row[i] for i in kept))
        made.append(table)
    return made


def markdown(result: Result) -> str:
    """The tables as they stand in benchmarks/README.md: the MLP's with one line a shape."""
    pointwise, _, goals_met = sections(result)
    mlp = ("The whole MLP, forward: median µs a step", SIDE_BY_SIDE_HEAD)
    parts = [conditions(result)]
    for title, head, cells in (pointwise, (*mlp, side_by_side_cells(result)), goals_met):
        lines = [f"**{title}**", "", _line(head), _line("---" for _ in head)]
        parts.append("\n".join(lines + [_line(row) for row in cells]))
    return "\n\n".join(parts) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
