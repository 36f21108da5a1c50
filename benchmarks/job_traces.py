"""Makes the traces of the ranks of a job from a recorded MLP.

A step is many layers of the MLP and an all-reduce that ends on all ranks together; one rank has
more to compute in every step.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from large_trace import write_large_trace

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "traces/recorded/nvidia-h200/03_simple_mlp/64_128_768_3072_eager.json.gz"

LAYERS = 100  # of a step: some 6,000 events
SLOW_RANK = 1
EXTRA, REDUCE_PART = 0.1, 0.15  # of the layers' time: what the slow rank does more, an all-reduce
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def write_ranks(folder: Path, ranks: int, megabytes: float) -> list[Path]:
    """The traces of a job, so many MB each."""
    folder.mkdir()
    paths = []
    for rank in range(ranks):
        source = folder / "one-step.json"
        source.write_text(one_step(rank, ranks))
        paths.append(folder / f"rank{rank}.json")
        write_large_trace(source, paths[-1], megabytes)
        source.unlink()
    return paths


def one_step(rank: int, ranks: int) -> str:
    """The trace of one step of a rank, laid out as Kineto does."""
    document = json.loads(gzip.decompress(RECORDED.read_bytes()))
    events = document["traceEvents"]
    step = next(e for e in events if e["name"] == "ProfilerStep#3")
    begin, end = step["ts"], step["ts"] + step["dur"]
    host = [
        e for e in events if e["ph"] == "X" and begin < e["ts"] < end and e["pid"] == step["pid"]
    ]
    ids = {e["args"]["correlation"] for e in host if "correlation" in e.get("args", {})}
    gpu = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    gpu = [e for e in gpu if e["args"]["correlation"] in ids]
    arrows = [e for e in events if e.get("cat") == "ac2g" and e["id"] in ids]
    layer = [*host, *gpu, *arrows]
    last = max(e["ts"] + e.get("dur", 0) for e in layer)
    period = last - begin + 5
    texts = []
    for copy in range(LAYERS):
        texts += [_text(_moved(e, copy * period, copy * 1000)) for e in layer]
    done = begin + LAYERS * period
    own = EXTRA * LAYERS * period if rank == SLOW_RANK else 0
    reduce = REDUCE_PART * LAYERS * period  # and ends on all ranks together
    like = max(gpu, key=lambda e: e["dur"])
    call = next(e for e in host if e["args"].get("correlation") == like["args"]["correlation"])
    if own:
        texts += _launched(call, like, done, own, "planted_kernel", 900_001)
    texts += _launched(call, like, done + own, reduce - own, REDUCE, 900_002, stream=20)
    sync = {**call, "name": "cudaDeviceSynchronize", "ts": done + reduce + 10, "dur": 5}
    texts.append(_text({**sync, "args": {"External id": 900_003, "correlation": 900_003}}))
    texts.insert(0, _text({**step, "dur": done + reduce + 20 - begin}))
    names = [e for e in events if e["ph"] == "M"]
    names.sort(key=lambda e: e["name"] != "process_name")  # as write_large_trace looks for them
    header = {
        "schemaVersion": 1,
        "deviceProperties": document["deviceProperties"],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
        "baseTimeNanoseconds": document["baseTimeNanoseconds"],
    }
    inner = ",".join(texts + [_text(e) for e in names])
    return json.dumps(header)[:-1] + f', "traceEvents": [{inner}\n  ], "traceName": "rank{rank}"}}'


def _launched(
    call: dict[str, Any],
    like: dict[str, Any],
    at: float,
    us: float,
    name: str,
    id: int,
    **more: int,
) -> list[str]:
    args = {**like["args"], **more, "correlation": id, "External id": id}
    kernel = {**like, "name": name, "ts": at, "dur": us, "tid": args["stream"], "args": args}
    launch = {**call, "ts": at - 20, "dur": 4, "args": {"External id": id, "correlation": id}}
    return [_text(launch), _text(kernel)]


def _moved(event: dict[str, Any], us: float, ids: int) -> dict[str, Any]:
    moved = {**event, "ts": event["ts"] + us}
    if "id" in moved:
        moved["id"] += ids
    if "args" in moved:
        links = ("External id", "correlation")
        told = {k: v + ids if k in links and v else v for k, v in moved["args"].items()}
        moved["args"] = told
    return moved


def _text(event: dict[str, Any]) -> str:
    event = {k: f"{v:.3f}" if k in ("ts", "dur") else v for k, v in event.items()}
    if event["ph"] == "M":  # the name first, as Kineto writes these
        event = {"name": event["name"], **event}
    keys = [
        f"{json.dumps(k)}: {v if k in ('ts', 'dur') else json.dumps(v)}" for k, v in event.items()
    ]
    return "\n  {\n    " + ", ".join(keys) + "\n  }"
