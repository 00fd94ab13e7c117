#!/bin/bash
# A published tutorial's containers on machines: a head and two nodes from recipes, with Enroot and Pyxis compiled from their
# sources, cgroups, munge, home folders over NFS, a registry on the head. Then an array of COUNT (200) jobs in containers over both
# nodes leaves nothing behind. What of it needs no machine is tests/e2e/41-containers.sh.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/cluster.bash"
containers_sources || { echo "not ok - the overlays name the vendors' archives"; exit 1; }
COUNT=${COUNT:-200}

# slurm-enroot and its head, but for the GPU, whose driver's absence would keep the machines from being ready.
cat >"$RECIPES/box-head.json" <<'R'
{ "name": "box-head", "extends": "slurm-enroot-head", "packages": ["docker-registry"] }
R
cat >"$RECIPES/box-node.json" <<'R'
{ "name": "box-node", "extends": "cluster-node", "overlays": ["enroot-source", "pyxis"],
  "node": { "scratch": { "required": true, "models": ["QEMU NVMe Ctrl"] } } }
R
cat >"$E2E/cluster.json" <<'R'
{ "name": "box", "network": "10.78.0.0/24", "machines": [
  { "name": "head", "image": "box-head", "memory": "1536M" },
  { "name": "node", "count": 2, "image": "box-node", "memory": "1536M", "nvme": ["count=2,size=2G"] } ] }
R
for name in box-head box-node; do
        build "$name" >"$E2E/build.log" 2>&1
        s=$?
        check "$name builds" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
done

{
        declare -f small_image
        printf 'base64 -d >/root/push-image <<X\n%s\nX\nCOUNT=%s\n' "$(base64 "$TOP/tests/fixtures/push-image")" "$COUNT"
        cat <<'C'
set -u
on() { "${@:2}"; }
say() { echo "== $1"; }
alice() { su - alice -c "$1" 2>/root/err || { echo "exit code $?"; cat /root/err; }; }
for i in $(seq 120); do [ "$(sinfo -h -N -t idle -o %N | wc -l)" = 2 ] && break; sleep 1; done
say disks; srun -N 2 sh -c 'findmnt -n -o FSTYPE /mnt/localdisk; stat -c %a /mnt/localdisk/enroot/data' | sort | uniq -c
cluster user add alice --gid 9876 >/dev/null
srun -N 2 sh -c 'echo ENROOT_ALLOW_HTTP yes >/etc/enroot/enroot.conf.d/http.conf'
# Debian's configuration asks for passwords.
printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: /var/lib/docker-registry } }\nhttp: { addr: ":5000" }\n' >/etc/docker/registry/config.yml
systemctl restart docker-registry
for i in $(seq 60); do python3 -c 'import socket; socket.create_connection(("127.0.0.1", 5000), 1)' 2>/dev/null && break; sleep 1; done
small_image /root/small && python3 /root/push-image http://127.0.0.1:5000 small 1 /root/small >/dev/null
SECONDS=0
say first; alice 'srun -N 2 --ntasks-per-node 1 --container-image=head:5000#small:1 --container-name=box bash -c "hostname; grep PRETTY /etc/os-release"' | sort
say imported; grep -c 'imported docker image' /root/err
echo "first start: $SECONDS s" >&2
systemctl stop docker-registry
SECONDS=0
say again; alice 'srun -N 2 --ntasks-per-node 1 --container-name=box --container-mounts /home/alice:/home/alice bash -c "id -un; echo \$SLURM_NODEID >/home/alice/in.\$(hostname)"' | sort
echo "second start: $SECONDS s" >&2
say home; sort /home/alice/in.node1 /home/alice/in.node2 # which node is which task is the order in which they registered
say pmi; alice 'srun -N 2 --mpi=pmi2 --container-name=box bash -c "echo \$PMI_RANK of \$PMI_SIZE"' | sort
SECONDS=0
say array; alice "sbatch -W --array=1-$COUNT -n 1 -o /dev/null --wrap 'srun --container-name=box bash -c \"exit 0\"' >/dev/null"
for i in $(seq 60); do [ "$(sacct -n -X -a -o State | grep -c COMPLETED)" -ge "$COUNT" ] && break; sleep 1; done
sacct -n -X -a -o State | sort | uniq -c
echo "$COUNT jobs: $SECONDS s" >&2
say left; for i in $(seq 60); do [ -z "$(squeue -h)" ] && break; sleep 1; done
srun -N 2 bash -c 'ps -u alice -o args=; grep -l enroot/data /proc/[0-9]*/mounts; find /mnt/localdisk/enroot/{tmp,runtime}/ /run/pyxis -mindepth 2; ls /mnt/localdisk/enroot/data/*/'
say end
C
} >"$E2E/commands"
cluster_run "$E2E/cluster.json"

says "scratch is on local disks, with Enroot's folders" disks $'      2 1777\n      2 xfs'
says "srun -N 2 --container-image: both nodes" first $'PRETTY_NAME="A small image"\nPRETTY_NAME="A small image"\nnode1\nnode2'
says "… imported on each" imported 2
says "the second start, without a registry, with a home folder mounted" again $'alice\nalice'
says "… that is one on both nodes" home $'0\n1'
says "--mpi=pmi2 in containers" pmi $'0 of 2\n1 of 2'
read -r ended state others < <(part array | tr '\n' ' ')
[[ $ended =~ ^[0-9]+$ && $ended -ge $COUNT && $state$others == COMPLETED ]]
s=$?
check "an array of $COUNT jobs in containers" $s
[[ $s -eq 0 ]] || part array | sed 's/^/# /'
says "nothing is left but the container with a name" left $'pyxis_box\npyxis_box'
grep -E '(start|jobs): ' "$E2E/log" "$E2E/out" | sed 's/^.*:\([^:]*: [0-9]* s\)$/#\1/'
exit $rc
