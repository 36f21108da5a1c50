"""
nn.Linear: one kernel, and a transpose that costs nothing
=========================================================

`nn.Linear` stores its weight as [out, in] and computes `x @ weight.T + bias`. Read literally that
is a transpose, a matmul and an add. The transpose only swaps two strides in the tensor's metadata,
and the bias is added inside the GEMM, in its epilogue, before the result leaves the chip. One
kernel is left, so torch.compile has nothing to fuse.

You will see
  - `aten::t` in front of `aten::addmm`, with no launch beneath it;
  - no `aten::add`, and one kernel a step;
  - the layout, and on recent GPUs the bias, spelled in the kernel's name;
  - the very same kernel after torch.compile, with more work on the CPU around it.

Run
  python 02_linear.py                                              # overhead-bound
  python 02_linear.py --compile                                    # the same kernel
  python 02_linear.py --batch 8192 --in_dim 4096 --out_dim 4096    # compute-bound
"""

# First, since torch takes seconds to load: with it, Ctrl-C is one line from here on.
from trace_util import record  # isort: split

import torch
from torch import nn
from torch.profiler import profile, record_function, schedule

parser = record.LessonParser(__doc__, trace_dir="./traces/02_linear")
add = parser.add_argument
add("--batch", type=record.size, default=1024, help="rows of the input (default: 1024)")
add("--in_dim", type=record.size, default=32, help="features in (default: 32)")
add("--out_dim", type=record.size, default=64, help="features out (default: 64)")
add("--dtype", choices=record.DTYPES, default="bf16", help="default: %(default)s")
add("--compile", action="store_true", help="compile the layer with torch.compile")
MODES = record.COMPILE_MODES
add("--compile_mode", choices=MODES, default="default", help="of --compile; default: %(default)s")
args = parser.parse_args()

# ---------------------------------------------------------------------------------------------
# The workload
# ---------------------------------------------------------------------------------------------
# Look at the weight's stride: [out, in] lies in memory row by row. Its transpose is the same memory
# with the two strides swapped, which a GEMM can read as it is.

variant = "compile" if args.compile else "eager"
run = record.begin(
    parser,
    args,
    annotation="linear_fwd",
    variant=variant,
    tag=f"{args.batch}_{args.in_dim}_{args.out_dim}_{variant}"
    + parser.unusual(args, "dtype", "compile_mode"),
    warm=True,
)
torch.set_grad_enabled(False)
linear = nn.Linear(args.in_dim, args.out_dim, bias=True, device=run.device, dtype=run.dtype)
x = torch.randn(args.batch, args.in_dim, device=run.device, dtype=run.dtype)  # [B, I]
forward = torch.compile(linear, mode=args.compile_mode) if args.compile else linear


def step():
    return forward(x)  # [B, O]


print(f"weight  shape {tuple(linear.weight.shape)}  stride {linear.weight.stride()}")
print(f"bias    shape {tuple(linear.bias.shape)}  stride {linear.bias.stride()}")

# ---------------------------------------------------------------------------------------------
# What to expect
# ---------------------------------------------------------------------------------------------
# Each of the B x O results takes I multiply-adds and one addition for the bias. If the add were a
# kernel of its own, the B x O result would be written, read and written again.

flops = 2 * args.batch * args.in_dim * args.out_dim + args.batch * args.out_dim
read = linear.weight.numel() + linear.bias.numel() + x.numel()
written = args.batch * args.out_dim
one = (read + written) * x.element_size()
three = (read + 3 * written) * x.element_size()
record.predict(
    arithmetic=f"{record.quantity(flops, 'FLOP')} a step",
    memory_traffic=f"{record.quantity(one, 'B')} a step with one kernel, "
    f"{record.quantity(three, 'B')} with a separate add",
    kernels="one for the transpose, one for the matmul, one for the add? guess, then look",
)

# ---------------------------------------------------------------------------------------------
# Warm up, then record
# ---------------------------------------------------------------------------------------------
# Three calls load the kernels and, with --compile, compile. The step is timed without the profiler,
# which slows the CPU. Then one step passes, one is recorded and discarded, and three are kept.

for _ in range(3):
    step()
unprofiled = record.step_time(step, run.device)

with profile(
    activities=run.activities,
    schedule=schedule(wait=args.wait, warmup=args.warmup_steps, active=args.active, repeat=1),
    record_shapes=args.record_shapes,
    profile_memory=args.profile_memory,
    with_stack=args.with_stack,
) as prof:
    for _ in range(args.steps):
        with record_function("linear_fwd"):
            step()
        prof.step()

# ---------------------------------------------------------------------------------------------
# Read it back
# ---------------------------------------------------------------------------------------------
# A fast answer must still be the right one: the first rows are worked out again in float64.

weight, bias = linear.weight.double(), linear.bias.double()
saved = record.save(
    run,
    prof,
    unprofiled=unprofiled,
    relative_error=record.relative_error(step(), x[:256].double() @ weight.T + bias),
)
record.finish(
    saved,
    take_away=(
        "An op is not a kernel: `aten::t`, `aten::view` and their kin only edit strides.",
        "A GEMM's epilogue adds a bias for free, so a compiler finds nothing left to fuse.",
        "Next: python 03_simple_mlp.py, where there is something to fuse.",
    ),
)
