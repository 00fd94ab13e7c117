# Sourced after head.bash, inside head_enter: a compute node without a machine. The real slurmd and munged run natively from the
# head's tree, in sandboxes with a root of their own; the slurm step runs beside them on the host, with a folder for its root and
# the double of systemd's manager, whose munge.service and slurmd.service start the real ones.
#
#   native_new             an empty node in the folder $N, which is FIRSTBOOT_ROOT too
#   native_config [JSON]   its slurm section, JSON merged over it
#   native_steps [JSON]    how the other steps went: objects as in firstbootd's status; left out, all is well
#   native_step            runs the slurm step: $native_rc, and the verdict for native_is
#   native_is STATUS CODE  whether that was its verdict; CODE may be ""
#   native_says PATTERN    whether its message has it
#   native_run COMMAND…    a command on the node
#   native_unit ACTION UNIT   start, stop
#   native_plug            the plug is pulled: slurmd, munged and what they ran are gone, and /run with them
#   native_end             ends everything

N=$E2E/node

native_new() {
        native_end
        mkdir -p "$N"/{bin,exec,usr/sbin,usr/bin,dev,etc/munge,pid} "$HEAD"/native/{root,upper,work}
        native_run_folders
        # In memory, as the head's own.
        mount -t overlay -o "lowerdir=$(head_layers),upperdir=$HEAD/native/upper,workdir=$HEAD/native/work" node "$HEAD/native/root" || return 1
        cp "$HEAD/root/etc/hosts" "$HEAD/native/root/etc/hosts"
        mkdir -p "$HEAD/native/root/usr/lib/firstboot"
        cp "$TOP/$BUILD/firstboot/firstboot-slurm" "$HEAD/native/root/usr/lib/firstboot/"
        cp -a "$TOP"/overlays/slurm-node/files/usr/lib/firstboot/* "$HEAD/native/root/usr/lib/firstboot/"
        # A reboot, as far as Slurm sees it: slurmd is gone at once.
        cat >"$HEAD/native/root/usr/lib/firstboot/e2e-reboot" <<R
#!/bin/sh
kill -KILL \$(cat /proc/\$(cat "$N/pid/slurmd.service")/task/*/children)
R
        chmod +x "$HEAD/native/root/usr/lib/firstboot/e2e-reboot"
        # A double of firstbootctl: its answer to "check --quick" is in /run/check.says, the exit code in /run/check.code; or
        # what is in /run/check.does is done first.
        cat >"$N/usr/bin/firstbootctl" <<'D'
#!/bin/bash
run=${FIRSTBOOT_ROOT:-}/run
echo "$*" >>"$run/check.calls"
[[ $* == "check --quick" ]] || exit 2
[[ ! -s $run/check.does ]] || { source "$run/check.does"; }
[[ ! -s $run/check.says ]] || cat "$run/check.says"
exit "$(cat "$run/check.code" 2>/dev/null || echo 0)"
D
        chmod +x "$N/usr/bin/firstbootctl" && cp "$N/usr/bin/firstbootctl" "$HEAD/native/root/usr/bin/"
        printf '#!/bin/sh\n' >"$N/usr/sbin/slurmd" # the step looks for it; the sandbox has the real one
        cat >"$N/sandbox" <<S
#!/bin/bash
exec bwrap --setenv PATH /usr/sbin:/usr/bin --bind "$HEAD/native/root" / --dev /dev --proc /proc --perms 1777 --tmpfs /tmp --bind "$N/run" /run \
        --bind "$N/etc/munge" /etc/munge --bind "$HEAD/export" /export --bind "$N" "$N" --unshare-uts --hostname "$NODE" --cap-add ALL --new-session -- "\$@"
S
        local program
        for program in scontrol munge; do printf '#!/bin/bash\nexec "%s/sandbox" %s "$@"\n' "$N" $program >"$N/bin/$program"; done
        native_service munge.service 'munged --foreground --force'
        native_service slurmd.service 'slurmd -D' 'slurmd.env'
        chmod +x "$N"/{sandbox,bin/*,exec/*,usr/sbin/slurmd}
        export FIRSTBOOT_ROOT=$N DBUS_SYSTEM_BUS_ADDRESS=unix:path=$N/bus
        native_manager
}

native_run_folders() { mkdir -p "$N"/run/{munge,firstboot/results,slurm,lock}; }

# What systemd would do for a unit: exec/UNIT start|stop, by the double. Like systemd's slurmd.service, stop ends the daemon and
# leaves the jobs.
native_service() { # UNIT COMMAND [ENVIRONMENT]
        cat >"$N/exec/$1" <<S
#!/bin/bash
pid=\$(cat "$N/pid/$1" 2>/dev/null)
if [[ -n \$pid ]]; then
        for p in \$(pgrep -P "\$pid"); do kill -KILL "\$p"; done
        for i in {1..400}; do kill -0 "\$pid" 2>/dev/null || break; sleep 0.05; done
        rm -f "$N/pid/$1"
fi
[[ \$1 != stop ]] || exit 0
[[ $1 != slurmd.service || -e $N/run/firstboot/slurmd-permit ]] || exit 1
[[ -z "${3:-}" ]] || eval "\$(cat "$N/run/firstboot/${3:-}")"
eval "set -- \${SLURMD_OPTIONS:-}"
setsid "$N/sandbox" $2 "\$@" >>"$HEAD_LOG/node-$1.log" 2>&1 </dev/null &
echo \$! >"$N/pid/$1"
sleep 0.3
kill -0 \$! 2>/dev/null
S
}

native_manager() {
        cat >"$N/bus.conf" <<CONF
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=$N/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
CONF
        dbus-daemon --config-file="$N/bus.conf" --nofork --nopidfile >"$N/bus.log" 2>&1 &
        native_pids=($!)
        local i
        for ((i = 0; i < 1200; i++)); do [[ -S $N/bus ]] && break; sleep 0.05; done
        "$TOP/$BUILD/tests/fixtures/fake-systemd" &
        native_pids+=($!)
        for ((i = 0; i < 1200; i++)); do busctl status org.freedesktop.systemd1 >/dev/null 2>&1 && return 0; sleep 0.05; done
        return 1
}

native_config() {
        python3 - "${1:-{\}}" "$NODE" >"$N/run/firstboot/config.json" <<'P'
import json, sys
slurm = {"controllers": ["head"], "node_name": sys.argv[2], "cluster_name": "e2e", "munge_key_file": "/etc/key",
         "drain_on_failure": True, "clock_skew_max": "60s", "give_up": "20s", "gres": "none"}
for key, value in json.loads(sys.argv[1]).items():
    slurm[key] = value
print(json.dumps({"config": {"slurm": slurm}, "instance": {"id": "i"}}))
P
        cp "$HEAD/root/etc/munge/munge.key" "$N/etc/key"
}
native_steps() { echo "{\"steps\":[${1:-{\"name\":\"host\",\"status\":\"done\",\"required\":true\}}]}" >"$N/run/firstboot/status.json"; }
native_fails() { native_steps "{\"name\":\"gpu\",\"status\":\"failed\",\"required\":true,\"result\":{\"code\":\"$1\",\"message\":\"$2\"}}"; } # CODE TEXT

native_step() {
        rm -f "$N/run/firstboot/results/slurm.json"
        PATH=$N/bin:$PATH timeout 120 "${STEP:-$TOP/$BUILD/firstboot/firstboot-step}" slurm >>"$HEAD_LOG/node-step.log" 2>&1
        native_rc=$?
}
native_verdict() {
        python3 -c 'import json,sys; print(json.load(open(sys.argv[1])).get(sys.argv[2],""))' "$N/run/firstboot/results/slurm.json" "$1"
}
native_is() {
        local got
        got="$(native_verdict status) $(native_verdict code)"
        [[ $got == "$1 $2" ]] || { echo "# the verdict is $got: $(native_verdict message)"; tail -n 12 "$HEAD_LOG/node-step.log"; return 1; }
}
native_says() { [[ $(native_verdict message) == *"$1"* ]] || { echo "# it says: $(native_verdict message)"; return 1; }; }
native_check() { # CODE [TEXT]: what firstbootctl check says from now on
        echo "$1" >"$N/run/check.code"
        echo "${2:-}" >"$N/run/check.says"
}
native_run() { "$N/sandbox" "$@"; }
# By the double, which keeps the units' states.
native_unit() {
        busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
                "${1^}Unit" ss "$2" replace >/dev/null
}

native_plug() {
        native_unit stop slurmd.service
        native_unit stop munge.service
        rm -rf "${N:?}/run" && native_run_folders
}

native_end() {
        local pid
        for pid in slurmd.service munge.service; do [[ ! -e $N/exec/$pid ]] || "$N/exec/$pid" stop; done
        for pid in "${native_pids[@]:-}"; do [[ -z $pid ]] || { kill "$pid" && wait "$pid"; } 2>/dev/null; done
        native_pids=()
        mountpoint -q "$HEAD/native/root" && umount -l "$HEAD/native/root"
        rm -rf "${HEAD:?}/native" "${N:?}"
}
