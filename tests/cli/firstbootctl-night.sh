#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a tired admin meets at night: firstbootctl while steps still run, after a failure, with an output that takes nothing.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl

node_new
step a '{}' <<<'until [ -e "$FIRSTBOOT_ROOT/go" ]; do sleep 0.1; done'
step b '{"requires":["a"]}' <<<'result "{\"status\":\"failed\",\"code\":\"b.low\",\"message\":\"20 MiB are free\"}"; exit 1'
node_boot
running() { [[ $(node_json 'o["step"]["a"]["status"]') == running ]]; }
for ((i = 0; i < 1200; i++)); do running && break; sleep 0.1; done
check "while steps run" running
out=$("$ctl" explain)
check "explain says that it is too early to say that all is well" grep -qF 'Nothing is wrong so far; the node is still starting.' <<<"$out"
out=$("$ctl" blame)
check "blame names no chain while no step has ended" sh -c '! grep -q "Longest chain" <<X
$0
X' "$out"
out=$("$ctl" rerun a 2>&1)
check "a step that runs is not run again, and the way to wait is named" grep -q 'is running. .*--wait' <<<"$out"
for wrong in 'explain --json' 'status --full' 'rerun --history a' 'log --wait' 'blame --watch'; do
        # shellcheck disable=SC2086
        "$ctl" $wrong >/dev/null 2>"$NODE/out"; status=$?
        check "an option that a verb does not heed is refused: $wrong" test "$status" -eq 64
        check "with the verbs that do" grep -qE "does not heed --[a-z]+; it is for [a-z]" "$NODE/out"
done
"$ctl" check --wait >/dev/null 2>&1; status=$?
check "by check with its own exit code" test "$status" -eq 2
touch "$NODE/go"
check "the node has failed" node_wait failed
out=$("$ctl" explain)
check "a code without a text says so, and once where more is" test "$(grep -c 'firstbootctl log' <<<"$out")" -eq 1
check "with its step's file" grep -qF 'whose file does not say what it means' <<<"$out"
"$ctl" blame --json >"$NODE/out"
check "blame --json has steps, the chain and the whole, in seconds" python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
assert {s["name"] for s in o["steps"]} == {"a", "b"} and o["chain"] == ["b", "a"] and o["seconds"] > 0
assert abs(o["chain_seconds"] - sum(s["seconds"] for s in o["steps"])) < 0.001' "$NODE/out"
for verb in status explain blame plot history config "status --json"; do
        # shellcheck disable=SC2086
        "$ctl" $verb >/dev/full 2>"$NODE/out"; status=$?
        check "$verb on a full disk is no success" test "$status" -ne 0
        check "and says so" grep -q 'Not all of the output could be written' "$NODE/out"
done
"$ctl" explain >&- 2>"$NODE/out"
check "nor is a closed output" grep -q 'Not all of the output could be written' "$NODE/out"
node_end

# What a step says may be a server's, or a process' own name out of the kernel's log: it commands no terminal, and makes no line of its own.
node_new
step a '{}' <<'S'
cat >"$FIRSTBOOT_RESULT" <<'J'
{"status":"failed","code":"a.low","message":"x \u001b[2J\u009b1A y\n  Node is ready after 1 s","remedy":"do \u001b]0;z\u0007 this\nand that"}
J
exit 1
S
node_boot
check "a step fails with control characters in its words" node_wait failed
for verb in status explain log plot history blame 'plot --history'; do
        # shellcheck disable=SC2086
        "$ctl" $verb >"$NODE/out" 2>&1
        check "$verb: no control character comes to the terminal" bash -c '! LC_ALL=C grep -qP "[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]" "$1"' - "$NODE/out"
        check "$verb: and no line that is not ours" bash -c '! grep -q "^ *Node is ready after 1 s" "$1"' - "$NODE/out"
done
check "the words are there" grep -q 'x  \[2J  1A y   Node is ready' <("$ctl" explain)
node_end

# A state of another version, or none that could be read, is not trusted: the node goes through its steps as at a first boot.
for state in '{ "version": 99, "steps": [] }' '{ broken' '' '[]' '{"version":"x"}'; do
        node_new
        step a '{}' <<<true
        printf '%s' "$state" >"$NODE/var/lib/firstboot/state.json"
        node_boot
        check "a state file \"$state\" keeps no node from being ready" node_wait ready
        check "and it is said, with where the file is" grep -q 'state.json.broken now, and this counts' "$NODE/agent.log"
        node_end
done
[[ -z $failed ]]
