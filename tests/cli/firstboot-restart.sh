#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What outlives firstbootd, the bus and the boot: firstbootd with real steps (shell programs), a real bus and a double of
# systemd's manager.
#
# lane: clock
set -u
source tests/fixtures/node.bash
source tests/fixtures/engine.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl

case_agent_restart() {
        step a '{}' <<<'sleep 1; echo >>$FIRSTBOOT_ROOT/a.ran'
        step b '{"requires":["a"]}' <<<'sleep 0.1'
        node_boot
        for _ in $(seq 2400); do [[ $(node_json 'o["step"]["a"]["status"]') == running ]] && break; sleep 0.05; done
        restart_agent
        check "a restart of firstbootd in mid-run ends ready" node_wait ready
        check "the running step was joined, not run twice" test "$(wc -l <"$NODE/a.ran")" = 1
        check "its attempt is counted once" is 'len(o["step"]["a"]["attempts"])' 1
        n=$(grep -c '^StartUnit firstboot@' "$NODE/calls")
        node_announced
        restart_agent
        agent_is_there
        for _ in $(seq 2400); do "$ctl" config >/dev/null 2>&1 && break; sleep 0.05; done
        check "a restart after the verdict runs nothing" test "$(grep -c '^StartUnit firstboot@' "$NODE/calls")" = "$n"
        check "and announces nothing anew" test "$(grep -c '^StartUnit node-ready.target' "$NODE/calls")" = 1
        check "and keeps it" is 'o["node"]' ready
        # As if it had been killed between the two.
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        rm "$NODE/run/firstboot/ready"
        agent_start
        check "a verdict that was not announced yet is announced after a restart" node_wait ready
        # The same, between the file and systemd's being asked.
        check "which is on record once systemd has answered" node_announced
        n=$(grep -c '^StartUnit node-ready.target' "$NODE/calls")
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        rm -f "$NODE/run/firstboot/announced"
        agent_start
        for _ in $(seq 2400); do [[ $(grep -c '^StartUnit node-ready.target' "$NODE/calls") -gt $n ]] && break; sleep 0.05; done
        check "and node-ready.target is started, where the file alone was written" \
                test "$(grep -c '^StartUnit node-ready.target' "$NODE/calls")" -gt "$n"
}

# What the bus says: exit code of firstbootctl status, and some properties.
told() {
        "$ctl" status >/dev/null; echo "$?"
        for p in State Code InstanceId; do
                busctl --address="unix:path=$NODE/bus" get-property org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 org.imgbuild.FirstBoot1.Manager "$p"
        done
}

# Waits until the agent that runs owns its name.
agent_is_there() {
        local end=$((SECONDS + 120))
        while ((SECONDS < end)); do
                busctl --address="unix:path=$NODE/bus" status org.imgbuild.FirstBoot1 2>/dev/null | grep -q "^PID=$agent_pid$" && return 0
                sleep 0.05
        done
        return 1
}

# The configuration takes its time; what was told of this boot holds until then.
case_knows_at_once() {
        step a '{}' <<<'result "{\"status\":\"failed\",\"code\":\"host.memory\"}"; exit 1'
        node_boot
        check "the node fails" node_wait failed
        node_announced
        told >"$NODE/before"
        "$ctl" status --json >"$NODE/before.json"
        rm "$NODE/usr/lib/firstboot/firstboot-helper"
        printf '#!/bin/bash\nuntil [[ -e %s/go ]]; do sleep 0.05; done\nexec %s/firstboot-helper "$@"\n' "$NODE" "$node_build" >"$NODE/usr/lib/firstboot/firstboot-helper"
        chmod +x "$NODE/usr/lib/firstboot/firstboot-helper"
        restart_agent
        check "firstbootd that was killed is back" agent_is_there
        told >"$NODE/after"
        check "it answers as before, with its configuration not there yet" diff "$NODE/before" "$NODE/after"
        "$ctl" status --json >"$NODE/after.json"
        check "with every step" diff "$NODE/before.json" "$NODE/after.json"
        touch "$NODE/go"
        for _ in $(seq 2400); do "$ctl" config >/dev/null 2>&1 && break; sleep 0.05; done
        "$ctl" status --json >"$NODE/after.json"
        check "and so it goes on, fingerprint and all" diff "$NODE/before.json" "$NODE/after.json"

        rm "$NODE/go"
        export FIRSTBOOT_BOOT_ID=$(printf '%032x' 2)
        restart_agent
        check "in the next boot" agent_is_there
        check "it does not know yet" test "$(told | head -n 2 | paste -s)" = $'3\ts "starting"'
        touch "$NODE/go"
}

case_ended_while_away() {
        step a '{}' <<<'sleep 0.4; result "{\"status\":\"done\",\"message\":\"while you were away\"}"; echo >>$FIRSTBOOT_ROOT/a.ran'
        node_boot
        for _ in $(seq 2400); do [[ $(node_json 'o["step"]["a"]["status"]') == running ]] && break; sleep 0.05; done
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        for _ in $(seq 2400); do [[ -e $NODE/a.ran ]] && break; sleep 0.05; done
        sleep 0.3 # until systemd has seen it end; what comes next holds either way
        agent_start
        check "a step that ended while firstbootd was away counts" node_wait ready
        check "with its verdict" is 'o["step"]["a"]["result"]["message"]' 'while you were away'
        check "and is not run again" test "$(wc -l <"$NODE/a.ran")" = 1
}

# As after an error of the root disk: an agent that ended would leave the node without a word.
case_read_only() {
        mount -t tmpfs -o ro,mode=0755 none "$NODE/var/lib/firstboot" 2>/dev/null || { echo "skip - a read-only root: nothing can be mounted here"; return; }
        step host '{}' <<<'result "{\"status\":\"failed\",\"code\":\"host.read-only\",\"message\":\"read-only\"}"; exit 1'
        node_boot
        check "on a read-only root the agent lives, and the node fails" node_wait failed
        check "with the reason" is 'o["step"]["host"]["result"]["code"]' host.read-only
        node_down
        umount "$NODE/var/lib/firstboot"
}

case_bus_restart() {
        step a '{}' <<<'sleep 1; echo >>$FIRSTBOOT_ROOT/a.ran'
        step b '{"requires":["a"]}' <<<true
        node_boot
        for _ in $(seq 2400); do [[ $(node_json 'o["step"]["a"]["status"]') == running ]] && break; sleep 0.05; done
        kill "$bus_pid"; wait "$bus_pid" 2>/dev/null
        sleep 0.3
        bus_start
        check "a restart of the bus in mid-run ends ready" node_wait ready
        check "without running a step twice" test "$(wc -l <"$NODE/a.ran")" = 1
}

# The bus goes between the verdict's being saved and systemd's answer.
case_announced_in_vain() {
        step a '{}' <<<true
        # Before systemd answers, the bus is gone.
        printf '#!/bin/bash\n[[ -e %s/go ]] && exit\ntouch %s/asked\nuntil [[ -e %s/go ]]; do sleep 0.05; done\n' "$NODE" "$NODE" "$NODE" >"$NODE/exec/node-ready.target"
        chmod +x "$NODE/exec/node-ready.target"
        node_boot
        local end=$((SECONDS + 120))
        while ((SECONDS < end)) && [[ ! -e $NODE/asked ]]; do sleep 0.05; done
        check "systemd is asked for node-ready.target" test -e "$NODE/asked"
        kill "$bus_pid"; wait "$bus_pid" 2>/dev/null
        touch "$NODE/go"
        bus_start
        check "a verdict whose announcement the bus took with it is announced when it is back" node_announced
        check "systemd is asked once more" test "$(grep -c '^StartUnit node-ready.target' "$NODE/calls")" = 2
        check "no step runs again for it" test "$(starts a)" = 1
        # Again without that: nothing is told twice.
        kill "$bus_pid"; wait "$bus_pid" 2>/dev/null
        bus_start
        agent_is_there
        "$ctl" rerun --wait a >/dev/null
        end=$((SECONDS + 120))
        while ((SECONDS < end)) && [[ $(grep -c '^StartUnit node-ready.target' "$NODE/calls") -lt 3 ]]; do sleep 0.05; done
        check "and an announced one is not, when the bus comes again" test "$(grep -c '^StartUnit node-ready.target' "$NODE/calls")" = 3
}

case_next_boot() {
        config '{}'
        mkdir -p "$NODE/run/cloud-init"
        echo '{"v1":{"instance_id":"i-1","cloud_name":"aws"}}' >"$NODE/run/cloud-init/instance-data.json"
        step once '{"when":"first-boot"}' <<<'echo >>$FIRSTBOOT_ROOT/once.ran'
        step each '{}' <<<'echo >>$FIRSTBOOT_ROOT/each.ran'
        node_boot 1
        check "first boot" node_wait ready
        node_down
        rm -rf "$NODE/run/firstboot"
        node_boot 2
        check "second boot" node_wait ready
        check "boots are counted" is 'o["boots"]' 2
        check "a first-boot step is skipped at the second" is 'o["step"]["once"]["status"]' skipped
        check "others run again" test "$(wc -l <"$NODE/each.ran")" = 2
        node_down
        rm -rf "$NODE/run/firstboot"
        echo '{"v1":{"instance_id":"i-2","cloud_name":"aws"}}' >"$NODE/run/cloud-init/instance-data.json"
        echo '{}' >"$NODE/var/lib/firstboot/scratch.json"
        node_boot 3
        check "boot of a captured image" node_wait ready
        check "another instance id starts afresh" test "$(wc -l <"$NODE/once.ran")" = 2
        check "with a new count" is 'o["boots"]' 1
        check "and without the other's disks" test ! -e "$NODE/var/lib/firstboot/scratch.json"
}

# again ID: the next boot of the same disk.
again() {
        node_down
        rm -rf "$NODE/run/firstboot"
        node_boot "$1"
}

case_identity() {
        data=$NODE/run/cloud-init/instance-data.json record=$NODE/var/lib/firstboot/scratch.json
        mkdir -p "$NODE"/run/cloud-init "$NODE"/sys/class/dmi/id
        echo 4c4c4544-0051-3610-8052-b4c04f564433 >"$NODE/sys/class/dmi/id/product_uuid"
        step once '{"when":"first-boot"}' <<<'echo >>$FIRSTBOOT_ROOT/once.ran'
        node_boot 1
        check "a node without a cloud is ready" node_wait ready
        echo '{"serials":["a"]}' >"$record"
        echo '{"v1":{"instance_id":"iid-datasource-none","cloud_name":"none"}}' >"$data"
        again 2
        check "cloud-init's fall-back is no other instance" node_wait ready
        check "what was done stays done" is 'o["step"]["once"]["status"]' skipped
        check "and the disks stay known" grep -q '"a"' "$record"
        echo '{"v1":{"instance_id":"nocloud","cloud_name":"unknown","platform":"nocloud"}}' >"$data"
        again 3
        check "a constant id is none either" node_wait ready
        check "what was done still is" is 'o["step"]["once"]["status"], o["boots"]' "('skipped', 3)"
        echo '{"v1":{"instance_id":"ocid1.a","cloud_name":"oracle"}}' >"$data"
        again 4
        check "an id that becomes known is the same machine's" node_wait ready
        check "and names it" is 'o["instance_id"], o["step"]["once"]["status"]' "('ocid1.a', 'skipped')"
        check "and its disks" grep -q '"instance_id": *"ocid1.a"' "$record"
        rm "$data"
        echo 00000000-0000-0000-0000-000000000000 >"$NODE/sys/class/dmi/id/product_uuid"
        again 5
        check "a cloud that does not answer changes nothing" node_wait ready
        check "not the name" is 'o["instance_id"], o["step"]["once"]["status"], o["boots"]' "('ocid1.a', 'skipped', 5)"
        check "which the steps see too" grep -q '"id": *"ocid1.a"' "$NODE/run/firstboot/config.json"
        echo 11111111-2222-3333-4444-555566667777 >"$NODE/sys/class/dmi/id/product_uuid"
        again 6
        check "a captured image on other hardware is recognised" node_wait ready
        check "and starts afresh" is 'o["boots"], o["step"]["once"]["status"]' "(1, 'done')"
        check "without the other's disks" test ! -e "$record"
        check "and it is said by what" grep -q 'another instance, by the DMI UUID' "$NODE/agent.log"
}

# Who reads a file that could not be written anew reads what is no longer so.
case_full() {
        mkdir "$NODE/metrics"
        mount -t tmpfs -o size=64k none "$NODE/metrics" 2>/dev/null && mount -t tmpfs -o size=256k none "$NODE/run/firstboot" ||
                { umount "$NODE/metrics" 2>/dev/null; echo "skip - a full disk: nothing can be mounted here"; return; }
        config "{\"metrics\":{\"directory\":\"/metrics\"}}"
        step a '{}' <<<'[ ! -e $FIRSTBOOT_ROOT/bad ]'
        node_boot
        check "the node is ready" node_wait ready
        check "and node_exporter told so" grep -q '^firstboot_node_state{state="ready"} 1' "$NODE/metrics/firstboot.prom"
        touch "$NODE/bad"
        ! dd if=/dev/zero of="$NODE/metrics/filler" bs=1k 2>/dev/null
        "$ctl" rerun --wait a >/dev/null 2>&1
        check "the disk of the metrics is full: the node fails" node_wait failed
        check "and node_exporter is not told that it is ready" sh -c "! grep -q '^firstboot_node_state{state=\"ready\"} 1' '$NODE/metrics/firstboot.prom' 2>/dev/null"
        rm "$NODE/bad" "$NODE/metrics/filler"
        "$ctl" rerun --wait a >/dev/null 2>&1
        check "with room again it is told" grep -q '^firstboot_node_state{state="ready"} 1' "$NODE/metrics/firstboot.prom"
        touch "$NODE/bad"
        ! dd if=/dev/zero of="$NODE/run/firstboot/filler" bs=1k 2>/dev/null
        timeout 60 "$ctl" rerun --wait a >/dev/null 2>&1
        check "/run is full: the node fails" sh -c "timeout 60 '$ctl' status >/dev/null 2>&1; [ \$? = 1 ]"
        check "no file says that it is ready" sh -c "! grep -qs '\"node\": *\"ready\"' '$NODE/run/firstboot/status.json'"
        check "the ready file neither" test ! -e "$NODE/run/firstboot/ready"
        rm "$NODE/run/firstboot/filler" "$NODE/bad"
        timeout 60 "$ctl" rerun --wait a >/dev/null 2>&1
        check "with room again the node is ready" node_wait ready
        # An agent that comes back meanwhile has all that it needs there, or tells what it lacks.
        node_announced
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        ! dd if=/dev/zero of="$NODE/run/firstboot/filler" bs=1k 2>/dev/null
        agent_start
        agent_is_there
        check "an agent that comes back then takes up the configuration that is there" until_says 0 'ready'
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        config '{"host":{"timezone":"UTC"}}'
        agent_start
        check "one whose configuration has changed tells what it lacks" until_says 1 'run.not-writable.*/run/firstboot/config.json: No space left on device'
        check "and the node is not ready" test ! -e "$NODE/run/firstboot/ready"
        rm "$NODE/run/firstboot/filler"
        check "with room again it goes on by itself, and is ready" node_wait ready
        node_down
        umount "$NODE/metrics" "$NODE/run/firstboot"
}

# until_says CODE PATTERN: firstbootctl status ends so, and says so.
until_says() {
        local end=$((SECONDS + 30)) said
        while ((SECONDS < end)); do
                said=$(timeout 20 "$ctl" status 2>&1)
                [[ $? -eq $1 && $said =~ $2 ]] && return 0
                sleep 0.1
        done
        echo "# $said"
        return 1
}

# No room from the beginning, and none that lasts: no verdict is lost, none is wrong, and all of it heals.
case_no_room() {
        mount -t tmpfs -o size=128k none "$NODE/run/firstboot" 2>/dev/null || { echo "skip - no room in /run: nothing can be mounted here"; return; }
        config '{"retry":{"slow":"1s"}}'
        step a '{"retries":0}' <<<'echo >>$FIRSTBOOT_ROOT/a.ran'
        step taker '{"retries":0}' <<<'[ -e $FIRSTBOOT_ROOT/taken ] || { touch $FIRSTBOOT_ROOT/taken; dd if=/dev/zero of=$FIRSTBOOT_ROOT/run/firstboot/filler bs=1k; }
result "{\"status\":\"degraded\",\"code\":\"taker.gave\",\"message\":\"some\"}"; exit 0'
        ! dd if=/dev/zero of="$NODE/run/firstboot/filler" bs=1k 2>/dev/null
        node_boot
        check "no room from the beginning: the node fails, and says why" until_says 1 'run.not-writable.*/run/firstboot/config.json: No space left on device'
        sleep 11
        check "the journal too, once" test "$(grep -c 'Node is not ready: run.not-writable' "$NODE/agent.log")" = 1
        check "no step has begun" test ! -e "$NODE/a.ran"
        rm "$NODE/run/firstboot/filler"
        for _ in $(seq 600); do [[ -e $NODE/taken ]] && break; sleep 0.05; done
        check "with room again they begin" test -e "$NODE/taken"
        check "a verdict that finds no room is not taken for a good one" until_says 1 'run.not-writable'
        check "nor the node for ready" test ! -e "$NODE/run/firstboot/ready"
        rm "$NODE/run/firstboot/filler"
        check "with room again the step has its say" node_wait degraded
        check "in its own words" is 'o["step"]["taker"]["result"]["code"]' taker.gave
        # Its verdict has been taken, and then there is no room for the node's.
        rm "$NODE/taken"
        step taker '{"retries":0}' <<<'result "{\"status\":\"degraded\",\"code\":\"taker.gave\",\"message\":\"some\"}"
[ -e $FIRSTBOOT_ROOT/taken ] || { touch $FIRSTBOOT_ROOT/taken; dd if=/dev/zero of=$FIRSTBOOT_ROOT/run/firstboot/filler bs=1k; }; exit 0'
        timeout 60 "$ctl" rerun --wait taker >/dev/null 2>&1
        check "without room for its own verdict the node is not ready" until_says 1 'run.not-writable'
        check "though every step is well" is '[s["status"] for s in o["steps"]]' "['done', 'degraded']"
        rm "$NODE/run/firstboot/filler"
        check "with room again it is" until_ready_file degraded
        node_down
        umount "$NODE/run/firstboot"
}

# What is freed in /run is taken at once, mostly before firstbootd can use it; then the status lies on the disk.
case_thief() {
        mount -t tmpfs -o size=256k none "$NODE/run/firstboot" 2>/dev/null || { echo "skip - a thief in /run: nothing can be mounted here"; return; }
        config '{"watch":{"enabled":false}}'
        step a '{}' <<<true
        node_boot
        node_wait ready
        run_crowd thief
        timeout 60 "$ctl" rerun --wait a >/dev/null 2>&1
        check "a thief takes all room in /run: the node fails" until_says 1 'run.not-writable'
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        check "its status is told where no agent answers" until_says 1 'run.not-writable'
        node_down
        umount "$NODE/run/firstboot"
}

# Day two: another version's steps are there when the agent comes back.
case_upgrade() {
        step a '{}' <<<'echo >>$FIRSTBOOT_ROOT/a.ran'
        step old '{}' <<<true
        step last '{"requires":["*"]}' <<<true
        node_boot
        check "the node is ready" node_wait ready
        node_announced
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        rm "$NODE/usr/lib/firstboot/steps.d/old.json"
        step new '{}' <<<'echo >>$FIRSTBOOT_ROOT/new.ran; [ ! -e $FIRSTBOOT_ROOT/bad ]'
        agent_start
        for _ in $(seq 2400); do [[ -e $NODE/new.ran ]] && break; sleep 0.05; done
        check "a step that an upgrade brings runs" test -e "$NODE/new.ran"
        check "and the node is ready" node_wait ready
        check "those that have run do not run again" test "$(wc -l <"$NODE/a.ran")" = 1
        check "one that is gone is told no more" is 'sorted(o["step"])' "['a', 'last', 'new']"
        check "the bus has the new one" sh -c "busctl --address=unix:path=$NODE/bus get-property org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1/step/new org.imgbuild.FirstBoot1.Step State >/dev/null"
        # What an older version finds there that a newer one has written.
        kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
        sed -i 's/"version": *2/"version": 99/' "$NODE/var/lib/firstboot/state.json"
        agent_start
        for _ in $(seq 2400); do [[ $(wc -l <"$NODE/a.ran") == 2 ]] && break; sleep 0.05; done
        check "a state file of a newer version is put aside, and the steps run again" test "$(wc -l <"$NODE/a.ran")" = 2
        check "which is told" grep -q 'written by a newer firstbootd' "$NODE/agent.log"
        check "to the same end" node_wait ready
}

for case in ${ONLY:-agent_restart knows_at_once ended_while_away read_only bus_restart announced_in_vain next_boot identity full no_room thief upgrade}; do
        node_new
        chmod 755 "$NODE"
        "case_$case"
        node_end
done
[[ -z $failed ]]
