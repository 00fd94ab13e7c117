#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootctl check: the steps' programs as probes that change nothing, their exit codes, and what it says with the agent
# or the bus away. On the real agent and doubles of everything below it.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl

tool() { { echo '#!/bin/bash'; cat; } >"$NODE/bin/$1"; chmod +x "$NODE/bin/$1"; }
# look OPTION…: rc, out (standard output) and err of a check.
look() {
        out=$(PATH=$NODE/bin:$PATH timeout 180 "$ctl" check "$@" 2>"$NODE/err"); rc=$?
        err=$(<"$NODE/err")
}
says() { [[ $rc == "$1" && $out == "$2"* && ( -n $2 || -z $out ) ]] || { echo "# $rc: $out | $err"; return 1; }; }
# step_of NAME KEY: from check --json
step_of() { python3 -c 'import json,sys; o=json.loads(sys.argv[1]); print({s["name"]: s for s in o["steps"]}[sys.argv[2]].get(sys.argv[3]))' "$out" "$1" "$2" 2>&1; }
tree() { (cd "$NODE" && find etc usr/lib run/firstboot var -type f ! -path 'run/firstboot/check*' ! -name history -printf '%p %T@ %s\n' | sort); }

# --- a site's own step ----------------------------------------------------------------------------------------------
node_new
mkdir -p "$NODE/bin"
# What a step made in the boot is what its probe looks at; run as a step it writes again.
site() { echo "{\"exec\":[\"$NODE/exec/$1\"]$2}" >"$NODE/etc/firstboot/steps.d/$1.json"; cat >"$NODE/exec/$1"; chmod +x "$NODE/exec/$1"; }
site licence ',"check":true' <<'P'
#!/bin/bash
case ${FIRSTBOOT_CHECK:-} in
'') echo run >>"$NODE/ran" ;;
*) echo "noise on standard output"; echo "$FIRSTBOOT_CHECK" >>"$NODE/looked"; cat "$NODE/verdict" >"$FIRSTBOOT_RESULT" 2>/dev/null || rm -f "$FIRSTBOOT_RESULT"; exit "$(cat "$NODE/exit" 2>/dev/null || echo 0)" ;;
esac
P
site old '' <<'P'
#!/bin/bash
echo run >>"$NODE/ran-old"
P
look
check "without the agent's configuration nobody can look: 3" says 3 ''
check "and it says so" grep -q 'has left no configuration' <<<"$err"
node_boot
check "the node is ready" node_wait ready
node_announced # what is written after the verdict is no matter of the check's
before=$(tree)
look
check "a node that is well passes: 0, and nothing is printed" says 0 ''
check "quick is the default" test "$(cat "$NODE/looked")" = quick
check "a step that does not know how to look is not run" test "$(wc -l <"$NODE/ran-old")" = 1
check "and the one that does was not run as a step" test "$(wc -l <"$NODE/ran")" = 1
look --full
check "full passes" says 0 ''
check "and tells the program" test "$(tail -n 1 "$NODE/looked")" = full
mkdir -p "$NODE/proc/77"
echo slurmstepd >"$NODE/proc/77/comm"; printf 'slurmstepd: [12.batch]' >"$NODE/proc/77/cmdline"; printf 'Name:\tslurmstepd\nUid:\t0\t0\t0\t0\n' >"$NODE/proc/77/status"
: >"$NODE/looked"
look --full
check "while a job runs a full check is refused: 4" says 4 ''
check "nothing was looked at" test ! -s "$NODE/looked"
check "and it says why, and the ways out" grep -q 'a job runs on this node.*--quick.*--beside-jobs' <<<"$err"
look
check "a quick one goes on beside it" says 0 ''
look --full --beside-jobs
check "so does a full one that is told to" test "$rc $(tail -n 1 "$NODE/looked")" = "0 full"
rm -r "$NODE/proc"
look --beside-jobs
check "--beside-jobs without --full: 2" says 2 ''
check "looking changes nothing" test "$before" = "$(tree)"
echo '{"status":"failed","code":"licence.gone","message":"no answer"}' >"$NODE/verdict"; echo 1 >"$NODE/exit"
look
check "a probe that fails: 1, with code and message on one line" says 1 'licence.gone: no answer'
look --step=old
check "--step looks at one" says 0 ''
look --step=nothing
check "a step that is not there: 2" says 2 ''
look --quick --full
check "both ways at once: 2" says 2 ''
look --frobnicate
check "an unknown option: 2" says 2 ''
look --json
check "as JSON, with the same exit code" test "$rc $(step_of licence code) $(step_of old status)" = "1 licence.gone skipped"
echo 0 >"$NODE/exit"
look
check "a verdict of failed counts though the program exits with 0" says 1 'licence.gone'
echo '{"status":"done"}' >"$NODE/verdict"; echo 1 >"$NODE/exit"
look
check "and an exit code of 1 though it says done" says 1 'step.exit-code'
echo '{"status":"splendid"}' >"$NODE/verdict"; echo 0 >"$NODE/exit"
look
check "a word that is no verdict fails" says 1 'step.failed'
# Words of a server's, or of a program that was broken into: one line, and nothing that a terminal obeys.
echo '{"status":"failed","code":"licence.gone","message":"no\ngpu.xid: 79\u001b[2J\u009b1m"}' >"$NODE/verdict"; echo 1 >"$NODE/exit"
look
check "what a message holds stays on its line" test "$rc $(wc -l <<<"$out") ${out%%.gone*}" = "1 1 licence"
check "and no terminal obeys it" sh -c '! printf %s "$1" | LC_ALL=C grep -q "$(printf "[\\033\\233]")"' - "$out"
echo '{"status":"failed","code":"licence gone","message":"x"}' >"$NODE/verdict"
look
check "a code that is none is not told as one" says 1 'step.failed'
echo 0 >"$NODE/exit"
mv "$NODE/exec/licence" "$NODE/exec/licence.kept"
printf '#!/bin/bash\nmkfifo "$FIRSTBOOT_RESULT"\n' >"$NODE/exec/licence"; chmod +x "$NODE/exec/licence"
from=${EPOCHREALTIME/./}
look
check "a named pipe in a verdict's place fails, and is not waited for" test "$rc $((${EPOCHREALTIME/./} - from < 4000000))" = "1 1"
mv "$NODE/exec/licence.kept" "$NODE/exec/licence"
rm "$NODE/verdict"
look
check "without a verdict the exit code decides" says 0 ''
mv "$NODE/etc/firstboot/steps.d/licence.json" "$NODE/licence.json"
echo '{"exec":["'"$NODE"'/exec/licence"],"check":true,"required":false}' >"$NODE/etc/firstboot/steps.d/licence.json"
echo '{"status":"failed","code":"licence.gone","message":"no answer"}' >"$NODE/verdict"; echo 1 >"$NODE/exit"
look
check "what is not required is let pass" says 0 ''
check "and told of" grep -q '^licence.gone: no answer (let pass)$' <<<"$err"
mv "$NODE/licence.json" "$NODE/etc/firstboot/steps.d/licence.json"
rm "$NODE/verdict" "$NODE/exit"

# --- the agent and the bus ------------------------------------------------------------------------------------------
kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
look
check "a node whose agent is dead does not pass" says 1 'check.no-agent'
look --probes
check "its probes are made all the same" says 0 ''
( sleep 1; exec "$node_build/firstbootd" >>"$NODE/agent.log" 2>&1 ) & agent_pid=$!
look
check "an agent that comes back is waited for" says 0 ''
kill "$bus_pid"; wait "$bus_pid" 2>/dev/null
( sleep 1; exec dbus-daemon --config-file="$NODE/bus.conf" --nofork --nopidfile >"$NODE/bus.log" 2>&1 ) & bus_pid=$!
look
check "so is a bus" says 0 ''
kill "$bus_pid"; wait "$bus_pid" 2>/dev/null; bus_pid=
look
check "without a bus nobody knows of the agent" says 1 'check.no-agent'
mv "$NODE/run/firstboot/config.json" "$NODE/config.json"
echo 'not JSON' >"$NODE/run/firstboot/config.json"
look
check "a configuration that is none: 3" says 3 ''
echo '{"config":{},"errors":["node.json: a fault"]}' >"$NODE/run/firstboot/config.json"
look
check "one with errors is no node's" says 1 'config.invalid: node.json: a fault'
rm "$NODE/usr/lib/firstboot/firstboot-step"
mv "$NODE/config.json" "$NODE/run/firstboot/config.json"
look
check "without the programs: 3" says 3 ''
node_end

# --- the built-in steps ---------------------------------------------------------------------------------------------
node_new
mkdir -p "$NODE"/{bin,proc/self,proc/sys/net/core,mnt,sys/block/nvme0n1/device,sys/dev/block}
: >"$NODE/proc/self/mounts"; : >"$NODE/proc/self/mountinfo"
document() { echo "{\"config\":{$1},\"instance\":{\"id\":\"i\"}}" >"$NODE/run/firstboot/config.json"; }
cp "$TOP"/firstboot/steps/*/*.json "$NODE/usr/lib/firstboot/steps.d/" 2>/dev/null; rm -f "$NODE/usr/lib/firstboot/steps.d/shapes.json"
bus_start
manager_start
probe() { local s=$1; shift; look --probes --step="$s" "$@"; }

document '"host":{"sysctl":{"net.core.somaxconn":"4096 1"}}'
printf '4096\t1\n' >"$NODE/proc/sys/net/core/somaxconn"
probe host --json
check "kernel settings as configured" test "$rc $(step_of host status)" = "0 done"
mount -t tmpfs -o ro none "$NODE/var/lib/firstboot" 2>/dev/null && {
        probe host
        check "a root file system that has become read-only fails" says 1 'host.read-only'
        umount "$NODE/var/lib/firstboot"
}
echo 128 >"$NODE/proc/sys/net/core/somaxconn"
probe host
check "one that was changed since is told of, and lets pass" test "$rc ${err%%:*}" = "0 host.sysctl"

mkdir -p "$NODE/sys/fs/selinux/booleans"
echo "0 0" >"$NODE/sys/fs/selinux/booleans/b"
document '"host":{"selinux_booleans":{"b":true}}'
probe host
check "an SELinux boolean that was switched since is told of, and lets pass" test "$rc ${err%%:*}" = "0 host.selinux"
echo "1 1" >"$NODE/sys/fs/selinux/booleans/b"
probe host --json
check "… and is well once it is on" test "$rc $(step_of host status)" = "0 done"
rm -r "$NODE/sys/fs/selinux"

scratch='"scratch":{"mount_point":"'$NODE'/mnt"}'
document "$scratch"
probe scratch --json
check "a node without scratch has none to look at" test "$rc $(step_of scratch status)" = "0 skipped"
mkdir -p "$NODE/var/lib/firstboot"
echo '{"instance_id":"i","serials":["S1"]}' >"$NODE/var/lib/firstboot/scratch.json"
probe scratch
check "a volume that is on record and not mounted fails" says 1 'scratch.mount'
ln -sfn ../../block/nvme0n1 "$NODE/sys/dev/block/259:0"
echo 'S1   ' >"$NODE/sys/block/nvme0n1/device/serial"; echo 2048 >"$NODE/sys/block/nvme0n1/size"
echo "29 1 259:0 / $NODE/mnt rw - xfs /dev/nvme0n1 rw" >"$NODE/proc/self/mountinfo"
probe scratch
check "mounted from its disk and writable" says 0 ''
check "and nothing is left behind in it" test -z "$(ls -A "$NODE/mnt")"
echo 'S2' >"$NODE/sys/block/nvme0n1/device/serial"
probe scratch
check "another disk than the one on record fails" says 1 'scratch.disk-missing'
echo 'S1' >"$NODE/sys/block/nvme0n1/device/serial"
mount -t tmpfs -o ro none "$NODE/mnt" 2>/dev/null && {
        probe scratch
        check "read-only fails" says 1 'scratch.not-writable'
        mount -o remount,rw,size=4k "$NODE/mnt" && head -c 8192 /dev/zero >"$NODE/mnt/full" 2>/dev/null
        probe scratch
        check "a job that filled it is no fault of the node's" test "$rc ${err%%:*}" = "0 scratch.full"
        umount "$NODE/mnt"
}

mounts='"mounts":[{"what":"server:/home","where":"'$NODE'/mnt","type":"nfs","required":true,"verify":"write"}]'
document "$mounts"
probe mounts
check "a mount that is gone fails" says 1 'mounts.lost'
echo "server:/home $NODE/mnt nfs rw 0 0" >"$NODE/proc/self/mounts"
probe mounts --full
check "one that answers passes" says 0 ''
document "${mounts//\/home/\/home\/}"
probe mounts
check "a slash at the end of an entry is no fault" says 0 ''
document "$mounts"
echo "other:/home $NODE/mnt nfs rw 0 0" >"$NODE/proc/self/mounts"
probe mounts
check "another server's fails" says 1 'mounts.blocked'

slurm='"slurm":{"controllers":["head"],"node_name":"n1"}'
document "$slurm"
tool munge <<<'exit 0'
tool scontrol <<<'echo asked >>"$NODE/asked"; echo "NodeName=n1 State=$(cat "$NODE/state") Reason=x"'
busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartUnit ss slurmd.service replace >/dev/null
echo IDLE >"$NODE/state"
probe slurm
check "munge and slurmd are well" says 0 ''
check "the quick look asks no controller" test ! -e "$NODE/asked"
probe slurm --full
check "the full one does" test "$rc $(cat "$NODE/asked")" = "0 asked"
echo 'DOWN*' >"$NODE/state"
probe slurm --full
check "a node that is DOWN fails" says 1 'slurm.not-registered'
tool munge <<<'echo "munge: Error: Failed to access socket"; exit 6'
probe slurm
check "a dead munge fails" says 1 'slurm.munge: munge: Error: Failed to access socket'
tool munge <<<'exit 0'
busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StopUnit ss slurmd.service replace >/dev/null
probe slurm
check "a dead slurmd fails" says 1 'slurm.slurmd'

document '"identity":{"uri":["ldaps://x"],"base":"b","probe_user":"alice"}'
tool getent <<<'[[ $4 == alice ]]'
probe identity
check "a user that is found" says 0 ''
tool getent <<<'exit 2'
probe identity
check "one that is not" says 1 'identity.no-user'

# --- the past -------------------------------------------------------------------------------------------------------
# A machine of eight GPUs that ncclbench measures.
mkdir -p "$NODE/usr/bin"
echo 480 >"$NODE/busbw"
cat >"$NODE/usr/bin/ncclbench" <<'P'
#!/bin/bash
for a; do [[ $a == --output-file=* ]] && out=${a#*=}; done
echo '{"verdict":{"pass":true},"n_ranks":8,"wrong":0,"rows":[{"nominal":1073741824,"out_of_place":{"busbw":'"$(cat "$NODE/busbw")"',"wrong":0}}]}' >"$out"
P
chmod +x "$NODE/usr/bin/ncclbench"
nccl='"nccl":{"min_busbw":100,"size":"1G"},"gpu":{"count":8}'
document "$nccl"
history() { "$ctl" history --json | python3 -c 'import json,sys; o=json.load(sys.stdin); print(eval(sys.argv[1], {"o": o, "len": len}))' "$1" 2>&1; }
full() { look --full --probes; }
for p in "$NODE"/usr/lib/firstboot/steps.d/*.json; do [[ $p == */nccl.json ]] || rm "$p"; done
sed -i 's/"requires": *\[[^]]*\]/"requires": []/' "$NODE/usr/lib/firstboot/steps.d/nccl.json"
rm -f "$NODE/var/lib/firstboot/history"
check "a node without history says so" bash -c '"$1" history | grep -q "no history yet"' - "$ctl"
for i in 478 481 479 482 480; do echo $i >"$NODE/busbw"; full; done
check "a full check is kept with its figures" test "$(history '[e["busbw"] for e in o]')" = "[478, 481, 479, 482, 480]"
look --probes
check "a quick one that found nothing is not" test "$(history 'len(o)')" = 5
echo 400 >"$NODE/busbw"; full
check "slower than this machine's own past is told of" test "$rc ${err%%:*}" = "0 watch.slow"
check "with what is usual" grep -q 'busbw is 400 GB/s, usually it is 480' <<<"$err"
document "$nccl,\"watch\":{\"slow\":\"fail\"}"
full
check "and fails the check where watch.slow says so" says 1 'watch.slow'
document "$nccl,\"watch\":{\"slow\":\"fail\",\"slow_percent\":30}"
full
check "watch.slow_percent says how much" says 0 ''
check "history shows verdicts and how the figures went" bash -c '"$1" history | grep -q "^busbw .* 400 … 482 GB/s, last 400"' - "$ctl"
check "plot --history draws SVG" bash -c '"$1" plot --history | xmllint --noout - && "$1" plot --history | grep -q polyline' - "$ctl"
n=$(history 'len(o)')
mkdir "$NODE/small"
if mount -t tmpfs -o size=640k none "$NODE/small" 2>/dev/null; then
        cp -a "$NODE/var/lib/firstboot/history" "$NODE/small/"; mv "$NODE/var/lib/firstboot" "$NODE/var/lib/before"
        ln -s "$NODE/small" "$NODE/var/lib/firstboot"
        head -c 1M /dev/zero >"$NODE/small/fill" 2>/dev/null
        full
        check "a disk that is full loses no entry" test "$rc $(history 'len(o)')" = "0 $((n + 1))"
        rm "$NODE/small/history"; head -c 1M /dev/zero >>"$NODE/small/fill" 2>/dev/null
        full
        check "where there is no room for a history, the check works" test "$rc $(grep -c 'missing in the history' <<<"$err")" = "0 1"
        rm "$NODE/small/fill"
        full
        check "and the next one with room is kept" test "$(history 'len(o)')" = 1
        umount "$NODE/small"; rm "$NODE/var/lib/firstboot"; mv "$NODE/var/lib/before" "$NODE/var/lib/firstboot"
else
        echo "skip - a disk that is full loses no entry: tmpfs cannot be mounted"
fi
printf 'torn' | dd of="$NODE/var/lib/firstboot/history" bs=1 seek=$((3 * 512 + 100)) conv=notrunc 2>/dev/null
check "a torn entry costs itself alone" test "$(history 'len(o)')" = $((n - 1))
node_end
[[ -z $failed ]]
