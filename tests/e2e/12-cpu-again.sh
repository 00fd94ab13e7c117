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

# serve_locked FOLDER LOCK…: FOLDER, that of a mirror, gets the packages that the locks name, and nothing else: no index either.
serve_locked() {
        python3 - "$CACHE/blobs/sha256" "$@" <<'E'
import json, os, sys
blobs, site, *locks = sys.argv[1:]
for lock in locks:
    with open(lock, encoding="utf-8") as f:
        stages = json.load(f)["stages"]
    for p in (p for s in stages for p in s["packages"]):
        archive = "debian-security" if p["origin"] == "debian-security" else "debian"
        place = f"{site}/{archive}/{p['path']}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if not os.path.exists(place):
            os.link(f"{blobs}/{p['sha256'][:2]}/{p['sha256']}", place)
E
}

# The same lock, an empty store, a network that reaches a server of the locked files alone: everything is built again, tools and all,
# and gives the same bytes.
before=$(sha256sum <"$OUT/debian-13-cpu/debian-13-cpu.qcow2")
other=$E2E/other-cache
rm -rf "$other" "$E2E/site" "$E2E/port" "$E2E/requests" && mkdir -p "$other"
serve_locked "$E2E/site" "$RECIPES"/{debian-13-cpu,tools}.lock.json
# shellcheck disable=SC2016 # for the shell in that network
no_proxy=127.0.0.1 unshare -n bash -c '
        ip link set lo up && python3 "$TOP/tests/fixtures/httpd" "$0/site" "$0/port" "$0/requests" &
        for _ in $(seq 100); do [[ -s $0/port ]] && break; sleep 0.1; done
        exec "$@" --mirror "http://127.0.0.1:$(<"$0/port")/debian"' "$E2E" \
        "$IMGBUILD" build "$RECIPES/debian-13-cpu.json" --cache "$other" --output "$E2E/other-out" --no-proof --locked \
        --progress plain >"$E2E/build.log" 2>&1
s=$?
check "a build from nothing needs the locked files alone, tools tree included" $s
[[ $s -eq 0 ]] || tail -n 20 "$E2E/build.log"
[[ -s $E2E/requests ]] && ! grep -v ' 20[06]$' "$E2E/requests"
check "and asks for nothing else" $?
[[ $(sha256sum <"$E2E/other-out/debian-13-cpu/debian-13-cpu.qcow2") == "$before" ]]
check "the same lock gives the same bytes" $?
rm -rf "$other" "$E2E/other-out" "$E2E/site"

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
