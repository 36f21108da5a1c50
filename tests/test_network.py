"""How much of the collectives no other work hides, device by device."""

from __future__ import annotations

import json

import pytest
from rank_traces import rank_document
from step_traces import full_steps

from trace_util.explain import explanation
from trace_util.merge import merge_traces
from trace_util.reader import read_trace

REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def exposed(trace):
    """Nanoseconds by name of what the finding tells; nothing without one."""
    findings = explanation(trace).findings
    told = [one for one in findings if one.id == "exposed-collectives"]
    return {value.name: value.amount for one in told for value in one.values}


def advice(path):
    """What to do next, of the same finding."""
    findings = explanation(read_trace(path)).findings
    return next(one.next_step for one in findings if one.id == "exposed-collectives")


def on_device(document, device):
    """The document of a rank that sees one GPU alone, by CUDA_VISIBLE_DEVICES."""
    for event in document["traceEvents"]:
        if "device" in event.get("args", {}):
            event["pid"] = event["args"]["device"] = device
    return document


@pytest.mark.parametrize("second", [0, 1])
def test_collectives_are_not_hidden_by_another_ranks_work(second, tmp_path):
    # Rank 1 computes for 400 µs more in every step, so that the last all-reduce of rank 0 begins
    # 400 µs before that of rank 1: it is exposed for 600 µs, and that of rank 1 for 200.
    slow = {(1, number): 400 for number in (2, 3, 4)}
    paths = []
    for rank, device in ((0, 0), (1, second)):
        document = on_device(rank_document(rank, 2, slow=slow), device)
        paths.append(tmp_path / f"rank{rank}.json")
        paths[-1].write_text(json.dumps(document))
    merge_traces([str(path) for path in paths], tmp_path / "job.json")
    told = exposed(read_trace(tmp_path / "job.json"))
    assert told["exposed"] == 3 * (600 + 200) * 1000
    assert advice(tmp_path / "job.json").endswith("its ranks' lanes show it")
    assert advice(paths[0]).endswith("merge the ranks' traces to see it")


@pytest.mark.parametrize(("alone_us", "is_told"), [(26, False), (28, True)])
def test_exposed_collectives_are_told_from_a_twentieth_on(alone_us, is_told, tmp_path):
    # Beside 513 µs of GEMMs: 26 of 539 µs are 4.8 %, 28 of 541 are 5.2 %.
    made = full_steps()
    made.work(REDUCE, 40, 600, alone_us, stream=20)
    told = exposed(made.read(tmp_path))
    assert bool(told) is is_told
    if is_told:
        assert told["part"] == pytest.approx(28 / 541)
