#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootctl where firstbootd is dead, the bus is away, files are missing or half, the clock was set back, /etc is read-only, and
# for somebody who is not root: what it shows it calls old, and what it cannot do it says with the way on.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl

ran() { "$@" >"$NODE/out" 2>"$NODE/err" </dev/null; status=$?; }
ended() { [[ $status -eq $1 ]] || { echo "# exit code $status, not $1"; cat "$NODE/out" "$NODE/err"; return 1; }; }
prints() { grep -qE -- "$1" "$NODE/out" || { echo "# no \"$1\" in:"; cat "$NODE/out"; return 1; }; }
says() { grep -qE -- "$1" "$NODE/err" || { echo "# no \"$1\" in:"; cat "$NODE/err"; return 1; }; }
quiet() { [[ ! -s $NODE/err ]] || { cat "$NODE/err"; return 1; }; }
old='firstbootd does not answer \(it does not run\): this is what it last wrote, .* ago; systemctl status firstbootd says why'

node_new
step a '{}' <<<true
node_boot
check "the node is ready" node_wait ready
check "and its verdict is told in full" node_announced
for verb in status explain blame plot; do
        ran "$ctl" "$verb"
        check "$verb of a firstbootd that answers warns of nothing" quiet
done

# --- firstbootd is dead ---------------------------------------------------------------------------------------------------
kill -KILL "$agent_pid"; wait "$agent_pid" 2>/dev/null; agent_pid=
ran "$ctl" status
check "status of a dead firstbootd has the exit code of what it left" ended 0
check "and says that this is old" prints "^warning: $old"
ran "$ctl" status --json
check "its JSON is one document" python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$NODE/out"
check "with the warning beside it" says "$old"
ran "$ctl" explain
check "explain does not say that nothing is wrong" prints '^Nothing was wrong when firstbootd last told\.$'
check "but why" says "$old"
for verb in blame plot; do
        ran "$ctl" "$verb"
        check "$verb warns of what is old" says "$old"
done
ran "$ctl" rerun a
check "nothing runs again without firstbootd" ended 1
check "in its own words, not the bus's" says 'firstbootd does not answer: it does not run; see systemctl status firstbootd$'
ran "$ctl" config
check "nor is the configuration told" says 'firstbootd does not answer: it does not run; see systemctl status firstbootd$'
ran "$ctl" check --step nosuch
check "a probe of a step that is none: where the names are" says "There is no step \"nosuch\" on this node; 'firstbootctl status' lists them"
ran "$ctl" check --step ab
check "or the one that was meant" says 'There is no step "ab" on this node; did you mean "a"\?'

touch -d '+2 days' "$NODE/run/firstboot/status.json"
ran "$ctl" status
check "a status from the future, for the clock was set back, has no age" prints 'this is what it last wrote; systemctl'

head -c 100 "$NODE/run/firstboot/status.json" >"$NODE/half" && cp "$NODE/half" "$NODE/run/firstboot/status.json"
for verb in status explain blame plot; do
        ran "$ctl" "$verb"
        check "$verb of half a status file: exit code 4" ended 4
        check "and what is wrong with which file" says 'the status that it left, /run/firstboot/status.json, is no use: .*; systemctl status firstbootd says why'
done
cp "$NODE/run/firstboot/config.json" "$NODE/config.kept"
head -c 20 "$NODE/config.kept" >"$NODE/run/firstboot/config.json"
ran "$ctl" check
check "check with half a configuration cannot look" ended 3
check "and names the file and the way on" says 'run/firstboot/config.json: .*the middle of.*; firstbootd has left no configuration .*systemctl status firstbootd'
cp "$NODE/config.kept" "$NODE/run/firstboot/config.json"

# --- and the bus too ------------------------------------------------------------------------------------------------------
kill "$bus_pid"; wait "$bus_pid" 2>/dev/null; bus_pid=; rm -f "$NODE/bus"
ran "$ctl" rerun a
check "without a bus that is said" says 'firstbootd does not answer: the system bus \(dbus.socket\) is not there; see systemctl status firstbootd$'
rm "$NODE/usr/lib/firstboot/firstboot-step"
ran "$ctl" check --probes
check "check without its program cannot look" ended 3
check "and names what is to be installed again" says '/usr/lib/firstboot/firstboot-step cannot be run; reinstall the firstboot programs: No such file'
rm -rf "$NODE/run/firstboot"
ran "$ctl" status
check "nothing at all is left: exit code 4" ended 4
check "and where to look" says 'firstbootd does not run and left no status; systemctl status firstbootd says why'

# --- the history ----------------------------------------------------------------------------------------------------------
# history_of TIME…: an entry for each, as history_slot_write() makes them.
history_of() {
        python3 - "$NODE/var/lib/firstboot/history" "$@" <<'P'
import json, sys, zlib
slots = [bytes(512)] * 1024
for i, time in enumerate(sys.argv[2:], 1):
    text = json.dumps({"seq": i, "time": int(time), "kind": "check", "verdict": "ready", "machine": 7, "busbw": 100.0 + i}, separators=(",", ":"))
    body = text.encode().ljust(502) + b"\n"
    slots[i % 1024] = b"%08x " % zlib.crc32(body) + body
open(sys.argv[1], "wb").write(b"".join(slots))
P
}
history_of 0 1700000000 1700003600 86400 253402300800 -5
ran "$ctl" history
check "a clock in 1970, set back, and beyond the year 9999: all entries are there" test "$(grep -c ' check  ' "$NODE/out")" -eq 6
check "in the order they came" sh -c "head -n 3 '$NODE/out' | tail -n 1 | grep -q '^2023-11-14 23:13:20Z'"
check "what was written after the clock was set back says so" prints '^1970-01-02 00:00:00Z .*\(the clock was set back before this, by 19674 d 23 h at least\)'
check "once for each time" test "$(grep -c 'set back' "$NODE/out")" -eq 2
check "and the figures stand below" prints '^busbw .* last 106'
check "without a word of damage" quiet
ran "$ctl" plot --history
check "plot --history has them all" prints '6 entries'
ran "$ctl" history --json
check "--json has them as they are" python3 -c 'import json,sys; assert [e["time"] for e in json.load(open(sys.argv[1]))] == [0, 1700000000, 1700003600, 86400, 253402300800, -5]' "$NODE/out"
mapfile -t years < <(seq 1500000000 86400 1588400000)
history_of "${years[@]}"
ran "$ctl" history
check "after years it has the last thousand, and a line of 60 columns" test "$(grep -c ' check  ' "$NODE/out") $(grep -oE '^busbw +[^ ]+' "$NODE/out" | sed 's/^busbw *//' | tr -d '\n' | wc -m)" = "1000 60"
head -c 524288 /dev/urandom >"$NODE/var/lib/firstboot/history"
ran "$ctl" history
check "a history of garbage is no error" ended 0
check "but told" says '/var/lib/firstboot/history: 1024 of its 1024 places are damaged'
history_of 1700000000 1700003600
truncate -s 1400 "$NODE/var/lib/firstboot/history"
ran "$ctl" history
check "of half a file what is whole is shown" test "$(grep -c ' check  ' "$NODE/out")" -eq 1
check "and what is not is counted" says ': 1 of its 1024 places are damaged'
rm -rf "$NODE/var/lib/firstboot"
ran "$ctl" history
check "without the state folder there is no history" prints '^There is no history yet\.$'
node_end

# --- the state folder goes while firstbootd runs --------------------------------------------------------------------------
node_new
step a '{}' <<<true
node_boot
check "a node is ready" node_wait ready
rm -rf "$NODE/var/lib/firstboot"
ran "$ctl" rerun --wait a
check "a node whose state folder is gone runs its steps, and is ready" ended 0
check "and the folder is there again" test -s "$NODE/var/lib/firstboot/state.json"

# --- somebody else --------------------------------------------------------------------------------------------------------
if [[ $(id -u) -eq 0 ]]; then
        chmod 0755 "$NODE"
        as_other() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }
        cp "$ctl" "$NODE/ctl" && chmod 0755 "$NODE/ctl"
        ran as_other "$NODE/ctl" status
        check "another user sees the status" ended 0
        check "as it is, without a warning" sh -c "! grep -q warning '$NODE/out'"
        ran as_other "$NODE/ctl" history
        check "and the history" ended 0
        ran as_other "$NODE/ctl" rerun a
        check "he may not have a step run again" ended 1
        check "and is told who may" says 'Only root, and whom polkit lets'
        ran as_other "$NODE/ctl" config
        check "nor see the configuration" says 'Only root, and whom polkit lets'
        check "which is not called silence" sh -c "! grep -q 'does not answer' '$NODE/err'"
        ran as_other "$NODE/ctl" config set a.b 1
        check "nor change it" says 'Changing the configuration needs root'
        ran as_other "$NODE/ctl" check
        check "nor look" ended 3
        check "for the configuration holds secrets" says 'Looking needs root: .* holds secrets'

        # --- /etc is read-only --------------------------------------------------------------------------------------------
        # shellcheck disable=SC2016
        ran unshare -m sh -c 'mount --bind "$1/etc" "$1/etc" && mount -o remount,bind,ro "$1/etc" && exec "$2" config set --no-rerun host.timezone Etc/UTC' - "$NODE" "$ctl"
        if grep -q 'mount:' "$NODE/err"; then
                echo "skip - a read-only /etc: nothing can be mounted here"
        else
                check "config set with a read-only /etc fails" ended 1
                check "with the file and the reason" says 'Cannot write .*/etc/firstboot/conf.d/90-firstbootctl.json: Read-only file system'
        fi
        ran "$ctl" status
        check "and the node is as it was" ended 0
else
        echo "skip - what another user may: only root can become one"
fi
[[ -z $failed ]]
