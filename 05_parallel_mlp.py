"""
The MLP on several GPUs: tensor parallelism and its one all-reduce
==================================================================

The MLP of the third lesson, cut over the GPUs of one machine. Gate and up are split by columns of
the output: each rank computes its own slice of the hidden activations and needs nobody else's. Down
is split by rows of its input, so each rank ends with a partial sum of the whole output, and one
all-reduce adds them up. Every rank launches the same kernels on a part of the work.

You will see
  - one all-reduce a step, and no other communication;
  - the same kernels on every rank, each with 1/N of the arithmetic;
  - an all-reduce that nothing hides: no rank has work left while it runs;
  - how much of a step that costs, which is what the ranks must win back;
  - with --chunks, how work on one part of the batch hides the all-reduce of another.

Run
  torchrun --nproc_per_node 2 05_parallel_mlp.py
  torchrun --nproc_per_node 2 05_parallel_mlp.py --batch 1 --seq 1     # all latency
  torchrun --nproc_per_node 2 05_parallel_mlp.py --batch 2048           # enough work to share
  torchrun --nproc_per_node 2 05_parallel_mlp.py --batch 2048 --chunks 2
  torchrun --nproc_per_node 2 05_parallel_mlp.py --device cpu --dim 64 --hidden 256
"""

from pathlib import Path

# First, since torch takes seconds to load: with it, Ctrl-C is one line from here on.
from trace_util import record  # isort: split

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.profiler import profile, record_function, schedule

parser = record.LessonParser(__doc__, trace_dir="./traces/05_parallel_mlp")
add = parser.add_argument
add("--batch", type=record.size, default=64, help="sequences (default: 64)")
add("--seq", type=record.size, default=128, help="tokens in a sequence (default: 128)")
add("--dim", type=record.size, default=768, help="width of the model (default: 768)")
add("--hidden", type=record.size, default=3072, help="width of all ranks together (default: 3072)")
add("--chunks", type=record.size, default=1, help="parts of the batch (default: 1)")
add("--dtype", choices=record.DTYPES, default="bf16", help="default: %(default)s")
args = parser.parse_args()

# ---------------------------------------------------------------------------------------------
# The workload
# ---------------------------------------------------------------------------------------------
# torchrun starts this page once for each rank and tells each its rank and how many there are. All
# ranks draw the same weights from the same seed and keep their own slice. What is wrong with a flag
# the first rank alone tells, in one line above the report that torchrun itself prints.

rank, ranks = record.ranks(parser)
if args.hidden % ranks:
    parser.error(f"argument --hidden: {args.hidden} cannot be split over {ranks} ranks")
if args.batch % args.chunks:
    parser.error(f"argument --chunks: {args.batch} sequences cannot be split in {args.chunks}")
variant = f"tp{ranks}" + (f"_chunks{args.chunks}" if args.chunks > 1 else "")
run = record.begin(
    parser,
    args,
    annotation="parallel_mlp_fwd",
    variant=variant,
    tag=f"{args.batch}_{args.seq}_{args.dim}_{args.hidden}_{variant}"
    + parser.unusual(args, "dtype"),
    warm=True,
)
on_gpu = run.device.type == "cuda"
dist.init_process_group("nccl" if on_gpu else "gloo", device_id=run.device if on_gpu else None)
torch.set_grad_enabled(False)


def weight(rows, columns):
    return torch.randn(rows, columns, device=run.device, dtype=run.dtype) * columns**-0.5


gate, up = weight(args.hidden, args.dim), weight(args.hidden, args.dim)  # [H, D]
down = weight(args.dim, args.hidden)  # [D, H]
x = torch.randn(args.batch, args.seq, args.dim, device=run.device, dtype=run.dtype)  # [B, S, D]
my_gate, my_up = (w.chunk(ranks)[rank] for w in (gate, up))  # [H / N, D]
my_down = down.chunk(ranks, dim=1)[rank].contiguous()  # [D, H / N]
chunks = x.chunk(args.chunks)  # views, [B / C, S, D]


def step():
    """In chunks, an all-reduce need not be waited for before the work on the next one."""
    parts, pending = [], []
    for some in chunks:
        hidden = F.gelu(F.linear(some, my_gate), approximate="tanh") * F.linear(some, my_up)
        parts.append(F.linear(hidden, my_down))  # [B / C, S, D], one part of the sum
        pending.append(dist.all_reduce(parts[-1], async_op=args.chunks > 1))
    for work in filter(None, pending):
        work.wait()
    return parts


# ---------------------------------------------------------------------------------------------
# What to expect
# ---------------------------------------------------------------------------------------------
# A ring sends 2 (N - 1) / N of the tensor from each rank. On the GPUs of one host that runs over
# NVLink; compare it with the time that the GEMMs won by being smaller.

tokens = args.batch * args.seq
partial = tokens * args.dim * x.element_size()
gemm = 2 * tokens * args.dim * args.hidden // ranks
sent = record.quantity(2 * (ranks - 1) / ranks * partial, "B")
record.predict(
    arithmetic=f"{record.quantity(gemm, 'FLOP')} in each of three GEMMs"
    + (f", on each of {ranks} ranks" if ranks > 1 else ""),
    all_reduce=f"[{tokens}, {args.dim}] is {record.quantity(partial, 'B')}; each rank sends {sent}",
    communication="how many calls a step, and what share of a step? guess, then look",
)

# ---------------------------------------------------------------------------------------------
# Warm up, then record
# ---------------------------------------------------------------------------------------------
# The first all-reduce connects the ranks, which takes far longer than any other. Every rank must
# run the same number of steps, or one of them would wait for ever. The profiler takes its time to
# start, on one rank more than on another: they meet before the first recorded step, or the early
# rank would record how it waits for the late one.

for _ in range(3):
    step()
unprofiled = record.step_time(step, run.device, count=50)
dist.barrier()

with profile(
    activities=run.activities,
    schedule=schedule(wait=args.wait, warmup=args.warmup_steps, active=args.active, repeat=1),
    record_shapes=args.record_shapes,
    profile_memory=args.profile_memory,
    with_stack=args.with_stack,
) as prof:
    for number in range(1, args.steps + 1):
        with record_function("parallel_mlp_fwd"):
            step()
        if number == args.wait + args.warmup_steps:
            dist.barrier()
        prof.step()

# ---------------------------------------------------------------------------------------------
# Read it back
# ---------------------------------------------------------------------------------------------
# The sum over the ranks must be what one rank alone would have got, worked out in float64.

first = chunks[0].reshape(-1, args.dim)[:256].double()  # [256, D]
gate, up, down = (w.double() for w in (gate, up, down))
reference = (F.gelu(first @ gate.T, approximate="tanh") * (first @ up.T)) @ down.T
error = record.relative_error(step()[0], reference)
saved = record.save(run, prof, unprofiled=unprofiled, relative_error=error)
dist.barrier()  # every rank's trace is there
dist.destroy_process_group()
record.finish(
    saved,
    take_away=(
        "Split gate and up by columns and down by rows, and one all-reduce a step is enough.",
        "That all-reduce stands between two steps: nothing runs beside it, all of it is exposed."
        if args.chunks == 1
        else "Work on the next chunk hides an all-reduce, and every chunk costs launches.",
        f"All ranks at once: trace-util summary {record.shell_path(Path(args.trace_dir))}",
    ),
)
