# Sourced after lib.bash: Enroot and Pyxis compiled from their sources, with a registry and two nodes of real Slurm, natively.
#
#   have_source ARCHIVE       whether $SOURCES has it; says what is missing
#   from_sources PROJECT OVERLAY…   these overlays of it take their archives from there
#   containers_begin          ends the script where user namespaces or the sources are not there; then as containers_sources
#   nccl_job FOLDER NODES TASKS   a published job script for NCCL's tests in a container, to 1 KiB, twice
#   users_have_namespaces     ends the script where ordinary users may not make them
#   containers_sources        own_project whose overlays take the sources from $SOURCES; skips where they are not
#   tree_checks RECIPE TEXT   a check: the recipe is made and passes its own checks; ends the script where it does not
#   containers_new            the tree of images/containers.json thrice: head, node1 and node2, with a user, keys and scratch
#                             FOLDER_OF_ALL=/PATH, set before: one folder that all three have there
#   containers_up ARGUMENT…   the script again, in namespaces of its own, from where on there are these machines, a registry and Slurm on the
#                             head, slurmd on the nodes, and a small image's root in $HEAD/small
#   push_small NAME           what is in there, into the registry; prints the digest
#   on MACHINE COMMAND…       a command on one of them, as root
#   launch MACHINE NAME COMMAND…   a service, in the background, with a log
#   as_alice COMMAND…         a shell's command line on the head, as the user
#   small_image FOLDER [TREE] bash and a few programs of the tree (the machine's own) with their libraries, as an image's root

SOURCES=${SOURCES:-$TOP/../shared/sources}

have_source() { [[ -e $SOURCES/$1 ]] || { echo "$1 (it has no other source here; SOURCES=FOLDER has it)"; return 1; }; }

# The vendors' archives of the same versions, from files.
from_sources() { # PROJECT OVERLAY…
        local overlay archive file
        for overlay in "${@:2}"; do
                case $overlay in
                enroot-source) archive='enroot-${version}.tar.gz' ;;
                pyxis) archive='pyxis-${version}.tar.gz' ;;
                container-toolkit-source) archive='nvidia-container-toolkit-${version}.tar.xz' ;;
                lustre-client) archive='lustre-${version}.tar.xz' ;;
                nvidia-driver-vendor) archive='open-gpu-kernel-modules-${version}.tar.xz' ;;
                esac
                file=$1/overlays/$overlay/overlay.json
                sed -i "s|\"https://github.com/[^\"]*/archive/refs/tags/[^\"]*\"|\"file://$(realpath "$SOURCES")/$archive\"|" "$file"
                grep -q '"url": "file:///' "$file" || { echo "# $file names no archive of a tag"; return 1; }
        done
}

containers_sources() {
        have_source enroot-4.1.2.tar.gz && have_source pyxis-0.24.0.tar.gz || exit 77
        own_project
        from_sources "$PROJECT" enroot-source pyxis
}

tree_checks() { # RECIPE TEXT
        "$IMGBUILD" check "$1" --cache "$CACHE" --progress plain >"$E2E/check.log" 2>&1
        local s=$?
        check "$2" $s
        [[ $s -eq 0 ]] || { tail -n 30 "$E2E/check.log"; exit 1; }
}

# A machine is a tree of its own with namespaces of its own, and a first process that only waits. No bubblewrap: Enroot's programs
# have file capabilities, which that takes away.
machine_new() { # NAME
        local m=$HEAD/$1 path
        mkdir -p "$m"/{root,upper,work}
        mount -t overlay -o "lowerdir=$layers,upperdir=$m/upper,workdir=$m/work" "$1" "$m/root" || return 1
        for path in proc sys dev run tmp; do mkdir -p "$m/root/$path"; done
        if [[ -n ${FOLDER_OF_ALL:-} ]]; then
                mkdir -p "$HEAD/of-all" "$m/root/$FOLDER_OF_ALL" && mount --bind "$HEAD/of-all" "$m/root/$FOLDER_OF_ALL" || return 1
        fi
        unshare --mount --pid --uts --fork --kill-child -- bash -c '
root=$1
cd "$root" && hostname "$2" && mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev && mount -t tmpfs run run &&
        mount -t tmpfs -o mode=1777 tmp tmp && mkdir -p run/old mnt/localdisk && mount -t tmpfs -o mode=755,size=256M disk mnt/localdisk &&
        pivot_root . run/old && cd / && umount -l /run/old && touch /run/up || exit 1
sleep infinity & wait' machine "$m/root" "$1" >"$HEAD_LOG/$1.log" 2>&1 &
        echo $! >"$HEAD/pid/$1"
}

on() { # MACHINE COMMAND…
        nsenter -t "$(pgrep -P "$(cat "$HEAD/pid/$1")")" --mount --uts --pid --root --wd -- env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 "${@:2}"
}
as_alice() { on head setpriv --reuid 20001 --regid 20000 --clear-groups env HOME=/home/alice USER=alice bash -c "cd; $*"; }

# waits COMMAND…: until it succeeds, for two minutes.
waits() { local i; for ((i = 0; i < 600; i++)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.2; done; "$@"; }

containers_new() {
        local layers machine root n
        layers=$(head_layers "$RECIPES/containers.json")
        mkdir -p "$HEAD/pid" && rm -f "${HEAD_LOG:?}"/*
        head -c 1024 /dev/urandom >"$HEAD/slurm.key"
        for machine in head node1 node2; do
                machine_new "$machine" && waits on "$machine" test -e /run/up || return 1
                root=$HEAD/$machine/root
                printf '127.0.0.1 localhost head node1 node2\n' >"$root/etc/hosts"
                echo "$machine" >"$root/etc/hostname"
                rm -f "$root/etc/resolv.conf" && touch "$root/etc/resolv.conf"
                echo 'alice:x:20001:20000:Alice:/home/alice:/bin/bash' >>"$root/etc/passwd"
                echo 'crew:x:20000:' >>"$root/etc/group"
                install -d -o 20001 -g 20000 -m 0700 "$root/home/alice"
                install -m 0600 "$HEAD/slurm.key" "$root/etc/slurm/slurm.key"
                on "$machine" sh -ec "$(sed -n 's/^ExecStart=//p' "$TOP/overlays/enroot-common/files/etc/systemd/system/enroot-scratch.service")"
                mkdir "$root/opt/dev" && for n in 0 1 2 3 4 5 6 7; do mknod "$root/opt/dev/nvidia$n" c 1 3; done
                [[ ! -d $root/etc/enroot/enroot.conf.d ]] || echo 'ENROOT_ALLOW_HTTP yes' >"$root/etc/enroot/enroot.conf.d/test.conf"
        done
        cat >"$HEAD/head/root/etc/slurm/slurm.conf" <<'CONF'
ClusterName=e2e
SlurmctldHost=head
SlurmUser=root
AuthType=auth/slurm
CredType=cred/slurm
SlurmctldParameters=enable_configless
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdTimeout=3600
# On a busy machine nothing may be too late.
MessageTimeout=100
TCPTimeout=60
BatchStartTimeout=300
AuthInfo=ttl=600,cred_expire=600
GresTypes=gpu
NodeName=node1 NodeAddr=127.0.0.1 Port=17001 CPUs=2 RealMemory=1000 Gres=gpu:8
NodeName=node2 NodeAddr=127.0.0.1 Port=17002 CPUs=2 RealMemory=1000 Gres=gpu:8
PartitionName=compute Nodes=ALL Default=YES State=UP
CONF
        echo 'CgroupPlugin=disabled' >"$HEAD/head/root/etc/slurm/cgroup.conf"
        # GPUs that only count: device files of no device.
        echo 'Name=gpu File=/opt/dev/nvidia[0-7]' >"$HEAD/head/root/etc/slurm/gres.conf"
}

launch() {
        setsid nsenter -t "$(pgrep -P "$(cat "$HEAD/pid/$1")")" --mount --uts --pid --root --wd -- env -i PATH=/usr/sbin:/usr/bin "${@:3}" \
                >>"$HEAD_LOG/$2.log" 2>&1 </dev/null &
        echo $! >"$HEAD/pid/$2"
}

registry_start() {
        printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: /var/lib/docker-registry } }\nhttp: { addr: "127.0.0.1:5000" }\n' \
                >"$HEAD/head/root/etc/registry.yml"
        launch head registry docker-registry serve /etc/registry.yml
        waits python3 -c 'import socket; socket.create_connection(("127.0.0.1", 5000), 1)'
}

slurm_start() {
        mkdir -p "$HEAD"/{head,node1,node2}/root/var/spool/{slurmctld,slurmd}
        launch head slurmctld slurmctld -D
        waits on head scontrol ping
        for n in 1 2; do launch "node$n" "slurmd$n" slurmd -D -N "node$n" --conf-server head; done
        waits on head sh -c '[ "$(sinfo -h -N -t idle -o %N | wc -l)" = 2 ]'
}

containers_up() { # ARGUMENT…
        PROJECT=$E2E/project RECIPES=$E2E/project/images
        head_enter "$@"
        trap 'head_stop registry slurmctld slurmd1 slurmd2 node1 node2 head' EXIT
        containers_new && registry_start && slurm_start && small_image "$HEAD/small" "$HEAD/head/root"
}

push_small() { python3 "$TOP/tests/fixtures/push-image" http://127.0.0.1:5000 "$1" 1 "$HEAD/small"; } # NAME

small_image() { # FOLDER [TREE]
        local root=$1 tree=${2:-} file
        mkdir -p "$root"/{usr/bin,usr/lib64,etc,tmp,proc,sys,dev,run,home}
        ln -s usr/bin "$root/bin" && ln -s usr/lib "$root/lib" && ln -s usr/lib64 "$root/lib64"
        for file in bash cat env expr grep hostname id ls rm sh sleep touch; do cp "$tree/usr/bin/$file" "$root/usr/bin/"; done
        for file in bash cat expr grep hostname id ls; do on head ldd "/usr/bin/$file"; done | grep -o '/lib[^ ]*' | sort -u | while read -r file; do
                install -D "$(realpath "$tree/usr$file")" "$root/usr$file"
        done
        echo 'PRETTY_NAME="A small image"' >"$root/etc/os-release"
}

users_have_namespaces() {
        setpriv --reuid 20001 --regid 20000 --clear-groups unshare --user --mount true 2>/dev/null ||
                { echo "user namespaces for ordinary users, which this kernel does not give"; exit 77; }
}

# containers_begin: what a test of containers needs before it bakes a tree; the script ends where that is not there.
containers_begin() {
        users_have_namespaces
        containers_sources || { echo "not ok - the overlays name the vendors' archives"; exit 1; }
}

# A tutorial of AWS' for NCCL's tests has this job, for sixteen GPUs on two nodes and larger sizes, more often.
nccl_job() { # FOLDER NODES TASKS: the container's image is there; a GPU for each task of a node
        cat <<B
#!/bin/bash

#SBATCH --job-name=nccl-allreduce
#SBATCH --nodes=$2
#SBATCH --ntasks-per-node=$3
#SBATCH --gpus-per-node=$3
#SBATCH --output=%x_%j.out
#SBATCH --error=%x_%j.err
#SBATCH --exclusive
#SBATCH --wait-all-nodes=1
#SBATCH --ntasks-per-core=1

# 環境変数の設定
export APPS_PATH=$1
B
        cat <<'B'
export IMAGE=${APPS_PATH}/nccl-tests.sqsh
export NCCL_TESTS_PATH=/opt/nccl-tests/build

# EFA の設定
export FI_PROVIDER=efa
export FI_EFA_FORK_SAFE=1

# NCCL の設定
export NCCL_DEBUG=INFO

# パフォーマンス最適化
export NCCL_BUFFSIZE=8388608
export NCCL_P2P_NET_CHUNKSIZE=524288
export NCCL_TUNER_PLUGIN=/opt/amazon/ofi-nccl/lib/$(uname -m)-linux-gnu/libnccl-ofi-tuner.so

# ホスト名とインスタンス ID を表示
mpirun -N 1 bash -c 'echo $(hostname): $(cat /sys/devices/virtual/dmi/id/board_asset_tag | tr -d " ")'

# NCCL テストを実行
srun --mpi=pmix \
     --cpu-bind=none \
     --container-image=${IMAGE} \
     ${NCCL_TESTS_PATH}/all_reduce_perf \
     -b 8 -e 1K -f 2 -g 1 -c 1 -n 2
B
}
