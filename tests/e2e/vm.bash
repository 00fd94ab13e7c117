# Sourced by the e2e tests of the agent: one virtual node at a time, switched on and off like a machine, its disks kept
# in a folder of its own. Use after head_enter (head.bash): the ports are the namespace's.
#
#   vm_suite "$@"       what every such script begins with: image and head node's tree are built, then all of it runs again
#                       in the namespaces; returns there
#   vm_config JSON      the node's configuration; the head node's CA and address come along
#   vm_file PATH        one more of its files: standard input
#   vm_on MARKER [ARG…] switches it on, returns once MARKER is seen (imgbuild boot --until), 1 where it is not
#   vm_start MARKER     the same, without waiting
#   vm_resume           the same on a new machine, from a saved state: saved.bash
#   vm_off              pulls the plug
#   vm COMMAND          a shell command on the node, as root
#   vm_settles SECONDS  until the agent has a verdict; prints it
#   vm_reaches UNIT     until systemd has it
#   vm_is EXPRESSION VALUE   what python makes of the status document: o, o["step"]["scratch"]

source "$TOP/tests/e2e/saved.bash"

VM=$E2E/vm
VM_IMAGE=$OUT/debian-13-cpu/debian-13-cpu.qcow2
NVME=(--nvme 'count=4,size=1G')

vm_suite() {
        if [[ -z ${HEAD_INSIDE:-} ]]; then
                alone cpu_image
                head_tree
        fi
        head_enter "$@"
        trap vm_end EXIT
}

# vm_end: for the script's trap. What a failed test needs to be understood is left; disks take room.
vm_end() { vm_off; rm -rf "$VM_SSH"; head_stop portmap "${HEAD_SERVICES[@]}"; [[ $rc -ne 0 ]] || rm -rf "$VM/state"; }

vm_fresh() { vm_off; rm -rf "$VM"; mkdir -p "$VM"; }

# vm_user_data: cloud-init's, without any file.
vm_user_data() {
        echo "#cloud-config"
        echo "hostname: $NODE"
        echo "manage_etc_hosts: false"
        printf 'bootcmd:\n  - [sh, -c, "grep -qw head /etc/hosts || echo 10.0.2.2 head >>/etc/hosts"]\n'
}

# cloud-init writes these files; where a machine is resumed, vm_resume does.
vm_config() {
        rm -rf "$VM/files"
        mkdir -p "$VM/files"
        { vm_user_data; echo "write_files:"; } >"$VM/user-data"
        vm_file /etc/firstboot/ca.pem <"$HEAD/root/etc/head/ca.pem"
        vm_file /etc/firstboot/conf.d/50-e2e.json <<<"$1"
}
vm_file() {
        mkdir -p "$VM/files/${1%/*}"
        cat >"$VM/files$1"
        printf '  - path: %s\n    encoding: b64\n    content: %s\n' "$1" "$(base64 -w 0 "$VM/files$1")" >>"$VM/user-data"
}

vm_start() { # MARKER [ARG…]: does not wait
        local marker=$1
        shift
        # From the project: its lock of the tools tree is the one that the image was made with.
        (cd "$PROJECT" && exec "$IMGBUILD" boot "$VM_IMAGE" --cache "$CACHE" --offline --progress plain \
                --state "$VM/state" --save "$VM/save" --user-data "$VM/user-data" --ssh-key "$KEY.pub" "${NVME[@]}" \
                --forward 2222:22 --forward 6818:6818 --until "$marker" --timeout 1200 --keep "$@") >"$VM/boot.log" 2>&1 &
        vm_pid=$!
}

vm_on() {
        local marker=$1
        vm_start "$@"
        while kill -0 "$vm_pid" 2>/dev/null; do
                grep -q 'Running; ssh -p' "$VM/boot.log" && return 0
                sleep 0.2
        done
        wait "$vm_pid"
        echo "# the node did not come to \"$marker\":"
        tail -n 5 "$VM/boot.log"
        return 1
}

vm_off() {
        local i
        vm_hang_up
        [[ -n ${vm_pid:-} ]] || return 0
        kill -KILL "$vm_pid" 2>/dev/null
        wait "$vm_pid" 2>/dev/null
        vm_pid=
        for ((i = 0; i < 300; i++)); do flock -n "$VM/state" true 2>/dev/null && return 0; sleep 0.1; done
}

# An emulated CPU takes a second for each new connection: commands of vm share one, as long as the machine is on.
# Its socket lies where paths are short.
VM_SSH=/run/imgbuild-e2e-$(cksum <<<"$VM" | cut -d' ' -f1)
mkdir -p "$VM_SSH"
chmod 0700 "$VM_SSH"
vm_shared=(-o ControlMaster=auto -o ControlPath="$VM_SSH/%r" -o ControlPersist=yes -o ServerAliveInterval=20 -o ServerAliveCountMax=15)
vm_hang_up() {
        local socket
        for socket in "$VM_SSH"/*; do [[ ! -S $socket ]] || timeout 5 ssh -q -O exit -o ControlPath="$socket" e2e 2>/dev/null; done
        rm -f "$VM_SSH"/*
}

vm_pipe() { # USER COMMAND [OPTION…], with standard input
        ssh -q "${@:3}" -p 2222 -i "$KEY" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
                -o ConnectTimeout=60 -o BatchMode=yes "$1@127.0.0.1" "$2"
}
vm_ssh() { vm_pipe "$@" </dev/null; }
vm() { # sshd may be a moment behind the marker
        local end=$((SECONDS + 300)) status
        while :; do
                vm_ssh root "$1" "${vm_shared[@]}"
                status=$?
                [[ $status -eq 255 && $SECONDS -lt $end ]] || return $status
                sleep 1
        done
}

# vm_bytes: a sum of each disk's content; holes hold zeros only, and are not read.
vm_bytes() { (cd "$VM/state" && python3 "$TOP/tests/fixtures/disk-bytes" nvme?.raw); }

# vm_reaches UNIT: within twenty minutes.
vm_reaches() { vm "for i in \$(seq 1200); do systemctl -q is-active $1 && exit 0; sleep 1; done; exit 1"; }

vm_status() { vm 'cat /run/firstboot/status.json' >"$VM/status.json"; }

vm_settles() {
        local s
        vm "firstbootctl status --wait --timeout ${1}s >/dev/null"
        s=$?
        vm_status && vm_py 'o["node"]'
        [[ $s -lt 3 ]]
}

vm_py() {
        python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
o["step"] = {s["name"]: s for s in o["steps"]}
print(eval(sys.argv[2], {"o": o, "len": len}))' "$VM/status.json" "$1" 2>&1
}

vm_is() {
        local got
        got=$(vm_py "$1")
        [[ $got == "$2" ]] || { echo "# $1 is '$got', not '$2'"; return 1; }
}
