#!/bin/bash
# Frameworks of family el with CUDA, and PyTorch's without: ml-torch, ml-tensorflow and ml-horovod-cuda, then ml-torch-cpu and ml-horovod, on an EL-like distribution of
# Debian's packages as RPMs, as in soak/el-ml. PyTorch 2.9 and TensorFlow are PyPI's own wheels, with NVIDIA's of CUDA; Horovod is compiled against PyTorch's.
# Doubles: NVIDIA's repository for EL, whose CUDA 12.8 is Debian's 12.4 here, and PyTorch's own index, which has those wheels
# of PyPI's, so that the PyTorch of ml-torch-cpu is one with CUDA here. No GPU. 30 GB in two stores, an hour and more.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/el.bash"
source "$TOP/tests/e2e/trained.bash"
el_frameworks_project el-ml-parts

# --- NVIDIA's repository -------------------------------------------------------------------------------------------------
cat >"$W/parts/cuda-parts.json" <<'R'
{ "name": "cuda-parts", "kind": "tree", "base": { "distro": "debian", "release": "trixie", "components": ["main", "contrib", "non-free"], "packages": ["nvidia-cuda-toolkit"] } }
R
cuda_is() { # as cuda-minimal-build-12-8 and cuda-libraries-devel-12-8 lay it out, as far as Horovod asks
        local top=$W/nvidia/cuda-minimal-build-12-8/files/usr/local/cuda-12.8 unpacked=$W/unpacked deb name
        mkdir -p "$unpacked"
        "$IMGBUILD" lock "$W/parts/cuda-parts.json" --fetch --cache "$CACHE" --progress plain || return
        for name in nvidia-cuda-toolkit nvidia-cuda-dev libcudart12 libcu++-dev; do
                deb=$(python3 -c 'import json, sys
print(*[p["sha256"] for s in json.load(open(sys.argv[1]))["stages"] for p in s["packages"] if p["name"] == sys.argv[2]])' "$W/parts/cuda-parts.lock.json" $name) || return
                # The libraries are a gigabyte.
                dpkg-deb --fsys-tarfile "$CACHE/blobs/sha256/${deb:0:2}/$deb" | tar -C "$unpacked" --exclude='./usr/lib/*/lib[!c]*.a' --exclude='./usr/lib/*/libcu[!d]*' -xf - || return
        done
        mkdir -p "$top"/{bin,nvvm/bin,lib64} "$W/nvidia/cuda-libraries-devel-12-8" || return
        cp "$unpacked"/usr/bin/{cudafe++,fatbinary,ptxas,nvlink,bin2c,__nvcc_device_query} "$top/bin/" && cp -r "$unpacked/usr/lib/nvidia-cuda-toolkit/bin/crt" "$top/bin/" &&
                cp "$unpacked/usr/lib/nvidia-cuda-toolkit/bin/nvcc" "$top/bin/nvcc.bin" && cp "$unpacked/usr/lib/nvidia-cuda-toolkit/bin/cicc" "$top/nvvm/bin/" &&
                cp -r "$unpacked/usr/lib/nvidia-cuda-toolkit/libdevice" "$top/nvvm/" &&
                cp -r "$unpacked/usr/include" "$top/../../" && ln -s /usr/include "$top/include" &&
                cp -P "$unpacked"/usr/lib/x86_64-linux-gnu/libcud{art_static.a,adevrt.a,art.so*} "$top/lib64/" || return
        # Its headers are for an older glibc, which is no error in the system's own folder alone, where Debian has them.
        # 12.4 knows compilers up to 13, and EL has 11; of two the last counts.
        printf '#!/bin/sh\nexec "${0%%/*}/nvcc.bin" "$@" -ccbin g++-13\n' >"$top/bin/nvcc"
        chmod 0755 "$top/bin/nvcc"
        printf '%s\n' 'TOP = $(_HERE_)/..' 'CICC_PATH = $(TOP)/nvvm/bin' 'NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice' 'PATH += $(TOP)/nvvm/bin:$(TOP)/bin:' \
                'LIBRARIES =+ "-L$(TOP)/lib64"' >"$top/bin/nvcc.profile"
        printf 'Package: cuda-minimal-build-12-8\nVersion: 12.8.1-1\nDepends: g++-13\n' >"$W/nvidia/cuda-minimal-build-12-8/control"
        printf 'Package: cuda-libraries-devel-12-8\nVersion: 12.8.1-1\nDepends: cuda-minimal-build-12-8\n' >"$W/nvidia/cuda-libraries-devel-12-8/control"
        "$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" "$W/nvidia" "$W/site/cuda"
}
cuda_is >>"$W/log" 2>&1
s=$?
check "NVIDIA's repository is made" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
sed -i -e "s,\"https://developer[^\"]*\\.pub\",\"file://$W/key/key.asc\"," -e "s,\"https://developer[^\"]*\",\"file://$W/site/cuda/\"," \
        -e "s/\"610C 7B14[^\"]*\"/\"$(<"$W/key/fingerprint")\"/" "$PROJECT/overlays/ml-horovod-cuda/overlay.json"
! grep -qE '"(https://developer|610C)' "$PROJECT/overlays/ml-horovod-cuda/overlay.json"
check "ml-horovod-cuda has its compiler from here" $?

# --- with CUDA -----------------------------------------------------------------------------------------------------------
el_frameworks el-torch ml-horovod-cuda ml-tensorflow
in_tree() { "$IMGBUILD" shell "$RECIPES/$1.json" --cache "$CACHE" --progress none -- sh -c "$2" 2>>"$W/log"; }
SECONDS=0
tree_checks "$RECIPES/el-torch.json" "a tree with PyTorch, TensorFlow and Horovod for CUDA is made, and every overlay's check passes"
echo "# $SECONDS s"
[[ $rc -eq 0 ]] || exit 1
python3 - "$RECIPES/el-torch.lock.json" <<'P'
import json, sys
found = {e["environment"]: {w["name"]: w for w in e["wheels"]} for e in json.load(open(sys.argv[1]))["python"]}
assert set(found) == {"/opt/ml/torch", "/opt/ml/tensorflow"}, set(found)
torch = found["/opt/ml/torch"]
assert torch["torch"]["version"].startswith("2.9.") and "cp313" in torch["torch"]["file"], torch["torch"]
assert torch["nvidia-cuda-runtime-cu12"]["version"].startswith("12.8."), torch
print("#", *(f"{n} {e[n]['version']}" for e in found.values() for n in ("torch", "tensorflow", "nvidia-nccl-cu12") if n in e))
P
check "their wheels are for this Python, PyTorch's with CUDA 12.8" $?
in_tree el-torch '
        export HOME=/tmp PATH=/opt/ml/torch/bin:$PATH
        horovodrun -cb
        python -c "import horovod.torch as hvd; print(\"nccl built\", hvd.nccl_built())
for line in open(\"/proc/self/maps\"): print(line)" | grep -o "nccl built.*\|/[^ ]*libnccl.so[^ ]*\|/[^ ]*libcudart.so[^ ]*" | sort -u
        python -c "import torch; print(\"of CUDA\", torch.version.cuda)"
        ls /usr/local/cuda-12.8 /usr/bin/g++* /usr/lib64/openmpi/bin/mpicc' >"$W/said"
grep -qF '[X] NCCL' "$W/said"
told "horovodrun -cb has NCCL" $? "$W/said"
grep -q '^nccl built 2[0-9]*' "$W/said" && [[ $(grep -c 'libnccl' "$W/said") -eq 1 ]] && grep -q '^/opt/ml/torch/.*/nvidia/nccl/lib/libnccl.so.2$' "$W/said"
told "… of the version that PyTorch's wheel brings, and there is one library of it in a process" $? "$W/said"
[[ $(grep libcudart "$W/said") == /opt/ml/torch/*/nvidia/cuda_runtime/lib/libcudart.so.12 ]] && grep -qx 'of CUDA 12.8' "$W/said"
told "… and one CUDA runtime, the environment's" $? "$W/said"
! grep -qE '^(/usr/(local|bin|lib64)|bin$)' "$W/said"
told "neither compiler nor CUDA's is in the image" $? "$W/said"
in_tree el-torch 'HOME=/tmp CUDA_VISIBLE_DEVICES= TF_CPP_MIN_LOG_LEVEL=2 /opt/ml/tensorflow/bin/python -c "import tensorflow as tf; print(\"built with CUDA\", tf.test.is_built_with_cuda())
for line in open(\"/proc/self/maps\"): print(line)" | grep -o "built with.*\|/opt/ml/torch[^ ]*" | sort -u' >"$W/said"
[[ $(<"$W/said") == 'built with CUDA True' ]]
told "TensorFlow is one with CUDA, of its own environment" $? "$W/said"

# --- without: PyTorch's index --------------------------------------------------------------------------------------------
# The wheels that the lock has, as an index has them.
python3 - "$RECIPES/el-torch.lock.json" "$CACHE" "$W/index" <<'P'
import json, os, sys
lock, store, index = sys.argv[1:]
for environment in json.load(open(lock))["python"]:
    if environment["environment"] == "/opt/ml/torch":
        for wheel in environment["wheels"]:
            folder = f"{index}/{wheel['name']}"
            os.makedirs(folder)
            os.symlink(f"{store}/blobs/sha256/{wheel['sha256'][:2]}/{wheel['sha256']}", f"{folder}/{wheel['file']}")
            open(folder + "/index.html", "w").write(f"<a href=\"{wheel['file']}#sha256={wheel['sha256']}\">{wheel['file']}</a>\n")
P
check "a double of PyTorch's index is made" $?
sed -i "s,\"https://download.pytorch[^\"]*\",\"file://$W/index/\"," "$PROJECT"/overlays/{ml-torch-cpu,ml-horovod}/overlay.json
# NCCL is asked for where PyTorch has CUDA, and this Horovod is the one without.
sed -i 's/== None \]\]/== 12.8 ]]/' "$PROJECT/overlays/ml-horovod-common/check-ml-horovod.sh" && grep -q '== 12.8 \]\]' "$PROJECT/overlays/ml-horovod-common/check-ml-horovod.sh"
check "Horovod's check takes that PyTorch for the one without CUDA" $?
el_frameworks el-torch-cpu ml-horovod
SECONDS=0
tree_checks "$RECIPES/el-torch-cpu.json" "a tree with PyTorch of its own index, and Horovod compiled against it, is made, and every check passes"
echo "# $SECONDS s"
[[ $rc -eq 0 ]] || exit 1
[[ $(in_tree el-torch-cpu 'ls -d /opt/ml/torch/lib64/python3.13/site-packages/torch /opt/ml/torch/lib/python3.13/site-packages/horovod; ls /usr/lib/python3*/dist-packages 2>/dev/null') == \
        $'/opt/ml/torch/lib/python3.13/site-packages/horovod\n/opt/ml/torch/lib64/python3.13/site-packages/torch' ]]
check "both are modules of that environment" $?

# Once more in another store: the same bytes of the wheels, and of what is compiled against them.
layers() { layer_sums "$1" "$2" '^(python|compile:ml-)'; } # RECIPE STORE
mkdir -p "$W/second"
while read -r name n; do
        "$IMGBUILD" lock "$RECIPES/$name.json" --fetch --cache "$CACHE" --progress plain </dev/null >>"$W/log" 2>&1 # of the tools, too
        layers $name "$CACHE" >"$W/$name.layers"
        rm -rf "$W/second"
        mkdir -p "$W/second"
        cp -al "$CACHE/blobs" "$W/second/"
        "$IMGBUILD" build "$RECIPES/$name.json" --cache "$W/second" --locked --offline --progress plain </dev/null >>"$W/log" 2>&1
        s=$?
        [[ $s -eq 0 && $(wc -l <"$W/$name.layers") -eq $n ]] && layers $name "$W/second" | diff "$W/$name.layers" - >"$W/differ"
        s=$?
        check "$name: another store makes the same environments" $s
        [[ $s -eq 0 ]] || { sed 's/^/# /' "$W/differ"; tail -n 5 "$W/log"; }
done <<'T'
el-torch 3
el-torch-cpu 3
T
rm -rf "$W/second"
exit $rc
