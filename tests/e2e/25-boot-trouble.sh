#!/bin/bash
# imgbuild boot when things go wrong: nothing to boot, no time, Ctrl-C, kill -9, a busy port, a state folder in use.
# Needs the tools tree but no image: firmware that finds nothing to boot is enough of a machine.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project

truncate -s 32M "$work/blank.raw"
printf 'label: gpt\ntype=linux, name=nothing\n' | /sbin/sfdisk -q "$work/blank.raw"
truncate -s 8M "$work/fs.raw" && mke2fs -q "$work/fs.raw"
before=$(sha256sum <"$work/blank.raw")

boot() { (cd "$PROJECT" && exec timeout -k 10 900 "$IMGBUILD" boot --cache "$CACHE" --progress plain "$@"); }
qemus() { pgrep -fc "qemu-system-x86_64.*-name imgbuild.*$1"; }
none_left() { # NAME: no QEMU with this console's name within 10 s
        for ((i = 0; i < 50; i++)); do [[ $(qemus "$1") -eq 0 ]] && return 0; sleep 0.2; done
        return 1
}
running() { for ((i = 0; i < 600; i++)); do [[ $(qemus "$1") -gt 0 ]] && return 0; sleep 0.1; done; return 1; }

boot "$work/blank.raw" --accel tcg --save "$work/uefi" --timeout 300 >"$work/out" 2>&1
[[ $? -eq 1 ]] && grep -q "the firmware found nothing to boot" "$work/out" && grep -q "The last lines of the console" "$work/out"
check "UEFI: nothing to boot is a failure with the console's last lines" $?
[[ -s $work/uefi/console.log ]] && python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["result"] == "failed" and r["accelerator"] == "tcg" and "firmware" in r["reached_usec"], r' "$work/uefi/boot.json"
check "console and result are saved" $?

boot "$work/fs.raw" --accel tcg --firmware bios --timeout 300 >"$work/out" 2>&1
[[ $? -eq 1 ]] && grep -q "no BIOS boot loader" "$work/out"
check "BIOS: nothing to boot is a failure" $?

boot "$work/blank.raw" --accel tcg --until never --timeout 1 >"$work/out" 2>&1
[[ $? -eq 124 ]] && grep -q "within 1 s" "$work/out"
check "time-out is exit code 124" $?

"$IMGBUILD" boot --cache "$CACHE" --progress plain "$work/blank.raw" --accel tcg --until never --timeout 1 --keep >"$work/out" 2>&1 &
pid=$!
for ((i = 0; i < 1200; i++)); do grep -q "it keeps running, its console: tail -f /" "$work/out" && break; sleep 0.1; done
check "--keep: a guest that did not come up keeps running, and says where its console is" $((i == 1200))
kill -s INT $pid
wait $pid
status=$?
[[ $status -eq 124 ]]
check "--keep: its exit code is still the time-out's ($status)" $?

# A cluster of which one machine does not come up ends, as a script that has it run a command wants it to.
printf '{ "name": "c", "network": "10.71.0.0/24", "machines": [ { "name": "one", "image": "%s", "memory": "256M", "nvme": ["serial=cluster"] } ] }\n' "$work/blank.raw" >"$work/c.json"
while read -r limit code command; do
        timeout -s KILL 120 "$IMGBUILD" cluster "$work/c.json" --cache "$CACHE" --progress plain --timeout "$limit" ${command:+-- "$command"} >"$work/out" 2>&1 </dev/null
        status=$?
        [[ $status -eq $code ]] && grep -q "one has ended; so the cluster does" "$work/out" && none_left serial=cluster
        check "a cluster ends whose machine ${command:+is to run a command and }does not come up within $limit s ($status)" $?
done <<'L'
1 124 true
300 1
L

# The firmware's own shell, which nothing else is there to give, answers what is typed.
"$TOP/tests/e2e/typed" 'Ctrl-]' '\r' 'Shell>' 'echo typed 4711\r' $'\ntyped 4711' '\x1d' -- "$IMGBUILD" boot --cache "$CACHE" "$work/blank.raw" \
        --accel tcg --timeout 300 --nvme serial=console --on-error=shell --save "$work/console" >"$work/out" 2>&1
status=$?
[[ $status -eq 1 ]] && grep -q 'typed 4711' "$work/console/console.log"
check "--on-error=shell: the console of a machine that did not come up, in its log as well ($status)" $?
none_left serial=console
check "--on-error=shell: left by its way out, no QEMU is left" $?

[[ $(sha256sum <"$work/blank.raw") == "$before" ]]
check "the image is never changed" $?

# Ctrl-C, and kill -9, of a machine that would run for long: its firmware's shell is not waited out.
for signal in INT KILL; do
        "$IMGBUILD" boot --cache "$CACHE" --progress plain "$work/blank.raw" --accel tcg --save "$work/sig$signal" \
                --nvme "serial=sig$signal" --keep --timeout 300 >"$work/out" 2>&1 &
        pid=$!
        running "sig$signal"
        check "SIG$signal: the machine runs" $?
        kill -s $signal $pid
        wait $pid
        status=$?
        [[ ($signal == INT && $status -eq 130) || ($signal == KILL && $status -eq 137) ]]
        check "SIG$signal: exit code ($status)" $?
        none_left "sig$signal"
        check "SIG$signal: no QEMU is left" $?
done
no_leftovers
check "no mount and no sandbox is left" $?

# QEMU's own faults are not the guest's: a machine whose QEMU crashes is switched on again, once.
"$IMGBUILD" boot --cache "$CACHE" --progress plain "$work/blank.raw" --accel tcg --nvme serial=crash --until never --timeout 300 >"$work/out" 2>&1 &
pid=$!
first=
for crash in 1 2; do
        for ((i = 0; i < 600; i++)); do
                qemu=$(pgrep -f '^qemu-system-x86_64 .*serial=crash')
                [[ -n $qemu && $qemu != "$first" ]] && break
                sleep 0.1
        done
        [[ -n $qemu && $qemu != "$first" ]]
        check "crash $crash: a QEMU runs" $?
        first=$qemu
        kill -SEGV $qemu
done
wait $pid
status=$?
[[ $status -eq 1 ]] && grep -q 'QEMU crashed (Segmentation fault).*switched on once more' "$work/out" &&
        grep -q 'QEMU crashed twice (Segmentation fault)' "$work/out"
check "a QEMU that crashed is started once more; the second time is told ($status)" $?
[[ $status -eq 1 ]] || cat "$work/out"
none_left serial=crash
check "and none is left" $?

port=$(free_port)
python3 -c 'import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); time.sleep(300)' "$port" &
holder=$!
sleep 1
boot "$work/blank.raw" --accel tcg --forward "$port:80" >"$work/out" 2>&1
[[ $? -eq 1 ]] && grep -q "host forwarding rule" "$work/out"
check "a busy port is told in QEMU's words" $?
kill $holder

# A state folder is one machine: kept, and not for two at once.
boot "$work/blank.raw" --accel tcg --state "$work/state" --nvme 1 --until never --timeout 2 >"$work/out" 2>&1
id=$(cat "$work/state/instance-id" 2>/dev/null)
[[ -n $id && -s $work/state/root.qcow2 && -e $work/state/nvme0.raw ]]
check "--state keeps the machine" $?
[[ $(blkid -o value -s LABEL "$work/state/seed.img") == cidata ]]
check "the seed is one that cloud-init finds" $?
boot "$work/blank.raw" --accel tcg --state "$work/state" --nvme 1 --until never --timeout 2 >"$work/out" 2>&1
[[ $(cat "$work/state/instance-id") == "$id" ]]
check "the second boot is the same instance" $?
boot "$work/blank.raw" --accel tcg --state "$work/state" --nvme size=1G --until never --timeout 2 >"$work/out" 2>&1
[[ $? -eq 3 ]] && grep -q "of an earlier boot has" "$work/out"
check "a disk of another size is refused" $?
exec 9<"$work/state"
flock -x 9
boot "$work/blank.raw" --accel tcg --state "$work/state" --until never --timeout 2 >"$work/out" 2>&1
[[ $? -eq 1 ]] && grep -q "in use by another boot" "$work/out"
check "a state folder in use is refused" $?
exit $rc
