#!/bin/bash
# Containers under Slurm, all of it real: Enroot and Pyxis compiled from their sources by the overlays enroot-source and pyxis, job-env's
# plugin beside them, a registry, slurmctld and two slurmd's from one tree, in sandboxes. Their kernel is this machine's.
#
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/head.bash"
tree=$E2E/project/images/containers.json
if [[ -z ${HEAD_INSIDE:-} ]]; then
        containers_begin
        cat >"$tree" <<'R'
{
        "name": "containers",
        "kind": "tree",
        "base": { "distro": "debian", "release": "trixie" },
        "overlays": ["slurm-node", "enroot-source", "pyxis", "job-env"],
        "packages": ["slurmctld", "docker-registry"]
}
R
        tree_checks "$tree" "Enroot and Pyxis are compiled, and the tree passes every check"
fi
FOLDER_OF_ALL=/mnt/home
containers_up "$@"
check "a registry, a controller and two nodes run" $?
ln -s bash "$HEAD/small/usr/bin/python" # what the tutorial's script calls: here it runs a program for bash
push_small small >"$HEAD/digest"
check "an image goes to the registry" $?


# run OPTION…: alice's srun; what it says is in $E2E/out, $E2E/err.
run() { as_alice "srun $*" >"$E2E/out" 2>"$E2E/err"; }
told() { check "$1" "$2"; [[ $2 -eq 0 ]] || tail -n 20 "$E2E/out" "$E2E/err" "$HEAD_LOG"/slurm*.log; }
blobs() { grep -c '"GET /v2/small/blobs/[^"]*" 200 ' "$HEAD_LOG/registry.log"; }
fetched() { [[ $(blobs) -ge $1 ]]; }
in_box='bash -c "hostname; grep PRETTY /etc/os-release"'
both=$'PRETTY_NAME="A small image"\nPRETTY_NAME="A small image"\nnode1\nnode2'

run -N 2 --ntasks-per-node 1 "--container-image=head:5000#small:1 --container-name=box $in_box"
s=$?
[[ $s -eq 0 && $(sort "$E2E/out") == "$both" && $(grep -c 'imported docker image' "$E2E/err") -eq 2 ]]
told "a container of the registry's image on both nodes" $?
waits fetched 4 # a configuration and a layer each; the registry may write it down later
run -N 2 "--container-image=head:5000#small:1 --container-mounts=/home/alice:/data bash -c 'echo \$MADE_BY >/data/\$SLURM_NODEID; id -un'"
[[ $? -eq 0 && $(cat "$E2E/out") == $'alice\nalice' && $(cat "$HEAD"/node1/root/home/alice/0 "$HEAD"/node2/root/home/alice/1) == $'the image\nthe image' ]]
told "another of it, unnamed: the user is himself, has the image's environment, and a folder of the node" $?
[[ $(blobs) -eq 4 ]]
told "for it no layer came from the registry again" $?
run -N 2 --mpi=pmi2 "--container-name=box bash -c 'echo \$PMI_RANK of \$PMI_SIZE'"
[[ $? -eq 0 && $(sort "$E2E/out") == $'0 of 2\n1 of 2' ]]
told "a container's MPI finds PMI's variables" $?

# What the node says to NCCL, and the topology it names, over what the image has.
for machine in node1 node2; do
        mkdir -p "$HEAD/$machine/root/etc/nccl"
        printf '# the agent\nNCCL_IB_HCA==mlx5_0\nNCCL_TOPO_FILE=/etc/nccl/topo.xml\nNCCL_GRAPH_FILE=/etc/nccl/../shadow\n' >"$HEAD/$machine/root/etc/nccl.conf"
        echo "<system of=\"$machine\"/>" >"$HEAD/$machine/root/etc/nccl/topo.xml"
done
run -N 2 "--container-name=box bash -c 'cat /etc/nccl.conf /etc/nccl/topo.xml; echo x 2>/dev/null >>/etc/nccl.conf || echo kept'"
[[ $? -eq 0 && $(grep -c '^NCCL_IB_HCA==mlx5_0$' "$E2E/out") -eq 2 && $(grep '<system' "$E2E/out" | sort) == $'<system of="node1"/>\n<system of="node2"/>' && $(grep -c '^kept$' "$E2E/out") -eq 2 ]]
told "nccl.conf and NCCL's topology file of each node are in its container, to be read" $?
as_alice "srun -N 1 --container-image=head:5000#small:1 cat /etc/nccl.conf /etc/nccl/topo.xml" >"$E2E/out" 2>"$E2E/err"
[[ $? -eq 0 && $(grep -c '^NCCL_IB_HCA==mlx5_0$' "$E2E/out") -eq 1 && $(grep -c '<system of="node' "$E2E/out") -eq 1 ]]
told "… and in that of an image without a name" $?
rm "$HEAD"/node[12]/root/etc/nccl.conf

# A container is no way up: the machine's own /etc in it, as root of it.
run "-w node1 --container-image=head:5000#small:1 --container-remap-root --container-mounts=/etc:/etc bash -c 'id -u; for f in passwd slurm/slurm.key; do echo x 2>/dev/null >>/etc/\$f || echo kept; done; cat /etc/slurm/slurm.key 2>/dev/null || echo unread; touch /etc/mine 2>/dev/null || echo unmade'"
[[ $? -eq 0 && $(cat "$E2E/out") == $'0\nkept\nkept\nunread\nunmade' && ! -e $HEAD/node1/root/etc/mine ]]
told "the machine's /etc in a container, as its root: nothing is written, and no secret read" $?

# What tasks are told about themselves, in a container as outside of it: job-env(1).
folder=$HEAD/of-all/alice
install -d -o 20001 -g 20000 "$folder"
cat >"$folder/told" <<'S'
shopt -s extglob
hosts=$(<"$JOB_HOSTFILE")
echo "$RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $(hostname) ${hosts//$'\n'/ } ${TF_CONFIG//:+([0-9])/}"
S
for where in "" "--container-name=box --container-mounts=/mnt/home/alice:/mnt/home/alice"; do
        run -N 2 --ntasks-per-node=2 "$where bash /mnt/home/alice/told"
        s=$?
        cluster='{"cluster": {"worker": ["node1", "node1", "node2", "node2"]}, "task": {"type": "worker", "index":'
        [[ $s -eq 0 && $(sort "$E2E/out") == "$(for i in 0 1 2 3; do echo "$i $((i % 2)) 4 node1 node$((i / 2 + 1)) node1 slots=2 node2 slots=2 $cluster $i}}"; done)" ]]
        told "four tasks know who they are${where:+, in containers}" $?
done

# Somebody else has made the folder in which another user's containers will lie, and could put what he likes into them.
as_alice "srun -w node1 mkdir -m 0777 /mnt/localdisk/enroot/data/user-20003" >"$E2E/out" 2>"$E2E/err"
check "a user makes a folder under another one's name" $?
echo 'bob:x:20003:20000:Bob:/tmp:/bin/bash' | tee -a "$HEAD"/{head,node1,node2}/root/etc/passwd >/dev/null
as_bob() { on head setpriv --reuid 20003 --regid 20000 --clear-groups env HOME=/tmp USER=bob bash -c "cd /tmp; $*" >"$E2E/out" 2>"$E2E/err"; }
as_bob 'srun -w node1 --container-image=head:5000#small:1 hostname'
[[ $? -ne 0 && ! -s $E2E/out && -z $(on node1 ls -A /mnt/localdisk/enroot/data/user-20003) ]] &&
        grep -q '/mnt/localdisk/enroot/data/user-20003 belongs to alice (20001), not to you' "$E2E/err"
told "… who gets no container in it, and is told whose it is" $?
as_alice "srun -w node1 rmdir /mnt/localdisk/enroot/data/user-20003" >"$E2E/out" 2>"$E2E/err"
as_bob 'srun -w node1 --container-image=head:5000#small:1 hostname'
[[ $? -eq 0 && $(cat "$E2E/out") == node1 ]]
told "… until it is gone" $?
on node1 sh -c 'rm -r /mnt/localdisk/enroot/*/user-20003'

# The tutorial's job, its two scripts unchanged but for the user's name; instead of the training a program that holds TF_CONFIG against where it is.
run -N 2 --ntasks-per-node 1 "--container-image=head:5000#small:1 --container-name=tensorflow hostname"
mkdir "$folder/tensorflow"
cat >"$folder/tensorflow/submit.sh" <<'S'
#!/bin/bash
#SBATCH -p compute
#SBATCH -N 2
#SBATCH --ntasks-per-node 1
#SBATCH -J mnist
#SBATCH --gpus-per-node=8

# Set working directory which contains all programs to train MNIST datasets
workdir="/mnt/home/user_name/tensorflow"
# Set node list file which contains GPU node names assigned to this job one at a line
hfname="slurm_nodelist.txt"

cd $workdir
rm -f $hfname

# For loop to generate node list file from environment variable SLURM_JOB_NODELIST Slurm dinamically sets
for hname in `scontrol show hostnames ${SLURM_JOB_NODELIST}`
do
  echo $hname >> $hfname
done

# Start TensorFlow containers on all GPU nodes one at a node and run start_mnist.sh on all the containers
srun --container-name=tensorflow --container-mounts "/mnt/home/user_name:/mnt/home/user_name" $workdir/start_mnist.sh $hfname $workdir
S
cat >"$folder/tensorflow/start_mnist.sh" <<'S'
#!/bin/bash

# Get node list file from first argument
hfname=$1
# Get working directory from second argument
workdir=$2

# Declare array accomodating all worker host names and set own hostnmae
declare -a ar_worker=()
myhname=`hostname`

# Set output file names for standard out/error
std_out=$myhname".out"
std_err=$myhname".err"

cd $workdir
rm -f $std_out
rm -f $std_err

# Set worker host names in ar_worker each at an element and rank number in desccending order of node list file
count=0
while read hname
do
  ar_worker[$count]=$hname
  if [ $myhname == $hname ]
  then
    myrank=$count
  fi
  count=$(expr $count + 1)
done < $hfname

# Set TF_CONFIG environment variable for each worker
# Example
#  > printenv TF_CONFIG
#  {"cluster": {"worker": ["node_a:12345", "node_b:23456"]}, "task": {"type": "worker", "index": 0}}
export TF_CONFIG="{\"cluster\": {\"worker\": [\"${ar_worker[0]}:12345\", \"${ar_worker[1]}:23456\"]}, \"task\": {\"type\": \"worker\", \"index\": $myrank}}"

# Print my rank to standard error file
echo "My rank = "$myrank > ./$std_err
echo >> ./$std_err

# Run MNIST training script
python ./mnist.py > ./$std_out 2>> ./$std_err
S
# bash: where it runs is the worker of its index, and both have a place to listen at.
cat >"$folder/tensorflow/mnist.py" <<'S'
[[ $TF_CONFIG =~ ^'{"cluster": {"worker": ["'(node1):[0-9]+'", "'(node2):[0-9]+'"]}, "task": {"type": "worker", "index": '([01])'}}'$ ]] || { echo "wrong: $TF_CONFIG"; exit 1; }
index=${BASH_REMATCH[3]}
[[ $(hostname) == "${BASH_REMATCH[index + 1]}" ]] && echo "worker $index of 2 trains on $(hostname)"
S
sed -i 's/user_name/alice/g' "$folder"/tensorflow/*.sh
chmod 0755 "$folder"/tensorflow/*.sh && chown -R 20001:20000 "$folder/tensorflow"
as_alice 'cd /mnt/home/alice/tensorflow && timeout 300 sbatch -W submit.sh' >"$E2E/out" 2>"$E2E/err"
[[ $? -eq 0 && $(cat "$folder"/tensorflow/node[12].out) == $'worker 0 of 2 trains on node1\nworker 1 of 2 trains on node2' ]]
s=$?
told "the tutorial's submit.sh and start_mnist.sh, in its container on two nodes" $s
[[ $s -eq 0 ]] || tail "$folder"/tensorflow/{slurm-*,node*}
cat >"$folder/tensorflow/short.sh" <<'S'
#!/bin/bash
#SBATCH -p compute -N 2 --ntasks-per-node 1 --gpus-per-node=8 -o short.out -e short.err
srun --container-name=tensorflow --container-mounts "/mnt/home/alice:/mnt/home/alice" python /mnt/home/alice/tensorflow/mnist.py
S
as_alice 'cd /mnt/home/alice/tensorflow && timeout 300 sbatch -W short.sh' >"$E2E/out" 2>"$E2E/err"
[[ $? -eq 0 && $(sort "$folder/tensorflow/short.out") == $'worker 0 of 2 trains on node1\nworker 1 of 2 trains on node2' ]]
s=$?
told "the same by job-env, without node list and start script" $s
[[ $s -eq 0 ]] || tail "$folder"/tensorflow/short.*

run "--container-name=box -N 1 bash -c 'exit 7'"
[[ $? -eq 7 ]]
told "a command's exit code is the job's" $?

# What users do wrong, and what fails under them.
run "--container-image=head:5000#small@sha256:$(printf 0%.0s {1..64}) id"
[[ $? -ne 0 ]] && grep -q 'failed to import docker image' "$E2E/err" && grep -q '404 Not Found' "$E2E/err"
told "an image by a wrong digest: said, with the registry's answer" $?
truncate -s 200M "$HEAD/small/data" && head -c 50M /dev/urandom | dd of="$HEAD/small/data" conv=notrunc status=none
push_small large >/dev/null
on node1 sh -c 'dd if=/dev/zero of=/mnt/localdisk/fill bs=1M 2>/dev/null; truncate -s -20M /mnt/localdisk/fill'
run "-w node1 --container-image=head:5000#large:1 id"
[[ $? -ne 0 ]] && grep -q 'No space left on device' "$E2E/err"
told "scratch is full while an image is imported: said" $?
on node1 rm -f /mnt/localdisk/fill
run "-w node1 --container-image=head:5000#small:1 hostname"
[[ $? -eq 0 && $(cat "$E2E/out") == node1 ]]
told "… and once there is room, the next one starts" $?
head_stop registry
run "--container-image=head:5000#other:1 id"
[[ $? -ne 0 ]] && grep -q 'failed to import docker image' "$E2E/err" && grep -qiE 'connect|refused' "$E2E/err"
told "no registry: said, with what is the matter" $?
run -N 2 "--container-name=box $in_box"
[[ $? -eq 0 && $(sort "$E2E/out") == "$both" ]]
told "what was imported under a name starts without it" $?

# The head is restarted in the middle of a job, and comes back while the job still runs. In order: with its plug pulled slurmctld forgets what came in
# within the last seconds.
as_alice "sbatch --parsable -N 2 -o /mnt/home/alice/through -e /mnt/home/alice/through.err --wrap 'srun --container-name=box --container-mounts=/mnt/home/alice:/data bash -c \"touch /data/in.\\\$(hostname); while [ ! -e /data/go ]; do sleep 0.2; done; hostname\"'" >"$E2E/job" 2>"$E2E/err"
both_in() { [[ -e $folder/in.node1 && -e $folder/in.node2 ]]; }
waits both_in
for pid in $(head_descendants "$(cat "$HEAD/pid/slurmctld")"); do kill -TERM "$pid"; done
gone() { ! kill -0 "$(cat "$HEAD/pid/slurmctld")"; }
waits gone
head_stop slurmctld
# With the time that Slurm has unless it is told another: this test's is long.
sed 's/^MessageTimeout=.*/MessageTimeout=10/' "$HEAD/head/root/etc/slurm/slurm.conf" >"$HEAD/head/root/etc/slurm/usual.conf"
as_alice "SLURM_CONF=/etc/slurm/usual.conf srun -N 1 hostname" >"$E2E/out" 2>"$E2E/err"
[[ $? -ne 0 ]] && grep -q 'Unable to contact slurm controller' "$E2E/err"
told "the head is away: said" $?
launch head slurmctld slurmctld -D
waits on head scontrol ping
touch "$folder/go"
ended() { [[ $(on head scontrol show job "$(cat "$E2E/job")" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p') == COMPLETED ]]; }
waits ended && [[ $(sort "$folder/through") == $'node1\nnode2' ]]
told "a job in containers runs through the head's restart, and is complete" $?

# An array, two at a time on each node; then nothing is there but what has a name.
as_alice "sbatch -W --array=1-${COUNT:-16} -n 1 -o /dev/null --wrap 'srun --container-name=box --container-mounts=/home/alice:/data bash -c \"echo x >/data/job.\\\$SLURM_ARRAY_TASK_ID\"'" >"$E2E/out" 2>"$E2E/err"
[[ $? -eq 0 && $(cat "$HEAD"/node[12]/root/home/alice/job.* | wc -l) -eq ${COUNT:-16} ]]
told "an array of ${COUNT:-16} jobs in containers" $?
clean() { # MACHINE: no process of alice's, no mount, and in Enroot's and Pyxis' folders only the container with a name and the cache
        on "$1" bash -c '! ps -u alice -o args= | grep . && ! grep enroot/data /proc/*/mounts &&
                cd /mnt/localdisk/enroot && diff <(find data/*/ runtime tmp /run/pyxis/*/ /run/job-env -mindepth 1 -maxdepth 1 | sort) <(printf "%s\n" data/user-20001/pyxis_{box,tensorflow} runtime/user-20001) &&
                ! find runtime/user-20001 tmp cache -mindepth 1 -name "*.*" | grep . && ! find cache/user-20001 -name "*.??????????" | grep .'
}
waits clean node1 && waits clean node2
told "nothing else is left: processes, mounts, files of imports" $?

# Jobs that are ended before their time: in their containers, and while their image is imported, from a registry that says no more.
registry_start
rm "$HEAD/small/data" && touch "$HEAD/small/tmp/another"
push_small another >/dev/null
as_alice "sbatch --parsable --array=1-4 -n 1 --mem=100 -o /dev/null --wrap 'srun --container-image=head:5000#small:1 --container-mounts=/mnt/home/alice:/data bash -c \"touch /data/up.\\\$SLURM_ARRAY_TASK_ID; sleep 4000 & sleep 4000\"'" >"$E2E/job" 2>"$E2E/err"
all_up() { [[ $(find "$folder" -name 'up.*' | wc -l) -eq 4 ]]; }
waits all_up
s=$?
none_left() { [[ -z $(on head squeue -h) ]]; }
on head scancel "$(cat "$E2E/job")"
[[ $s -eq 0 ]] && waits none_left
told "four jobs in containers are ended by scancel" $?
waits clean node1 && waits clean node2
told "… and leave nothing" $?
head_pause registry
as_alice "sbatch --parsable -w node1 -N 1 -o /dev/null --wrap 'srun --container-image=head:5000#another:1 true'" >"$E2E/job" 2>"$E2E/err"
imports() { on node1 pgrep -u alice -f 'curl .*head:5000' >/dev/null; }
waits imports
s=$?
on head scancel "$(cat "$E2E/job")"
[[ $s -eq 0 ]] && waits none_left
told "a job is ended while its image is imported" $?
head_continue registry
waits clean node1
told "… and leaves nothing" $?
run "-w node1 --container-image=head:5000#another:1 hostname"
[[ $? -eq 0 && $(cat "$E2E/out") == node1 ]]
told "… nor anything that is in the next one's way" $?
head_stop registry

# The plugin of another Slurm: a minor version more in its plugin_version.
cp "$TOP/overlays/pyxis/check-pyxis.sh" "$HEAD/head/root/root/"
on head /root/check-pyxis.sh >"$E2E/out" 2>&1
told "the overlay's check passes" $?
python3 - "$(find "$HEAD/head/root/usr/lib" -name spank_pyxis.so)" "$(on head srun --version)" <<'P'
import re, sys
data = open(sys.argv[1], "rb").read()
major, minor, micro = map(int, re.search(r"(\d+)\.(\d+)\.(\d+)", sys.argv[2]).groups())
version = bytes([micro, minor, major, 0])  # a number, as the processor has it
assert data.count(version) == 1, data.count(version)
open(sys.argv[1], "wb").write(data.replace(version, bytes([micro, minor + 1, major, 0])))
P
! on head /root/check-pyxis.sh >"$E2E/out" 2>&1 && grep -q '^Slurm .* does not load Pyxis: .*Incompatible' "$E2E/out"
told "… and not with a plugin that was compiled against another Slurm" $?
head_stop registry slurmctld slurmd1 slurmd2 node1 node2 head
exit $rc
