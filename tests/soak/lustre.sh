#!/bin/bash
# Lustre's own client, compiled from its source for debian-13-cpu's kernel by overlay lustre-client, and loaded on a booted machine: LNet is up, and
# mounting where no server is says so, by mount and by the agent. There is no Lustre server here.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/cluster.bash"
have_source lustre-2.17.57.tar.xz || exit 77
own_project
from_sources "$PROJECT" lustre-client || { echo "not ok - the overlay names the archive"; exit 1; }
cat >"$RECIPES/lustre.json" <<'R'
{
        "name": "lustre",
        "extends": "debian-13-cpu",
        "overlays": ["lustre-client"],
        "node": { "mounts": [ { "what": "127.0.0.1@tcp:/fsx", "where": "/fsx", "type": "lustre", "required": false, "give_up": "10s" } ] }
}
R
SECONDS=0
build lustre >"$E2E/build.log" 2>&1
s=$?
check "Lustre's client compiles, and the image with it passes every check" $s
[[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
echo "# $SECONDS s"
cat >"$E2E/commands" <<'C'
say() { echo "== $1"; }
modprobe lustre
say module; awk '$2 == "lustre" { print $2 }' /proc/filesystems; dmesg | grep -c 'Unknown symbol'
say versions; modinfo -F version lustre; lfs --version | cut -d ' ' -f 2
lctl network up >/dev/null
say network; lctl list_nids | grep -c '@tcp$'
mkdir -p /mnt/none
say mount; timeout 300 mount -t lustre 127.0.0.1@tcp:/fsx /mnt/none >/tmp/said 2>&1; echo $?; grep -c 'mount.lustre: mount 127.0.0.1@tcp:/fsx' /tmp/said; cat /tmp/said >&2
for i in $(seq 300); do [ -s /run/firstboot/results/mounts.json ] && break; sleep 1; done
say agent; grep -oE 'mounts\.[a-z-]+' /run/firstboot/results/mounts.json | head -n 1
say gone; lustre_rmmod >/dev/null 2>&1; grep -c '^lustre ' /proc/modules
say end
C
# From the project: its lock of the tools tree is the one that the image was made with.
(cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/lustre/lustre.qcow2" --cache "$CACHE" --offline --progress plain --save "$E2E/save" -- "$(cat "$E2E/commands")") >"$E2E/out" 2>"$E2E/log"
s=$?
check "it boots" $s
[[ $s -eq 0 ]] || { tail -n 40 "$E2E/log" "$E2E/out"; exit 1; }
says "lustre.ko loads, every symbol known" module $'lustre\n0'
says "module and tools are of one version" versions $'2.17.57\n2.17.57'
says "LNet has an address over TCP" network 1
[[ $(part mount | head -n 1) -ne 0 && $(part mount | tail -n 1) -ge 1 ]]
s=$?
check "without a server, mount says what failed" $s
[[ $s -eq 0 ]] || part mount | sed 's/^/# /'
says "… and so does the agent, by its reason code" agent mounts.unreachable
says "the modules unload" gone 0
exit $rc
