#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a step says of itself: only a verdict that is whole, known, in time and in step with the exit code counts.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl

code_of() { node_json "o['step']['$1'].get('result',{}).get('code')"; }
# fails STEP CODE: the step has failed, and for that reason.
fails() { is "o['step']['$1']['status']" failed && is "o['step']['$1']['result']['code']" "$2"; }
said() { is "'''$2''' in o['step']['$1']['result']['message']" True; }

node_new
step word '{}' <<<'result "{\"status\":\"fail\",\"message\":\"the licence server is gone\"}"'
step none '{}' <<<'result "{\"message\":\"fine\"}"'
step text '{}' <<<'result "all is well"'
step empty '{}' <<<': >"$FIRSTBOOT_RESULT"'
step list '{}' <<<'result "[1]"'
step number '{}' <<<'result "{\"status\":\"done\",\"message\":5}"'
step huge '{}' <<<'{ printf "{\"status\":\"done\",\"message\":\""; head -c 300000 /dev/zero | tr "\0" x; echo "\"}"; } >"$FIRSTBOOT_RESULT"'
step link '{}' <<<'echo "{\"status\":\"done\"}" >"$FIRSTBOOT_ROOT/elsewhere.json"; ln -s "$FIRSTBOOT_ROOT/elsewhere.json" "$FIRSTBOOT_RESULT"'
step hard '{}' <<<'echo "{\"status\":\"done\"}" >"$FIRSTBOOT_ROOT/twin.json"; ln "$FIRSTBOOT_ROOT/twin.json" "$FIRSTBOOT_RESULT"'
step pipe '{}' <<<'mkfifo "$FIRSTBOOT_RESULT"'
step folder '{}' <<<'mkdir "$FIRSTBOOT_RESULT"'
step owner '{}' <<<'result "{\"status\":\"done\"}"; chown 65534 "$FIRSTBOOT_RESULT"'
step badexit '{}' <<<'result "{\"status\":\"done\",\"message\":\"fine\"}"; exit 3'
step goodexit '{}' <<<'result "{\"status\":\"failed\",\"code\":\"licence.gone\",\"message\":\"no licence\",\"figures\":{\"n\":7}}"'
step agrees '{}' <<<'result "{\"status\":\"failed\",\"code\":\"licence.gone\",\"message\":\"no licence\"}"; exit 1'
step passes '{"retries":2,"retry_delay":"50ms"}' <<<'result "{\"status\":\"failed\",\"code\":\"licence.busy\"}"; exit 75'
step foreign '{}' <<<'echo "{\"status\":\"done\"}" >"$FIRSTBOOT_ROOT/run/firstboot/results/foreign.json"'
step victim '{}' <<<'touch $FIRSTBOOT_ROOT/victim; until [ -e $FIRSTBOOT_ROOT/thief ]; do sleep 0.05; done'
step thief '{}' <<<'until [ -e $FIRSTBOOT_ROOT/victim ]; do sleep 0.05; done; for f in victim victim.00112233445566778899aabbccddeeff; do echo "{\"status\":\"skipped\"}" >"$FIRSTBOOT_ROOT/run/firstboot/results/$f.json"; done; touch $FIRSTBOOT_ROOT/thief'
# The first attempt leaves a process behind that still writes when the second is under way.
step again '{"retries":1,"retry_delay":"50ms"}' <<<'f=$FIRSTBOOT_ROOT/again; [ -e $f ] || { touch $f; (until [ -e $f.second ]; do sleep 0.05; done; result "{\"status\":\"done\",\"message\":\"old\"}"; touch $f.late) & exit 75; }; touch $f.second; until [ -e $f.late ]; do sleep 0.05; done'
step whole '{}' <<<'result "{\"status\":\"done\",\"code\":null,\"message\":\"fine\"}"'
step quiet '{}' <<<true
mkdir -p "$NODE/run/firstboot/results"
chmod 755 "$NODE/run/firstboot/results"
mkdir "$NODE/run/firstboot/results/quiet.json"
echo '{"status":"failed"}' >"$NODE/run/firstboot/results/whole.0123456789abcdef0123456789abcdef.json"
node_boot
check "steps whose word does not count fail the node" node_wait failed
check "a verdict of an unknown word is a failure" fails word step.verdict-unknown
check "and what it said is told" said word 'the licence server is gone'
check "a verdict without a status is one too" fails none step.verdict-unknown
check "text that is no JSON is unreadable" fails text step.verdict-unreadable
check "an empty file too" fails empty step.verdict-unreadable
check "a list too" fails list step.verdict-unreadable
check "a field of the wrong type too" fails number step.verdict-unreadable
check "a file beyond all measure too" fails huge step.verdict-unreadable
check "a symbolic link is not followed" fails link step.verdict-unreadable
check "a file with another name elsewhere is not taken" fails hard step.verdict-unreadable
check "a pipe is not waited for" fails pipe step.verdict-unreadable
check "a folder is no verdict" fails folder step.verdict-unreadable
[[ $(id -u) != 0 ]] || check "another user's file is no verdict" fails owner step.verdict-unreadable
check "done with exit code 3 is a contradiction" fails badexit step.verdict-contradicts
check "failed with exit code 0 is one too" fails goodexit step.verdict-contradicts
check "which does not hide the step's own words" said goodexit 'licence.gone'
check "nor its figures" is "o['step']['goodexit']['result']['figures']['n']" 7
check "failed with exit code 1 is the step's own failure" fails agrees licence.gone
check "exit code 75 says that it may pass" is "len(o['step']['passes']['attempts'])" 3
check "a result under a name without the attempt's is not this attempt's" fails foreign step.verdict-stale
check "what another step leaves in a step's name does not count for it" fails victim step.verdict-stale
check "what an earlier attempt leaves during a later one does not count for that" fails again step.verdict-stale
check "what lay there before the attempt does not count, and does no harm" is "o['step']['whole']['result']['message']" fine
check "a folder in the way is cleared" is "o['step']['quiet']['status']" "done"
check "both are logged" test "$(grep -cE '(whole|quiet): A verdict left over from before.*step.verdict-stale' "$NODE/agent.log")" = 2
check "each failure is logged with its code" test "$(grep -cE '(word|none): .*\[step.verdict-unknown\]|(text|empty|list|number|huge|link|hard|pipe|folder|owner): .*\[step.verdict-unreadable\]|(badexit|goodexit): .*\[step.verdict-contradicts\]' "$NODE/agent.log")" -ge 13
check "the folder of results is closed to others" test "$(stat -c %a "$NODE/run/firstboot/results")" = 700
check "and empty afterwards" test -z "$(ls "$NODE/run/firstboot/results")"
check "firstbootctl explain knows the codes" sh -c "'$ctl' explain step.verdict-contradicts | grep -q 'exit code'"
node_end

# After the step has ended.
node_new
step tardy '{}' <<<'(until [ -e "$FIRSTBOOT_ROOT/run/firstboot/ready" ]; do sleep 0.05; done; sleep 0.3; echo "{\"status\":\"failed\",\"message\":\"after all, no\"}" >"$FIRSTBOOT_RESULT") & true'
step other '{}' <<<true
node_boot
check "without a verdict, exit code 0 is done" node_wait ready
check "a verdict that comes after the end fails the step" node_wait failed
check "with a code of its own" fails tardy step.verdict-late
check "and its words" said tardy 'after all, no'
check "the ready file goes" test ! -e "$NODE/run/firstboot/ready"
check "and node-ready.target" grep -q '^StopUnit node-ready.target' "$NODE/calls"
check "no other step is touched" is "o['step']['other']['status']" "done"
kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
echo '{"status":"failed"}' >"$NODE/run/firstboot/results/other.json"
agent_start
for _ in $(seq 2400); do [[ $(code_of other) == step.verdict-late ]] && break; sleep 0.05; done
check "one that came while firstbootd was away is seen at its return" fails other step.verdict-late
[[ -z $failed ]]
