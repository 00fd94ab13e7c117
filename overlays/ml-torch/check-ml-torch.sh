#!/bin/bash
# PyTorch is one with CUDA and NCCL, and can be imported where there is no GPU; what it does on one, the step python asks on the node.
set -euo pipefail
said=$(HOME=/tmp timeout 240 /opt/ml/torch/bin/python -c '
import torch
from torch import distributed
print(torch.version.cuda is not None, distributed.is_nccl_available(), distributed.is_gloo_available(), int(torch.arange(10).sum()))' 2>&1) || true
[[ $(tail -n 1 <<<"$said") == 'True True True 45' ]] || { echo "PyTorch with CUDA does not work: $(tail -n 3 <<<"$said")"; exit 1; }
/opt/ml/torch/bin/torchrun --help >/dev/null || { echo "torchrun does not run"; exit 1; }
