#!/bin/bash
# Two processes of torchrun train one model: gradients are averaged by Gloo, and both end with the same weights. Their user has a numpy and a torch of
# his own in ~/.local, which do not get in.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for package in numpy torch; do
        own=$work/.local/lib/$(/opt/ml/torch/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages/$package
        mkdir -p "$own"
        echo "raise ImportError('$package is the one from ~/.local')" >"$own/__init__.py"
done
cat >"$work/train.py" <<'P'
import torch
from torch import distributed

distributed.init_process_group("gloo")
torch.manual_seed(distributed.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
weights = [None] * distributed.get_world_size()
distributed.all_gather_object(weights, [p.tolist() for p in model.parameters()])
if distributed.get_rank() == 0:
    print(len(weights), weights[0] == weights[1])
distributed.destroy_process_group()
P
said=$(HOME=$work OMP_NUM_THREADS=1 timeout 240 /opt/ml/torch/bin/torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29511 "$work/train.py" 2>&1) || true
grep -qx '2 True' <<<"$said" || { echo "torchrun with two processes does not work: $(tail -n 5 <<<"$said")"; exit 1; }
