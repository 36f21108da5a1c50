"""What a job loses time to, as findings: the slow rank, exposed communication, ranks that lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trace_util.findings.finding import Finding, Kind, Value, count, ns, share, text
from trace_util.job.facts import JobFacts
from trace_util.job.rank import RankFacts
from trace_util.job.spending import OUTSIDE
from trace_util.job.straggler import FELT, IDLE, Straggler

MOST_NAMED = 12  # ranks or steps that a sentence lists
# Reasoned: of two ranks one is always the later; by chance it is the same one in 2 of 3 steps.
CLEAR = 2 / 3
_SLOW = (
    "rank {rank} is the slow one in {slow} of {steps:step/steps} ({which}): it needs {excess} "
    "longer than the others, who wait for it; "
)
_LATE = (
    "the others wait {excess} for rank {rank} in {slow} of {steps:step/steps} ({which}), too few "
    "to call it slow: "
)
STRAGGLER_THRESHOLD = (
    f"more than {FELT:.0%} of the step beyond the median of the others, and 3 times their median "
    "absolute deviation: reasoned"
)


def job_findings(job: JobFacts) -> tuple[Finding, ...]:
    """The findings about a job, costs first."""
    found = [*_stragglers(job), *_exposed(job), *_unlike(job), *_absent(job)]
    order = list(Kind)
    return tuple(sorted(found, key=lambda finding: order.index(finding.kind)))


def _stragglers(job: JobFacts) -> Iterator[Finding]:
    """One finding for each rank that the others wait for in some step, the costliest first."""
    slow = [step.slow for step in job.steps if step.slow is not None]
    cost: Counter[int] = Counter()
    for one in slow:
        cost[one.rank] += round(one.excess_ns)
    for rank, excess in cost.most_common(MOST_NAMED):
        mine = [one for one in slow if one.rank == rank]
        worst = max(mine, key=lambda one: one.excess_ns)
        steps = len(job.steps)
        throughout = len(mine) > CLEAR * steps
        yield Finding(
            "slow-rank" if throughout else "late-in-steps",
            Kind.COST,
            (_SLOW if throughout else _LATE) + _why(worst, job.on_gpu),
            (
                count("rank", rank),
                count("slow", len(mine)),
                count("steps", steps),
                text("which", numbers([one.step for one in mine])),
                ns("excess", excess),
                *_cause_values(worst),
            ),
            f"{STRAGGLER_THRESHOLD}; the slow one: so in more than two thirds of the steps",
            _next_step(worst, job.on_gpu),
        )


def _why(slow: Straggler, on_gpu: bool) -> str:
    idle = "its GPU has no work for" if on_gpu else "it runs neither ops nor collectives for"
    what = idle if slow.kind == IDLE else "its own work takes"
    why = what + " {time} against {others} in step {worst}"
    cause = slow.cause
    if cause is None:
        return why
    if slow.kind == IDLE and cause.name == OUTSIDE:
        where = "; meanwhile its CPU is outside any op" if on_gpu else "; it is outside any op"
        return why + where + " for {cause_time} against {cause_others}"
    if cause.times != cause.others_times:
        return why + "; {cause} runs {times} times there, {others_times} times on the others"
    return why + "; {cause} takes {cause_time} against {cause_others}"


def _cause_values(slow: Straggler) -> list[Value]:
    values = [
        ns("time", slow.kind_ns),
        ns("others", slow.kind_others_ns),
        count("worst", slow.step),
    ]
    cause = slow.cause
    if cause is not None:
        values += [
            text("cause", cause.name),
            count("times", cause.times),
            text("others_times", f"{cause.others_times:g}"),
            ns("cause_time", cause.ns),
            ns("cause_others", cause.others_ns),
        ]
    return values


def _next_step(slow: Straggler, on_gpu: bool) -> str:
    cause = slow.cause
    if slow.kind == IDLE:
        if cause is not None and cause.name == OUTSIDE:
            return "see what Python does there: data loading, logging, a garbage collection"
        what = "what delays its launches" if on_gpu else "what it does meanwhile"
        return f"see {what}: merge the ranks and look at its CPU threads"
    if cause is not None and cause.times != cause.others_times:
        return "it has more to compute: balance what the ranks are given"
    own = "its clocks or its temperature" if on_gpu else "what else runs on its cores"
    return f"the same work takes it longer: its input's shapes, {own}"


def _exposed(job: JobFacts) -> Iterator[Finding]:
    exposed, comm, waiting = job.exposed_share, job.comm_share, job.waiting_share
    if exposed is None or comm is None or waiting is None or exposed < FELT:
        return
    mostly_waiting = waiting > exposed / 2
    yield Finding(
        "exposed-communication",
        Kind.COST,
        "{exposed} of the ranks' step time goes to collectives and nothing else runs meanwhile "
        "({comm} with those that other work hides); {waiting} is waiting for a later rank",
        (share("exposed", exposed), share("comm", comm), share("waiting", waiting)),
        f"from {FELT:.0%} of the step time on: reasoned",
        "even out the ranks first: most of it is waiting"
        if mostly_waiting
        else "overlap them with computation: larger buckets, asynchronous collectives",
    )


def _unlike(job: JobFacts) -> Iterator[Finding]:
    if job.unlike_kernels:
        yield Finding(
            "unlike-kernels",
            Kind.NOTE,
            "{ranks:rank launches/ranks launch} other kernels than most do: {which}",
            (count("ranks", len(job.unlike_kernels)), text("which", numbers(job.unlike_kernels))),
            "names or counts differ",
        )
    if job.incomplete_steps:
        yield Finding(
            "incomplete-steps",
            Kind.ARTEFACT,
            "{steps:step/steps} ({which}) not recorded whole by every rank: compared are those "
            "that did",
            (
                count("steps", len(job.incomplete_steps)),
                text("which", numbers(job.incomplete_steps)),
            ),
            "a step number that a sound rank lacks, or whose kernels it lost",
            "record the same steps on every rank",
        )


def _absent(job: JobFacts) -> Iterator[Finding]:
    if job.missing:
        yield Finding(
            "missing-ranks",
            Kind.ARTEFACT,
            "{ranks:rank is/ranks are} missing of {world}: {which}",
            (
                count("ranks", len(job.missing)),
                count("world", len(job.missing) + len({one.rank for one in job.ranks})),
                text("which", numbers(job.missing)),
            ),
            "a rank below the world size without a trace",
            "the slow one may be among them",
        )
    if job.broken:
        yield Finding(
            "broken-ranks",
            Kind.ARTEFACT,
            "{ranks:trace is/traces are} broken and left out of every figure: {which}",
            (
                count("ranks", len(job.broken)),
                text("which", "; ".join(map(broken_words, job.broken[:MOST_NAMED]))),
            ),
            "a trace that is refused, cut off or has no events to compare",
            "export them again",
        )


def broken_words(one: RankFacts) -> str:
    """A broken rank with its reason."""
    who = "a file" if one.rank is None else f"rank {one.rank}"
    return f"{who} ({one.path}): {one.broken or 'nothing that could be compared'}"


def numbers(values: list[int] | tuple[int, ...]) -> str:
    """Numbers in order, runs joined: ``0-3, 7``; at most so many of them."""
    ordered = sorted(set(values))
    runs: list[list[int]] = []
    for value in ordered:
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:MOST_NAMED]]
    return ", ".join(shown) + (", …" if len(runs) > MOST_NAMED else "")
