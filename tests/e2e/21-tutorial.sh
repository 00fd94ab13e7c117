#!/bin/bash
# docs/tutorial.md, followed word by word: every command of its blocks, in one shell, up to the first that fails. What it bakes reuses
# what debian-13-cpu left in the store.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
alone cpu_image

rm -rf "${E2E:?}"/{bin,work}
mkdir -p "$E2E/bin" "$E2E/work"
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$TOP/docs/tutorial.md" >"$E2E/commands"

# The reader's programs, with this suite's store, and time for a machine that is slow. A new project gets the locks that the store was
# filled with.
cat >"$E2E/bin/imgbuild" <<'E'
#!/bin/bash
verb=$1 slow=()
shift
[[ $verb != boot ]] || slow=(--timeout 900)
"$IMGBUILD" "$verb" --cache "$CACHE" --progress plain "${slow[@]}" "$@" || exit
[[ $verb == init ]] || exit 0
cp "$RECIPES"/tools*.json "$1/images/"
sed 's/"recipe": "debian-13-cpu"/"recipe": "site-node"/' "$RECIPES/debian-13-cpu.lock.json" >"$1/images/site-node.lock.json"
E
chmod +x "$E2E/bin/imgbuild"
ln -s "$TOP/$BUILD/firstboot/firstboot-get" "$E2E/bin/"

export CACHE RECIPES
(cd "$E2E/work" && PATH=$E2E/bin:$PATH exec bash -eux "$E2E/commands") >"$E2E/log" 2>&1
s=$?
[[ $s -eq 0 && $(grep -c '^imgbuild ' "$E2E/commands") -ge 7 ]]
check "every command of the tutorial does what it is there for" $?
[[ $s -eq 0 ]] || tail -n 60 "$E2E/log"
grep -q 'ready reached after' "$E2E/log"
check "what it bakes boots to ready" $?
grep -q 'space .*done' "$E2E/log"
check "its own step is done" $?
grep -qx 'Welcome to my site.' "$E2E/log"
check "its own file is on the node" $?
grep -q '"tree"' "$E2E/work/my-site/images/site-node.lock.json" && ! grep -qE '^> .*(compile|packages:(base|slurm-node|firstboot))' "$E2E/log"
check "its own package is locked, and no other overlay is baked again" $?
[[ $rc -ne 0 ]] || rm -rf "${E2E:?}/work"
exit $rc
