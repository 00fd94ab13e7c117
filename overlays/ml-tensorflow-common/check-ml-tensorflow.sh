#!/bin/bash
# Two processes train one model by tf.distribute, which finds them by TF_CONFIG; both end with the same weights. A loop of the program's own:
# Keras 3 knows no strategy of several hosts.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/train.py" <<'P'
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = strategy.cluster_resolver.task_id
tf.random.set_seed(rank)
with strategy.scope():
    weights = tf.Variable(tf.random.normal((4, 1)))


@tf.function
def step(data):
    def one(data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((data @ weights) ** 2)
        gradient = tf.distribute.get_replica_context().all_reduce("mean", tape.gradient(loss, weights))
        weights.assign_sub(0.1 * gradient)
    strategy.run(one, args=(data,))


for _ in range(3):
    step(tf.random.normal((8, 4)))
print("weights", strategy.num_replicas_in_sync, [round(float(x), 6) for x in weights.numpy().ravel()])
P
for rank in 0 1; do
        TF_CONFIG='{"cluster":{"worker":["127.0.0.1:29512","127.0.0.1:29513"]},"task":{"type":"worker","index":'$rank'}}' \
                HOME=$work CUDA_VISIBLE_DEVICES= TF_CPP_MIN_LOG_LEVEL=2 timeout 300 /opt/ml/tensorflow/bin/python "$work/train.py" >"$work/$rank" 2>&1 &
done
wait
grep -q '^weights 2 ' "$work/0" && [[ $(grep '^weights' "$work/0") == "$(grep '^weights' "$work/1")" ]] ||
        { echo "two processes of tf.distribute do not train one model: $(tail -n 5 "$work/0")"; exit 1; }
