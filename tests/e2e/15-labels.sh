#!/bin/bash
# A disk of a tree with SELinux on has the labels that the tree's own matchpathcon gives: here a double of it, in debian-13-cpu's tree. It is a
# program of the image's, so that what it says is looked at, and it has the recipe's limits. tests/soak/el-disk boots a real policy.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
own_project
[[ -s $RECIPES/debian-13-cpu.lock.json ]] || build debian-13-cpu --no-proof >"$E2E/out" 2>&1 || { tail -n 40 "$E2E/out"; exit 1; }

# policy SCRIPT: what matchpathcon does with each path, in $path.
policy() {
        local o=$PROJECT/overlays/policy
        mkdir -p "$o/files/etc/selinux" "$o/files/usr/sbin"
        echo '{ "description": "A double of a policy", "modes": { "usr/sbin/matchpathcon": "0755" } }' >"$o/overlay.json"
        echo 'SELINUX=permissive' >"$o/files/etc/selinux/config"
        printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nfor path; do\n%s\ndone\n' "$1" >"$o/files/usr/sbin/matchpathcon"
        printf '{ "name": "disk-labels", "extends": "debian-13-cpu", "overlays": ["policy"], "limits": { "time": "%s" },
                "disk": { "size": "2G", "firmware": ["bios"], "formats": ["raw"] } }\n' "${time:-20min}" >"$RECIPES/disk-labels.json"
        sed 's/"recipe": "debian-13-cpu"/"recipe": "disk-labels"/' "$RECIPES/debian-13-cpu.lock.json" >"$RECIPES/disk-labels.lock.json"
        build disk-labels --no-proof >"$E2E/out" 2>&1
}
label() { # PATH: what the disk has
        debugfs -R "ea_get -x $1 security.selinux" "$OUT/disk-labels/disk-labels.raw?offset=$start" 2>/dev/null | sed -n 's/.*= *//p' | xxd -r -p | tr '\0' '\n'
}
refused() { # NAME PATTERN SCRIPT
        local began=$SECONDS
        policy "$3"
        [[ $? -ne 0 && ! -e $OUT/disk-labels && $((SECONDS - began)) -lt 600 ]] && grep -q "$2" "$E2E/out"
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || tail -n 8 "$E2E/out" | sed 's/^/# /'
}

policy 'case $path in /etc/shadow) echo system_u:object_r:shadow_t:s0;; /etc/motd) echo "<<none>>";; *) echo system_u:object_r:any_t:s0;; esac'
s=$?
check "a disk with labels is written" $s
[[ $s -eq 0 ]] || tail -n 20 "$E2E/out" | sed 's/^/# /'
start=$(($(sfdisk -J "$OUT/disk-labels/disk-labels.raw" | python3 -c 'import json, sys; print(json.load(sys.stdin)["partitiontable"]["partitions"][-1]["start"])') * 512))
[[ $(label /etc/shadow) == system_u:object_r:shadow_t:s0 && $(label /) == system_u:object_r:any_t:s0 && $(label /usr/bin/env) == system_u:object_r:any_t:s0 ]]
check "each file has its own" $?
[[ -z $(label /etc/motd) ]]
check "and none where the policy has none" $?
rm -rf "$OUT/disk-labels"

refused "labels that are none end the build" 'does not give each file a label' 'echo "x\" /etc/shadow"'
refused "fewer labels than files, too" 'does not give each file a label' '[ "$path" = / ] || echo system_u:object_r:any_t:s0'
time=30s refused "a policy's program that does not end has the recipe's limit of time" 'Stage labels: .*limits.time allows' 'sleep 963.5'
no_leftovers
check "nothing is left mounted or running" $?
exit $rc
