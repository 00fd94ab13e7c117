#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootd with real steps (shell programs), a real bus and a double of systemd's manager.
#
# lane: clock
set -u
source tests/fixtures/node.bash
source tests/fixtures/engine.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl

case_order() {
        # Long enough that a busy machine's tenths of a second between them do not count.
        step a '{"description":"A"}' <<<'sleep 3; result "{\"status\":\"done\",\"message\":\"fine\"}"'
        step b '{}' <<<'sleep 3'
        step c '{"requires":["a","b"]}' <<<'sleep 2'
        node_boot
        check "a node whose steps are done is ready" node_wait ready
        check "steps without a common requirement run at once" is \
                'o["step"]["b"]["attempts"][0]["started_usec"] < o["step"]["a"]["attempts"][0]["finished_usec"]' True
        check "a step starts after what it requires" is \
                'o["step"]["c"]["attempts"][0]["started_usec"] >= max(o["step"][s]["attempts"][0]["finished_usec"] for s in "ab")' True
        # How long a step took is the distance of its attempt; the chain is the slower of a and b, then c.
        check "ready within 1.1 times the longest chain" is \
                '(lambda d: o["settled_usec"] - o["started_usec"] <= 1.1 * (max(d("a"), d("b")) + d("c")))(lambda s: o["step"][s]["attempts"][0]["finished_usec"] - o["step"][s]["attempts"][0]["started_usec"])' True
        check "the ready file says so" test "$(cat "$NODE/run/firstboot/ready")" = ready
        check "a job that is done tells enough: no property is asked for" sh -c "! grep -q '^Property' '$NODE/calls'"
        # While steps run, cloud-init's last stages have the smallest share of the CPU; then, their own again.
        check "cloud-init yields to the steps" sh -c "sed -n '1,/^StartUnit node-ready/p' '$NODE/calls' | grep -q '^SetUnitProperties cloud-init-main.service CPUWeight=1$'"
        check "before the first of them" sh -c "! sed '/^SetUnitProperties/,\$d' '$NODE/calls' | grep -q '^StartUnit firstboot@'"
        check "and no longer" sh -c "tail -n 6 '$NODE/calls' | grep -q '^SetUnitProperties cloud-init-main.service CPUWeight=-1$'"
        check "node-ready.target is started" grep -q '^StartUnit node-ready.target' "$NODE/calls"
        # The sanitizers' own memory is no measure.
        grep -q __asan_init "$node_build/firstbootd" ||
                check "firstbootd stays below 10 MiB" test "$(awk '/VmRSS/ { print $2 }' "/proc/$agent_pid/status")" -lt 10240
        check "firstbootctl status exits with 0" "$ctl" status
        check "firstbootctl status names each step" sh -c "'$ctl' | grep -q 'a .*done.*fine'"
        check "firstbootctl blame shows the chain" sh -c "'$ctl' blame | grep -q 'Longest chain: c ← '"
        check "firstbootctl plot draws SVG" sh -c "'$ctl' plot | xmllint --noout - "
        check "firstbootctl explain has nothing to say" sh -c "'$ctl' explain | grep -q 'Nothing is wrong'"
}

case_retry() {
        step a '{"retries":3,"retry_delay":"100ms"}' \
                <<<'f=$FIRSTBOOT_ROOT/n; echo >>$f; [ $(wc -l <$f) -ge 3 ] || exit 75'
        node_boot
        check "a transient failure is tried again" node_wait ready
        check "as often as it takes" is 'len(o["step"]["a"]["attempts"])' 3
        check "with growing pauses" is \
                '[x["attempts"][2]["started_usec"] - x["attempts"][1]["finished_usec"] >= 100000 for x in [o["step"]["a"]]]' '[True]'
}

# An outage that outlasts the fast retries: a heals by itself, and with it what it held back and what ran all the same.
case_slow_retry() {
        config '{"retry":{"slow":"400ms"},"steps":{"e":{"required":false},"f":{"slow_retry":false}},
                "slurm":{"controllers":["h"],"drain_on_failure":true}}'
        for s in a e f; do step $s '{"retries":1,"retry_delay":"10ms"}' <<<'sleep 0.1; [ -e $FIRSTBOOT_ROOT/ok ] || exit 75'; done
        step b '{"requires":["a"]}' <<<true
        step c '{"retries":1}' <<<'[ -e $FIRSTBOOT_ROOT/ok ] || { result "{\"status\":\"failed\",\"code\":\"scratch.foreign-signature\"}"; exit 1; }'
        step slurm '{"requires":["*"],"run_on_failure":"slurm.drain_on_failure"}' <<<true
        node_boot
        check "a site-wide outage fails the node" node_wait failed
        check "status says when it is tried again" sh -c "'$ctl' | grep -Eq 'a .*failed.*tries.*step.exit-code.*\(next try (now|in [0-9.]+ s)\)'"
        check "and so does explain" sh -c "'$ctl' explain | grep -Eq 'Next try: .*firstbootctl rerun a'"
        check "it goes on slowly after the last fast retry" until_starts a 5
        check "firstbootd can be killed meanwhile" restart_agent
        check "and goes on" until_starts a $(($(starts a) + 2))
        check "the node stays failed" is 'o["node"], o["step"]["a"]["status"], o["step"]["b"]["status"]' "('failed', 'failed', 'blocked')"
        check "and there is no list without end" is 'len(o["step"]["a"]["attempts"]), o["step"]["a"]["slow_tries"] > 3' "(3, True)"
        check "a failure that cannot pass is left alone" test "$(starts c)" = 1
        check "and what the node is ready without" test "$(starts e)" = 2
        check "and a step that is not to be tried for ever" test "$(starts f)" = 2
        check "the verdict was told once" test "$(grep -c '^StopUnit node-ready.target' "$NODE/calls")" = 1
        touch "$NODE/ok"
        for s in c f; do "$ctl" rerun --wait $s >/dev/null; done
        check "when it is over, the node heals by itself" node_wait degraded
        check "what was held back follows" is 'o["step"]["b"]["status"]' done
        check "what ran in spite of the failure runs again" is \
                'o["step"]["slurm"]["attempts"][-1]["started_usec"] > o["step"]["b"]["attempts"][-1]["finished_usec"]' True
        check "nothing is tried any more" is 'sum(s["retry_usec"] for s in o["steps"])' 0
}

# A defect of that kind: the node is in service, and is rid of it by itself.
case_slow_defect() {
        config '{"retry":{"slow":"400ms"}}'
        step a '{}' <<<'[ -e $FIRSTBOOT_ROOT/bad ] && exit 75
                [ -e $FIRSTBOOT_ROOT/ok ] || result "{\"status\":\"degraded\",\"code\":\"identity.cache-only\",\"message\":\"cache\",\"transient\":true}"'
        step b '{"requires":["a"]}' <<<true
        node_boot
        check "a defect that may pass degrades the node" node_wait degraded
        check "status says when it is looked at again" sh -c "'$ctl' | grep -Eq 'a .*degraded.*\(next try (now|in [0-9.]+ s)\)'"
        check "and it is" until_starts a 3
        check "the node stays as it is meanwhile" is 'o["node"], o["step"]["a"]["status"], o["step"]["b"]["status"]' "('degraded', 'degraded', 'done')"
        check "and its verdict was told once" test "$(grep -c '^StartUnit node-ready.target' "$NODE/calls")" = 1
        check "firstbootd can be killed meanwhile, too" restart_agent
        check "and goes on here as well" until_starts a $(($(starts a) + 2))
        touch "$NODE/bad"
        check "what gets worse fails the node" node_wait failed
        rm "$NODE/bad"
        check "a defect again" node_wait degraded
        touch "$NODE/ok"
        check "and none, by itself" node_wait ready
        check "nothing is tried any more then" is 'sum(s["retry_usec"] for s in o["steps"])' 0
        check "the ready file tells of it" until_ready_file ready
}

# The same with a step of ours, its own loop and its short slow attempts: a file server that comes back.
case_heal() {
        local port server
        port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
        config "{\"retry\":{\"slow\":\"1s\"},\"mounts\":[{\"what\":\"127.0.0.1:/a\",\"where\":\"$NODE/m\",\"type\":\"nfs\",
                \"options\":\"port=$port\",\"verify\":\"read\",\"give_up\":\"300ms\"}]}"
        mkdir -p "$NODE/m" "$NODE/proc/self"
        : >"$NODE/proc/self/mounts"
        step mounts '{}' <<<"exec $node_build/firstboot-step mounts"
        systemd-escape -p --suffix=mount "$NODE/m" >"$NODE/fail"
        node_boot
        check "a file server that is away fails the node" node_wait failed
        check "with its code" is 'o["step"]["mounts"]["result"]["code"]' mounts.unreachable
        : >"$NODE/fail"
        python3 -c 'import socket, sys, time; s = socket.create_server(("127.0.0.1", int(sys.argv[1]))); time.sleep(60)' "$port" &
        server=$!
        check "once it is back, the node becomes ready by itself" node_wait ready
        check "and its ready file comes" test "$(cat "$NODE/run/firstboot/ready")" = ready
        kill "$server"; wait "$server" 2>/dev/null
}

case_slow_off() {
        config '{"retry":{"slow":0}}'
        step a '{}' <<<'exit 75'
        node_boot
        check "the node fails" node_wait failed
        check "an admin can have it stay so" is 'o["step"]["a"]["slow"], o["step"]["a"]["retry_usec"]' "(False, 0)"
}

case_spread() {
        rm "$NODE/etc/firstboot/conf.d/00-fixture.json"
        config '{"retry":{"spread":"2s"}}'
        for s in a b; do step $s '{}' <<<true; done
        step c '{"spread":0}' <<<true
        FIRSTBOOT_NODE_SEED=8 node_boot
        check "the node is ready" node_wait ready
        first='(lambda s: s["attempts"][0]["started_usec"] - s["free_usec"])'
        check "first attempts are apart" is "abs($first(o['step']['a']) - $first(o['step']['b'])) > 100000" True
        check "within the spread" is "max($first(o['step'][s]) for s in 'ab') < 4000000" True
        check "one that asks no server does not wait" is "$first(o['step']['c']) < 1000000" True
        first_a=$(node_json "$first(o['step']['a']) // 200000")
        node_down
        rm -rf "$NODE/run/firstboot"
        FIRSTBOOT_NODE_SEED=8 node_boot 2
        check "the node is ready again" node_wait ready
        # Roughly: a busy machine starts late. tests/unit/firstboot/contract/test-retry has the numbers themselves.
        check "the same node has the same turn" is "abs($first(o['step']['a']) // 200000 - $first_a) <= 3" True
}

case_metadata() {
        config '{"metadata":{"provider":"oci","timeout":"100ms"}}'
        step a '{}' <<<true
        FIRSTBOOT_METADATA_URL=http://127.0.0.1:9 node_boot
        for _ in $(seq 2400); do [[ $(node_json 'o.get("code")') == config.metadata ]] && break; sleep 0.05; done
        check "a metadata service that does not answer leaves the node on its way" is 'o["node"], o["code"]' "('starting', 'config.metadata')"
        check "status says when it is asked again" sh -c "'$ctl' | grep -Eq 'next try (now|in [0-9.]+ s)'"
        check "and so does explain" sh -c "'$ctl' explain | grep -q 'firstbootctl rerun config tries at once'"
}

case_only_if() {
        mkdir -p "$NODE/sys/bus/pci/devices/0000:01:00.0"
        echo 0x10de >"$NODE/sys/bus/pci/devices/0000:01:00.0/vendor"
        config '{"nccl":{}}'
        for s in gpu nccl; do step $s '{"only_if":["configured"]}' <<<true; done
        step nic '{"only_if":["configured","pci:15b3"]}' <<<true
        step card '{"only_if":["configured","pci:10de"]}' <<<true
        step last '{"requires":["nic"]}' <<<true
        node_boot
        check "steps with nothing to do do not keep a node from being ready" node_wait ready
        check "a step without its section is skipped" is 'o["step"]["gpu"]["status"]' skipped
        check "and no unit started for it" test "$(starts gpu)" = 0
        check "one with a section runs" is 'o["step"]["nccl"]["status"]' done
        check "a device on PCI is as good" is 'o["step"]["card"]["status"]' done
        check "where there is neither, the status says so" is 'o["step"]["nic"]["result"]["message"]' \
                'no nic section in the configuration, PCI shows no device of vendor 15b3'
        check "what requires it runs" is 'o["step"]["last"]["status"]' done
        rm "$NODE/sys/bus/pci/devices/0000:01:00.0/vendor"
        "$ctl" rerun --wait nic >/dev/null
        check "PCI that does not tell is for the step to judge" test "$(starts nic)" = 1
        step nic '{"only_if":["cofigured"]}' <<<true
        "$ctl" rerun --wait all >/dev/null
        check "an unknown condition is an error" sh -c "'$ctl' | grep -q 'nic.json: \"only_if\" knows'"
}

# Nobody has told the agent of a cluster: its daemon may be started by hand, but not before the node is ready, nor where the step has a part in it.
case_by_hand() {
        local run=$NODE/run/firstboot
        config '{"watch":{"calm":"1s","healthy":"1s"}}'
        step a '{}' <<<'[ -e $FIRSTBOOT_ROOT/ok ]'
        step slurm '{"requires":["*"],"only_if":["configured"]}' <<<true
        node_boot
        check "a node with a fault" node_wait failed
        check "lets no daemon of a cluster run by hand" test ! -e "$run/slurmd-by-hand" -a ! -e "$run/kubelet-by-hand"
        touch "$NODE/ok"
        "$ctl" rerun --wait a >/dev/null
        check "once it is ready" node_wait ready
        check "both may, the one whose step has nothing to do and the one that has no step" test -e "$run/slurmd-by-hand" -a -e "$run/kubelet-by-hand"
        check "which is no permit of the step's" test ! -e "$run/slurmd-permit"
        config '{"slurm":{"controllers":["head"]},"watch":{"calm":"1s","healthy":"1s"}}'
        rm "$NODE/ok"
        "$ctl" rerun --wait all >/dev/null
        check "with a section it is the step's" node_wait failed
        check "… alone, and not before the node is ready; who was let run by hand may start anew" test ! -e "$run/slurmd-by-hand" -a -e "$run/kubelet-by-hand"
        touch "$NODE/ok"
        "$ctl" rerun --wait all >/dev/null
        check "nor when it is" node_wait ready
        check "… for the step has let it" test ! -e "$run/slurmd-by-hand"
        for daemon in slurmd kubelet; do
                check "$daemon's unit asks for one of the two" test "$(sed -n 's/^AssertPathExists=//p' "$TOP/firstboot/units/$daemon.conf" | xargs)" = \
                        "|/run/firstboot/$daemon-permit |/run/firstboot/$daemon-by-hand"
        done
}

# Nobody asked for the steps b and c: what failed is no matter of theirs. It is of what comes behind them.
case_skipped_behind_failure() {
        config '{"c":{"enabled":false},"d":{}}'
        step a '{}' <<<'[ -e $FIRSTBOOT_ROOT/ok ]'
        step b '{"requires":["a"],"only_if":["configured"]}' <<<true
        step c '{"requires":["b"],"only_if":["enabled"]}' <<<true
        step d '{"requires":["a"],"only_if":["configured"]}' <<<true
        step e '{"requires":["c"]}' <<<true
        node_boot
        check "a step fails that others require" node_wait failed
        check "one that nobody configured is skipped, not held back" is 'o["step"]["b"]["status"], o["step"]["b"]["result"]["message"]' \
                "('skipped', 'no b section in the configuration')"
        check "one that is not switched on neither" is 'o["step"]["c"]["status"], o["step"]["c"]["result"]["message"]' "('skipped', 'c.enabled is not set')"
        check "the log has no word of what failed for them" sh -c "! grep -E '\\b[bc] is held back' '$NODE/agent.log'"
        check "one that is configured is held back" is 'o["step"]["d"]["status"]' blocked
        check "and what requires it through one that is skipped" is 'o["step"]["e"]["status"], o["step"]["e"]["result"]["message"]' "('blocked', 'step a, which it requires, is failed')"
        restart_agent
        check "firstbootd that was killed knows no other" is '[o["step"][s]["status"] for s in "bcde"]' "['skipped', 'skipped', 'blocked', 'blocked']"
        touch "$NODE/ok"
        "$ctl" rerun --wait a >/dev/null
        check "healed, the node is ready" node_wait ready
        check "with everything as it should be" is '[s["status"] for s in o["steps"]]' "['done', 'skipped', 'skipped', 'done', 'done']"
}

case_failure() {
        step a '{}' <<<'result "{\"status\":\"failed\",\"code\":\"scratch.foreign-signature\",\"message\":\"disk X\"}"; exit 1'
        step b '{"requires":["a"]}' <<<true
        step c '{"retries":2,"retry_delay":"50ms"}' <<<'exit 3'
        node_boot
        check "a failed step fails the node" node_wait failed
        check "the step's own reason code is kept" is 'o["step"]["a"]["result"]["code"]' scratch.foreign-signature
        check "what requires it is held back" is 'o["step"]["b"]["status"]' blocked
        check "its unit is not started" test "$(starts b)" = 0
        check "a lasting failure is not tried again" test "$(starts c)" = 1
        check "an exit code without a verdict has a code too" is 'o["step"]["c"]["result"]["code"]' step.exit-code
        check "there is no ready file" test ! -e "$NODE/run/firstboot/ready"
        check "node-ready.target is not started" sh -c "! grep -q '^StartUnit node-ready' '$NODE/calls'"
        "$ctl" status >/dev/null
        check "firstbootctl status exits with 1" test $? = 1
        check "firstbootctl explain says what to do" sh -c "'$ctl' explain | grep -q 'wipefs'"
        step a '{}' <<<true
        "$ctl" rerun --wait a >/dev/null
        check "rerun runs the step and what it held back" is 'o["step"]["b"]["status"]' done
        check "and leaves the others alone" test "$(starts c)" = 1
        check "rerun of a step that is not there is refused" sh -c "! '$ctl' rerun nonsense 2>/dev/null"
}

# After a failure the slurm step may still be draining the node: who mends the step at once shall not be sent away.
case_busy() {
        step a '{}' <<<true
        step b '{"requires":["a"]}' <<<'[ ! -e "$FIRSTBOOT_ROOT/hold" ] || until [ -e "$FIRSTBOOT_ROOT/go" ]; do sleep 0.05; done'
        node_boot
        check "the node is ready" node_wait ready
        touch "$NODE/hold"
        "$ctl" rerun b
        for _ in $(seq 2400); do [[ $(node_json 'o["step"]["b"]["status"]') == running ]] && break; sleep 0.05; done
        said=$("$ctl" rerun a 2>&1)
        check "a step is not run again while one that waits for it runs" test $? = 1
        check "and the way out is said" grep -qF -- '--wait waits for its turn' <<<"$said"
        "$ctl" rerun --wait --timeout 1s a >/dev/null 2>&1
        check "with --wait it waits no longer than --timeout" test $? = 1
        "$ctl" rerun --wait a >/dev/null 2>&1 &
        waiting=$!
        touch "$NODE/go"
        wait "$waiting"
        check "and runs when it is its turn" test $? = 0
        check "with what waits for it" test "$(starts a) $(starts b)" = "2 3"
}

case_optional() {
        config '{"steps":{"b":{"required":false}}}'
        step a '{}' <<<true
        step b '{}' <<<'exit 1'
        step c '{"requires":["b"]}' <<<true
        node_boot
        check "an optional step that fails degrades the node" node_wait degraded
        check "what requires it runs all the same" is 'o["step"]["c"]["status"]' done
        check "the node is ready" test "$(cat "$NODE/run/firstboot/ready")" = degraded
        "$ctl" status >/dev/null
        check "firstbootctl status exits with 2" test $? = 2
}

case_timeout() {
        step a '{"timeout":"400ms"}' <<<'sleep 60'
        node_boot
        check "a step that hangs is stopped at its limit" node_wait failed
        check "and its code is step.timeout" is 'o["step"]["a"]["result"]["code"]' step.timeout
        check "its unit was stopped" grep -q '^StopUnit firstboot@a' "$NODE/calls"
}

case_timeout_without_bus() {
        step a '{"timeout":"1s"}' <<<'sleep 60'
        step b '{}' <<<true
        node_boot
        for _ in $(seq 2400); do [[ $(node_json 'o["step"]["a"]["status"]') == running ]] && break; sleep 0.05; done
        kill "$bus_pid"; wait "$bus_pid" 2>/dev/null
        for _ in $(seq 2400); do grep -qs '"code": *"step.timeout"' "$NODE/run/firstboot/status.json" && break; sleep 0.05; done
        check "a time limit fires while the bus is away" is 'o["step"]["a"]["result"]["code"]' step.timeout
        bus_start
        check "the verdict follows once the bus is back" node_wait failed
}

case_config_errors() {
        step a '{}' <<<true
        config '{"host": {"hostname": "a b", "tiemzone": 3}, "scratch": {"disks": -1'
        node_boot
        check "broken JSON fails the node" node_wait failed
        check "with code config.invalid" is 'o["code"]' config.invalid
        check "and file, line and column" sh -c "'$ctl' status | grep -q '/etc/firstboot/node.json:2:1: '"
        check "no step runs" test "$(starts a)" = 0
        config '{"host": {"hostname": "a b", "tiemzone": 3}, "scratch": {"disks": -1}, "mounts": [{"what": "x"}]}'
        "$ctl" rerun --wait config >/dev/null
        check "all faults come at once" is 'len(o["errors"])' 5
        check "a near key is suggested" sh -c "'$ctl' | grep -q 'host.tiemzone: unknown key; did you mean \"timezone\"'"
        head -c 10485760 /dev/zero | tr '\0' ' ' >"$NODE/etc/firstboot/node.json"
        "$ctl" rerun --wait config >/dev/null
        check "10 MB are refused by size" sh -c "'$ctl' | grep -q 'larger than the 1024 KiB'"
        : >"$NODE/etc/firstboot/node.json"
        "$ctl" rerun --wait config >/dev/null
        check "an empty file is named as such" sh -c "'$ctl' | grep -q 'the file is empty'"
        rm "$NODE/etc/firstboot/node.json"
        mkfifo "$NODE/etc/firstboot/conf.d/50-pipe.json"
        timeout 60 "$ctl" rerun --wait config >/dev/null
        check "a named pipe is not waited for" is 'o["errors"]' "['/etc/firstboot/conf.d/50-pipe.json: it is no regular file; remove it']"
        rm "$NODE/etc/firstboot/conf.d/50-pipe.json"
        config '[1]'
        "$ctl" rerun --wait config >/dev/null
        check "a list is no configuration" sh -c "'$ctl' | grep -q 'must be an object'"
        config '{}'
        "$ctl" rerun --wait config >/dev/null
        check "a good configuration ends it" is 'o["node"]' ready
}

case_site_step() {
        echo '{"exec":["/bin/sh","-c","echo {\\\"status\\\":\\\"degraded\\\",\\\"code\\\":\\\"licence.expired\\\",\\\"message\\\":\\\"tomorrow\\\"} >$FIRSTBOOT_RESULT"],"requires":["a"]}' \
                >"$NODE/etc/firstboot/steps.d/licence.json"
        step a '{}' <<<true
        step gone '{}' <<<true
        : >"$NODE/etc/firstboot/steps.d/gone.json"
        step last '{"requires":["*"]}' <<<true
        printf '#!/bin/sh\nexec %s/firstboot-step licence\n' "$node_build" >"$NODE/exec/licence"
        chmod +x "$NODE/exec/licence"
        node_boot
        check "a site's own step takes part" node_wait degraded
        check "its reason code is its own" is 'o["step"]["licence"]["result"]["code"]' licence.expired
        check "\"*\" waits for site steps too" is 'sorted(o["step"]["last"]["requires"])' "['a', 'licence']"
        check "an empty file takes a step out" is '"gone" in o["step"]' False
        echo '{"exec":["/bin/true"],"requires":["licence"]}' >"$NODE/etc/firstboot/steps.d/x.json"
        echo '{"exec":["/bin/true"],"requires":["x"]}' >"$NODE/etc/firstboot/steps.d/licence.json"
        "$ctl" rerun --wait config >/dev/null
        check "a cycle is refused by name" sh -c "'$ctl' | grep -q 'cycle: licence, x'"
        check "with code graph.invalid" is 'o["code"]' graph.invalid
}

case_drain() {
        config '{"slurm":{"controllers":["h"],"drain_on_failure":true}}'
        step gpu '{}' <<<'exit 1'
        step slurm '{"requires":["*"],"run_on_failure":"slurm.drain_on_failure"}' <<<'grep -q step.exit-code $FIRSTBOOT_ROOT/run/firstboot/status.json'
        node_boot
        check "the node fails" node_wait failed
        check "a step that runs on failure runs, and sees the reason" is 'o["step"]["slurm"]["status"]' done
}

case_metrics() {
        config "{\"metrics\":{\"directory\":\"/metrics\"}}"
        mkdir "$NODE/metrics"
        step a '{}' <<<true
        node_boot
        check "the node is ready" node_wait ready
        check "node_exporter gets the step's state" grep -q '^firstboot_step_state{step="a",state="done"} 1' "$NODE/metrics/firstboot.prom"
        check "and the node's" grep -q '^firstboot_node_state{state="ready"} 1' "$NODE/metrics/firstboot.prom"
}

case_crashes() {
        for s in a b c d; do step $s '{"retries":1}' <<<'sleep 0.1'; done
        step e '{"requires":["*"]}' <<<'sleep 0.1'
        node_boot
        for _ in $(seq 12); do
                sleep "0.0$((RANDOM % 90 + 10))"
                restart_agent
        done
        check "killed twelve times at random moments, firstbootd ends ready" node_wait ready
}

case_secrets() {
        mkdir "$NODE/credentials"
        echo hunter2 >"$NODE/credentials/firstboot.identity.bind_password"
        export CREDENTIALS_DIRECTORY=$NODE/credentials
        echo site-s3cret >"$NODE/credentials/firstboot.licence.serial"
        config '{"identity":{"uri":["ldaps://x"],"base":"dc=x","probe_user":"u"},"ready":{"url":"http://u:url-s3cret@127.0.0.1:1/x?t=query-s3cret-0123"},"licence":{}}'
        step a '{}' <<<true
        step licence '{"required":false}' <<<'result "{\"status\":\"failed\",\"code\":\"licence.bad\",\"message\":\"serial site-s3cret is refused\",\"figures\":{\"said\":[\"hunter2?\"]}}"; exit 1'
        node_boot
        unset CREDENTIALS_DIRECTORY
        check "the node is ready" node_wait degraded
        check "a credential is taken" grep -q hunter2 "$NODE/run/firstboot/config.json"
        check "into a file for root only" test "$(stat -c %a "$NODE/run/firstboot/config.json")" = 600
        check "firstbootctl config names its source" sh -c "'$ctl' config | grep -q 'bind_password .*credential firstboot.identity.bind_password'"
        check "and masks it" sh -c "! '$ctl' config --json | grep -q hunter2 && '$ctl' config | grep -q '\"\*\*\*\"'"
        check "and whatever a credential gave a site's step" sh -c "! '$ctl' config --json | grep -q site-s3cret"
        check "and what is secret in a URL" sh -c "'$ctl' config | grep -qF 'http://***@127.0.0.1:1/***'"
        check "a step's message is told without it" is 'o["step"]["licence"]["result"]["message"], o["step"]["licence"]["result"]["figures"]["said"]' "('serial *** is refused', ['***?'])"
        check "no file that others may read has a secret" sh -c "! find '$NODE/run/firstboot' '$NODE/var/lib/firstboot' -type f -perm /044 -exec grep -lE 'hunter2|s3cret' {} + | grep ."
        check "nor has the log" sh -c "! grep -E 'hunter2|s3cret' '$NODE/agent.log'"
        check "nor what any user gets from the bus" sh -c "! { busctl --address=unix:path=$NODE/bus call org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 org.imgbuild.FirstBoot1.Manager GetStatus; for o in '' /step/a /step/licence; do busctl --address=unix:path=$NODE/bus call org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1\$o org.freedesktop.DBus.Properties GetAll s ''; done; } | grep -E 'hunter2|s3cret'"
        echo '{"seriall":"x","bind_password":7}' >"$NODE/credentials/firstboot.identity"
        check "a fault in a credential does not quote it" sh -c "! CREDENTIALS_DIRECTORY='$NODE/credentials' '$node_build/firstboot-helper' config | python3 -c 'import json,sys; print(json.load(sys.stdin)[\"errors\"])' | grep -E 'hunter2|s3cret'"
}

# A systemd that hands over none: each from where it would have had it. The first counts.
case_old_systemd() {
        mkdir -p "$NODE"/etc/credstore "$NODE"/run/{credstore,credentials/@system} "$NODE/sys/firmware/dmi/tables" "$NODE/dev" \
                "$NODE/sys/firmware/qemu_fw_cfg/by_name/opt/io.systemd.credentials/firstboot.site.fw"
        echo system-s3cret >"$NODE/run/credentials/@system/firstboot.slurm.munge_key"
        echo store-s3cret >"$NODE/etc/credstore/firstboot.slurm.munge_key"
        echo store-s3cret >"$NODE/etc/credstore/firstboot.identity.bind_password"
        echo run-s3cret >"$NODE/run/credstore/firstboot.site.run"
        echo fw-s3cret >"$NODE/sys/firmware/qemu_fw_cfg/by_name/opt/io.systemd.credentials/firstboot.site.fw/raw"
        echo nobody >"$NODE/etc/credstore/another.program"
        python3 - "$NODE/sys/firmware/dmi/tables/DMI" <<'P'
import base64, struct, sys
def structure(kind, body, *strings):
    return struct.pack("<BBH", kind, 4 + len(body), kind) + body + (b"".join(s + b"\0" for s in strings) if strings else b"\0") + b"\0"
table = (structure(1, b"\1\2", b"vendor", b"io.systemd.credential:firstboot.site.wrong=of another kind of structure") + structure(32, b"\0" * 7) +
         structure(11, b"\3", b"io.systemd.credential:firstboot.site.plain=plain-s3cret",
                   b"io.systemd.credential.binary:firstboot.site.binary=" + base64.b64encode(b"binary-s3cret\n"),
                   b"io.systemd.credential:firstboot.slurm.munge_key=firmware-s3cret", b"io.systemd.credential.binary:firstboot.site.bad=%%%",
                   b"io.systemd.credential:other.x=y") +
         structure(11, b"\1", b"io.systemd.credential:firstboot.site.last=last-s3cret") + structure(127, b""))
open(sys.argv[1], "wb").write(table)
P
        config '{"identity":{"uri":["ldaps://x"],"base":"dc=x","probe_user":"u"},"slurm":{"controllers":["x"]},"site":{}}'
        step site '{}' <<<true
        helper() { "$node_build/firstboot-helper" config | python3 -c 'import json,sys; o=json.load(sys.stdin); v=o["config"]; print(eval(sys.argv[1]))' "$1"; }
        check "a systemd that hands over what there is has handed over none: nothing is looked for" test "$(helper '[v["slurm"].get("munge_key"), v["site"]]')" = "[None, {}]"
        export FIRSTBOOT_FIND_CREDENTIALS=1 # as the unit has it there
        check "credentials are found where they lie, and the first of a name counts" test "$(helper '[v["slurm"]["munge_key"], v["identity"]["bind_password"], *sorted(v["site"].items())]')" = \
                "['system-s3cret', 'store-s3cret', ('binary', 'binary-s3cret'), ('fw', 'fw-s3cret'), ('last', 'last-s3cret'), ('plain', 'plain-s3cret'), ('run', 'run-s3cret')]"
        check "one that is no base64 is named, without what it is" test "$(helper '[e for e in o["errors"] if "credential" in e]')" = "['credential firstboot.site.bad: it is no base64']"
        mkdir "$NODE/credentials"
        echo given-s3cret >"$NODE/credentials/firstboot.slurm.munge_key"
        check "where systemd hands some over, these alone count" test "$(CREDENTIALS_DIRECTORY=$NODE/credentials helper '[v["slurm"]["munge_key"], v["identity"].get("bind_password"), v["site"]]')" = "['given-s3cret', None, {}]"
        touch "$NODE/dev/sev-guest"
        check "a confidential guest takes none of the firmware" test "$(helper 'sorted(v["site"])')" = "['run']"
        rm "$NODE/dev/sev-guest"
        mkdir -p "$NODE/proc"
        echo 'root=/dev/vda1 systemd.import_credentials=no quiet' >"$NODE/proc/cmdline"
        check "nor does one whose admin told systemd so" test "$(helper 'sorted(v["site"])')" = "['run']"
        echo 'root=/dev/vda1 x.systemd.import_credentials=no systemd.import_credentials=no systemd.import_credentials=1' >"$NODE/proc/cmdline"
        check "… the last word on it counts" test "$(helper 'sorted(v["site"])')" = "['binary', 'fw', 'last', 'plain', 'run']"
        rm -r "$NODE/proc"
        head -c 150 "$NODE/sys/firmware/dmi/tables/DMI" >"$NODE/cut" && mv "$NODE/cut" "$NODE/sys/firmware/dmi/tables/DMI"
        check "of a table that is cut off counts what is whole" test "$(helper 'sorted(v["site"])')" = "['fw', 'run']"
        rm "$NODE/sys/firmware/dmi/tables/DMI" "$NODE/run/credentials/@system/firstboot.slurm.munge_key"
        node_boot
        check "the node is ready" node_wait ready
        check "with what the store has" grep -q store-s3cret "$NODE/run/firstboot/config.json"
        check "no file that others may read has a secret" sh -c "! find '$NODE/run/firstboot' '$NODE/var/lib/firstboot' -type f -perm /044 -exec grep -l s3cret {} + | grep ."
        check "and firstbootctl masks it" sh -c "! '$ctl' config --json | grep -q s3cret"
}

case_bus_api() {
        step a '{"description":"First"}' <<<true
        node_boot
        check "the node is ready" node_wait ready
        check "the bus shows the node's state" sh -c "busctl --address=unix:path=$NODE/bus get-property org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 org.imgbuild.FirstBoot1.Manager State | grep -q ready"
        check "each step is an object" sh -c "busctl --address=unix:path=$NODE/bus get-property org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1/step/a org.imgbuild.FirstBoot1.Step Description | grep -q First"
        check "methods can be looked up" sh -c "busctl --address=unix:path=$NODE/bus introspect org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 | grep -q Rerun"
        if [[ $(id -u) != 0 ]]; then
                echo "skip - a stranger on the bus: root has to play one"
                return
        fi
        check "a stranger may read" sh -c "[ \"\$($(stranger GetStatus))\" ] && [ \"\$($(stranger_reads State))\" = 's \"ready\"' ]"
        check "a stranger may not rerun" refused_by_agent Rerun a
        check "of which polkit was asked" grep -q '^CheckAuthorization org.imgbuild.FirstBoot1.rerun$' "$NODE/calls"
        check "and nothing ran" test "$(starts a)" = 1
        check "nor read the configuration" refused_by_agent GetConfig
        check "which is an action of its own" grep -q '^CheckAuthorization org.imgbuild.FirstBoot1.read-config$' "$NODE/calls"
        check "firstbootctl says who may" sh -c "setpriv --reuid=65534 --regid=65534 --clear-groups '$ctl' config 2>&1 | grep -q 'Only root'"
        check "nor take the agent's name" sh -c "! setpriv --reuid=65534 --clear-groups busctl --address=unix:path=$NODE/bus call org.freedesktop.DBus / org.freedesktop.DBus RequestName su org.imgbuild.FirstBoot1 2 2>/dev/null"
        # The same calls by the same stranger: what refused them was polkit's word alone.
        echo org.imgbuild.FirstBoot1.rerun >"$NODE/polkit"
        check "one whom polkit lets may rerun" sh -c "$(stranger Rerun s a)"
        check "and it runs" until_starts a 2
        check "but not read the configuration" refused_by_agent GetConfig
        echo org.imgbuild.FirstBoot1.read-config >"$NODE/polkit"
        check "unless polkit lets it do that" sh -c "$(stranger GetConfig) | grep -q config"
}

# The command by which a stranger calls a method of the manager, or reads a property.
stranger() { echo "setpriv --reuid=65534 --regid=65534 --clear-groups busctl --address=unix:path=$NODE/bus call org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 org.imgbuild.FirstBoot1.Manager $*"; }
stranger_reads() { echo "setpriv --reuid=65534 --regid=65534 --clear-groups busctl --address=unix:path=$NODE/bus get-property org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 org.imgbuild.FirstBoot1.Manager $*"; }

# The agent's own answer, not the bus's, which lets strangers connect and ask.
refused_by_agent() {
        local said
        said=$(setpriv --reuid=65534 --regid=65534 --clear-groups dbus-send --bus="unix:path=$NODE/bus" --print-reply \
                --dest=org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 "org.imgbuild.FirstBoot1.Manager.$1" ${2:+"string:$2"} 2>&1) && return 1
        [[ $said == *"Only root, and whom polkit lets"* ]] || { echo "# $said"; return 1; }
}

for case in ${ONLY:-order retry slow_retry slow_defect heal slow_off spread metadata only_if by_hand skipped_behind_failure failure busy optional timeout timeout_without_bus config_errors site_step drain metrics crashes secrets old_systemd bus_api}; do
        node_new
        chmod 755 "$NODE"
        "case_$case"
        node_end
done
[[ -z $failed ]]
