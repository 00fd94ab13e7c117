#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootctl's colours: on a terminal that has them, and never with NO_COLOR, on a dumb one or into a pipe. And what it
# says on a machine whose firstbootd left nothing.
set -u
ctl=$TOP/$BUILD/firstboot/firstbootctl
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "${work:?}"' EXIT
mkdir -p "$work/run/firstboot"
export FIRSTBOOT_ROOT=$work DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus
escape=$'\033'

# left TEXT VERB: nothing to tell of is exit code 4, and one line.
left() {
        timeout 60 "$ctl" "$2" >"$work/out" 2>&1 </dev/null
        [[ $? -eq 4 && $(wc -l <"$work/out") -eq 1 ]] && grep -qE "left no status; .*$1" "$work/out"
}
for verb in status blame plot explain; do
        left 'systemctl status firstbootd' $verb
        check "$verb without firstbootd says where to look" $?
done
left 'firstbootctl explain CODE' explain
check "explain says which form of it needs no firstbootd" $?

# Names as they come from a failed step, so that every colour would be used.
echo '{"node":"failed","steps":[{"name":"a","status":"failed","result":{"code":"x.y","message":"m"}}]}' >"$work/run/firstboot/status.json"

# A program on a terminal; all that it wrote, to its end (script(1) waits 10 ms for the rest, which a busy machine exceeds).
on_terminal='
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while text := os.read(terminal, 4096):
        os.write(1, text)
except OSError:
    pass
os.waitpid(pid, 0)'

# shown VARIABLE=VALUE… [-- OPTION…]: status on a terminal, with nothing but that in its environment.
shown() {
        local set=()
        while [[ ${1:---} != -- ]]; do set+=("$1"); shift; done
        env -u NO_COLOR -u TERM "${set[@]}" timeout 60 python3 -c "$on_terminal" "$ctl" status "${@:2}" >"$work/out" 2>&1 </dev/null
        grep -q 'Node is.*failed' "$work/out"
}
plain() { shown "$@" && ! grep -qF "$escape" "$work/out"; }

shown TERM=xterm && grep -qF "${escape}[31m" "$work/out"
check "a terminal has colours" $?
shown TERM=xterm NO_COLOR= && grep -qF "${escape}[31m" "$work/out"
check "with an empty NO_COLOR too" $?
plain TERM=xterm NO_COLOR=1
check "NO_COLOR: none" $?
plain TERM=dumb
check "TERM=dumb: none" $?
plain SHELL=/bin/sh
check "without TERM: none" $?
plain TERM=dumb -- --watch --timeout=1s
check "status --watch leaves a dumb terminal's lines where they are" $?
shown TERM=xterm NO_COLOR=1 -- --watch --timeout=1s && grep -qF "${escape}[H" "$work/out" && ! grep -q "${escape}\[[0-9;]*m" "$work/out"
check "with NO_COLOR it is redrawn without colours" $?
exit $rc
