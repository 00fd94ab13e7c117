#!/bin/bash
# A tree with faults: imgbuild check names each with its rule, and imgbuild build ends before it writes a disk. The faults
# come as an overlay on debian-13-cpu, through everything that stage finalize cleans.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
own_project

faults=$PROJECT/overlays/faults
mkdir -p "$faults/files/etc/systemd/system"
cat >"$faults/overlay.json" <<'E'
{
        "description": "What must not be in an image",
        "run": ["make.sh"],
        "services": { "enable": ["bad.service", "fine.service"] },
        "checks": ["says-no.sh", "says-yes.sh", "says-nothing.sh"]
}
E
cat >"$faults/make.sh" <<'E'
#!/bin/sh
set -eu
echo 'root:$6$salt$hash:20000:0:99999:7:::' >/tmp/shadow
sed 1d /etc/shadow >>/tmp/shadow
cat /tmp/shadow >/etc/shadow
mkdir -p /root/.ssh
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----\n' >/root/.ssh/id_ed25519
echo nqn.2014-08.org.nvmexpress:uuid:1 >/etc/nvme/hostnqn
mkdir -p /root/.npm
echo x >/root/.npm/x
echo gone >/var/log/left-behind.log
E
printf '#!/bin/sh\necho some remark\necho "the overlay says no"\nexit 3\n' >"$faults/says-no.sh"
printf '#!/bin/sh\ntest -d /etc && ! touch /etc/x 2>/dev/null\n' >"$faults/says-yes.sh"
printf '#!/bin/sh\nexit 9\n' >"$faults/says-nothing.sh"
chmod +x "$faults"/*.sh
cat >"$faults/files/etc/systemd/system/bad.service" <<'E'
[Service]
Type=oneshot
ExecStart=/usr/bin/there-is-no-such-program

[Install]
WantedBy=multi-user.target
E
sed 's|there-is-no-such-program|true|' "$faults/files/etc/systemd/system/bad.service" >"$faults/files/etc/systemd/system/fine.service"
cat >"$RECIPES/faults.json" <<'E'
{ "name": "faults", "extends": "debian-13-cpu", "overlays": ["faults"] }
E

"$IMGBUILD" check "$RECIPES/debian-13-cpu.json" --cache "$CACHE" --progress none >"$E2E/build.log" 2>&1
s=$?
check "the recipe without the faults passes every check" $s
[[ $s -eq 0 ]] || tail -n 20 "$E2E/build.log"
# The same packages: its lock serves both.
sed 's/"recipe": "debian-13-cpu"/"recipe": "faults"/' "$RECIPES/debian-13-cpu.lock.json" >"$RECIPES/faults.lock.json"

"$IMGBUILD" check "$RECIPES/faults.json" --cache "$CACHE" --progress none --json >"$E2E/faults.json" 2>"$E2E/faults.log"
s=$?
check "imgbuild check ends with exit code 1" "$([[ $s -eq 1 ]]; echo $?)"
[[ $s -eq 1 ]] || tail -n 20 "$E2E/faults.log"

finds() { # RULE TEXT
        python3 - "$E2E/faults.json" "$1" "$2" <<'E'
import json, sys
path, rule, text = sys.argv[1:]
sys.exit(not any(f["rule"] == rule and text in f["found"] and f["remedy"] for f in json.load(open(path))["findings"]))
E
        check "$1: $2" $?
}
finds secrets.password '"root" has a password'
finds secrets.private-key root/.ssh/id_ed25519
finds identity.host-ids etc/nvme/hostnqn
finds leftovers.caches root/.npm
finds services.verify there-is-no-such-program
finds overlay.check "overlay faults: the overlay says no"
finds overlay.check "its check failed without a word"
[[ $(python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))["findings"]))' "$E2E/faults.json") -eq 7 ]]
check "there is no other finding" $?

build faults >"$E2E/build.log" 2>&1
s=$?
[[ $s -eq 1 ]] && grep -q 'check secrets.password' "$E2E/build.log" && [[ ! -e $OUT/faults ]]
check "imgbuild build ends there too, and writes nothing" $?

# A check is a program of the image's, or of a stranger's overlay: it may take what a stage's command may.
mkdir "$PROJECT/overlays/greedy"
greedy() { # NAME PATTERN LIMITS SCRIPT
        local s began=$SECONDS
        printf '{ "description": "A check that takes too much", "checks": ["check.sh"], "limits": %s }\n' "$3" >"$PROJECT/overlays/greedy/overlay.json"
        printf '#!/bin/sh\n%s\n' "$4" >"$PROJECT/overlays/greedy/check.sh"
        chmod +x "$PROJECT/overlays/greedy/check.sh"
        echo '{ "name": "greedy", "extends": "debian-13-cpu", "overlays": ["greedy"] }' >"$RECIPES/greedy.json"
        sed 's/"recipe": "debian-13-cpu"/"recipe": "greedy"/' "$RECIPES/debian-13-cpu.lock.json" >"$RECIPES/greedy.lock.json"
        "$IMGBUILD" check "$RECIPES/greedy.json" --cache "$CACHE" --progress none >"$E2E/build.log" 2>&1
        s=$?
        [[ $s -eq $5 && $((SECONDS - began)) -lt 600 ]] && grep -q "greedy/check.sh was ended: .*$2" "$E2E/build.log" && ! pgrep -f 'sleep 963\.5' >/dev/null
        check "$1 ($s)" $? || tail -n 20 "$E2E/build.log" | sed 's/^/# /'
}
greedy "a check that does not end" 'limits.time allows' '{ "time": "3s" }' 'sleep 963.5; true' 124
greedy "a check that forks without end" 'limits.processes allows 40' '{ "processes": 40 }' 'while :; do sleep 963.5 & done' 1
greedy "a check that wants all memory" 'limits.memory allows' '{ "memory": "200M" }' 'exec head -c 4G /dev/zero | tail -c 2G | sleep 963.5' 1

start=$(date +%s%N)
"$IMGBUILD" check "$RECIPES/debian-13-cpu.json" --cache "$CACHE" --progress none >/dev/null 2>&1
echo "# $((($(date +%s%N) - start) / 1000000)) ms for all checks of a cached tree"
rm -f "$RECIPES"/{faults,greedy}.*
exit $rc
