#!/bin/bash
# An ordinary user's first build of a disk, proof and all, out of the box: with nothing in the home but the program and a recipe.
#
# lane: compute
# after: e2e/10
set -u
unset XDG_CACHE_HOME LIBGUESTFS_CACHEDIR LIBGUESTFS_PATH
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/fixtures/user.bash"
project
user_begin || { echo "$why"; exit 77; }
trap user_end EXIT

mkdir -p "$U/home/images"
cat >"$U/home/images/mini.json" <<'E'
{ "name": "mini", "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] },
  "kernel": { "package": "linux-image-cloud-amd64" }, "disk": { "firmware": ["bios"], "formats": ["qcow2"] } }
E
cp "$RECIPES"/tools*.json "$U/home/images/"
"$IMGBUILD" lock "$U/home/images/mini.json" --cache "$CACHE" --progress plain >"$E2E/log" 2>&1
s=$?
check "the recipe is locked" $s
[[ $s -eq 0 ]] || { tail -n 20 "$E2E/log"; exit 1; }
for lock in mini tools; do blobs_of "$U/home/images/$lock.lock.json" "$U/home/.cache/imgbuild" copied; done # what root has downloaded
chown -R 64321:64321 "$U/home"

as_user "$U/home/imgbuild" doctor build >"$E2E/doctor" 2>&1
[[ $? -eq 0 ]] && grep -q '^ok *overlayfs *mounts in a namespace' "$E2E/doctor" && grep -q '^ok *user namespaces' "$E2E/doctor"
s=$?
check "doctor: nothing is missing" $s
[[ $s -eq 0 ]] || cat "$E2E/doctor"

as_user "$U/home/imgbuild" build "$U/home/images/mini.json" --output "$U/home/out" --progress plain >"$E2E/log" 2>&1
s=$?
check "the user's build ends well" $s
[[ $s -eq 0 ]] || { tail -n 60 "$E2E/log"; exit 1; }
grep -q "Making libguestfs' appliance of this user" "$E2E/log" && [[ $(stat -c %u "$U/home/out/mini/mini.qcow2") -eq 64321 ]]
check "with an appliance and an image of the user's own" $?
[[ $(OUT=$U/home/out manifest mini proved) == True ]]
check "the disk is proved" $?
exit $rc
