#!/bin/bash
# A cluster of one node: tasks and an actor answer, and nothing of Ray runs afterwards.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/test.py" <<'P'
import ray

ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20)

@ray.remote
def square(x):
    return x * x

@ray.remote
class Counter:
    def __init__(self):
        self.n = 0

    def increment(self):
        self.n += 1
        return self.n

counter = Counter.remote()
print(ray.get([square.remote(i) for i in range(4)]), ray.get([counter.increment.remote() for _ in range(2)]))
P
said=$(HOME=$work RAY_USAGE_STATS_ENABLED=0 timeout 300 /opt/ml/ray/bin/python "$work/test.py" 2>&1) || true
grep -qF '[0, 1, 4, 9] [1, 2]' <<<"$said" || { echo "Ray does not work: $(tail -n 5 <<<"$said")"; exit 1; }
said=$(ray-slurm --help 2>&1) || { echo "ray-slurm does not run: $said"; exit 1; }
