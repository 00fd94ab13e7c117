#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootctl status --watch: a table for each change in a file, the node as it is on a terminal, a document a line as JSON.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl

within() { local i; for ((i = 0; i < 1200; i++)); do "$@" && return; sleep 0.05; done; return 1; } # COMMAND: at most 60 s
node_new
step slow '{}' <<<'until [ -e "$FIRSTBOOT_ROOT/go" ]; do sleep 0.05; done'
node_boot
"$ctl" status --watch --wait >"$NODE/text" 2>&1 &
text=$!
"$ctl" status --watch --wait --json >"$NODE/json" 2>&1 &
json=$!
TERM=xterm script -qfec "$ctl status --watch --wait" "$NODE/terminal" >/dev/null 2>&1 </dev/null &
terminal=$!
within grep -q 'slow *running' "$NODE/text" && within grep -q running "$NODE/json" && within grep -q running "$NODE/terminal"
check "a step that runs is shown while it runs" [ $? -eq 0 ]
touch "$NODE/go"
wait "$text"; check "with --wait it ends when the node has settled, with the node's exit code" [ $? -eq 0 ]
wait "$json" && wait "$terminal"; check "the others too" [ $? -eq 0 ]
check "a file has the end as well" grep -q 'Node is ready' "$NODE/text"
check "and no terminal's sequences" sh -c "! grep -q \$(printf '\\033') '$NODE/text'"
check "a table for each change, not for each look" [ "$(grep -c '^Node is' "$NODE/text")" -le 6 ]
check "JSON is a document a line" python3 -c 'import json, sys; l = [json.loads(x) for x in open(sys.argv[1])]; assert len(l) >= 2 and l[-1]["node"] == "ready" and l[0]["node"] == "starting", l' "$NODE/json"
check "a terminal is cleared for each look" grep -qF "$(printf '\033[H\033[J')" "$NODE/terminal"
node_down
rm -f "$NODE/run/firstboot/status.json"
"$ctl" status --watch --timeout 1s >/dev/null 2>"$NODE/err"
status=$?
check "without firstbootd it says so once its time is over" [ "$status $(grep -c 'left no status' "$NODE/err")" = "4 1" ]
[[ -z $failed ]]
