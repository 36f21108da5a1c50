"""Says what a GPU kernel's name says: library, dtype, tile, layout, epilogue, merged ops."""

from __future__ import annotations

import argparse

EXAMPLE = """example:
  trace-util decode nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT
  trace-util decode triton_poi_fused__unsafe_view_gelu_mul_0 --json
  trace-util decode - < names.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "names", metavar="NAME", nargs="+", help="a kernel's name as in the trace; - reads lines"
    )
    parser.add_argument("--json", action="store_true", help="print the fields as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print what each name says; an unknown name is no failure."""
    import sys

    from trace_util.events import UsageError
    from trace_util.kernel_names import decode
    from trace_util.report.decode import decoded_json, decoded_text

    names: list[str] = []
    for name in arguments.names:
        names += sys.stdin.read().splitlines() if name == "-" else [name]
    decoded = [decode(name) for name in names if name.strip()]
    if not decoded:
        raise UsageError("decode: no kernel name given; put it in quotes if it holds < or >")
    print(decoded_json(decoded) if arguments.json else decoded_text(decoded), end="")
    return 0
