"""The facts of a trace by name: those that a guess can name and an expectation can compare.

Names and units are those of ``trace-util summary --json``: inner fields are joined by a dot, and
what is a list there (steps, kernels, synchronisations) is their number here. The ``…_per_step``
facts have a value for each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from trace_util.events import Kind, UsageError
from trace_util.job.stretches import stretches
from trace_util.reading import Reading

Scalar = int | float | str | None
# A fact, or its values step by step. ``None``: the trace cannot say it.
Quantities = Mapping[str, "Scalar | tuple[Scalar, ...]"]

# The facts that are too low where launches lost their kernels, by how their names begin.
_OF_GPU_WORK = (
    "kernels", "gpu_busy", "graph_kernels", "copies", "memsets", "collectives", "communication",
    "exposed",
)  # fmt: skip
# The facts of a rank's collectives, step by step.
_OF_COLLECTIVES = ("collectives", "communication_us", "exposed_communication_us", "exposed_share")
# The facts of the work that each step launched.
_OF_LAUNCHED_WORK = (
    "kernels_per_step", "copies_per_step", "memsets_per_step", "gpu_busy_us_per_step",
)  # fmt: skip
TEXTS = ("gpu", "gpu_activity")  # the facts that are no numbers


def quantities(own: Reading) -> Quantities:
    """Every fact of a trace by its name."""
    return {**_whole(own), **_gpu(own), **_per_step(own), **_communication(own)}


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns / 1000


def _whole(own: Reading) -> dict[str, Scalar]:
    trace, facts = own.trace, own.facts
    told = facts.unprofiled_step
    error = trace.header.run.get("relative_error")
    return {
        "size_bytes": trace.size_bytes,
        "gpu": facts.gpu,
        "gpu_activity": facts.gpu_activity,
        "events_total": sum(trace.phases.values()),
        "complete_events": trace.phases.get("X", 0),
        "cpu_ops": None if own.left_out else int(trace.events.is_kind(Kind.CPU_OP).sum()),
        "steps": len(facts.steps),
        "window_us": _us(facts.window_ns),
        "median_step_us": _us(facts.median_step_ns),
        "launches": facts.launch_count,
        "lost_launches": None if facts.gpu_activity == "missing" else facts.lost_launches,
        "graph_launches": facts.graph_launches,
        "unlinked_gpu_events": facts.unlinked_gpu_events,
        "synchronisations": sum(one.count for one in facts.syncs),
        "unprofiled_step.median_us": _us(told.median_ns) if told else None,
        "unprofiled_step.min_us": _us(told.min_ns) if told else None,
        "unprofiled_step.max_us": _us(told.max_ns) if told else None,
        "unprofiled_step.count": told.count if told else None,
        "relative_error": error if isinstance(error, (int, float)) else None,
    }


def _gpu(own: Reading) -> dict[str, Scalar]:
    """What needs recorded GPU work: without it nothing is known, and that is not 0."""
    facts, known = own.facts, own.no_gpu is None
    delay = facts.queue_delay
    found: dict[str, Scalar] = {
        "gpu_busy_us": _us(facts.gpu_busy_ns),
        "gpu_busy_in_window_us": _us(facts.window_busy_ns),
        "gpu_busy_share": facts.busy_share,
        "kernels": facts.kernel_count,
        "kernels.count": facts.kernel_count,
        "kernels.distinct_names": len(facts.kernels),
        "kernels.total_us": _us(facts.kernel_total_ns),
        "graph_kernels": facts.graph_kernels,
        "copies": sum(one.count for one in facts.copies),
        "memsets": sum(one.count for one in facts.memsets),
        "queue_delay.median_us": _us(delay.median_ns) if delay else None,
        "queue_delay.max_us": _us(delay.max_ns) if delay else None,
        "hidden_in_perfetto": facts.hidden_in_perfetto,
    }
    return found if known else dict.fromkeys(found)


def _per_step(own: Reading) -> dict[str, tuple[Scalar, ...]]:
    steps, known = own.facts.steps, own.no_gpu is None
    found: dict[str, tuple[Scalar, ...]] = {
        "kernels_per_step": tuple(step.kernels for step in steps),
        "copies_per_step": tuple(step.copies for step in steps),
        "memsets_per_step": tuple(step.memsets for step in steps),
        "gpu_busy_us_per_step": tuple(_us(step.gpu_busy_ns) for step in steps),
    }
    if not known:
        found = {name: (None,) * len(steps) for name in found}
    return found | {
        "launches_per_step": tuple(step.launches for step in steps),
        "duration_us_per_step": tuple(_us(step.duration_ns) for step in steps),
        "cpu_us_per_step": tuple(None if own.left_out else _us(step.cpu_ns) for step in steps),
    }


def _communication(own: Reading) -> dict[str, tuple[Scalar, ...]]:
    """What a rank of a job spends in collectives, as summaries of jobs tell it."""
    found = stretches(own.trace, own.links) if own.facts.steps else None
    names = [f"{name}_per_step" for name in _OF_COLLECTIVES]
    if found is None:
        return dict.fromkeys(names, ())
    if own.is_merged:  # stretches are those of one rank
        return dict.fromkeys(names, (None,) * len(own.facts.steps))
    length = (found.end_ns - found.start_ns).tolist()
    exposed = found.exposed_ns.tolist()
    shares = [one / all if all else None for one, all in zip(exposed, length, strict=True)]
    columns = (
        found.collectives.tolist(),
        [_us(one) for one in found.comm_ns.tolist()],
        [_us(one) for one in exposed],
        shares,
    )
    return {name: tuple(column) for name, column in zip(names, columns, strict=True)}


def of_collectives(name: str) -> bool:
    """Whether a fact is about a rank's collectives, which a merged job does not tell."""
    return name.startswith(_OF_COLLECTIVES)


def needs_kernels(name: str) -> bool:
    """Whether a fact counts or measures GPU work."""
    return name.startswith(_OF_GPU_WORK)


def needs_launches(name: str) -> bool:
    """Whether a fact is of the GPU work that each step launched."""
    return name in _OF_LAUNCHED_WORK


def one_value(value: Scalar | tuple[Scalar, ...]) -> Scalar | tuple[Scalar, ...]:
    """The value of a fact: one where all steps agree, else the values step by step."""
    if isinstance(value, tuple):
        return value[0] if len(set(value)) == 1 else value or None
    return value


def known_name(name: str, facts: Quantities) -> str:
    """The name, if there is such a fact.

    Raises:
        UsageError: there is none; says which names are close.
    """
    if name in facts:
        return name
    close = get_close_matches(name, facts, n=3, cutoff=0.5)
    some = "such as kernels_per_step; trace-util check TRACE --json lists all of them"
    hint = f"did you mean {' or '.join(close)}?" if close else some
    raise UsageError(f"{name}: no such fact; {hint}")
