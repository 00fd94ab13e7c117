# Sourced after head.bash, inside head_enter: a cluster without machines. Slurm's controller and three slurmds, n1 to n3, run from the head's
# tree, each with a host name, /tmp and /run of its own; /export is everybody's.
#
#   nodes_start [LINE…]   head_make has been called; lines of slurm.conf besides
#   nodes_cut N, nodes_launch N   one of them loses its power, and has it again
#   nodes_end
#   NODE_OPTIONS=(…)      set before: options of bwrap for each node, @ stands for its number; NODE_LINE: of slurm.conf;
#                         PLUGSTACK: plugstack.conf; NODES_IDLE: fewer than 3; NODE_BEFORE=(…): what starts bwrap

nodes_root=$HEAD/root nodes=()

nodes_end() { for node in "${nodes[@]}"; do kill -KILL "$node"; done 2>/dev/null; head_stop "${HEAD_SERVICES[@]}"; }

nodes_launch() { # N
        "${NODE_BEFORE[@]}" bwrap --bind "$nodes_root" / --dev /dev --proc /proc --perms 1777 --tmpfs /tmp --tmpfs /run --bind "$HEAD/run/munge" /run/munge \
                --bind "$HEAD/export" /export "${NODE_OPTIONS[@]//@/$1}" --unshare-uts --hostname "n$1" --cap-add ALL --die-with-parent --new-session \
                slurmd -D -N "n$1" >>"$HEAD_LOG/n$1.log" 2>&1 &
        nodes[$1]=$!
        disown
}

# nodes_cut N: the plug is pulled; all that runs there is gone, what has been orphaned too, and what is on its disks is not.
nodes_cut() {
        local name process i
        name=$(readlink "/proc/$(pgrep -P "${nodes[$1]}" | head -n 1)/ns/uts")
        for ((i = 0; i < 100; i++)); do
                process=$(find /proc/[0-9]*/ns/uts -printf '%l %p\n' 2>/dev/null | grep -F "$name" | cut -d / -f 3)
                [[ -n $process ]] || break
                kill -KILL $process 2>/dev/null
                sleep 0.1
        done
        unset "nodes[$1]"
}

nodes_start() {
        local n i
        echo 'CgroupPlugin=disabled' >"$nodes_root/etc/slurm/cgroup.conf"
        echo "${PLUGSTACK:-}" >"$nodes_root/etc/slurm/plugstack.conf"
        sed -i -E '/^(NodeName|PartitionName|SlurmdSpoolDir)=/d' "$nodes_root/etc/slurm/slurm.conf"
        {
                # More processors than there are: where tasks lie is the matter here, not what they compute.
                printf '%s\n' 'SlurmdSpoolDir=/var/spool/slurmd.%n' 'SelectTypeParameters=CR_CPU' 'SlurmdParameters=config_overrides' "$@"
                printf "NodeName=n%d NodeAddr=127.0.0.1 Port=1700%d CPUs=8 RealMemory=1000 ${NODE_LINE:-}\n" 1 1 2 2 3 3
                echo 'PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:4'
        } >>"$nodes_root/etc/slurm/slurm.conf"
        printf '127.0.0.1 n%d\n' 1 2 3 >>"$nodes_root/etc/hosts"
        mkdir -p "$nodes_root"/var/spool/slurmd.n{1,2,3}
        chmod 1777 "$HEAD/export/data"
        head_start munge slurm || return 1
        for n in 1 2 3; do nodes_launch "$n"; done
        for ((i = 0; i < 300; i++)); do [[ $(head_run sinfo -h -t idle -N -o %N | wc -l) -eq ${NODES_IDLE:-3} ]] && return 0; sleep 0.2; done
        head_run sinfo -N -l
        tail -n 20 "$HEAD_LOG"/*.log
        return 1
}
