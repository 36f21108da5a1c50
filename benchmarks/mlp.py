"""
The gated MLP, eager, compiled, with Liger and with the kernels of `fused_mlp`
==============================================================================

Every variant computes `down(gelu_tanh(gate(x)) * up(x))` from the same random weights. Its steps
are timed without a profiler (events around runs of steps, the variants in turn), its result is
checked against float64, and its rates are set beside a device copy and a large GEMM measured in the
same process. `kernels` counts one profiled step, copies and fills apart.

Run
  python benchmarks/mlp.py                                       # everything; some minutes
  python benchmarks/mlp.py --shapes BERT-base --tokens 1 8192    # the lessons' shape alone
  python benchmarks/mlp.py --from benchmarks/results/mlp_h200.json --markdown   # needs no GPU

Prints the tables; into a file or a pipe, one line of JSON after them.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import platform
import shlex
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))  # `benchmarks` and `fused_mlp`, from anywhere

from benchmarks import mlp_report, mlp_roofline  # noqa: E402

TOKENS = (1, 64, 2048, 8192)
MODES = ("default", "reduce-overhead", "max-autotune")
CACHED_BYTES = 128 << 20  # more than any L2 cache: what a step touches is not there a step later
MOST_SETS = 4
POINTWISE_SIZE = (8192, 3072)
REPLAYED = 30  # calls in one graph
CHECKED_TOKENS = 256
AUTOTUNED_TOKENS = 2048  # from here on: below, its half minute of search a shape changes no goal


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--shapes", nargs="+", help="of BERT-base, 'Gemma 2B', 'Llama-3 8B', 'Llama-3 70B'")
    add("--tokens", nargs="+", type=int, default=list(TOKENS), help="default: %(default)s")
    add("--modes", nargs="*", default=list(MODES), choices=MODES, help="of torch.compile")
    add("--dtype", choices=("bfloat16", "float16"), default="bfloat16", help="default: %(default)s")
    add("--runs", type=int, default=9, help="runs of each variant (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the random numbers (default: %(default)s)")
    add("--output", type=Path, help="also write the JSON here")
    add("--figure", type=Path, help="draw the roofline here (.svg or .png)")
    add("--from", dest="source", type=Path, help="report a file of earlier results instead")
    add("--markdown", action="store_true", help="print Markdown alone")
    return parser.parse_args(arguments)


def measured(args: argparse.Namespace) -> mlp_report.Result:
    """The whole result, as the JSON has it."""
    import torch

    from benchmarks import cuda_timing
    from benchmarks.mlp_variants import SHAPES

    if not torch.cuda.is_available():
        sys.exit("error: no CUDA GPU: use --from FILE to report earlier results")
    known = {shape.name: shape for shape in SHAPES}
    unknown = [name for name in args.shapes or () if name not in known]
    if unknown:
        sys.exit(f"error: --shapes {unknown[0]}: choose of {', '.join(known)}")
    torch.manual_seed(args.seed)
    dtype = getattr(torch, args.dtype)
    result: mlp_report.Result = {
        "benchmark": "mlp",
        "command": command(sys.argv[1:]),
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "gpu": torch.cuda.get_device_name(),
        "dtype": args.dtype,
        "run_us": cuda_timing.RUN_US,
        "versions": versions(),
    }
    with torch.no_grad():
        progress("ceilings")
        result["ceilings"] = {
            "copy_tb_s": cuda_timing.copy_tb_s(),
            "gemm_tflop_s": cuda_timing.gemm_tflop_s(dtype),
        }
        progress("pointwise")
        result["pointwise"] = pointwise_rows(dtype, args)
        result["mlp"] = []
        for shape in (known[name] for name in args.shapes or known):
            for tokens in args.tokens:
                result["mlp"] += mlp_rows(shape, tokens, dtype, args)
                written(result, args.output)  # what an interruption leaves
    return result


def command(arguments: list[str]) -> str:
    """What was run, without the names of the files written: they say where somebody works."""
    names = ("--output", "--figure")
    kept = [
        a
        for before, a in zip(["", *arguments], arguments, strict=False)
        if before not in names and a.split("=")[0] not in names
    ]
    return shlex.join(["python", "benchmarks/mlp.py", *kept])


def written(result: mlp_report.Result, path: Path | None) -> None:
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")


def pointwise_rows(dtype: Any, args: argparse.Namespace) -> list[mlp_report.Row]:
    """GeGLU alone: replayed from CUDA graphs, so that no launch is waited for, and cold."""
    import torch

    from benchmarks import cuda_timing as timing
    from benchmarks import mlp_variants as variants
    from fused_mlp import geglu

    inputs = [
        tuple(torch.randn(POINTWISE_SIZE, device="cuda").to(dtype) for _ in range(2))
        for _ in range(3)
    ]
    functions = {
        "eager": variants.eager_geglu,
        "compile default": variants.compiled(variants.eager_geglu, "default"),
        "liger": variants.liger_geglu(),
        "triton": geglu,
    }
    reference = variants.eager_geglu(*(x.double() for x in inputs[0]))
    errors = {name: relative_error(f(*inputs[0]), reference) for name, f in functions.items()}

    def in_turn(function: Any) -> Any:
        return lambda: [function(*inputs[i % 3]) for i in range(REPLAYED)][-1]

    graphs = {name: [timing.captured(in_turn(f))] for name, f in functions.items()}
    replayed = timing.race(graphs, args.runs)
    return [
        {
            "variant": name,
            "replayed_us": {
                key: value if key == "n" else value / REPLAYED
                for key, value in replayed[name]._asdict().items()
            },
            "cold_us": timing.cold(lambda f=f: f(*inputs[0]))._asdict(),
            "bytes": 3 * inputs[0][0].nbytes,
            "relative_error": errors[name],
        }
        for name, f in functions.items()
    ]


def mlp_rows(shape: Any, tokens: int, dtype: Any, args: argparse.Namespace) -> list[mlp_report.Row]:
    """Every variant of one shape at one number of tokens."""
    import torch

    from benchmarks import cuda_timing as timing
    from benchmarks import mlp_variants as variants

    progress(f"{shape.name}, {tokens} tokens")
    torch.compiler.reset()
    weights = variants.Weights.random(shape, dtype)
    touched = 2 * (tokens * (shape.dim + shape.hidden) + 3 * shape.dim * shape.hidden)
    sets = min(MOST_SETS, 1 + CACHED_BYTES // touched)
    inputs = [torch.randn(tokens, shape.dim, device="cuda").to(dtype) for _ in range(sets)]
    modes = [m for m in args.modes if m != "max-autotune" or tokens >= AUTOTUNED_TOKENS]
    forwards = variants.forwards(weights, shape, modes)
    checked = slice(max(0, tokens - CHECKED_TOKENS), tokens)
    reference = weights.reference(inputs[0][checked])
    errors = {
        name: relative_error(forward(inputs[0])[checked], reference)
        for name, forward in forwards.items()
    }
    steps = {name: variants.over(forward, inputs) for name, forward in forwards.items()}
    gc.freeze()  # each capture collects garbage, and a compiler's heap takes long to walk
    for name in ("eager", "triton", "fused"):
        steps[f"{name} graph"] = variants.captured_over(forwards[name], inputs)
        errors[f"{name} graph"] = relative_error(steps[f"{name} graph"][0]()[checked], reference)
    steps["three GEMMs"] = variants.over(variants.three_gemms(weights, tokens), inputs)
    times = timing.race(steps, args.runs)
    plan = forwards["fused"].plan(tokens)
    rows = [
        {
            "shape": shape.name,
            "dim": shape.dim,
            "hidden": shape.hidden,
            "tokens": tokens,
            "variant": name,
            "step_us": times[name]._asdict(),
            "kernels": len(timing.kernels_of(steps[name][0])),
            "relative_error": errors.get(name),
            "plan": plan._asdict() if name.startswith("fused") else None,
        }
        for name in steps
    ]
    del weights, inputs, forwards, steps
    gc.unfreeze()
    gc.collect()
    torch.cuda.empty_cache()
    return rows


def relative_error(result: Any, reference: Any) -> float:
    return float((result.double() - reference).norm() / reference.norm())


def versions() -> dict[str, str]:
    import torch

    found = {"Python": platform.python_version(), "torch": torch.__version__}
    found["CUDA"] = torch.version.cuda or "none"
    for package in ("triton", "liger-kernel"):
        found[package] = importlib.metadata.version(package)
    return found


def progress(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)


def main() -> None:
    args = parsed()
    result = json.loads(args.source.read_text()) if args.source else measured(args)
    written(result, args.output)
    if args.figure:
        mlp_roofline.draw_roofline(result, args.figure)
    if args.markdown:
        print(mlp_report.markdown(result), end="")
        return
    in_terminal = sys.stdout.isatty()
    console = Console(width=None if in_terminal else mlp_report.WIDE, highlight=False)
    console.print(mlp_report.conditions(result), markup=False)
    for table in mlp_report.tables(result, console.width):
        console.print(table)
    if not in_terminal:
        print(json.dumps(result | {"goals": judged(result)}))


def judged(result: mlp_report.Result) -> list[dict[str, Any]]:
    return [goal._asdict() | {"met": goal.met} for goal in mlp_report.goals(result)]


if __name__ == "__main__":
    main()
