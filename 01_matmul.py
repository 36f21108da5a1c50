"""
A matmul and an add: who is busy, the CPU or the GPU?
=====================================================

`torch.add(torch.matmul(x, w), b)` is two lines of arithmetic. Before the GPU can do any of it the
CPU must find the kernels, set their arguments and launch them. When the matrices are small that is
nearly all of the time: the run is overhead-bound. When they are large the GPU cannot keep up with
what the CPU queues, and the run is compute-bound.

You will see
  - two kernels a step, a GEMM and an elementwise add, each launched by the CPU some time earlier;
  - a GPU that is busy for a few percent of the window at size 64, and for most of it at 4096;
  - a first recorded step that is slower than the next ones, in a cold run and in a warm one;
  - torch.compile merging the two ops into one `aten::addmm`, at a price on the CPU.

Run
  python 01_matmul.py                         # overhead-bound, cold
  python 01_matmul.py --warmup                # the same without the cold start
  python 01_matmul.py --size 4096 --warmup    # compute-bound
  python 01_matmul.py --size 4096 --warmup --compile
  python 01_matmul.py --sweep                 # from one regime to the other
"""

import sys
from functools import partial

# First, since torch takes seconds to load: with it, Ctrl-C is one line from here on.
from trace_util import record  # isort: split

import torch
from torch.profiler import profile, record_function, schedule

parser = record.LessonParser(__doc__, trace_dir="./traces/01_matmul")
add = parser.add_argument
add("--size", type=record.size, default=64, help="of the square matrices (default: 64)")
add("--dtype", choices=record.DTYPES, default="bf16", help="default: %(default)s")
add("--warmup", action="store_true", help="run three times before recording")
add("--compile", action="store_true", help="compile the function with torch.compile")
MODES = record.COMPILE_MODES
add("--compile_mode", choices=MODES, default="default", help="of --compile; default: %(default)s")
add("--sweep", action="store_true", help="sizes 64 to 8192 in one run: when is the GPU the limit?")
args = parser.parse_args()

# ---------------------------------------------------------------------------------------------
# The workload
# ---------------------------------------------------------------------------------------------
# Square matrices keep the arithmetic easy to predict. Gradients are off: the lessons look at a
# forward pass, and autograd would add bookkeeping to the CPU's side of it.

variant = "compile" if args.compile else "eager"
run = record.begin(
    parser,
    args,
    annotation="matmul_add",
    variant=variant,
    tag=f"{args.size}_{args.dtype}_{'warm' if args.warmup else 'cold'}_{variant}"
    + parser.unusual(args, "compile_mode"),
    warm=args.warmup,
)
torch.set_grad_enabled(False)


def operands(size):
    shape = (3, size, size)
    return torch.randn(shape, device=run.device, dtype=run.dtype).unbind()  # [S, S] each


def matmul_add(x, w, b):
    return torch.add(torch.matmul(x, w), b)  # [S, S]


forward = torch.compile(matmul_add, mode=args.compile_mode) if args.compile else matmul_add
x, w, b = operands(args.size)


def step():
    return forward(x, w, b)


# ---------------------------------------------------------------------------------------------
# What to expect
# ---------------------------------------------------------------------------------------------
# A matmul multiplies and adds S times for each of its S x S results. Eager reads x and w, writes
# the product, reads it again with b and writes the sum: six matrices through memory. Divide both
# by your GPU's rates and compare with the CPU's time for each launch: which one wins? (On an H200's
# host it is 20.8 us: `trace-util explain` of --size 64 --warmup, torch 2.11.)

flops = 2 * args.size**3 + args.size**2
matrix_bytes = args.size**2 * x.element_size()
if args.sweep:
    record.predict(crossover="from which --size on is the GPU the limit? guess, then look")
else:
    record.predict(
        arithmetic=f"{record.quantity(flops, 'FLOP')} a step",
        memory_traffic=f"{record.quantity(6 * matrix_bytes, 'B')} a step in eager mode",
        kernels="how many a step? guess, then look",
        busy="for what share of the window will the GPU be busy?",
    )

# ---------------------------------------------------------------------------------------------
# Warm up, then record
# ---------------------------------------------------------------------------------------------
# The first calls load kernels, create the cuBLAS handle and, with --compile, compile. Without
# --warmup some of that is still to come when recording begins. The schedule skips one step, runs
# the profiler for one step whose events it discards, and keeps three.


def recording(step):
    with profile(
        activities=run.activities,
        schedule=schedule(wait=args.wait, warmup=args.warmup_steps, active=args.active, repeat=1),
        record_shapes=args.record_shapes,
        profile_memory=args.profile_memory,
        with_stack=args.with_stack,
    ) as prof:
        for _ in range(args.steps):
            with record_function("matmul_add"):
                step()
            prof.step()
    return prof


if args.sweep:
    sizes = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
    steps = ((n, 2 * n**3 + n**2, partial(forward, *operands(n))) for n in sizes)
    record.sweep(run, "size", f"size_{args.dtype}_{variant}", steps, recording)
    sys.exit()

unprofiled = None
if args.warmup:
    for _ in range(3):
        step()
    unprofiled = record.step_time(step, run.device)
prof = recording(step)

# ---------------------------------------------------------------------------------------------
# Read it back
# ---------------------------------------------------------------------------------------------
# The profiler itself slows the CPU, so the step is also timed without it: before, or after a cold
# run, which must not be warmed up. The first rows are worked out again in float64, since a fast
# answer must still be the right one.

rows = x[:256].double()
saved = record.save(
    run,
    prof,
    unprofiled=unprofiled or record.step_time(step, run.device, after_profiler=True),
    relative_error=record.relative_error(step(), rows @ w.double() + b[:256].double()),
)
record.finish(
    saved,
    take_away=(
        "A launch is not an execution: follow the arrow from the CPU's call to the kernel.",
        "Small work is overhead-bound. Make it larger, or launch less of it.",
        "Next: python 02_linear.py, where the add disappears without a compiler.",
    ),
)
