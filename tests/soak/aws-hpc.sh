#!/bin/bash
# The recipe aws-hpc, whole: the EFA driver compiled for the image's kernel, AWS' plugin for NCCL compiled against Debian's libfabric, every check,
# a disk, and one boot of it, without a GPU, an EFA device and a head. Without NVIDIA's container toolkit, whose packages come from the vendor alone;
# e2e/40 has doubles of them.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/cluster.bash"

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

have_source aws-ofi-nccl-2daf7d30.tar.xz && have_source lustre-2.17.57.tar.xz || exit 77
alone cuda_headers || { echo "CUDA's headers, which PyPI has as nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12"; exit 77; }
containers_sources || { echo "not ok - the overlays name the vendors' archives"; exit 1; }
from_sources "$PROJECT" lustre-client || { echo "not ok - lustre-client names its archive"; exit 1; }
sed -i -e "s,\"https://github.com/aws/[^\"]*\",\"file://$(realpath "$SOURCES")/aws-ofi-nccl-\${version}.tar.xz\"," \
        -e "s,\"https://developer[^\"]*/cuda_\(cudart\|nvcc\)-[^\"]*\",\"file://$SHARED/cuda/\1.tar\"," "$PROJECT/overlays/efa/overlay.json"
[[ $(grep -c '"url": "file:///' "$PROJECT/overlays/efa/overlay.json") -eq 3 ]] || { echo "not ok - efa names three archives"; exit 1; }
cat >"$RECIPES/aws-tried.json" <<'R'
{ "name": "aws-tried", "extends": "aws-hpc", "overlays": ["-container-toolkit"], "node": { "scratch": { "models": ["QEMU NVMe Ctrl"] } } }
R
tree_checks "$RECIPES/aws-tried.json" "aws-hpc passes every check"
"$IMGBUILD" shell "$RECIPES/aws-tried.json" --cache "$CACHE" --progress plain -- sh -c 'modinfo -k "$(ls /usr/lib/modules)" -F depends efa; grep -ao ncclNetPlugin_v8 /opt/amazon/ofi-nccl/lib/*/libnccl-net.so' >"$E2E/inside" 2>/dev/null
grep -q '^ib_core,ib_uverbs$' "$E2E/inside"
check "the EFA driver is there, on the kernel's own InfiniBand core" $?
grep -q '^ncclNetPlugin_v8$' "$E2E/inside"
check "NCCL's plugin has the table that NCCL looks for" $?

build aws-tried >"$E2E/build.log" 2>&1
s=$?
check "aws-hpc becomes a disk, which is read back" $s
[[ $s -eq 0 ]] || { tail -n 30 "$E2E/build.log"; exit 1; }
cat >"$E2E/commands" <<'C'
say() { echo "== $1"; }
modprobe efa
say lustre; modprobe lustre && awk '$2 == "lustre" { print $2 }' /proc/filesystems; lfs --version | cut -d ' ' -f 2
say efa; lsmod | awk '$1 == "efa" || $4 ~ /efa/ { print $1 }' | sort; modinfo -F vermagic efa | grep -c "^$(uname -r) "
say taint; dmesg | grep -c 'efa: Unknown symbol'
say none; fi_info -p efa 2>&1 | grep -c 'No data available'
say tcp; fi_info -p tcp -t FI_EP_MSG | grep -c '^provider: tcp'
for i in $(seq 300); do mountpoint -q /mnt/localdisk && systemctl is-active -q docker && break; sleep 1; done
say scratch; findmnt -n -o FSTYPE /mnt/localdisk; readlink -f /scratch; stat -c %a /mnt/localdisk/enroot/data
say docker; docker info -f '{{.DockerRootDir}}'
say tuning; systemctl is-active tuning; cat /proc/sys/vm/nr_hugepages
say programs; ls /opt/nccl-tests/build | wc -l; enroot version; docker buildx version | cut -d ' ' -f 1
say gated; systemctl is-active slurmd munge
say failed; systemctl --failed --plain --no-legend | cut -d ' ' -f 1 | sort
say end
C
# From the project: its lock of the tools tree is the one that the image was made with.
(cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/aws-tried/aws-tried.qcow2" --cache "$CACHE" --offline --progress plain --save "$E2E/save" --memory 3G --nvme count=2,size=2G \
        -- "$(cat "$E2E/commands")") >"$E2E/out" 2>"$E2E/log"
s=$?
check "it boots" $s
[[ $s -eq 0 ]] || { tail -n 40 "$E2E/log" "$E2E/out"; exit 1; }
says "efa.ko loads, on the kernel's own core" efa $'efa\nib_core\nib_uverbs\n1'
says "… with every symbol known" taint 0
says "no EFA device: libfabric says that there is none" none 1
[[ $(part tcp) -ge 1 ]]
check "… and has TCP" $?
says "Lustre's client loads, and its tools are of the same version" lustre $'lustre\n2.17.57'
says "/scratch is on the local disks" scratch $'xfs\n/mnt/localdisk\n1777'
says "Docker runs, its images on the same" docker /mnt/localdisk/docker
says "tuning has run; without an EFA device it takes no huge pages" tuning $'active\n0'
says "nccl-tests' names, Enroot, buildx" programs $'11\n4.1.2\ngithub.com/docker/buildx'
says "slurmd waits: the node is not ready without its GPUs" gated $'inactive\ninactive'
part failed | sed 's/^/# failed: /'
exit $rc
