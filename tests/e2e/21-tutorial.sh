#!/bin/bash
# docs/tutorial.md, followed word by word: every command of its blocks, in one shell, up to the first that fails; then the project's CI
# file, in a clone, for a change that makes the node degraded. What is baked reuses what debian-13-cpu left in the store.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
alone cpu_image

# boot_says KEY.KEY: what boot.json has there.
boot_says() {
        python3 -c 'import json, sys
m = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."): m = m[key]
print(m)' "$E2E/boot/boot.json" "$1"
}

rm -rf "${E2E:?}"/{bin,work,boot}
mkdir -p "$E2E/bin" "$E2E/work"
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$TOP/docs/tutorial.md" >"$E2E/commands"

# The reader's programs, with this suite's store, and time for a machine that is slow. Boots are as strict as the CI file's. A new project
# gets the locks that the store was filled with.
cat >"$E2E/bin/imgbuild" <<'E'
#!/bin/bash
verb=$1 slow=()
shift
[[ $verb != boot ]] || slow=(--timeout 900 --strict --save "$E2E/boot")
"$IMGBUILD" "$verb" --cache "$CACHE" --progress plain "${slow[@]}" "$@" || exit
[[ $verb == init ]] || exit 0
cp "$RECIPES"/tools*.json "$1/images/"
sed 's/"recipe": "debian-13-cpu"/"recipe": "site-node"/' "$RECIPES/debian-13-cpu.lock.json" >"$1/images/site-node.lock.json"
E
chmod +x "$E2E/bin/imgbuild"
ln -s "$TOP/$BUILD/firstboot/firstboot-get" "$E2E/bin/"

export CACHE RECIPES E2E
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
[[ $(boot_says result) == reached && $(boot_says node.verdict) == ready ]]
check "which --strict calls so, too" $?

# A change that goes to CI: one more step, which has something to say against the node.
site=$E2E/work/my-site
cat >"$site/overlays/site/files/etc/firstboot/steps.d/fan.json" <<'J'
{ "description": "The fans", "exec": ["/usr/local/lib/site/fan"],
  "codes": { "fan.slow": { "meaning": "A fan is slow.", "remedy": "Have it changed." } } }
J
cat >"$site/overlays/site/files/usr/local/lib/site/fan" <<'P'
#!/bin/sh
echo '{"status": "degraded", "code": "fan.slow", "message": "fan 3 has 900 rpm"}' >"$FIRSTBOOT_RESULT"
P
chmod +x "$site/overlays/site/files/usr/local/lib/site/fan"
git init -q "$site" && git -C "$site" add -A && git -C "$site" -c user.name=e2e -c user.email=e2e@example.org commit -qm "A step" &&
        git clone -q "$site" "$E2E/work/clone"
check "the project is one that git takes and gives" $?
# Its steps as GitHub runs them for a pull request: each by a shell of its own with -e, up to the first that fails.
/usr/bin/python3 - "$E2E/work/clone/.github/workflows/image.yml" >"$E2E/work/steps" <<'P'
import shlex, sys, yaml
for step in yaml.safe_load(open(sys.argv[1]))["jobs"]["site-node"]["steps"]:
    if "run" in step and "tag" not in step.get("if", ""):
        print("bash -e -o pipefail -c", shlex.quote(step["run"]))
P
printf '#!/bin/sh\n[ "$1 $2 $3" = "pr comment 7" ] && [ "$4" = --body-file ] && cp "$5" "%s/work/comment"\n' "$E2E" >"$E2E/bin/gh"
chmod +x "$E2E/bin/gh"
rm -rf "${E2E:?}/boot"
(cd "$E2E/work/clone" && PATH=$E2E/bin:$PATH PULL_REQUEST=7 exec bash -e "$E2E/work/steps") >"$E2E/log.ci" 2>&1
s=$?
[[ $(wc -l <"$E2E/work/steps") -eq 5 && $s -eq 2 ]]
check "its CI file, run in a clone, ends with exit code 2 for a degraded node ($s)" $?
[[ $s -eq 2 ]] || tail -n 60 "$E2E/log.ci"
grep -qx 'space: all is well' "$E2E/log.ci" && [[ -s $E2E/work/clone/out/site-node/site-node.qcow2 ]]
check "after the configuration was checked, the step tried, and the image baked" $?
[[ $(boot_says result) == degraded && $(boot_says node.verdict) == degraded && $(boot_says node.steps.fan.code) == fan.slow ]]
check "boot.json has the verdict, the step and its code" $?
tail -n 6 "$E2E/log.ci" | grep -qF 'fan: fan 3 has 900 rpm [fan.slow]' && tail -n 6 "$E2E/log.ci" | grep -q 'The node is degraded'
check "and so have the last lines" $?
grep -qE '^files:site .* run ' "$E2E/work/comment"
check "the plan went to the reviewer as a comment: the change's stages run again" $?
[[ $rc -ne 0 ]] || rm -rf "${E2E:?}/work"
exit $rc
