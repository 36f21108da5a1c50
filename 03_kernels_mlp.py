"""
The same MLP with a kernel written by hand
==========================================

A compiler found the fusion in the last lesson: GELU and multiply in one kernel. Here that kernel is
written by hand, some ten lines of Triton in `fused_mlp/geglu.py` that are worth reading beside
this page. It buys the compiler's fusion without the compiler: no Dynamo, no guards, and no
recompilation for a new shape. `--kernel fused` goes a step further than the compiler does and puts
the activation into the epilogue of the gate and up GEMM: neither projection reaches memory.

You will see
  - four kernels a step: three GEMMs, the same as in eager mode, and one fused kernel;
  - no Dynamo, guard or prologue rows on the CPU;
  - with --kernel fused two kernels: gate, up and activation in one, down in the other;
  - the same result as eager, within the rounding of the dtype.

Run
  python 03_kernels_mlp.py                    # our GeGLU in Triton
  python 03_kernels_mlp.py --kernel fused     # gate, up and GeGLU in one kernel
  python 03_kernels_mlp.py --kernel liger     # the GeGLU of the PyPI package liger-kernel
  python 03_kernels_mlp.py --kernel hub       # the one of kernels-community on the Hugging Face Hub
"""

import sys
from functools import partial

# First, since torch takes seconds to load: with it, Ctrl-C is one line from here on.
from trace_util import record  # isort: split

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import profile, record_function, schedule

REFERENCES = {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "silu": F.silu,
    "relu": F.relu,
}

parser = record.LessonParser(__doc__, trace_dir="./traces/03_kernels_mlp")
add = parser.add_argument
add("--batch", type=record.size, default=64, help="sequences (default: 64)")
add("--seq", type=record.size, default=128, help="tokens in a sequence (default: 128)")
add("--dim", type=record.size, default=768, help="width of the model (default: 768)")
add("--hidden", type=record.size, default=3072, help="width inside the MLP (default: 3072)")
add("--activation", choices=REFERENCES, default="gelu_tanh", help="default: %(default)s")
add("--dtype", choices=record.DTYPES, default="bf16", help="default: %(default)s")
KERNELS = ("triton", "fused", "liger", "hub")
add("--kernel", choices=KERNELS, default="triton", help="whose kernel (default: triton)")
add("--sweep", choices=("batch",), help="batch 1 to 128 in one run: when is the GPU the limit?")
add("--cuda_graph", action="store_true", help="capture a step once and replay it (GPU only)")
args = parser.parse_args()
args = record.interpretable(parser, args)  # without a GPU: TRITON_INTERPRET=1, and small sizes

# ---------------------------------------------------------------------------------------------
# The workload
# ---------------------------------------------------------------------------------------------
# The four kernels are interchangeable: each computes activation(gate) * up from two [B, S, H]
# tensors, but for `fused`, which takes the MLP's weights and does the GEMMs as well.

run = record.begin(
    parser,
    args,
    annotation="kernels_mlp_fwd",
    variant=args.kernel,
    tag=f"{args.batch}_{args.seq}_{args.dim}_{args.hidden}_{args.kernel}"
    + parser.unusual(args, "activation", "dtype", "cuda_graph"),
    warm=True,
)
torch.set_grad_enabled(False)


def gated_activation():
    """The function of two tensors that the chosen kernel stands for."""
    if args.kernel == "triton":
        from fused_mlp import geglu

        return lambda gate, up: geglu(gate, up, args.activation)
    if args.kernel == "liger":
        from liger_kernel.ops.geglu import LigerGELUMulFunction
        from liger_kernel.ops.swiglu import LigerSiLUMulFunction
    else:
        from kernels import get_kernel

        layers = get_kernel("kernels-community/liger-kernels", version=2).layers
        LigerGELUMulFunction = layers.LigerGELUMulFunction
        LigerSiLUMulFunction = layers.LigerSiLUMulFunction
    return {"gelu_tanh": LigerGELUMulFunction, "silu": LigerSiLUMulFunction}[args.activation].apply


class MLP(nn.Module):
    def __init__(self, dim, hidden, gated):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)
        self.gated = gated

    def forward(self, x):  # [B, S, D]
        return self.down(self.gated(self.gate(x), self.up(x)))  # [B, S, H] inside, [B, S, D] out


with record.needs_kernel(run):
    mlp = MLP(args.dim, args.hidden, None if args.kernel == "fused" else gated_activation())
    mlp = mlp.to(device=run.device, dtype=run.dtype)
    if args.kernel == "fused":
        from fused_mlp import FusedMLP

        forward = FusedMLP.from_mlp(mlp, activation=args.activation)
    else:
        forward = mlp
x = torch.randn(args.batch, args.seq, args.dim, device=run.device, dtype=run.dtype)


def step():
    return forward(x)


# ---------------------------------------------------------------------------------------------
# What to expect
# ---------------------------------------------------------------------------------------------
# A fused pointwise kernel reads two [T, H] tensors and writes one: that is all its traffic.
# With the activation in the GEMM's epilogue, two of those three trips go away too.

tokens = args.batch * args.seq
intermediate = tokens * args.hidden * x.element_size()
gemm = 2 * tokens * args.dim * args.hidden
if args.sweep:
    record.predict(crossover="from which --batch on is the GPU the limit? guess, then look")
else:
    record.predict(
        arithmetic=f"{record.quantity(gemm, 'FLOP')} in each of three GEMMs",
        intermediate=f"[{tokens}, {args.hidden}] is {record.quantity(intermediate, 'B')}",
        activation_traffic=f"eager {record.quantity(5 * intermediate, 'B')}, "
        f"fused pointwise {record.quantity(3 * intermediate, 'B')}, "
        f"in the epilogue {record.quantity(intermediate, 'B')}",
        kernels="how many a step, and which names stay? guess, then look",
    )

# ---------------------------------------------------------------------------------------------
# Warm up, then record
# ---------------------------------------------------------------------------------------------
# The first call compiles the Triton kernel, once for any shape.


def recording(step):
    with profile(
        activities=run.activities,
        schedule=schedule(wait=args.wait, warmup=args.warmup_steps, active=args.active, repeat=1),
        record_shapes=args.record_shapes,
        profile_memory=args.profile_memory,
        with_stack=args.with_stack,
    ) as prof:
        for _ in range(args.steps):
            with record_function("kernels_mlp_fwd"):
                step()
            prof.step()
    return prof


with record.needs_kernel(run):
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
        run, "batch", f"batch_{args.seq}_{args.dim}_{args.hidden}_{args.kernel}", steps, recording
    )
    sys.exit()

unprofiled = record.step_time(step, run.device)
prof = recording(step)

# ---------------------------------------------------------------------------------------------
# Read it back
# ---------------------------------------------------------------------------------------------
# A kernel that is fast and wrong is worth nothing: the first rows are compared with float64.

first = x.reshape(tokens, args.dim)[:256].double()  # [256, D]
gate, up, down = (layer.weight.double() for layer in (mlp.gate, mlp.up, mlp.down))
reference = (REFERENCES[args.activation](first @ gate.T) * (first @ up.T)) @ down.T
saved = record.save(
    run,
    prof,
    unprofiled=unprofiled,
    relative_error=record.relative_error(step(), reference),
)
record.finish(
    saved,
    take_away=(
        "A hand-written kernel is a fusion without a compiler around it.",
        "An epilogue is the best place for a pointwise op: the data is still on the chip.",
        "Next: trace-util compare, with this trace beside those of 03_simple_mlp.py.",
    ),
)
