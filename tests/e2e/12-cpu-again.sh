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

# The same lock, an empty store, a network that reaches a server of the locked files alone: everything is built again, tools and all,
# and gives the same bytes.
before=$(sha256sum <"$OUT/debian-13-cpu/debian-13-cpu.qcow2")
other=$E2E/other-cache
rm -rf "$other" && mkdir -p "$other"
rm -rf "$E2E/locked"
serve_locked "$E2E/locked/site" "$RECIPES"/{debian-13-cpu,tools}.lock.json
locked_network "$E2E/locked" "$IMGBUILD" build "$RECIPES/debian-13-cpu.json" --cache "$other" --output "$E2E/other-out" --no-proof --locked \
        --progress plain >"$E2E/build.log" 2>&1
s=$?
check "a build from nothing needs the locked files alone, tools tree included" $s
[[ $s -eq 0 ]] || tail -n 20 "$E2E/build.log"
asks_for_locked "$E2E/locked"
check "and asks for nothing else" $?
[[ $(sha256sum <"$E2E/other-out/debian-13-cpu/debian-13-cpu.qcow2") == "$before" ]]
check "the same lock gives the same bytes" $?
# Of what is below the disk, too: keys and IDs of chance would make each builder's its own.
differ=()
for layer in "$other"/layers/*; do
        [[ $(tree_sum "$layer") == "$(tree_sum "$CACHE/layers/${layer##*/}")" ]] || differ+=("${layer##*/}")
done
[[ $(find "$other/layers" -mindepth 1 -maxdepth 1 | wc -l) -gt 20 && ${#differ[@]} -eq 0 ]]
check "in every layer" $?
for layer in "${differ[@]}"; do
        diff -rq --no-dereference "$other/layers/$layer/tree" "$CACHE/layers/$layer/tree" 2>&1 | grep -v 'special file' | head -n 5 | sed 's/^/# /'
done
rm -rf "$other" "$E2E/other-out" "$E2E/locked"

# The same by a remote store: pushed once, taken by a store that has nothing, in which no stage is made.
rm -f "$E2E"/remote-{port,requests}
mkdir -p "$E2E/remote" "$other"
HTTPD_WRITABLE=1 python3 "$TOP/tests/fixtures/httpd" "$E2E/remote" "$E2E/remote-port" "$E2E/remote-requests" &
remote_server=$!
trap 'kill $remote_server 2>/dev/null' EXIT
for _ in $(seq 2400); do [[ -s $E2E/remote-port ]] && break; sleep 0.05; done
REMOTE=http://127.0.0.1:$(<"$E2E/remote-port")
"$IMGBUILD" cache push "$RECIPES/debian-13-cpu.json" --cache "$CACHE" --remote-store "$REMOTE" >"$E2E/build.log" 2>&1
s=$?
check "layers are pushed, the tools' as well: $(sed -n 's/.*\(Pushed .*\), to.*/\1/p' "$E2E/build.log")" $s
"$IMGBUILD" build "$RECIPES/debian-13-cpu.json" --cache "$other" --output "$E2E/other-out" --no-proof --locked --remote-store "$REMOTE" \
        --mirror http://127.0.0.1:1/debian --progress plain >"$E2E/build.log" 2>&1
s=$?
[[ $s -eq 0 && $(grep '^> ' "$E2E/build.log" | sort -u | tr '\n' ' ') == "> check > disk > export > remote " ]]
s=$?
check "a colleague with an empty store makes no stage" $s
[[ $s -eq 0 ]] || tail -n 20 "$E2E/build.log"
[[ $(sha256sum <"$E2E/other-out/debian-13-cpu/debian-13-cpu.qcow2") == "$before" ]]
check "and has the same image, byte by byte" $?
rm -rf "$other" "$E2E/other-out" "$E2E/remote"

file=$(find "$PROJECT/overlays/slurm-node/files" -type f | sort | head -n 1)
echo "# an edit of $(date +%s)" >>"$file"
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
