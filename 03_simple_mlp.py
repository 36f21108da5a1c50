"""
A GeGLU MLP: five kernels, and what a compiler can merge
========================================================

`down(gelu(gate(x)) * up(x))` is the feed-forward block of many language models. Three of its five
kernels are GEMMs. The other two, the GELU and the product, do almost no arithmetic: they move the
large intermediate through memory, and that is what they cost. torch.compile turns the two into one
kernel, so that the intermediate between them never reaches memory.

You will see
  - five kernels a step: three GEMMs, a GELU and a multiply;
  - each `aten::linear` walking through nine ops, of which only `aten::mm` launches anything;
  - gate and up sharing one kernel while down, with the same arithmetic, gets another tile;
  - after --compile four kernels, the GEMMs unchanged, and one `triton_poi_fused_..._gelu_mul`.

Run
  python 03_simple_mlp.py
  python 03_simple_mlp.py --compile
  python 03_simple_mlp.py --batch 1 --seq 1               # overhead-bound: little work
  python 03_simple_mlp.py --batch 1 --seq 1 --cuda_graph  # one launch for all kernels
"""

import sys
from functools import partial

# First, since torch takes seconds to load: with it, Ctrl-C is one line from here on.
from trace_util import record  # isort: split

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import profile, record_function, schedule

ACTIVATIONS = {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "silu": F.silu,
    "relu": F.relu,
}

parser = record.LessonParser(__doc__, trace_dir="./traces/03_simple_mlp")
add = parser.add_argument
add("--batch", type=record.size, default=64, help="sequences (default: 64)")
add("--seq", type=record.size, default=128, help="tokens in a sequence (default: 128)")
add("--dim", type=record.size, default=768, help="width of the model (default: 768)")
add("--hidden", type=record.size, default=3072, help="width inside the MLP (default: 3072)")
add("--activation", choices=ACTIVATIONS, default="gelu_tanh", help="default: %(default)s")
add("--dtype", choices=record.DTYPES, default="bf16", help="default: %(default)s")
add("--compile", action="store_true", help="compile the MLP with torch.compile")
MODES = record.COMPILE_MODES
add("--compile_mode", choices=MODES, default="default", help="of --compile; default: %(default)s")
add("--sweep", choices=("batch",), help="batch 1 to 128 in one run: when is the GPU the limit?")
add("--cuda_graph", action="store_true", help="capture a step once and replay it (GPU only)")
args = parser.parse_args()

# ---------------------------------------------------------------------------------------------
# The workload
# ---------------------------------------------------------------------------------------------
# No biases, as in most models of this kind: an epilogue has nothing to add here, and the GELU sits
# between two GEMMs where cuBLAS cannot take it in.

variant = "compile" if args.compile else "eager"
run = record.begin(
    parser,
    args,
    annotation="mlp_fwd",
    variant=variant,
    tag=f"{args.batch}_{args.seq}_{args.dim}_{args.hidden}_{variant}"
    + parser.unusual(args, "activation", "dtype", "compile_mode", "cuda_graph"),
    warm=True,
)
torch.set_grad_enabled(False)
activation = ACTIVATIONS[args.activation]


class MLP(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):  # [B, S, D]
        return self.down(activation(self.gate(x)) * self.up(x))  # [B, S, H] inside, [B, S, D] out


mlp = MLP(args.dim, args.hidden).to(device=run.device, dtype=run.dtype)
x = torch.randn(args.batch, args.seq, args.dim, device=run.device, dtype=run.dtype)
forward = torch.compile(mlp, mode=args.compile_mode) if args.compile else mlp


def step():
    return forward(x)


# ---------------------------------------------------------------------------------------------
# What to expect
# ---------------------------------------------------------------------------------------------
# T tokens: each GEMM is 2 x T x D x H. Eager's two pointwise kernels read and write the [T, H]
# intermediate five times (GELU: in, out; multiply: two in, one out); fused, three times are left.

tokens = args.batch * args.seq
intermediate = tokens * args.hidden * x.element_size()
gemm = 2 * tokens * args.dim * args.hidden
if args.sweep:
    record.predict(crossover="from which --batch on is the GPU the limit? guess, then look")
else:
    record.predict(
        arithmetic=f"{record.quantity(gemm, 'FLOP')} in each of three GEMMs",
        intermediate=f"[{tokens}, {args.hidden}] is {record.quantity(intermediate, 'B')}",
        pointwise_traffic=f"eager {record.quantity(5 * intermediate, 'B')}, "
        f"fused {record.quantity(3 * intermediate, 'B')}",
        kernels="how many a step, eager and compiled? guess, then look",
    )

# ---------------------------------------------------------------------------------------------
# Warm up, then record
# ---------------------------------------------------------------------------------------------
# A CUDA graph is captured after the warm-up: from then on a step is one launch of all its kernels.
# The profiler's own cost hides what a compiler wins, so the step is first timed without it.


def recording(step):
    with profile(
        activities=run.activities,
        schedule=schedule(wait=args.wait, warmup=args.warmup_steps, active=args.active, repeat=1),
        record_shapes=args.record_shapes,
        profile_memory=args.profile_memory,
        with_stack=args.with_stack,
    ) as prof:
        for _ in range(args.steps):
            with record_function("mlp_fwd"):
                step()
            prof.step()
    return prof


for _ in range(3):
    step()

if args.cuda_graph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = forward(x)  # where it lies now is where every replay writes

    def step():
        graph.replay()
        return y


if args.sweep:
    batches = (1, 2, 4, 8, 16, 32, 64, 128)
    inputs = (torch.randn(n, args.seq, args.dim, device=x.device, dtype=x.dtype) for n in batches)
    steps = ((len(x), 3 * gemm // args.batch * len(x), partial(forward, x)) for x in inputs)
    record.sweep(
        run, "batch", f"batch_{args.seq}_{args.dim}_{args.hidden}_{variant}", steps, recording
    )
    sys.exit()

unprofiled = record.step_time(step, run.device)
prof = recording(step)

# ---------------------------------------------------------------------------------------------
# Read it back
# ---------------------------------------------------------------------------------------------
# A fast answer must still be the right one: the first rows are worked out again in float64.

first = x.reshape(tokens, args.dim)[:256].double()  # [256, D]
gate, up, down = (layer.weight.double() for layer in (mlp.gate, mlp.up, mlp.down))
saved = record.save(
    run,
    prof,
    unprofiled=unprofiled,
    relative_error=record.relative_error(
        step(), (activation(first @ gate.T) * (first @ up.T)) @ down.T
    ),
)
record.finish(
    saved,
    take_away=(
        "A pointwise kernel costs its bytes. Fusing two of them saves the trip between them.",
        "A compiler fuses what lies around the GEMMs and leaves the GEMMs to cuBLAS.",
        "Next: python 03_kernels_mlp.py, the same fusion written by hand.",
    ),
)
