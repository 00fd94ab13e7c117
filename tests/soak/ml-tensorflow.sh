#!/bin/bash
# TensorFlow in real jobs, chapters 6 (tf.distribute) and 1 (Horovod) of docs/clusters/ml-cluster.md: a controller and two nodes, each with namespaces
# of its own (tests/e2e/apart.bash), from the head's tree with TensorFlow. tf.distribute's workers find each other by TF_CONFIG, which job-env sets.
# Training data is made up; what is asked is that all workers end with the same weights and a smaller loss.
#
# lane: compute
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then
        own_project
        sed -i 's/"overlays": \["head", /&"ldap-client", "ml-horovod-tensorflow", /' "$RECIPES/head.json"
        sed -i 's/"slurm-client", /&"openssh-server", /' "$PROJECT/overlays/head/overlay.json"
        head_build || { echo "not ok - the head's tree with TensorFlow builds"; exit 1; }
fi
PROJECT=$E2E/project RECIPES=$E2E/project/images
head_enter "$@"
head_make || exit 1
source "$TOP/tests/e2e/apart.bash"
source "$TOP/tests/e2e/trained.bash"
trap node_end EXIT
home=$HEAD/export/home/alice

node_prepare 2 && node_start n1 && node_start n2 && node_ready 2
check "a controller and two nodes of their own" $?
[[ $rc -eq 0 ]] || exit 1

batch() { # NAME [OPTION…]: all that it said in $home/NAME.said
        rm -f "$home/${1%.sh}".o[0-9]*
        alice timeout 400 sbatch -W -J "${1%.sh}" -o %x.o%j "${@:2}" "$1" >"$home/$1.said" 2>&1
        cat "$home/${1%.sh}".o[0-9]* >>"$home/$1.said" 2>/dev/null
}

# The guide's program for one node, with made-up pictures.
put tf_multi_keras.py <<'P'
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def dataset(batch_size):
    x_train = np.random.default_rng(7).random((512, 28, 28), dtype=np.float32)
    y_train = (x_train.mean(axis=(1, 2)) * 1000).astype(np.int64) % 10
    return tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(512).repeat().batch(batch_size)


with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input(shape=(28, 28)),
        tf.keras.layers.Reshape(target_shape=(28, 28, 1)),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(10),
    ])
    model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  optimizer=tf.keras.optimizers.SGD(learning_rate=0.01), metrics=["accuracy"])
losses = model.fit(dataset(64), epochs=2, steps_per_epoch=8, verbose=0).history["loss"]
print("the guide's", "falls" if losses[-1] < losses[0] else f"stays: {losses}")
P
put tf_dist_run.sh <<'B'
#!/bin/bash
#SBATCH -J tf_dist_test -p compute -N 1 --ntasks-per-node=1 --cpus-per-task=4 --time 00:30:00 --comment etc
module purge
module load tensorflow
python tf_multi_keras.py
B
batch tf_dist_run.sh
grep -q "^the guide's falls" "$home/tf_dist_run.sh.said"
told "the guide's job on one node: MirroredStrategy and Keras" $? "$home/tf_dist_run.sh.said"

put train.py <<'P'
import hashlib
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

# There are more workers than processors.
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)
limit = tf.distribute.experimental.CommunicationOptions(timeout_seconds=float(os.environ.get("LIMIT", "120")))
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=limit)
cluster = json.loads(os.environ["TF_CONFIG"])
rank, size = cluster["task"]["index"], len(cluster["cluster"]["worker"])

truth = tf.random.stateless_normal((16, 1), (7, 7))
tf.random.set_seed(rank)  # other weights and other data on each worker, as far as nobody evens them out
with strategy.scope():
    weights = tf.Variable(tf.random.normal((16, 1)))


@tf.function
def step(data):
    def one(data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((data @ weights - data @ truth) ** 2)
        gradient = tf.distribute.get_replica_context().all_reduce("mean", tape.gradient(loss, weights), options=limit)
        weights.assign_sub(0.05 * gradient)
        return loss
    return strategy.run(one, args=(data,))


losses = []
for n in range(30):
    if os.environ.get("DIES") == f"{rank}:{n}":
        os._exit(7)
    if os.environ.get("HANGS") == f"{rank}:{n}":
        time.sleep(10000)
    losses.append(float(step(tf.random.normal((32, 16)))))
    if n == 0 and rank == 0:
        print(f"first step at {time.time():.1f}", flush=True)
print(f"rank {rank} of {size} on {os.uname().nodename} loss {'falls' if losses[-1] < losses[0] / 2 else 'stays'} "
      f"weights {hashlib.sha256(weights.numpy().tobytes()).hexdigest()[:16]} replicas {strategy.num_replicas_in_sync}", flush=True)
P
put tf.sh <<'B'
#!/bin/bash
#SBATCH -p compute -N 2
module load tensorflow
srun -K python train.py
B
for tasks in 1 2; do
        begun=$EPOCHREALTIME
        batch tf.sh --ntasks-per-node=$tasks
        first_step "$home/tf.sh.said" "$begun"
        python3 - "$home/tf.sh.said" $((2 * tasks)) <<'P'
import re, sys
found = re.findall(r"rank (\d+) of (\d+) on (\S+) loss (\w+) weights (\w+) replicas (\d+)", open(sys.argv[1], errors="replace").read())
ranks = int(sys.argv[2])
sys.exit(not (sorted(int(f[0]) for f in found) == list(range(ranks)) and {f[1] for f in found} == {f[5] for f in found} == {str(ranks)} and
              {f[2] for f in found} == {"n1", "n2"} and {f[3] for f in found} == {"falls"} and len({f[4] for f in found}) == 1))
P
        told "MultiWorkerMirroredStrategy on two nodes with $tasks a node, by srun and what job-env says alone" $? "$home/tf.sh.said"
done

begun=$SECONDS
batch tf.sh --ntasks-per-node=1 --export=ALL,DIES=1:10
[[ $((SECONDS - begun)) -lt 100 ]] && grep -Eq 'Exited with exit code 7|task 1: .*7' "$home/tf.sh.said" && nothing_left
told "a worker that dies ends the job with its exit code, and nothing is left" $? "$home/tf.sh.said"
begun=$SECONDS
batch tf.sh --ntasks-per-node=1 --export=ALL,HANGS=1:10,LIMIT=20
[[ $((SECONDS - begun)) -lt 150 ]] && grep -Eqi 'deadline|timed out|timeout' "$home/tf.sh.said" && nothing_left
told "a worker that hangs ends the job within the time that the program set, and nothing is left" $? "$home/tf.sh.said"

# --- Horovod --------------------------------------------------------------------------------------------
put horovod_train.py <<'P'
import hashlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import horovod.tensorflow.keras
import horovod.tensorflow as hvd
import tensorflow as tf

hvd.init()
# There are more ranks than processors.
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)
rank, size = hvd.rank(), hvd.size()
truth = tf.random.stateless_normal((16, 1), (7, 7))
tf.keras.utils.set_random_seed(rank)  # other weights and other data on each rank, as far as nobody evens them out
weights = tf.Variable(tf.random.normal((16, 1)))


def step(data):
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean((data @ weights - data @ truth) ** 2)
    weights.assign_sub(0.05 * tape.gradient(loss, [weights])[0])
    return loss


how = sys.argv[1]
if how == "keras":
    model = tf.keras.Sequential([tf.keras.Input((16,)), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.01 * size)))
    data = tf.random.normal((512, 16))
    callbacks = horovod.tensorflow.keras.callbacks
    losses = model.fit(data, data @ truth, batch_size=32, epochs=6, verbose=0, callbacks=[
        callbacks.BroadcastGlobalVariablesCallback(0), callbacks.MetricAverageCallback(),
        callbacks.LearningRateWarmupCallback(initial_lr=0.01 * size, warmup_epochs=2)]).history["loss"]
    trained = model.weights
    if len(set(hvd.allgather_object(losses[-1]))) != 1:
        sys.exit("the metric is not averaged")
else:
    hvd.broadcast_variables([weights], root_rank=0)
    if float(hvd.allreduce(tf.constant(rank + 1.0), op=hvd.Sum)) != size * (size + 1) / 2:
        sys.exit("allreduce does not add up")
    run = tf.function(step) if how == "function" else step
    losses = []
    for n in range(30):
        if os.environ.get("DIES") == f"{rank}:{n}":
            os._exit(7)
        losses.append(float(run(tf.random.normal((32, 16)))))
    trained = [weights]
print(f"rank {rank} of {size} on {os.uname().nodename} loss {'falls' if losses[-1] < losses[0] / 2 else 'stays'} "
      f"weights {hashlib.sha256(b''.join(w.numpy().tobytes() for w in trained)).hexdigest()[:16]}", flush=True)
P
put horovod.sh <<'B'
#!/bin/bash
#SBATCH -J test_job -p compute -N 2 -n 4 --time 00:30:00 --comment tensorflow
module purge
module load tensorflow
horovodrun -np 2 python horovod_train.py function
B
batch horovod.sh
trained "$home/horovod.sh.said" 2 1
told "Horovod, the guide's job: horovodrun -np 2" $? "$home/horovod.sh.said"
for controller in '' --gloo '--gloo --network-interface eth0'; do
        interactive tensorflow "horovodrun $controller -np 4 -H n1:2,n2:2 python horovod_train.py function"
        trained "$home/said" 4 2
        told "salloc, then horovodrun $controller -np 4 -H n1:2,n2:2" $? "$home/said"
done
alice bash -lc 'module load tensorflow; horovodrun -cb' >"$home/said" 2>&1
grep -qF '[X] TensorFlow' "$home/said" && grep -qF '[ ] PyTorch' "$home/said" && grep -qF '[X] MPI' "$home/said" && grep -qF '[X] Gloo' "$home/said"
told "horovodrun -cb shows TensorFlow, MPI and Gloo, and no PyTorch" $? "$home/said"
put horovod-srun.sh <<'B'
#!/bin/bash
#SBATCH -p compute -N 2 --ntasks-per-node=2
module load tensorflow
srun -K python horovod_train.py "$HOW"
B
for how in function eager keras; do
        batch horovod-srun.sh --export=ALL,HOW=$how
        trained "$home/horovod-srun.sh.said" 4 2
        told "Horovod by srun alone: $how" $? "$home/horovod-srun.sh.said"
done
interactive tensorflow "horovodrun --gloo -np 4 -H n1:2,n2:2 python horovod_train.py keras"
trained "$home/said" 4 2
told "Horovod with Keras by horovodrun --gloo" $? "$home/said"
begun=$SECONDS
batch horovod-srun.sh --export=ALL,HOW=function,DIES=3:10
[[ $((SECONDS - begun)) -lt 100 ]] && grep -Eq 'Exited with exit code 7|task 3: .*7' "$home/horovod-srun.sh.said" && nothing_left
told "a rank of Horovod that dies ends the job, srun tells its exit code, and nothing is left" $? "$home/horovod-srun.sh.said"
exit "$rc"
