#!/bin/bash
# Horovod with NCCL, compiled against PyPI's PyTorch by Debian's CUDA compiler: gigabytes of downloads, no GPU. That it has NCCL, and that two processes
# train by MPI and by Gloo, is what the overlay's own check asks; here, that a second compiler run makes the same bytes, and what the code is for.
#
# lane: machine
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
own_project
recipe=$RECIPES/horovod-cuda.json
echo '{ "name": "horovod-cuda", "kind": "tree", "base": { "distro": "debian", "release": "trixie", "components": ["main", "contrib", "non-free", "non-free-firmware"] },
        "overlays": ["ml-horovod-cuda"] }' >"$recipe"
tree_checks "$recipe" "Horovod is compiled for PyTorch's NCCL, and every check passes"
[[ $rc -eq 0 ]] || exit 1
layer() {
        "$IMGBUILD" plan "$recipe" --cache "$CACHE" --offline --json | python3 -c 'import json, sys
print(sys.argv[1] + "/layers/" + [s["digest"][:32] for s in json.load(sys.stdin)["stages"] if s["id"] == "compile:ml-horovod-cuda/0"][0])' "$CACHE"
}
sums() { (cd "$(layer)/tree" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }
sums >"$E2E/first"
rm -rf "$(layer)"
tree_checks "$recipe" "it is compiled a second time"
sums >"$E2E/second"
grep -q 'mpi_lib_v2.*\.so$' "$E2E/first" && diff "$E2E/first" "$E2E/second"
check "to the same bytes" $?
"$IMGBUILD" shell "$recipe" --cache "$CACHE" --progress none -- sh -c '
        export HOME=/tmp PATH=/opt/ml/torch/bin:$PATH
        horovodrun -cb
        python -c "import horovod.torch as hvd; print(\"nccl built\", hvd.nccl_built())
for line in open(\"/proc/self/maps\"): print(line)" | grep -o "nccl built.*\|/[^ ]*libnccl.so[^ ]*" | sort -u
        ls /usr/bin/nvcc /usr/bin/gcc-13' >"$E2E/said" 2>/dev/null
check "horovodrun -cb has NCCL" "$(grep -qF '[X] NCCL' "$E2E/said"; echo $?)"
check "… of the version that PyTorch's wheel brings, and there is one library of it in a process" \
        "$(grep -q '^nccl built 2[0-9]*' "$E2E/said" && [[ $(grep -c 'libnccl' "$E2E/said") -eq 1 ]] && grep -q '^/opt/ml/torch/.*/nvidia/nccl/lib/libnccl.so.2$' "$E2E/said"; echo $?)"
check "no compiler is in the image" "$(! grep -q '^/usr/bin' "$E2E/said"; echo $?)"
exit "$rc"
