#!/bin/bash
# NVIDIA's container toolkit compiled from its source by overlay container-toolkit-source. Its nvidia-ctk describes GPUs for containers
# (CDI), on a double of NVML (tests/fixtures/nvml-double): no GPU, no driver.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/head.bash"
tree=$E2E/project/images/toolkit.json
if [[ -z ${HEAD_INSIDE:-} ]]; then
        have_source nvidia-container-toolkit-1.20.0.tar.xz || exit 77
        own_project
        from_sources "$PROJECT" container-toolkit-source || { echo "not ok - the overlay names the vendor's archive"; exit 1; }
        # Without what a node with the driver has.
        sed -i 's/"nvidia-node", //' "$PROJECT/overlays/container-toolkit-source/overlay.json"
        cat >"$tree" <<'R'
{
        "name": "toolkit",
        "kind": "tree",
        "base": { "distro": "debian", "release": "trixie" },
        "overlays": ["container-toolkit-source"],
        "packages": ["systemd"]
}
R
        tree_checks "$tree" "the toolkit is compiled, and the tree passes every check"
fi
PROJECT=$E2E/project RECIPES=$E2E/project/images
head_enter "$@"
trap 'head_stop node' EXIT
layers=$(head_layers "$tree")
mkdir -p "$HEAD/pid"
machine_new node && waits on node test -e /run/up
check "the tree runs as a machine" $?

# One library of the double, the rest of what nvidia-ctk asks, and a refusal for every function else.
lib=$HEAD/node/root/opt/lib
mkdir -p "$lib"
cp "$TOP/$BUILD/tests/nvml-double/libnvidia-ml.so.1" "$lib/libdouble.so"
gcc -c -fPIC -I"$TOP/firstboot" -D_GNU_SOURCE -o "$HEAD/toolkit.o" "$TOP/tests/fixtures/nvml-double/toolkit.c"
comm -23 <(nm -D "$HEAD/node/root/usr/bin/nvidia-ctk" | sed -n 's/^ *U \(nvml[A-Za-z0-9_]*\)$/\1/p' | sort -u) \
        <({ nm --defined-only "$HEAD/toolkit.o"; nm -D --defined-only "$lib/libdouble.so"; } | awk '{ print $3 }' | sort -u) |
        sed 's/.*/int &(void); int &(void) { return 13; }/' >"$HEAD/others.c"
gcc -shared -fPIC -o "$lib/libnvidia-ml.so.1" "$HEAD/toolkit.o" "$HEAD/others.c" -Wl,-soname,libnvidia-ml.so.1 -Wl,--no-as-needed -L"$lib" -l:libdouble.so
check "the double answers the toolkit" $?

driver=550.54.15
touch "$lib"/lib{cuda,nvidia-ml}.so.$driver
mkdir -p "$HEAD/node/root/opt/dev"
on node sh -c 'for i in 0 1 2 3 4 5 6 7; do mknod /opt/dev/nvidia$i c 195 $i; done && mknod /opt/dev/nvidiactl c 195 255'
describe() { # GPUS
        echo "gpus=$1" >"$HEAD/node/root/etc/nvml-double.conf"
        on node env LD_LIBRARY_PATH=/opt/lib NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=/run/cdi/nvidia.yaml \
                nvidia-ctk cdi generate --mode=nvml --library-search-path=/opt/lib --dev-root=/opt >"$E2E/ctk.log" 2>&1
}
told() { check "$1" "$2"; [[ $2 -eq 0 ]] || { tail -n 10 "$E2E/ctk.log"; on node head -n 60 /run/cdi/nvidia.yaml; }; }
describe 8 && [[ $(on node nvidia-ctk cdi list 2>/dev/null | grep -cE '^nvidia.com/gpu=(all|[0-7])$') -eq 9 ]]
told "nvidia-ctk describes eight GPUs and all of them" $?
[[ $(on node grep -c 'path: /dev/nvidia[0-7]$' /run/cdi/nvidia.yaml) -ge 8 ]] && on node grep -q 'path: /dev/nvidiactl$' /run/cdi/nvidia.yaml
told "… with their devices" $?
on node grep -q 'path: /usr/bin/nvidia-cdi-hook' /run/cdi/nvidia.yaml && on node sh -c '/usr/bin/nvidia-cdi-hook --version' >/dev/null
told "… and the hook that was compiled" $?
describe 4 && [[ $(on node nvidia-ctk cdi list 2>/dev/null | grep -cE '^nvidia.com/gpu=[0-7]$') -eq 4 ]]
told "a refresh on a node with fewer GPUs describes those" $?
on node sh -c 'systemctl is-enabled nvidia-cdi-refresh.service containerd.service' | grep -c '^enabled$' | grep -qx 2 &&
        on node sh -c 'systemd-analyze verify nvidia-cdi-refresh.service' >"$E2E/ctk.log" 2>&1
told "the refresh at boot is enabled, and systemd finds nothing wrong with it" $?
head_stop node
exit $rc
