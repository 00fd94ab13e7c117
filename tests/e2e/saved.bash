# Sourced by vm.bash: a node's first boot up to the moment before its agent starts, saved once for all scripts and resumed in
# seconds. Firmware, boot loader, kernel and cloud-init are the same in every such boot; scripts that are about those, and
# every later boot of a machine, boot for real.
#
#   vm_resume           as vm_start on a new machine: it goes on where the state was saved, with the disks plugged in, the
#                       clock set and the configuration written, and then the agent starts
#   vm_held=COMMAND     set before: run here once all that is so, while the agent is held
#
# The machine may be switched off and on again (vm_on). Its root disk is larger than the image, and cloud-init leaves it alone:
# growing it is the agent's then.
#
# QEMU's NVMe controller cannot be saved: the machine is made with empty slots, and the disks are plugged in afterwards. A
# drop-in holds the agent meanwhile; it comes as a credential of this boot alone, so that the next one knows nothing of it.

SAVED=$SHARED/saved

# saved_key: what the state is of.
saved_key() {
        cat "$OUT/debian-13-cpu/SHA256SUMS" "$PROJECT/images/tools.lock.json" "$KEY.pub" "$TOP"/tests/e2e/{saved.bash,qmp} | sha256sum
}

# saved_tools: the tools tree, mounted at $E2E/tools; the mount goes with the namespace.
saved_tools() {
        local digest lower=
        mountpoint -q "$E2E/tools" && return 0
        mkdir -p "$E2E/tools"
        while read -r digest; do
                lower=$CACHE/layers/$digest/tree${lower:+:$lower}
        done < <("$IMGBUILD" plan "$PROJECT/images/tools.json" --cache "$CACHE" --offline --json |
                python3 -c 'import json, sys; [print(s["digest"][:32]) for s in json.load(sys.stdin)["stages"]]')
        mount -t overlay -o "ro,lowerdir=$lower" tools "$E2E/tools"
}

# saved_qemu FOLDER LOGS ARGUMENT…: the QEMU of $SAVED/argv, with slots for disks, in place of this shell. The lock on its
# folder is QEMU's as long as it lives.
saved_qemu() {
        local folder=$1 logs=$2 lock i argv slots=()
        shift 2
        mapfile -t argv <"$SAVED/argv"
        # Far up, so that everything else is where imgbuild boot has it.
        for i in 0 1 2 3; do slots+=(-device "pcie-root-port,id=slot$i,chassis=$((i + 1)),slot=$((i + 1)),addr=0x1$i"); done
        exec {lock}<"$folder"
        flock -n "$lock" || exit 1
        exec bwrap --ro-bind "$E2E/tools" / --dev /dev --proc /proc --tmpfs /run --tmpfs /tmp --bind "$folder" /run/vm \
                --bind "$logs" /run/log --ro-bind "$OUT/debian-13-cpu" /run/image --ro-bind "$SAVED" /run/saved \
                --unshare-pid --die-with-parent --new-session -- "${argv[@]}" "${slots[@]}" "$@"
}

# saved_argv: what imgbuild boot gives QEMU, one argument a line: from a machine that it starts and is stopped at once.
saved_argv() {
        local boot pid i
        (cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/debian-13-cpu/debian-13-cpu.qcow2" --cache "$CACHE" --offline --progress plain \
                --state "$SAVED/state" --save "$SAVED/log" --user-data "$SAVED/user-data" --ssh-key "$KEY.pub" \
                --forward 2222:22 --forward 6818:6818 --load-credential "systemd.unit-dropin.firstbootd.service:$SAVED/hold.conf" \
                --until never --timeout 600) >"$SAVED/boot.log" 2>&1 &
        boot=$!
        for ((i = 0; i < 1200; i++)); do
                pid=$(pgrep -f '^qemu-system-x86_64 -name imgbuild' | head -n 1)
                [[ -n $pid ]] && break
                kill -0 "$boot" 2>/dev/null || break
                sleep 0.1
        done
        [[ -n $pid ]] && tr '\0' '\n' <"/proc/$pid/cmdline" >"$SAVED/argv"
        kill -INT "$boot" 2>/dev/null
        wait "$boot"
        [[ -s $SAVED/argv ]]
}

# saved_make: the node boots up to its agent, and is written to $SAVED with its memory.
saved_make() {
        local qemu i
        rm -rf "$SAVED"
        mkdir -p "$SAVED/log"
        cat >"$SAVED/hold.conf" <<'E'
[Service]
TimeoutStartSec=infinity
ExecStartPre=/bin/sh -c 'until [ -e /run/e2e-go ]; do sleep 0.1; done'
E
        { vm_user_data; printf 'growpart: { mode: "off" }\nresize_rootfs: false\n'; } >"$SAVED/user-data"
        saved_argv || { tail -n 20 "$SAVED/boot.log"; return 1; }
        # Its first seconds are not to be seen in what is booted now.
        rm -f "$SAVED"/state/{root.qcow2,vars.fd,qmp.sock}
        bwrap --ro-bind "$E2E/tools" / --dev /dev --tmpfs /run --bind "$SAVED/state" /run/vm --ro-bind "$OUT/debian-13-cpu" /run/image -- \
                sh -c 'qemu-img create -q -f qcow2 -F qcow2 -b /run/image/debian-13-cpu.qcow2 /run/vm/root.qcow2 6G &&
                        cp /usr/share/OVMF/OVMF_VARS_4M.fd /run/vm/vars.fd' || return 1
        (saved_qemu "$SAVED/state" "$SAVED/log") >"$SAVED/qemu.log" 2>&1 &
        qemu=$!
        # Held, and all else that boots has: nothing is left to run but what waits for the agent.
        for ((i = 0; i < 1200; i++)); do
                kill -0 "$qemu" 2>/dev/null || break
                vm_ssh root 'systemctl show -P SubState firstbootd | grep -qx start-pre &&
                        ! systemctl list-jobs --no-legend | grep running | grep -qv firstbootd.service' && break
                sleep 0.5
        done
        # Less memory in use is less to write, and to read each time.
        vm_ssh root 'sync; echo 3 >/proc/sys/vm/drop_caches' &&
                "$TOP/tests/e2e/qmp" "$SAVED/state/qmp.sock" stop \
                        'migrate-set-capabilities={"capabilities": [{"capability": "mapped-ram", "state": true}]}' \
                        'migrate={"uri": "file:/run/vm/memory"}' migrated quit
        i=$?
        [[ $i -eq 0 ]] || { kill -KILL "$qemu"; tail -n 20 "$SAVED/qemu.log" "$SAVED/log/console.log"; }
        wait "$qemu"
        rm -f "$SAVED/state/qmp.sock"
        mv "$SAVED/state/memory" "$SAVED/memory" && [[ $i -eq 0 ]] && saved_key >"$SAVED/key"
}

# saved_answers: whether the machine goes on, with a timer on each CPU; within three minutes. The clock is set with it.
saved_answers() {
        local end=$((SECONDS + 180))
        while ((SECONDS < end)); do
                kill -0 "$vm_pid" 2>/dev/null || return 1
                timeout 60 ssh -q -p 2222 -i "$KEY" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
                        -o BatchMode=yes root@127.0.0.1 "date -s @$(date +%s) >/dev/null
                        for i in \$(seq 0 \$((\$(nproc) - 1))); do taskset -c \$i sleep 0.1 || exit 1; done" </dev/null && return 0
                sleep 1
        done
        return 1
}

# saved_resume: a new machine from the saved state, with four empty disks, that answers.
saved_resume() {
        local i disks=() plug=()
        vm_off
        rm -rf "${VM:?}/state" "${VM:?}/save"
        mkdir -p "$VM/state" "$VM/save"
        cp --sparse=always "$SAVED"/state/* "$VM/state/" || return 1
        for i in 0 1 2 3; do
                truncate -s 1G "$VM/state/nvme$i.raw"
                disks+=(-drive "if=none,id=nvme$i,format=raw,cache=unsafe,discard=unmap,file=/run/vm/nvme$i.raw")
                plug+=("device_add={\"driver\": \"nvme\", \"id\": \"disk$i\", \"bus\": \"slot$i\", \"drive\": \"nvme$i\", \"serial\": \"imgbuild$i\"}")
        done
        (saved_qemu "$VM/state" "$VM/save" "${disks[@]}" -S -incoming defer) >"$VM/boot.log" 2>&1 &
        vm_pid=$!
        "$TOP/tests/e2e/qmp" "$VM/state/qmp.sock" \
                'migrate-set-capabilities={"capabilities": [{"capability": "mapped-ram", "state": true}]}' \
                'migrate-incoming={"uri": "file:/run/saved/memory"}' migrated "${plug[@]}" cont &&
                saved_answers
}

vm_resume() {
        local i
        saved_tools || return 1
        exec {saved_lock}<"$SHARED"
        flock "$saved_lock"
        [[ -s $SAVED/key && $(cat "$SAVED/key") == "$(saved_key)" ]] || saved_make || { echo "# no state can be saved"; return 1; }
        exec {saved_lock}<&-

        # Seen: a machine taken up again whose CPU never got its timer ("Possible timer handling issue" on its console) and
        # slept for good. Only the emulator is at work between the two moments; that is not what is tested here.
        saved_resume || {
                echo "# the machine does not go on where it was saved; once more, after this:"
                tail -n 20 "$VM/boot.log" "$VM/save/console.log"
                saved_resume
        } && tar -C "$VM/files" -cf - . | vm_pipe root "tar -C / --no-same-owner --no-overwrite-dir -xf - && sync
                        for i in \$(seq 600); do [ \$(ls /dev/nvme?n1 2>/dev/null | wc -l) = 4 ] && break; sleep 0.1; done
                        udevadm settle" "${vm_shared[@]}" &&
                ${vm_held:-true} && vm 'touch /run/e2e-go'
        i=$?
        [[ $i -eq 0 ]] || { echo "# the node does not go on:"; tail -n 20 "$VM/boot.log" "$VM/save/console.log"; }
        return $i
}
