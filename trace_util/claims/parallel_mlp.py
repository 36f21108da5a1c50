"""The claims of ``05_parallel_mlp.py``: the MLP in tensor parallel, and its one all-reduce."""

from __future__ import annotations

from collections import Counter

from trace_util.claims.claim import Claim, every_step
from trace_util.claims.scene import Scene
from trace_util.claims.verdict import Ruling, contradicted, holds, unseen
from trace_util.events import Kind
from trace_util.evidence import Evidence
from trace_util.job.collectives import TOGETHER, collectives
from trace_util.job.stretches import Stretches, stretches
from trace_util.reading import Reading

# Reasoned: an all-reduce on a stream of its own begins and ends beside the edges of other work.
ALL = 0.95


def one_all_reduce(scene: Scene) -> Ruling:
    """5.1: one all-reduce a step, in chunks one for each, and no other communication."""
    own = scene.own
    by_step = _by_step(own)
    proof = own.proof("collectives of the first step", by_step[0])
    for step, rows in enumerate(by_step):
        name = own.facts.steps[step].name
        kinds = Counter(_operation(own.name(row)) for row in rows)
        if kinds != {"allreduce": _chunks(own)}:
            told = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
            return contradicted(f"collectives in {name}: {told}", proof)
    return holds(proof, every_step(own, len(by_step)))


def after_the_last_product(scene: Scene) -> Ruling:
    """5.2: the all-reduce comes after the last matrix product of its step, which it adds up."""
    own = scene.own
    for step, rows in enumerate(_by_step(own)):
        name = own.facts.steps[step].name
        products = _products(own, step)
        if not rows or not products:
            return contradicted(f"no {'collective' if products else 'matrix product'} in {name}")
        for row, product in zip(rows, _last_products(own, products), strict=False):
            if own.start_ns(row) < own.start_ns(product):
                proof = own.proof("collective and last product", [row, product])
                return contradicted(f"an all-reduce of {name} begins before its product", proof)
    first = _last_products(own, _products(own, 0))[0], _by_step(own)[0][0]
    return holds(own.proof("first step", first))


def all_of_it_exposed(scene: Scene) -> Ruling:
    """5.3: nothing hides the all-reduce: no other work of the rank runs meanwhile."""
    if _chunks(scene.own) > 1:
        return unseen("this run is in chunks; without --chunks it shows it")
    return _exposure(scene.own, hidden=False)


def some_of_it_hidden(scene: Scene) -> Ruling:
    """5.6: in chunks, the work on the next one hides a part of the all-reduces."""
    if _chunks(scene.own) == 1:
        return unseen("this run is not in chunks; --chunks 2 shows it")
    return _exposure(scene.own, hidden=True)


def _exposure(own: Reading, hidden: bool) -> Ruling:
    """Whether other work hides a part of the collectives, or none, as ``hidden`` says."""
    found = stretches(own.trace, own.links)
    if found is None or not found.comm_ns.sum():
        return unseen("the trace has no collectives")
    spent, exposed = int(found.comm_ns.sum()), int(found.exposed_ns.sum())
    seen = [
        Evidence("in collectives", spent, "ns"),
        Evidence("of that with no other work", exposed / spent, "share"),
        Evidence("of the steps' time", exposed / _total(found), "share"),
    ]
    if hidden == (exposed < ALL * spent):
        return holds(*seen)
    reason = "no other work runs meanwhile" if hidden else "other work runs during a part of it"
    return contradicted(reason, *seen)


def _total(found: Stretches) -> int:
    return int((found.end_ns - found.start_ns).sum())


def same_kernels(scene: Scene) -> Ruling:
    """5.4: every rank launches the same kernels."""
    own = scene.own
    if not scene.ranks:
        return unseen("the other ranks' traces are needed beside it; --against names them")
    mine = _kernels(own)
    seen = [Evidence("kernels of this rank", sum(mine.values()))]
    if not mine:
        return unseen("the steps have no kernel", *seen)
    for other in scene.ranks:
        if reason := other.no_gpu or other.unplaced:
            return unseen(f"{other.label}: {reason}")
        theirs = _kernels(other)
        seen.append(Evidence(f"of {_rank(other)}", sum(theirs.values())))
        if theirs != mine:
            unlike = ", ".join(sorted({*(mine - theirs), *(theirs - mine)}))
            return contradicted(f"{_rank(other)} differs in {unlike}", *seen)
    return holds(*seen, Evidence("names", len(mine)))


def a_part_of_the_arithmetic(scene: Scene) -> Ruling:
    """5.5: each rank does one part in N of every product."""
    own = scene.own
    ranks = own.trace.header.distributed.get("world_size")
    sizes = own.run.problem
    told = [ranks, *map(sizes.get, ("batch", "seq", "dim", "hidden"))]
    if not all(isinstance(number, int) and number > 0 for number in told):
        return unseen("the trace does not say how many ranks or which sizes there were")
    if not own.run.products:
        return unseen("no shapes were recorded")
    tokens = sizes["batch"] * sizes["seq"] // _chunks(own)
    part = sizes["hidden"] / ranks
    wanted = {(tokens, part, sizes["dim"]), (tokens, sizes["dim"], part)}
    spelled = ", ".join("x".join(map(str, product)) for product in sorted(own.run.products))
    seen = [
        Evidence("hidden width, of all ranks", sizes["hidden"]),
        Evidence("ranks", ranks),
        Evidence("products, M x N x K", spelled),
    ]
    if set(own.run.products) == wanted:
        return holds(*seen)
    return contradicted("the products have other shapes", *seen)


def _chunks(own: Reading) -> int:
    """The parts into which the run cuts its batch, each with an all-reduce of its own."""
    flags = own.trace.header.run.get("flags")
    told = flags.get("chunks") if isinstance(flags, dict) else None
    return told if isinstance(told, int) and told > 0 else 1


def _by_step(own: Reading) -> list[list[int]]:
    """The collectives of each step, in order of start."""
    rows = collectives(own.trace).tolist()
    return [[row for row in rows if int(own.links.step[row]) == step] for step in own.steps]


def _operation(name: str) -> str:
    found = TOGETHER.search(name)
    return found.group().replace("_", "").lower() if found else name


def _products(own: Reading, step: int) -> list[int]:
    """The matrix products of a step: GEMM kernels, without a GPU the ops."""
    if own.no_gpu is None:
        return [row for row in own.kernels(step) if own.computed(row).is_gemm]
    return own.ops(step, "aten::mm", "aten::addmm")


def _last_products(own: Reading, products: list[int]) -> list[int]:
    """The last product of each chunk of a step."""
    each = max(1, len(products) // _chunks(own))
    return products[each - 1 :: each]


def _kernels(own: Reading) -> Counter[str]:
    rows = [row for step in own.steps for row in own.in_step(step, Kind.KERNEL)]
    return Counter(own.name(row) for row in rows)


def _rank(own: Reading) -> str:
    return f"rank {own.trace.header.distributed.get('rank', '?')}"


CLAIMS = (
    Claim("5.1", "one all-reduce a step, in chunks one for each, and no other communication",
          one_all_reduce, needs_gpu=False, needs_ops=False, of_all_kernels=True),
    Claim("5.2", "the all-reduce comes after the last matrix product, whose parts it adds",
          after_the_last_product, needs_gpu=False, of_all_kernels=True),
    Claim("5.3", "nothing hides the all-reduce: no other work of the rank runs meanwhile",
          all_of_it_exposed, needs_gpu=False, needs_ops=False, of_all_kernels=True),
    Claim("5.4", "every rank launches the same kernels", same_kernels, needs_ops=False,
          of_all_kernels=True),
    Claim("5.5", "each rank does one part in N of every product",
          a_part_of_the_arithmetic, needs_gpu=False),
    Claim("5.6", "in chunks, the work on the next one hides a part of the all-reduces",
          some_of_it_hidden, needs_gpu=False, needs_ops=False),
)  # fmt: skip
