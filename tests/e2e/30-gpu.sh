#!/bin/bash
# debian-13-gpu: the real driver, compiled for the image's kernel; then booted, where there is no GPU to drive.
#
# lane: compute
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/guest.bash"
project

build debian-13-gpu >"$E2E/gpu-build.log" 2>&1
s=$?
check "debian-13-gpu builds, driver and all" $s
[[ $s -eq 0 ]] || { tail -n 60 "$E2E/gpu-build.log"; exit 1; }

driver=$(manifest debian-13-gpu versions.driver)
[[ $driver == 550.* ]]
check "the manifest names the driver ($driver)" $?

# Units that need a GPU may fail where there is none, and the gpu step must.
boot_image debian-13-gpu 'nvidia-* firstboot@gpu.service' || exit 1
seen_in_guest
check "modinfo's version is the manifest's" "$([[ $(fact nvidia) == "$driver" ]]; echo $?)"
check "the module is built for the running kernel" "$([[ $(fact vermagic) == "$(fact kernel)" ]]; echo $?)"
check "nouveau is not loaded" "$([[ $(fact nouveau) == 0 ]]; echo $?)"

"$IMGBUILD" inspect "$OUT/debian-13-gpu/debian-13-gpu.qcow2" --json >"$E2E/inspect.json" 2>"$E2E/build.log" &&
        python3 - "$E2E/inspect.json" "$OUT/debian-13-gpu/manifest.json" <<'E'
import json, sys
text = open(sys.argv[1]).read()
m = json.load(open(sys.argv[2]))
json.loads(text)
for version in (m["kernel"], m["versions"]["driver"]):
    assert version in text, version
E
check "inspect finds kernel and driver in the finished image" $?
exit $rc
