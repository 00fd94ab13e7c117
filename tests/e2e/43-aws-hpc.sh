#!/bin/bash
# A published tutorial of AWS' clusters, docs/clusters/aws-hpc.md, on two nodes without machines: an image that Docker built becomes a
# container of Enroot's on a shared folder, and the tutorial's job runs nccl-tests' names in it, with its environment, by Open MPI's PMIx.
# Real: Slurm, Enroot, Pyxis, Docker, Open MPI, libfabric. Doubles: CUDA, NCCL, the shared folder. No EFA device. AWS' plugin for NCCL and the EFA
# driver are compiled, and the driver is loaded, in soak/aws-hpc.
#
# lane: compute
# after: e2e/41
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/head.bash"
tree=$E2E/project/images/containers.json

if [[ -z ${HEAD_INSIDE:-} ]]; then
        containers_begin
        cat >"$tree" <<'T'
{
        "name": "containers",
        "kind": "tree",
        "base": { "distro": "debian", "release": "trixie" },
        "overlays": ["slurm-node", "enroot-source", "pyxis", "openmpi", "docker", "tuning"],
        "packages": ["slurmctld", "systemd", "libjson-c5", "libfabric-bin"]
}
T
        tree_checks "$tree" "Docker and the tuning pass their checks"
fi
PROJECT=$E2E/project RECIPES=$E2E/project/images
head_enter "$@"
trap 'head_stop dockerd slurmctld slurmd1 slurmd2 node1 node2 head' EXIT
FOLDER_OF_ALL=/fsx
containers_new
s=$?
# Eight tasks a node, on however many processors.
sed -i 's/CPUs=2 /CPUs=8 /; s/^TaskPlugin=.*/&\nSlurmdParameters=config_overrides/' "$HEAD/head/root/etc/slurm/slurm.conf"
for machine in head node1 node2; do
        root=$HEAD/$machine/root
        install -D "$TOP/$BUILD/firstboot/ncclbench/ncclbench" "$root/usr/bin/ncclbench"
        mkdir -p "$root/usr/lib/ncclbench"
        for name in all_reduce all_gather broadcast reduce reduce_scatter alltoall alltoallv scatter gather sendrecv hypercube; do
                ln -s ../../bin/ncclbench "$root/usr/lib/ncclbench/${name}_perf"
        done
        cp "$TOP"/overlays/aws-paths/*.sh "$root/root/"
        on $machine /root/paths.sh || s=1
        cp "$TOP/$BUILD"/tests/nccl-double/lib{cuda.so.1,nccl.so.2} "$root/usr/lib/x86_64-linux-gnu/"
done
[[ $s -eq 0 ]] && slurm_start
check "a controller and two nodes with eight GPUs each run" $?
chmod 1777 "$HEAD/of-all"
told() { check "$1" "$2"; [[ $2 -eq 0 ]] || tail -n 20 "$E2E/out" "$E2E/err" "$HEAD_LOG"/slurm*.log; }

for machine in node1 node2; do on $machine /root/check-aws-paths.sh || break; done >"$E2E/out" 2>&1
told "every program of nccl-tests answers in /opt/nccl-tests/build, on both nodes" $?
as_alice "srun -w node1 -N 1 sh -c 'echo from node1 >/fsx/word' && srun -w node2 -N 1 cat /fsx/word" >"$E2E/out" 2>"$E2E/err"
[[ $(cat "$E2E/out") == "from node1" ]]
told "/fsx is written on one node and read on the other" $?

# An image of Docker's own, as enroot import dockerd:// takes it.
small_image "$HEAD/small" "$HEAD/head/root"
mkdir -p "$HEAD/small/opt/nccl-tests/build" "$HEAD/small/usr/lib/x86_64-linux-gnu"
cp "$TOP/$BUILD/firstboot/ncclbench/ncclbench" "$HEAD/small/opt/nccl-tests/build/all_reduce_perf"
on head ldd /usr/bin/ncclbench | grep -o '/lib[^ ]*' | while read -r file; do install -D "$(realpath "$HEAD/head/root/usr$file")" "$HEAD/small/usr$file"; done
cp "$TOP/$BUILD"/tests/nccl-double/lib{cuda.so.1,nccl.so.2} "$HEAD/small/usr/lib/x86_64-linux-gnu/"
tar -C "$HEAD/small" -cf "$HEAD/of-all/small.tar" .
launch head dockerd dockerd --bridge=none --iptables=false --ip6tables=false
waits on head docker info
check "Docker starts, with its folder on the scratch volume" $?
[[ $(on head docker info -f '{{.DockerRootDir}}') == /mnt/localdisk/docker ]] &&
        on head docker import -c 'CMD ["bash"]' /fsx/small.tar nccl-tests:1 >"$E2E/out" 2>"$E2E/err" &&
        on head env ENROOT_SQUASH_OPTIONS='-comp gzip' enroot import -o /fsx/nccl-tests.sqsh dockerd://nccl-tests:1 >"$E2E/out" 2>"$E2E/err" &&
        [[ -s $HEAD/of-all/nccl-tests.sqsh ]]
told "enroot import dockerd:// makes a squash file of Docker's image on /fsx" $?
chmod 0644 "$HEAD/of-all/nccl-tests.sqsh"
head_stop dockerd

nccl_job /fsx 2 8 >"$HEAD/of-all/nccl-test.sbatch"
as_alice "cd /fsx && timeout 300 env CUDA_DOUBLE_DEVICES=8 sbatch -W nccl-test.sbatch" >"$E2E/out" 2>"$E2E/err"
s=$?
log=$(echo "$HEAD"/of-all/nccl-allreduce_*.out)
[[ $s -eq 0 && $(grep -c '^#  Rank' "$log") -eq 16 && $(grep -cE '^ +[0-9]+ +[0-9]+ +float .* 0 +[0-9.]+ .* 0 *$' "$log") -eq 8 ]] &&
        grep -q '^# Out of bounds values : 0 OK' "$log"
s=$?
told "the tutorial's job: all_reduce_perf in a container, sixteen ranks on two nodes" $s
[[ $s -eq 0 ]] || tail -n 20 "$HEAD"/of-all/nccl-allreduce_*
[[ $(grep -oE 'on +node[12] device +[0-7]' "$log" | sort -u | wc -l) -eq 16 ]]
told "… eight on each, each with a GPU of its own" $?

# EFA: no device here, and libfabric says so.
as_alice "srun -N 1 env FI_PROVIDER=efa fi_info -p efa" >"$E2E/out" 2>"$E2E/err"
[[ $? -ne 0 ]] && grep -q 'No data available' "$E2E/err" "$E2E/out"
told "FI_PROVIDER=efa without a device: libfabric says that there is none" $?
as_alice "srun -N 2 fi_info -p tcp -t FI_EP_MSG" >"$E2E/out" 2>"$E2E/err"
[[ $? -eq 0 && $(grep -c '^provider: tcp' "$E2E/out") -ge 2 ]]
told "… and on both nodes it has TCP" $?
head_stop slurmctld slurmd1 slurmd2 node1 node2 head
exit $rc
