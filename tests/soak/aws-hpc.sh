#!/bin/bash
# A published tutorial of AWS' clusters (docs/clusters/aws-hpc.md) on machines: aws-hpc-head and two nodes of aws-hpc, baked whole. The EFA driver is
# compiled for the image's kernel, AWS' plugin for NCCL against Debian's libfabric, Lustre, Enroot and Pyxis from their own sources. A container is built by
# Docker on the head and runs on both nodes, from /fsx. That is Lustre: the head is its server too, with its targets in its memory (osd-wbcfs). Then
# the network to the server is away, and comes back.
#
# Doubles: GPUs (NVML, CUDA, NCCL, what the driver shows), and no EFA device. Without NVIDIA's container toolkit, whose packages come from the vendor
# alone; e2e/40 has doubles of them. The compilers take half an hour of one processor.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/cluster.bash"
source "$TOP/tests/e2e/gpu-doubles.bash"

# CUDA's headers as the vendor's archives have them, from PyPI's packages of them.
cuda_headers() {
        local name wheel=$E2E/wheels folder
        [[ ! -e $SHARED/cuda/nvcc.tar ]] || return 0
        python3 -m pip download -q --no-deps -d "$wheel" nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-nvcc-cu12==12.4.131 >"$E2E/pip.log" 2>&1 || return 1
        mkdir -p "$SHARED/cuda"
        for name in runtime:cudart nvcc:nvcc; do
                folder=$E2E/headers/${name#*:}
                mkdir -p "$folder"
                python3 -m zipfile -e "$wheel"/nvidia_cuda_"${name%:*}"_cu12-*.whl "$E2E/wheel.${name#*:}" || return 1
                cp -r "$E2E/wheel.${name#*:}/nvidia/cuda_${name%:*}"/{include,lib} "$folder/" 2>/dev/null
                tar -C "$E2E/headers" --sort=name --mtime=@0 --owner=0 --group=0 --mode=u=rwX,go=rX -cf "$SHARED/cuda/${name#*:}.new" "${name#*:}" &&
                        mv "$SHARED/cuda/${name#*:}.new" "$SHARED/cuda/${name#*:}.tar" || return 1
        done
}

# Lustre's server: the client's overlay, but for what makes it a client alone.
lustre_server() {
        local server=$PROJECT/overlays/lustre-server
        cp -a "$PROJECT/overlays/lustre-client" "$server"
        sed -i -e 's/--disable-server /--enable-server --disable-ldiskfs --without-zfs /' "$server/compile.sh"
        cat >>"$server/compile.sh" <<'C'
install -D -t "$DESTDIR/usr/sbin" usr/sbin/l_getidentity
install -D -t "$DESTDIR/usr/lib/lustre" usr/lib/lustre/mount_osd_wbcfs.so
C
        sed -i -e 's/"description": "[^"]*"/"description": "A Lustre server that keeps what it has in memory"/' \
                -e 's/"checks": \[/"services": { "enable": ["lustre-server.service"] },\n        "checks": [/' "$server/overlay.json"
        mkdir -p "$server/files/usr/local/sbin"
        unit_at_boot "$server" lustre-server
        cat >"$server/files/usr/local/sbin/lustre-server" <<'S'
#!/bin/sh -eux
modprobe -a lnet ksocklnd ptlrpc osd_wbcfs mgs mdd mdt lod ofd osp lfsck
target() { # TYPE INDEX: one of the file system's
        mkdir -p "/srv/$1$2"
        OSD_WBC_FSNAME=fsx OSD_WBC_MGS_NID=10.79.0.1@tcp OSD_WBC_PRIMARY_MDT=1 OSD_WBC_TGT_TYPE=$1 OSD_WBC_INDEX=$2 \
                mount -t lustre lustre-wbcfs "/srv/$1$2"
}
target MDT 0
target OST 0
target OST 1
lctl set_param mdt.*.identity_upcall=NONE
S
        chmod +x "$server/files/usr/local/sbin/lustre-server"
}

# The doubles' GPUs for slurmd as well: device files, and what the driver shows below /proc.
slurm_gpus() {
        local overlay=$PROJECT/overlays/slurm-doubles files i d
        files=$overlay/files
        mkdir -p "$files"/etc/{systemd/system/slurmd.service.d,tmpfiles.d} "$files"/opt/gpu/{driver/nvidia/gpus,pci/nvidia}
        for i in 0 1 2 3 4 5 6 7; do
                d=0000:$(gpu_address $i):00.0
                mkdir -p "$files/opt/gpu/driver/nvidia/gpus/$d" "$files/opt/gpu/pci/nvidia/$d"
                printf 'Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-%d\nBus Location: \t %s\nDevice Minor: \t %d\n' $i "$d" $i >"$files/opt/gpu/driver/nvidia/gpus/$d/information"
                echo 0-1 >"$files/opt/gpu/pci/nvidia/$d/local_cpulist"
                echo "c /dev/nvidia$i 0666 - - - 195:$i" >>"$files/etc/tmpfiles.d/gpu-doubles.conf"
        done
        printf '[Service]\nBindReadOnlyPaths=/opt/gpu/driver:/proc/driver /opt/gpu/pci:/sys/bus/pci/drivers\n' >"$files/etc/systemd/system/slurmd.service.d/50-double.conf"
        echo '{ "description": "Doubles of eight GPUs, for Slurm", "requires": ["gpu-doubles"], "node": { "slurm": { "gres": "gpu:8" } } }' >"$overlay/overlay.json"
}

have_source aws-ofi-nccl-2daf7d30.tar.xz && have_source lustre-2.17.57.tar.xz || exit 77
alone cuda_headers || { echo "CUDA's headers, which PyPI has as nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12"; exit 77; }
containers_sources || { echo "not ok - the overlays name the vendors' archives"; exit 1; }
from_sources "$PROJECT" lustre-client || { echo "not ok - lustre-client names its archive"; exit 1; }
sed -i -e "s,\"https://github.com/aws/[^\"]*\",\"file://$(realpath "$SOURCES")/aws-ofi-nccl-\${version}.tar.xz\"," \
        -e "s,\"https://developer[^\"]*/cuda_\(cudart\|nvcc\)-[^\"]*\",\"file://$SHARED/cuda/\1.tar\"," "$PROJECT/overlays/efa/overlay.json"
[[ $(grep -c '"url": "file:///' "$PROJECT/overlays/efa/overlay.json") -eq 3 ]] || { echo "not ok - efa names three archives"; exit 1; }
lustre_server
gpu_doubles
slurm_gpus
# Machines of a cluster file have two networks, and the first is QEMU's own, where all of them have the same address.
mkdir -p "$PROJECT/overlays/lnet/files/etc/modprobe.d"
echo 'options lnet ip2nets="tcp 10.79.0.*"' >"$PROJECT/overlays/lnet/files/etc/modprobe.d/lnet.conf"
echo '{ "description": "Which of its networks Lustre takes" }' >"$PROJECT/overlays/lnet/overlay.json"
cat >"$RECIPES/aws-head.json" <<'R'
{ "name": "aws-head", "extends": "aws-hpc-head", "overlays": ["-lustre-client", "lustre-server", "lnet", "gpu-libraries"], "packages": ["nftables"],
  "node": { "mounts": [ { "what": "10.79.0.1@tcp:/fsx", "where": "/fsx", "type": "lustre", "options": "flock" } ] } }
R
cat >"$RECIPES/aws-node.json" <<'R'
{ "name": "aws-node", "extends": "aws-hpc", "overlays": ["-container-toolkit", "slurm-doubles", "lnet"],
  "node": { "scratch": { "models": ["QEMU NVMe Ctrl"] }, "watch": { "healthy": "2min" },
            "mounts": [ { "what": "head:/home", "where": "/home" },
                        { "what": "10.79.0.1@tcp:/fsx", "where": "/fsx", "type": "lustre", "options": "flock" } ] } }
R
cat >"$E2E/cluster.json" <<'R'
{ "name": "aws", "network": "10.79.0.0/24", "machines": [
  { "name": "head", "image": "aws-head", "memory": "3G" },
  { "name": "node", "count": 2, "image": "aws-node", "cpus": 2, "memory": "2560M", "nvme": ["count=2,size=2G"] } ] }
R
tree_checks "$RECIPES/aws-node.json" "aws-hpc passes every check"
"$IMGBUILD" shell "$RECIPES/aws-node.json" --cache "$CACHE" --progress plain -- sh -c 'modinfo -k "$(ls /usr/lib/modules)" -F depends efa; grep -ao ncclNetPlugin_v8 /opt/amazon/ofi-nccl/lib/*/libnccl-net.so' >"$E2E/inside" 2>/dev/null
grep -q '^ib_core,ib_uverbs$' "$E2E/inside"
check "the EFA driver is there, on the kernel's own InfiniBand core" $?
grep -q '^ncclNetPlugin_v8$' "$E2E/inside"
check "NCCL's plugin has the table that NCCL looks for" $?
for name in aws-node aws-head; do
        SECONDS=0
        build "$name" --no-proof >"$E2E/build.log" 2>&1 # the boot is one
        s=$?
        check "$name becomes a disk" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
        echo "# $SECONDS s"
done

{
        declare -f small_image nccl_job
        cat <<'C'
set -u
on() { "${@:2}"; }
say() { echo "== $1"; }
alice() { su - alice -c "$1" 2>/root/err || { echo "exit code $?"; cat /root/err; }; }
idle() { local i; for i in $(seq "$1"); do [ "$(sinfo -h -N -o %T | grep -cx idle)" = 2 ] && break; sleep 5; done; } # TIMES; for sinfo -t a drained node is idle
idle 60
say nodes; sinfo -h -N -o '%N %T %G'
say headscratch; findmnt -n -o FSTYPE,FSROOT --mountpoint /mnt/localdisk; firstbootctl status | grep -c 'root disk: no local disks are mounted there'
say headdocker; for i in $(seq 60); do systemctl is-active -q docker && break; sleep 2; done; docker info -f '{{.DockerRootDir}}'
say failed; for i in head node1 node2; do run=; [ $i = head ] || run="srun -w $i"; $run systemctl --failed --plain --no-legend | cut -d ' ' -f 1; done

# The nodes: what the recipe brought.
say efa; srun -w node1 sh -c 'modprobe efa; lsmod | awk "\$1 == \"efa\" || \$4 ~ /efa/ { print \$1 }" | sort; modinfo -F vermagic efa | grep -c "^$(uname -r) "; dmesg | grep -c "efa: Unknown symbol"'
say none; srun -w node1 sh -c 'fi_info -p efa 2>&1 | grep -c "No data available"; fi_info -p tcp -t FI_EP_MSG | grep -c "^provider: tcp" | sed "s/[1-9][0-9]*/some/"'
say scratch; srun -N 2 sh -c 'for i in $(seq 60); do systemctl is-active -q docker && break; sleep 2; done; findmnt -n -o FSTYPE /mnt/localdisk; readlink -f /scratch; stat -c %a /mnt/localdisk/enroot/data; docker info -f "{{.DockerRootDir}}"' | sort | uniq -c | awk '{ $1 = $1; print }'
say tuning; srun -w node1 sh -c 'systemctl is-active tuning; cat /proc/sys/vm/nr_hugepages'
say programs; srun -w node1 sh -c 'ls /opt/nccl-tests/build | wc -l; enroot version; docker buildx version | cut -d " " -f 1; lfs --version | cut -d " " -f 2'

# Lustre.
say server; lctl dl | awk '{ print $3 }' | grep -cE '^(mgs|mdt|obdfilter)$'
say mounted; { srun -N 2 findmnt -n -o SOURCE,FSTYPE,TARGET /fsx; findmnt -n -o SOURCE,FSTYPE,TARGET /fsx; } | sort | uniq -c | awk '{ $1 = $1; print }'
say targets; srun -w node1 lfs df /fsx | grep -c '^fsx-'
cluster user add alice --gid 9876 >/dev/null
mkdir /fsx/alice; chown alice: /fsx/alice; lfs setstripe -c 2 -S 1M /fsx/alice
say written; alice 'srun -w node1 bash -c "head -c 64M /dev/urandom >/fsx/alice/data; sha256sum </fsx/alice/data >/home/alice/sum; lfs getstripe -c /fsx/alice/data"'
say read; alice 'srun -w node2 bash -c "sha256sum </fsx/alice/data | grep -cxf /home/alice/sum; stat -c %U /fsx/alice/data"; sha256sum </fsx/alice/data | grep -cxf sum'
say lock; alice 'srun -N 2 bash -c "for i in \$(seq 50); do flock /fsx/alice/lock sh -c \"echo x >>/fsx/alice/lines\"; done"'; srun -w node1 sh -c 'wc -l </fsx/alice/lines'
say names; alice 'srun -w node2 bash -c "mkdir /fsx/alice/many; for i in \$(seq 300); do : >/fsx/alice/many/\$i; done"'; srun -w node1 sh -c 'ls /fsx/alice/many | wc -l'

# The tutorial's chapters on containers and NCCL, as a user on the head. What goes into the image is at his home: this server in memory has no symbolic links.
say group; gpasswd -a alice docker >/dev/null; id -nG alice | tr ' ' '\n' | grep -cx docker
mkdir -p /home/alice/image && small_image /home/alice/image/root
mkdir -p /home/alice/image/root/opt/nccl-tests/build /home/alice/image/root/usr/lib/x86_64-linux-gnu
cp /usr/bin/ncclbench /home/alice/image/root/opt/nccl-tests/build/all_reduce_perf
ldd /usr/bin/ncclbench | grep -o '/lib[^ ]*' | while read -r file; do install -D "$(realpath "/usr$file")" "/home/alice/image/root/usr$file"; done
cp /opt/gpu/lib/lib{cuda.so.1,nccl.so.2} /home/alice/image/root/usr/lib/x86_64-linux-gnu/
cat >/home/alice/image/Dockerfile <<'D'
FROM scratch
COPY root/ /
RUN ["bash", "-c", "echo \"built as $(id -u)\" >/etc/built"]
CMD ["bash"]
D
chown -R alice: /home/alice/image
say build; alice 'cd /home/alice/image && docker build -q -t nccl-tests:1 . | cut -c 1-7; docker images --format "{{.Repository}}:{{.Tag}}"'
say import; alice 'enroot import -o /fsx/alice/nccl-tests.sqsh dockerd://nccl-tests:1 >/dev/null && ls /fsx/alice/*.sqsh'
say container; alice 'srun --nodes=2 --ntasks-per-node=1 --container-image=/fsx/alice/nccl-tests.sqsh --container-mounts=/fsx:/fsx bash -c "hostname; cat /etc/built; ls /fsx/alice/data"' | sort
say pmix; alice 'srun --nodes=2 --ntasks-per-node=1 --mpi=pmix --container-image=/fsx/alice/nccl-tests.sqsh bash -c "echo rank \$PMIX_RANK of \$SLURM_NTASKS"' | sort
nccl_job /fsx/alice 1 2 >/home/alice/nccl-test.sbatch
say job; alice 'CUDA_DOUBLE_DEVICES=8 timeout 400 sbatch -W nccl-test.sbatch >/dev/null; cat nccl-allreduce_*.err >&2; cat nccl-allreduce_*.out >&2'
grep -cE '^#  Rank' /home/alice/nccl-allreduce_*.out; grep -cE '^ +[0-9]+ +[0-9]+ +float .* 0 +[0-9.]+ .* 0 *$' /home/alice/nccl-allreduce_*.out
grep -o '^# Out of bounds values : 0 OK' /home/alice/nccl-allreduce_*.out; grep -cE '^node[12]:' /home/alice/nccl-allreduce_*.out; cat /root/err /home/alice/nccl-allreduce_*.{err,out} >&2
say gpus; alice 'srun -w node2 --gpus-per-node=3 bash -c "echo \$CUDA_VISIBLE_DEVICES"'

# The server's network is away: whoever asks is held, and a job finds its node drained, with the reason, not hung.
nft add table ip away
nft add chain ip away in '{ type filter hook input priority 0; }'
nft add rule ip away in iifname != lo tcp dport 988 drop
say away; alice 'timeout 120 srun -w node1 true' >&2; for i in $(seq 120); do sinfo -h -R -n node1 -o %E | grep -q . && break; sleep 2; done; sinfo -h -R -n node1 -o %E | grep -oE 'mounts\.(hangs|not-readable)' | head -n 1; sinfo -R >&2
nft delete table ip away
# What the watch has found it lifts itself, once all has been well for watch.healthy and a full check has passed.
say back; SECONDS=0; idle 240; echo "both nodes are back $SECONDS s later" >&2; sinfo -h -N -o '%N %T'; alice 'timeout 120 srun -N 2 bash -c "sha256sum </fsx/alice/data | grep -cxf /home/alice/sum"'
say symbols; dmesg | grep -c 'Unknown symbol'; srun -N 2 sh -c 'dmesg | grep -c "LustreError.*LBUG"'
say end
C
} >"$E2E/commands"
cluster_run "$E2E/cluster.json"

says "both nodes are in service, with eight GPUs each" nodes $'node1 idle gpu:8(S:0)\nnode2 idle gpu:8(S:0)'
says "the head has no local disks: scratch is on its root disk, and the agent says so" headscratch $'ext4 /var/lib/localdisk\n1'
says "… where Docker runs" headdocker /mnt/localdisk/docker
part failed | sed 's/^/# failed: /'
says "efa.ko loads, on the kernel's own core, with every symbol known" efa $'efa\nib_core\nib_uverbs\n1\n0'
says "no EFA device: libfabric says that there is none, and has TCP" none $'1\nsome'
says "/scratch is on the nodes' local disks, Docker's and Enroot's folders too" scratch $'2 /mnt/localdisk\n2 /mnt/localdisk/docker\n2 1777\n2 xfs'
says "tuning has run; without an EFA device it takes no huge pages" tuning $'active\n0'
says "nccl-tests' names, Enroot, buildx, Lustre's tools" programs $'11\n4.1.2\ngithub.com/docker/buildx\n2.17.57'
says "Lustre's server has a management, a metadata and two object targets" server 4
says "the head and each node have it mounted" mounted '3 10.79.0.1@tcp:/fsx lustre /fsx'
says "… and see its targets" targets 3
says "a user's job writes 64 MB over both object targets" written 2
says "… which another node's job reads, and the head" read $'1\nalice\n1'
says "two nodes append under one lock" lock 100
says "files that one makes the other lists" names 300
says "gpasswd lets a user of the directory to Docker" group 1
says "docker build, as he" build $'sha256:\nnccl-tests:1'
says "enroot import dockerd:// makes a squash file of it on /fsx" import /fsx/alice/nccl-tests.sqsh
says "srun --container-image with it, on both nodes, with /fsx mounted" container "$(printf '%s\n' /fsx/alice/data /fsx/alice/data 'built as 0' 'built as 0' node1 node2)"
says "--mpi=pmix in containers on both nodes" pmix $'rank 0 of 2\nrank 1 of 2'
says "the tutorial's job, on one node: mpirun, and all_reduce_perf in the container on two GPUs" job $'2\n8\n# Out of bounds values : 0 OK\n1'
says "GPUs are handed out" gpus 0,1,2
part away | grep -qE '^mounts\.(hangs|not-readable)$'
check "Lustre's server away: the node is drained for it, with the reason" $?
says "the server is back: the nodes come back by themselves, and jobs read what was written" back $'node1 idle\nnode2 idle\n1\n1'
says "no symbol was missing, no assertion failed" symbols $'0\n0\n0'
grep -h 'nodes are back' "$E2E/log" "$E2E/out" | sed 's/^/# /'
exit $rc
