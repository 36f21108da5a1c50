"""The kernels of a step of the gated MLP, by what they compute."""

from __future__ import annotations

from typing import NamedTuple

from trace_util.reading import Reading
from trace_util.runs import Run

# The lesson's own sizes, on which its claims were first seen.
DEFAULTS = {"batch": 64, "seq": 128, "dim": 768, "hidden": 3072}
DEFAULT_PRODUCTS = {(8192, 3072, 768), (8192, 768, 3072)}


class GatedStep(NamedTuple):
    """How many kernels of each sort a step has."""

    gemms: int = 0  # plain products; with an activation in them they are fused
    activations: int = 0  # an activation alone
    products: int = 0  # a multiply alone
    fused: int = 0  # activation and multiply in one
    split_k: int = 0  # sums after a product that was split along K
    others: int = 0  # anything else, those sums included


def gated_step(own: Reading, step: int) -> GatedStep:
    """The kernels of a step, counted."""
    counts = dict.fromkeys(GatedStep._fields, 0)
    for row in own.kernels(step):
        kernel = own.computed(row)
        if kernel.activation and "mul" in kernel.ops:
            counts["fused"] += 1
        elif kernel.is_gemm:
            counts["gemms"] += 1
        elif kernel.activation:
            counts["activations"] += 1
        elif kernel.ops == ("mul",):
            counts["products"] += 1
        else:
            counts["split_k"] += kernel.is_split_k_sum
            counts["others"] += 1
    return GatedStep(**counts)


def described(found: GatedStep) -> str:
    """``3 GEMMs, 1 activation, 1 multiply``, leaving out what is not there."""
    nouns = ("GEMM", "activation", "multiplication", "fused kernel", "split-K sum", "other kernel")
    counts = found._replace(others=found.others - found.split_k)
    pairs = [(n, noun) for n, noun in zip(counts, nouns, strict=True) if n]
    return ", ".join(f"{n} {noun}{'s' if n > 1 else ''}" for n, noun in pairs) or "no kernel"


def gemm_names(own: Reading) -> list[tuple[str, ...]]:
    """For each step the names of its products in order; steps without any are left out."""
    found = []
    for step in own.steps:
        rows = [row for row in own.kernels(step) if own.computed(row).is_gemm]
        found.append(tuple(own.name(row) for row in rows))
    return [names for names in found if names]


def is_default_shape(run: Run) -> bool:
    """Whether a run has the lesson's own sizes."""
    told = {key: run.problem[key] for key in DEFAULTS if key in run.problem}
    return told == DEFAULTS if told else set(run.products) == DEFAULT_PRODUCTS
