#!/bin/bash
# Two processes train one model, by Gloo and by MPI, in a loop of the program's own and by Keras: gradients are averaged, and both end with the same weights.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/train.py" <<'P'
import horovod.tensorflow as hvd
import horovod.tensorflow.keras
import tensorflow as tf

hvd.init()
tf.keras.utils.set_random_seed(hvd.rank())
weights = tf.Variable(tf.random.normal((4, 1)))
hvd.broadcast_variables([weights], root_rank=0)


@tf.function
def step(data):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((data @ weights) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    weights.assign_sub(0.1 * tape.gradient(loss, [weights])[0])


for _ in range(3):
    step(tf.random.normal((8, 4)))
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.1)))
model.fit(tf.random.normal((24, 4)), tf.zeros((24, 1)), batch_size=8, verbose=0,
          callbacks=[horovod.tensorflow.keras.callbacks.BroadcastGlobalVariablesCallback(0)])
for name, mine in ("weights", weights.numpy().tolist()), ("Keras", [w.numpy().tolist() for w in model.weights]):
    found = hvd.allgather_object(mine)
    if hvd.rank() == 0:
        print(name, "of", len(found), "same", found[0] == found[1], flush=True)
P
export HOME=$work OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=2 PATH=/opt/ml/tensorflow/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
said=$(horovodrun -cb 2>&1) || true
for part in TensorFlow MPI Gloo; do
        grep -qF "[X] $part" <<<"$said" || { echo "horovodrun -cb does not have $part: $said"; exit 1; }
done
for controller in gloo mpi; do
        said=$(timeout 240 horovodrun --$controller -np 2 -H localhost:2 python "$work/train.py" 2>&1) || true
        grep -q 'weights of 2 same True$' <<<"$said" && grep -q 'Keras of 2 same True$' <<<"$said" ||
                { echo "horovodrun --$controller with two processes does not work: $(tail -n 5 <<<"$said")"; exit 1; }
done
