"""Draw the timeline of a trace: CPU ops and calls, launches, GPU streams, steps, and why the GPU
was idle. Several traces are stacked on one scale. The name after -o decides the format: an .svg
needs nothing, a .png needs matplotlib (the extra `plot`)."""

from __future__ import annotations

import argparse

EXAMPLE = """examples:
  trace-util plot traces/recorded/nvidia-h200/02_linear/1024_32_64_eager.json.gz \\
    -o linear.svg
  trace-util plot eager.json compiled.json --align step -o both.png --theme dark
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``trace-util plot``."""
    from trace_util.argument_types import named

    add = parser.add_argument
    add("traces", metavar="TRACE", nargs="+", type=named, help="a trace; several are stacked; or "
        "the .json of a sweep, for its curves")  # fmt: skip
    add("-o", "--output", metavar="FILE", required=True, type=named,
        help="the figure, .svg or .png")  # fmt: skip
    add("--step", type=int, metavar="N", help="show one step, by its number in the trace")
    add("--range", metavar="A:B", help="show from A to B, in µs since the start of the window")
    add("--align", choices=("window", "step"), default="window", help="step: lay the starts of one "
        "step (--step, else the last one) below each other; default: %(default)s")  # fmt: skip
    add("--theme", choices=("light", "dark", "auto"), default="light",
        help="auto (.svg only) follows the reader's preference; default: %(default)s")  # fmt: skip
    add("--force", action="store_true", help="replace FILE whatever it is; without it, only a "
        "figure that was drawn here")  # fmt: skip
    add("--width", type=float, default=960, metavar="PX", help="default: %(default)s")


def run(args: argparse.Namespace) -> int:
    """Write the figure; returns 0."""
    import sys
    from pathlib import Path

    from trace_util.files import once
    from trace_util.plot.figure import timeline
    from trace_util.plot.request import footer_of, view_of, write_figure
    from trace_util.plot.sweep import sweep_scene
    from trace_util.reader import read_trace
    from trace_util.report.hints import say
    from trace_util.report.replacing import is_figure, require_replaceable
    from trace_util.report.sweep import crossover, table
    from trace_util.report.text import style_of
    from trace_util.sweeps import sweep_in

    view = view_of(args)
    once(args.traces)
    output = Path(args.output)
    require_replaceable(output, "figure", is_figure, force=args.force, traces=args.traces)
    sweep = sweep_in(Path(args.traces[0])) if len(args.traces) == 1 else None
    if sweep is not None:
        scene = sweep_scene(sweep, args.width, footer_of(args))
    else:
        traces = [read_trace(path) for path in args.traces]
        scene = timeline(traces, view, width=args.width, footer=footer_of(args))
    write_figure(scene, output, args.theme)
    print(output)
    if sweep is not None:
        print(f"\n{table(sweep, style_of(sys.stdout))}\n{crossover(sweep)}")
    say(f"{output}: {scene.width:.0f} x {scene.height:.0f} px")
    return 0
