#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A local user who wants the node out of service, or its record gone: locks on files that everybody may read, links where the agent
# writes, a flood of calls over D-Bus. On the real agent; the user is 65534.
#
# lane: clock
set -u
source tests/fixtures/node.bash
[[ $EUID -eq 0 ]] || { echo "root, to play another user"; exit 77; }
trap 'kill $stranger 2>/dev/null; node_end' EXIT
failed=
ctl=$node_build/firstbootctl
stranger=
as_stranger() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
entries() { "$ctl" history 2>/dev/null | grep -cE 'ready|failed|degraded'; }
step_again() { echo '{"status":"degraded","code":"a.odd","message":"odd"}' >"$NODE/verdict"; }

node_new
chmod 755 "$NODE" "$NODE"/{var,var/lib,run}
echo '{"watch":{"enabled":false}}' >"$NODE/etc/firstboot/node.json"
step a '{}' <<<true
rm "$NODE/usr/lib/firstboot/steps.d/a.json"
echo "{\"exec\":[\"$NODE/exec/a\"]}" >"$NODE/etc/firstboot/steps.d/a.json"
cat >"$NODE/exec/a" <<'P'
#!/bin/bash
cat "$FIRSTBOOT_ROOT/verdict" >"$FIRSTBOOT_RESULT" 2>/dev/null || rm -f "$FIRSTBOOT_RESULT"
P
node_boot
check "the node is ready" node_wait ready

# --- locks --------------------------------------------------------------------------------------------------------------
check "(the history is for everybody to read)" as_stranger test -r "$NODE/var/lib/firstboot/history"
before=$(entries)
locked() { [[ -e $NODE/locked ]]; }
(cd / && exec setpriv --reuid=65534 --regid=65534 --clear-groups flock -s "$NODE/var/lib/firstboot/history" sleep 600) & stranger=$!
end=$((SECONDS + 60)); until ! flock -n -x "$NODE/var/lib/firstboot/history" true || ((SECONDS > end)); do sleep 0.05; done
step_again
"$ctl" rerun --wait a >/dev/null
check "(the node becomes degraded meanwhile)" node_wait degraded
check "a lock on the history that anybody may take loses no entry" test "$(entries)" -gt "$before"
mapfile -t locks < <(find "$NODE/run/firstboot" "$NODE/var/lib/firstboot" -name '*lock*' -type f)
check "the agent has a lock of its own" test "${#locks[@]}" -gt 0
for f in "${locks[@]}"; do
        check "the agent's own lock is nobody else's to take: $(basename "$f")" test "$(stat -c %a "$f")" = 600
done
pkill -P "$stranger"; kill "$stranger" 2>/dev/null; wait "$stranger" 2>/dev/null
stranger=

# --- links --------------------------------------------------------------------------------------------------------------
for folder in run/firstboot run/firstboot/results var/lib/firstboot; do
        check "nobody else writes into /$folder" bash -c '! setpriv --reuid=65534 --regid=65534 --clear-groups ln -s /etc/passwd "$1/x" 2>/dev/null' - "$NODE/$folder"
done

# --- a flood ------------------------------------------------------------------------------------------------------------
as_stranger python3 -I "$TOP/tests/fixtures/bus-flood" "$NODE/bus" 8 8 >"$NODE/sent" & stranger=$!
rm "$NODE/verdict"
check "while somebody floods the bus, root's rerun is carried out" timeout 100 "$ctl" rerun --wait a
check "and the node is ready again" node_wait ready
check "a check is answered" bash -c 'timeout 100 "$1" check' - "$ctl"
wait "$stranger"; stranger=
check "(there was a flood)" test "$(cat "$NODE/sent")" -gt 1000
peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$agent_pid/status")
echo "# $(cat "$NODE/sent") calls, agent's peak $peak kB"
check "the agent has kept its size" test "$peak" -lt 65536
check "and lives" kill -0 "$agent_pid"
check "the node is still ready" node_is ready
[[ -z $failed ]]
