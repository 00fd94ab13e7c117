#!/bin/bash
# Two processes train one model, by Gloo and by MPI: gradients are averaged, and both end with the same weights. No GPU is needed, for NCCL neither:
# there, that it was compiled in is all that can be asked.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/train.py" <<'P'
import horovod.torch as hvd
import torch

hvd.init()
torch.manual_seed(hvd.rank())
model = torch.nn.Linear(4, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
weights = hvd.allgather_object([p.tolist() for p in model.parameters()])
if hvd.rank() == 0:
    print("weights of", len(weights), "same", weights[0] == weights[1])
P
export HOME=$work OMP_NUM_THREADS=1 PATH=/opt/ml/torch/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
said=$(horovodrun -cb 2>&1) || true
parts=(PyTorch MPI Gloo)
[[ $(python -c 'import torch; print(torch.version.cuda)') == None ]] || parts+=(NCCL)
for part in "${parts[@]}"; do
        grep -qF "[X] $part" <<<"$said" || { echo "horovodrun -cb does not have $part: $said"; exit 1; }
done
for controller in gloo mpi; do
        said=$(timeout 240 horovodrun --$controller -np 2 -H localhost:2 python "$work/train.py" 2>&1) || true
        grep -q 'weights of 2 same True$' <<<"$said" || { echo "horovodrun --$controller with two processes does not work: $(tail -n 5 <<<"$said")"; exit 1; }
done
