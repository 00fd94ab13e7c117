#!/bin/bash
# Every kind of stage in a small tree: what each leaves and does not leave, how failures read, that nothing of a
# shell stays, and that an ordinary user's build gives the same trees.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/small.bash"
source "$TOP/tests/fixtures/user.bash"
small_project

small build >"$W/log" 2>&1
s=$?
check "a tree with every kind of stage builds" $s
[[ $s -eq 0 ]] || { tail -n 40 "$W/log"; exit 1; }

in_tree() { small shell -- /bin/sh -c "$1" 2>>"$W/log"; }

in_tree 'test "$(stat -c %a /etc/small/secret)" = 600 && test "$(stat -c %a /usr/bin/small-tool)" = 755'
check "files: git's modes, and the overlay's own" $?
in_tree 'test -L /lib && test "$(cat /usr/lib/small/from-lib)" = early'
check "files: a path below /lib lands in /usr/lib" $?
in_tree 'test "$(/opt/tree/bin/unpacked)" = unpacked && test "$(readlink /opt/tree/lib/link)" = ../bin/unpacked && test "$(/usr/local/bin/single)" = single && test "$(stat -c %U /opt/tree/bin/unpacked)" = root'
check "artifacts: an archive unpacked, a file with its mode" $?
in_tree 'test "$(cat /etc/small/ran)" = "root localhost 1" && test ! -e /run/imgbuild/script'
check "run: the script ran as root of the tree, without a network" $?
in_tree 'test "$(cat /usr/lib/small/compiled)" = "compiled 3 jobs" && test "$(cat /usr/lib/small/from-source)" = unpacked && test ! -e /usr/bin/m4 && ! dpkg-query -s libreadline8t64'
check "compile: with a source archive; only what is in \$DESTDIR stays" $?
in_tree 'test -e /etc/machine-id && test ! -s /etc/machine-id && test -z "$(find /var/log /var/lib/apt/lists /tmp -type f)" && test ! -e /etc/ssh/ssh_host_rsa_key && test ! -e /root/.bash_history'
check "finalize: no identity, no logs, no lists" $?
left=$(for d in $(small_digests); do find "$CACHE/layers/${d:0:32}/tree" ! -type c \( -path '*/var/log/*.log' -o -path '*/var/*/*-old' -o -path '*/etc/passwd-' \); done)
[[ -z $left ]] || { echo "# $left"; false; }
check "no stage's layer holds package management's logs and old copies" $?
in_tree 'dpkg --audit && test -z "$(dpkg -l | grep "^[a-z]" | grep -v "^[ih]i")" && test ! -e /usr/sbin/policy-rc.d'
check "packages: all installed, and no trace of how" $?
in_tree '! grep -rqE "imgbuild|^(deb|URIs)" /etc/apt'
check "base: no trace of the build's mirror" $?
in_tree 'test ! -e /etc/hostname && test ! -e /etc/resolv.conf'
check "base: nothing of the host leaks in" $?

in_tree '! unshare -U true 2>/dev/null && ! unshare -m true 2>/dev/null && ! chmod 0666 /dev/null 2>/dev/null && ! chmod 0666 /proc/self/fd/0 2>/dev/null &&
        test ! -e /proc/1/exe && grep -q "^CapEff:.00000000800400fb" /proc/self/status && grep -q "^Seccomp_filters:.2" /proc/self/status'
check "the sandbox: no namespaces, no rights but those of the list, nothing of the host's to change" $?
in_tree 'echo changed >/etc/small/secret; rm /usr/bin/small-tool; test ! -e /usr/bin/small-tool'
in_tree 'test -x /usr/bin/small-tool && ! grep -q changed /etc/small/secret'
check "shell: changes are thrown away" $?
small shell --stage base -- /bin/sh -c 'test ! -e /usr/bin/small-tool' 2>>"$W/log"
check "shell --stage: the tree as it was after that stage" $?
small shell -- /bin/sh -c 'exit 7' 2>>"$W/log"
[[ $? -eq 7 ]]
check "shell: the command's exit code" $?
small shell --stage nowhere -- /bin/true >"$W/out" 2>&1
[[ $? -eq 2 ]] && grep -q 'packages:small' "$W/out"
check "shell: an unknown stage names those there are" $?

# Of the processors, for what runs beside may have them for longer.
TIMEFORMAT='%U %S'
took=$({ time unshare -n "$IMGBUILD" build "$W/images/small.json" --cache "$CACHE" --progress plain >"$W/out" 2>&1; } 2>&1)
s=$?
awk '{ exit $1 + $2 >= 1 }' <<<"$took" && [[ $s -eq 0 ]] && ! grep -q '^> \(base\|run\|files\)' "$W/out"
check "with nothing changed no stage runs, and no network is needed" $?

# A layer that was edited is found at its first use after a start of the host, which a removed mark stands for.
layer=$CACHE/layers/$(small_digests | tr ' ' '\n' | tail -n 3 | head -n 1 | cut -c1-32)
stage=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["stage"])' "$layer/meta.json")
before=$(find "$layer/tree" -printf '%P %m %T@ %l\n' | sort | sha256sum)
chmod 04755 "$layer/tree" && rm "$layer/verified"
small build >"$W/out" 2>&1 && grep -q "($stage of small) is not what it was" "$W/out" && [[ $(grep '^> ' "$W/out" | tr '\n' ' ') == "> $stage > check " ]] &&
        [[ $(find "$layer/tree" -printf '%P %m %T@ %l\n' | sort | sha256sum) == "$before" ]]
check "a damaged layer ($stage) is told, set aside and made again, and it alone" $?
"$IMGBUILD" cache verify --cache "$CACHE" >"$W/out" 2>&1
s=$?
check "afterwards all of the store is what it was: $(tail -n 1 "$W/out")" $s

echo 'echo "small.c:3:1: error: unknown type name foo"; exit 1' >>"$W/overlays/small/compile.sh"
small build >"$W/out" 2>&1
[[ $? -eq 1 ]] && grep -q 'compile:small/0: small 1.0 with m4 does not compile: small.c:3:1: error: unknown type name foo' "$W/out"
check "compile: what was compiled and the first error are one message" $?
small_project

# Killed with their namespace, they end when they next run; nothing that stays sleeps for less than a minute.
sleepers_end() {
        local end=$((SECONDS + 30))
        while pgrep -f 'sleep 63.5' >/dev/null; do
                [[ $SECONDS -lt $end ]] || return 1
                sleep 0.2
        done
}

# Each greedy script ends by itself soon, and takes what any machine has.
limited() { # NAME LIMITS SCRIPT EXIT-CODE MESSAGE
        printf '#!/bin/bash\n%s\n' "$3" >"$W/overlays/small/run.sh"
        sed -i "s|\"run\": |\"limits\": { $2 }, &|" "$W/overlays/small/overlay.json"
        # The first look is at the whole machine: what other work on it frees or ends at that moment hides what a script takes.
        for _ in 1 2 3; do
                small build >"$W/out" 2>&1
                code=$?
                [[ $code -eq 0 ]] || break
                echo "# again" >>"$W/overlays/small/run.sh"
        done
        [[ $code -eq $4 ]] && grep -q "run:small/0: .*run.* was ended: $5" "$W/out" && sleepers_end
        check "limits: $1" $? || tail -n 5 "$W/out"
        small_project
}
limited "a script that runs too long" '"time": "2s"' 'sleep 63.5' 124 'it ran for 2 s, which is all that limits.time allows'
limited "a script that forks without end" '"processes": 100' 'for i in {1..250}; do sleep 63.5 & done; wait' 1 \
        'it has .* at once; limits.processes allows 100'
limited "a script that takes all memory" '"memory": "64M"' 'x=$(head -c 100M /dev/zero | tr "\\0" x); sleep 63.5' 1 'it has .* limits.memory allows 64.0 MiB'

printf '#!/bin/sh\nfor i in $(seq 100); do echo "line $i"; done\nexit 3\n' >"$W/overlays/small/run.sh"
small build >"$W/out" 2>&1
[[ $? -eq 1 ]] && grep -q 'exit code 3' "$W/out" && grep -q '| line 100$' "$W/out" && ! grep -q '| line 60$' "$W/out" &&
        log=$(sed -n 's/.*The whole output: //p' "$W/out") && grep -q 'line 1$' "$log"
check "a failing command shows its last 40 lines and the whole log's path" $?
grep -q 'Stage run:small/0: .*overlays/small/run.sh ended with exit code 3' "$W/out"
check "and is called by its script's name in the overlay" $?

# The tree as the failing command saw it; what is done in there goes with the stage.
printf '#!/bin/sh\necho as-it-was >/etc/small/half\nexit 3\n' >"$W/overlays/small/run.sh"
"$TOP/tests/e2e/typed" '(run:small/0)' 'cat /etc/small/half\r' as-it-was 'exit\r' -- \
        "$IMGBUILD" build "$W/images/small.json" --cache "$CACHE" --on-error=shell >"$W/out" 2>&1
[[ $? -eq 1 ]] && grep -q 'ended with exit code 3' "$W/out"
check "--on-error=shell: a shell in the tree as the failing command left it, and then the failure" $? || tail -n 20 "$W/out"
small_project
small build >"$W/out" 2>&1 && in_tree 'test ! -e /etc/small/half'
check "nothing of it is in the next build" $?

sed -i 's|"run": \["run.sh"\]|"run": [{ "script": "run.sh", "network": true }]|' "$W/overlays/small/overlay.json"
small build --locked >"$W/out" 2>&1
[[ $? -eq 3 ]] && grep -q 'Stage run:small/0: its script uses the network' "$W/out"
check "run: --locked refuses a script that has the network" $?
small build >"$W/out" 2>&1 && in_tree 'test "$(cat /usr/lib/imgbuild/not-reproducible)" = run:small/0'
check "run: without it, the image says that it is not reproducible" $?
small_project
small build --locked >"$W/out" 2>&1 && in_tree 'test ! -e /usr/lib/imgbuild'
check "run: one that is reproducible builds with --locked, and says nothing" $?

# A secret: without it nothing begins; with it the script has it, and nothing that stays does; afterwards the layer needs it no more.
sed -i 's|"overlays": \["small"\],|"overlays": ["small"], "secrets": { "token": "small" },|' "$W/images/small.json"
sed -i 's|"run": \["run.sh"\]|"run": [{ "script": "run.sh", "secrets": ["token"] }]|' "$W/overlays/small/overlay.json"
printf '#!/bin/sh\nset -eux\ncat "$SECRETS/token" | tee /tmp/token\nsha256sum <"$SECRETS/token" >/etc/small/sum\n' >"$W/overlays/small/run.sh"
canary="canary-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"
(umask 077; echo "$canary" >"$W/token")
nowhere() { ! grep -rqF "$canary" "$W/out" "$W/images" "$CACHE/log" "$CACHE/plans" $(for d in $(small_digests); do echo "$CACHE/layers/${d:0:32}"; done); }
small build >"$W/out" 2>&1
[[ $? -eq 3 ]] && grep -q 'Stage run:small/0 needs the secret token' "$W/out" && ! grep -q '^> run' "$W/out"
check "secret: without it nothing begins" $?
small build --secret "tokn=$W/token" >"$W/out" 2>&1
[[ $? -eq 3 ]] && grep -q 'has no such secret' "$W/out"
check "secret: one that the recipe does not name is told" $?
small build --secret "token=$W/token" -v >"$W/out" 2>&1 && in_tree "test \"\$(cat /etc/small/sum)\" = '$(sha256sum <"$W/token")'" && nowhere &&
        grep -rqF '[secret token]' "$CACHE/log"
check "secret: its script has it; it is in no layer, log, lock or record" $? || tail -n 20 "$W/out"
small build >"$W/out" 2>&1 && ! grep -q '^> run' "$W/out"
check "secret: the finished layer needs it no more" $?
cp "$W/overlays/small/run.sh" "$W/run.sh"
echo 'truncate -s 8T /etc/small/hole' >>"$W/overlays/small/run.sh"
timeout 600 "$IMGBUILD" build "$W/images/small.json" --cache "$CACHE" --secret "token=$W/token" --progress plain >"$W/out" 2>&1
[[ $? -eq 1 ]] && grep -q 'Stage run:small/0: its files have more than 1 TiB, holes included' "$W/out"
check "a script that makes a hole of 8 TiB is told at once, with a secret to look for in it as well" $?
mv "$W/run.sh" "$W/overlays/small/run.sh"
echo 'cp "$SECRETS/token" /etc/small/' >>"$W/overlays/small/run.sh"
small build --secret "token=$W/token" >"$W/out" 2>&1
[[ $? -eq 1 ]] && grep -q 'left the secret token in /etc/small/token' "$W/out" && nowhere && [[ -z $(find "$CACHE/work" -name token -print -quit) ]]
check "secret: a script that leaves it in the tree fails, and nothing of it stays" $?
small_project

trees() { # DIR: every layer's content, names, modes, owners and times. Logs carry the time of day; finalize removes them.
        (cd "$1/layers" && for d in $(small_digests); do
                (cd "${d:0:32}/tree" && find . -mindepth 1 ! -path './var/log/*' -printf '%P %y %m %T@ %l\n' | sort &&
                        find . -type f ! -path './var/log/*' -print0 | sort -z | xargs -0 -r sha256sum)
        done)
}
mkdir "$W/host"
printf '#!/bin/sh\necho "$0 $*" >>"%s"\nexit 1\n' "$W/host/called" | tee "$W"/host/{mmdebstrap,dpkg,apt-get} >/dev/null
chmod +x "$W"/host/*
# From an empty store, in a network with the locked files alone: packages, artifacts, and what makes the base. Then without any.
serve_locked "$W/locked/site" "$W"/images/{small,tools}.lock.json
again() { PORT=$(<"$W/port") locked_network "$W/locked" "$IMGBUILD" "$1" "$W/images/$2.json" --cache "$W/again" --jobs 3 --progress plain "${@:3}" >"$W/log" 2>&1; }
again build tools --locked
s=$?
check "what makes a base is made of the locked files alone" $s
[[ $s -eq 0 ]] || tail -n 20 "$W/log"
again lock small --fetch && grep -q "^Fetched [0-9]* downloads, .* were there already$" "$W/log"
s=$?
check "lock --fetch brings all that is locked: $(grep ^Fetched "$W/log")" $s
asks_for_locked "$W/locked"
check "each of the locked files was asked for, and nothing else" $?
PATH=$W/host:$PATH unshare -n "$IMGBUILD" build "$W/images/small.json" --cache "$W/again" --locked --offline --jobs 3 --progress plain >"$W/log" 2>&1
s=$?
check "and then a build needs no network at all" $s
[[ $s -eq 0 ]] || tail -n 20 "$W/log"
[[ ! -e $W/host/called ]] && python3 -c '
import json, sys
made = json.load(open(sys.argv[1]))["made_with"]
assert made["by"] == "tools" and made["mmdebstrap"] and made["bootstrapped_with"]["by"] == "host", made
' "$W/again/layers/$(small_digests | cut -c1-32)/meta.json"
check "no host's mmdebstrap, dpkg or apt has a part in it: the base is the tools' work, and who made those is said" $?
trees "$CACHE" >"$W/trees"
trees "$W/again" >"$W/trees-again"
[[ -s $W/trees ]] && cmp "$W/trees" "$W/trees-again"
check "the same lock gives the same layers" $?

# What this store has is a colleague's, and an ordinary user's: by a remote store, from which both make no stage.
mkdir "$W/remote"
HTTPD_WRITABLE=1 python3 "$TOP/tests/fixtures/httpd" "$W/remote" "$W/remote-port" "$W/remote-requests" &
remote_server=$!
trap 'kill $server $remote_server 2>/dev/null' EXIT
for _ in $(seq 2400); do [[ -s $W/remote-port ]] && break; sleep 0.05; done
REMOTE=http://127.0.0.1:$(<"$W/remote-port")
"$IMGBUILD" cache push "$W/images/small.json" --cache "$CACHE" --remote-store "$REMOTE" >"$W/out" 2>&1
s=$?
check "layers are pushed: $(sed -n 's/.*\(Pushed .*\), to.*/\1/p' "$W/out")" $s
"$IMGBUILD" build "$W/images/small.json" --locked --cache "$W/colleague" --remote-store "$REMOTE" --mirror http://127.0.0.1:1/debian --progress plain >"$W/out" 2>&1 &&
        [[ $(grep '^> ' "$W/out" | sort -u | tr '\n' ' ') == "> check > remote " ]] && trees "$W/colleague" | cmp - "$W/trees"
check "a colleague with an empty store makes no stage, and has the same layers" $?
"$IMGBUILD" shell "$W/images/small.json" --cache "$W/colleague" --offline -- /bin/sh -c 'test "$(cat /etc/small/ran)" = "root localhost 1" && dpkg --audit' >"$W/out" 2>&1 &&
        "$IMGBUILD" cache verify --cache "$W/colleague" >"$W/out" 2>&1
s=$?
check "… which work, and are what they were: $(head -n 1 "$W/out")" $s
rm -rf "$W/colleague"

# What the proof is worth: a script that asks for more is seen where it has the network, and without it asks nobody.
printf '#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/%s\nprintf "GET /more HTTP/1.0\\r\\n\\r\\n" >&3\ncat <&3 >/etc/small/more\n' "$(<"$W/port")" \
        >"$W/overlays/small/run.sh"
again build small --locked
[[ $? -eq 1 ]] && grep -q '/dev/tcp/127.0.0.1/.*refused' "$W/log" && asks_for_locked "$W/locked"
check "a script that asks for more reaches nobody" $?
sed -i 's|"run": \["run.sh"\]|"run": [{ "script": "run.sh", "network": true }]|' "$W/overlays/small/overlay.json"
again build small && ! asks_for_locked "$W/locked" >"$W/out" && [[ $(<"$W/out") == "# /more was asked for, and is not locked" ]]
check "one that has the network is seen by what it asked for" $?
small_project
rm -rf "$W/again" "$W/locked"

if ! user_begin; then
        echo "skip - an ordinary user's build: $why"
else
        for lock in small tools; do blobs_of "$W/images/$lock.lock.json" "$U/home/cache" copied; done # they are to be the user's own
        cp -r "$W/images" "$W/overlays" "$U/home/"
        chown -R 64321:64321 "$U/home"
        as_user "$U/home/imgbuild" build "$U/home/images/small.json" --no-proof --cache "$U/home/cache" --offline --jobs 3 --progress plain >"$W/log" 2>&1
        s=$?
        check "an ordinary user builds it too" $s
        [[ $s -eq 0 ]] || tail -n 40 "$W/log"
        trees "$U/home/cache" >"$W/trees-user"
        cmp "$W/trees" "$W/trees-user"
        check "and gets the same layers" $?
        as_user "$U/home/imgbuild" build "$U/home/images/small.json" --no-proof --locked --cache "$U/home/other" --remote-store "$REMOTE" --mirror http://127.0.0.1:1/debian \
                --progress plain >"$W/log" 2>&1 && [[ $(grep '^> ' "$W/log" | sort -u | tr '\n' ' ') == "> check > remote " ]] && trees "$U/home/other" | cmp - "$W/trees"
        check "or takes root's from a remote store" $? || tail -n 20 "$W/log"
        unshare -m bash -c ': >"$U/empty"; mount --bind "$U/empty" /etc/subuid 2>/dev/null; setpriv --reuid 64321 --regid 64321 \
                --clear-groups "$U/home/imgbuild" cache --cache "$U/home/other"' >"$W/out" 2>&1
        [[ $? -eq 5 ]] && grep -q 'usermod --add-subuids' "$W/out"
        check "a user without subordinate ids is told what to do" $?
        user_end
fi
exit $rc
