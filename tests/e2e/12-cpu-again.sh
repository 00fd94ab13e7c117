#!/bin/bash
# debian-13-cpu once more: from another store, the same bytes; after an edit, only what lies above; the edit taken back.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
project
build debian-13-cpu >"$E2E/build.log" 2>&1 || { tail -n 40 "$E2E/build.log"; echo "not ok - debian-13-cpu builds"; exit 1; }

# Edited beside scripts that boot the image: in a copy of the project, with a folder of images of its own.
own_project
rm -rf "$E2E/images"
mkdir -p "$E2E/images"
cp -r "$OUT/debian-13-cpu" "$E2E/images/"
OUT=$E2E/images

# The same lock, another store, everything but the downloads built again: the same bytes.
before=$(sha256sum <"$OUT/debian-13-cpu/debian-13-cpu.qcow2")
other=$E2E/other-cache
rm -rf "$other" && mkdir -p "$other"
cp -al "$CACHE/blobs" "$other/"
unshare -n "$IMGBUILD" build "$RECIPES/debian-13-cpu.json" --cache "$other" --output "$E2E/other-out" --no-proof --offline \
        --progress plain >"$E2E/build.log" 2>&1
check "a build from the downloads alone needs no network" $?
[[ $(sha256sum <"$E2E/other-out/debian-13-cpu/debian-13-cpu.qcow2") == "$before" ]]
check "the same lock gives the same bytes" $?
rm -rf "$other" "$E2E/other-out"

file=$(find "$PROJECT/overlays/slurm-node/files" -type f | sort | head -n 1)
echo "# an edit" >>"$file"
echo mine >"$OUT/debian-13-cpu/notes"
build debian-13-cpu --no-proof >"$E2E/build.log" 2>&1
check "an edited file is built" $?
ran=$(sed -n 's/^> //p' "$E2E/build.log" | tr '\n' ' ')
[[ $ran == "files:slurm-node "* && $ran != *initramfs* && $ran != *packages* ]]
check "only what lies above the edited file runs again" $?
[[ $(sha256sum <"$OUT/debian-13-cpu/debian-13-cpu.qcow2") != "$before" ]]
check "the edit is in the image" $?
[[ $(<"$OUT/debian-13-cpu/notes") == mine ]]
check "what else lay beside the image is still there" $?

mkdir -p "$E2E/foreign/debian-13-cpu" && echo mine >"$E2E/foreign/debian-13-cpu/thesis"
OUT=$E2E/foreign build debian-13-cpu --no-proof >"$E2E/build.log" 2>&1
[[ $? -eq 1 && $(<"$E2E/foreign/debian-13-cpu/thesis") == mine ]] && grep -q 'holds thesis and no manifest.json' "$E2E/build.log" &&
        ! grep -q '^> ' "$E2E/build.log"
check "a folder that is no image is refused before the first stage" $?

own_project
build debian-13-cpu --no-proof >"$E2E/build.log" 2>&1 && [[ $(sha256sum <"$OUT/debian-13-cpu/debian-13-cpu.qcow2") == "$before" ]]
check "taken back, it is the first image again" $?

no_leftovers
check "nothing is left mounted or running" $?
exit $rc
