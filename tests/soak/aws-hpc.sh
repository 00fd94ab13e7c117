#!/bin/bash
# The recipe aws-hpc, whole: the EFA driver compiled for the image's kernel, AWS' plugin for NCCL compiled against Debian's libfabric, and every
# check. Without NVIDIA's container toolkit, whose packages come from the vendor alone; e2e/40 has doubles of them.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"

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

have_source aws-ofi-nccl-2daf7d30.tar.xz || exit 77
alone cuda_headers || { echo "CUDA's headers, which PyPI has as nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12"; exit 77; }
containers_sources || { echo "not ok - the overlays name the vendors' archives"; exit 1; }
sed -i -e "s,\"https://github.com/aws/[^\"]*\",\"file://$(realpath "$SOURCES")/aws-ofi-nccl-\${version}.tar.xz\"," \
        -e "s,\"https://developer[^\"]*/cuda_\(cudart\|nvcc\)-[^\"]*\",\"file://$SHARED/cuda/\1.tar\"," "$PROJECT/overlays/efa/overlay.json"
[[ $(grep -c '"url": "file:///' "$PROJECT/overlays/efa/overlay.json") -eq 3 ]] || { echo "not ok - efa names three archives"; exit 1; }
echo '{ "name": "aws-tried", "extends": "aws-hpc", "overlays": ["-container-toolkit"] }' >"$RECIPES/aws-tried.json"
imgbuild() { "$IMGBUILD" "$1" "$RECIPES/aws-tried.json" --cache "$CACHE" --progress plain "${@:2}"; }
imgbuild check >"$E2E/check.log" 2>&1
s=$?
check "aws-hpc passes every check" $s
[[ $s -eq 0 ]] || { tail -n 30 "$E2E/check.log"; exit 1; }
imgbuild shell -- sh -c 'modinfo -k "$(ls /usr/lib/modules)" -F depends efa; grep -ao ncclNetPlugin_v8 /opt/amazon/ofi-nccl/lib/*/libnccl-net.so' >"$E2E/inside" 2>/dev/null
grep -q '^ib_core,ib_uverbs$' "$E2E/inside"
check "the EFA driver is there, on the kernel's own InfiniBand core" $?
grep -q '^ncclNetPlugin_v8$' "$E2E/inside"
check "NCCL's plugin has the table that NCCL looks for" $?
exit $rc
