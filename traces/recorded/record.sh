#!/usr/bin/env bash
# Runs every lesson whose trace the project ships, on the GPU of this machine, and gzips what they
# wrote. Usage, from the top of the project:   traces/recorded/record.sh nvidia-h200
# and on a machine with several GPUs, for the parallel lesson:
#                                              traces/recorded/record.sh nvidia-h200-x2 2
set -eu
folder=${1:?usage: traces/recorded/record.sh FOLDER [GPUS], the folder named after the GPU}
gpus=${2:-1}
target=traces/recorded/$folder
python=${PYTHON:-python3}

lesson() { # script and its flags
  local name=$1
  shift
  echo "== $name.py $*"
  "$python" "$name.py" --device cuda --trace_dir "$target/$name" "$@"
  # -n leaves the time and the name out, so that the same trace gives the same bytes.
  find "$target" -name '*.json' ! -name 'sweep_*' -exec gzip -9nf {} +
}

if [ "$gpus" -gt 1 ]; then
  for flags in "" "--batch 1 --seq 1" "--batch 2048" "--batch 2048 --chunks "{2,4,8}; do
    echo "== 05_parallel_mlp.py $flags, on $gpus GPUs"
    # shellcheck disable=SC2086 - the flags are words
    "$python" -m torch.distributed.run --standalone --nproc_per_node "$gpus" 05_parallel_mlp.py \
      --device cuda --trace_dir "$target/05_parallel_mlp" $flags
  done
  lesson 03_simple_mlp --batch 2048 # the same work on one GPU, to compare with
  exit
fi

lesson 01_matmul --size 4096 --warmup
lesson 01_matmul --size 4096 --warmup --compile
lesson 01_matmul --size 64 --warmup
lesson 01_matmul --size 64 --warmup --compile
lesson 02_linear
lesson 02_linear --compile
lesson 03_simple_mlp
lesson 03_simple_mlp --compile
lesson 03_kernels_mlp
lesson 03_kernels_mlp --kernel fused
lesson 03_kernels_mlp --kernel liger
lesson 01_matmul --sweep
lesson 03_simple_mlp --sweep batch
lesson 03_simple_mlp --batch 1 --seq 1
lesson 03_simple_mlp --batch 1 --seq 1 --cuda_graph
lesson 01_matmul --size 64
lesson 01_matmul --size 64 --compile
