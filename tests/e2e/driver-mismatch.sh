#!/bin/bash
# A driver that does not compile for the kernel ends the build with one message: the compiler's first error and the pair of
# versions. NVIDIA's open modules 550.163.01 are such a driver for Debian 13's kernels since 6.12.97, whose
# pci_resize_resource() takes four arguments.
set -u
source "$TOP/tests/e2e/lib.sh"
project

cat >"$RECIPES/driver-mismatch.json" <<'EOF'
{
        "name": "driver-mismatch",
        "base": {
                "distro": "debian", "release": "trixie", "arch": "amd64",
                "components": ["main", "contrib", "non-free", "non-free-firmware"]
        },
        "kernel": { "package": "linux-image-amd64" },
        "overlays": ["nvidia-driver-open"]
}
EOF
log=$E2E/driver-mismatch.log
"$IMGBUILD" check "$RECIPES/driver-mismatch.json" --cache "$CACHE" --progress plain >"$log" 2>&1
status=$?
kernel=$(sed -n 's/.*"linux-image-\(6[^"]*\)".*/\1/p' "$RECIPES/driver-mismatch.lock.json" | head -n 1)
driver=$(sed -n 's/.*"name": "nvidia-open-kernel-source", "version": "\([0-9.]*\)-[^"]*".*/\1/p' "$RECIPES/driver-mismatch.lock.json")

[[ $status -eq 1 ]]
check "the build ends with exit code 1 ($status)" $?
line=$(grep -F "does not compile" "$log")
[[ $(wc -l <<<"$line") -eq 1 && $line == *"nvidia-open-kernel-source $driver with kernel $kernel"* && -n $kernel && -n $driver ]]
check "one message names driver $driver and kernel $kernel" $?
[[ $line =~ \.c:[0-9]+:[0-9]+:\ error: ]]
check "the same message has the compiler's first error" $?
[[ $status -eq 1 && -n $line ]] || tail -n 20 "$log" | sed 's/^/# /'
no_leftovers
check "nothing of it is mounted or running" $?
exit $rc
