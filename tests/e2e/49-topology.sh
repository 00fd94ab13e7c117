#!/bin/bash
# The overlay slurm-topology with the real slurmctld and three slurmds from the head's tree, without a machine: topology.conf of what nodes say of their
# place, and jobs' nodes chosen by it.
#
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then head_tree; fi
head_enter "$@"
head_make || exit 1
source "$TOP/tests/e2e/nodes.bash"
trap nodes_end EXIT
overlay=$TOP/overlays/slurm-topology
cp -a "$overlay/files/." "$HEAD/root/"
cp "$overlay/check-slurm-topology.sh" "$HEAD/root/root/"
head_run /root/check-slurm-topology.sh
check "the overlay's check passes" $?
nodes_start MaxNodeCount=8 SlurmdPort=17004 TreeWidth=65533
check "a controller and three nodes" $?
[[ $rc -eq 0 ]] || exit 1
is() { # WHAT GOT WANTED
        [[ $2 == "$3" ]]
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || printf '# got    %s\n# wanted %s\n' "$2" "$3"
}
# made: topology.conf, once Slurm has read it.
made() { head_run /usr/lib/slurm-topology/topology >"$E2E/made" 2>&1; grep -v '^#' "$HEAD/root/etc/slurm/topology.conf" | tr '\n' ';'; }
place() { sed -i -E "/^NodeName=$1 /{s/ Feature=[^ ]*//; s/\$/ Feature=$2/}" "$HEAD/root/etc/slurm/slurm.conf"; }
hosts() { head_run sh -c "timeout 60 srun $* hostname" 2>>"$E2E/said" | sort | tr '\n' ' '; }
is "a job without a topology" "$(hosts -N 2)" 'n1 n2 '
is "nodes that say nothing are below one switch" "$(made)" 'SwitchName=all Switches=elsewhere;SwitchName=elsewhere Nodes=n1,n2,n3;'
place n1 fast,fabric.isle.b1.l1
place n2 fabric.isle.b2.l9
place n3 fabric.isle.b1.l1
head_run scontrol reconfigure
within() { local i; for ((i = 0; i < 100; i++)); do "$@" && return 0; sleep 0.2; done; return 1; }
has_places() { [[ $(head_run sinfo -h -N -o %f | sort -u | wc -l) -eq 3 ]]; }
within has_places
is "island, block and local block are switches" "$(made)" \
        'SwitchName=all Switches=isle;SwitchName=isle Switches=isle.b1,isle.b2;SwitchName=isle.b1 Switches=isle.b1.l1;SwitchName=isle.b1.l1 Nodes=n1,n3;SwitchName=isle.b2 Switches=isle.b2.l9;SwitchName=isle.b2.l9 Nodes=n2;'
before=$(stat -c %i "$HEAD/root/etc/slurm/topology.conf")
made >/dev/null
is "… written again only where they change" "$(stat -c %i "$HEAD/root/etc/slurm/topology.conf")" "$before"
has_them() { [[ $(head_run scontrol show topology 2>&1) == *'SwitchName=isle.b1.l1 Level=0 '*Nodes=n*1,*3* ]]; }
within has_them
check "Slurm has them" $?
is "a job for two gets the two below one switch" "$(hosts -N 2)" 'n1 n3 '
is "… and one for all gets all" "$(hosts -N 3)" 'n1 n2 n3 '
is "--switches is understood" "$(hosts -N 2 --switches=1)" 'n1 n3 '
# One that registers itself, as ours do, with its place.
bwrap --bind "$HEAD/root" / --dev /dev --proc /proc --perms 1777 --tmpfs /tmp --tmpfs /run --bind "$HEAD/run/munge" /run/munge --bind "$HEAD/export" /export \
        --unshare-uts --hostname n4 --cap-add ALL --die-with-parent --new-session slurmd -D -N n4 -Z --conf 'Feature=fabric.isle.b2.l9' >"$HEAD_LOG/n4.log" 2>&1 &
nodes+=($!)
disown
four() { [[ $(head_run sinfo -h -t idle -N -o %N | wc -l) -eq 4 ]]; }
within four
[[ $(made) == *'SwitchName=isle.b2.l9 Nodes=n2,n4;' ]] && within four && [[ $(made) == *'SwitchName=isle.b2.l9 Nodes=n2,n4;' ]]
check "a node that registers itself is at its place, also after Slurm has read its configuration anew" $?
is "… and gets jobs with its neighbour" "$(hosts -N 2 -w n4)" 'n2 n4 '
# The head is restarted; of its nodes one has gone and is only in the file. In order: with its plug pulled slurmctld forgets what ended last.
echo 'SwitchName=gone Nodes=n9' >>"$HEAD/root/etc/slurm/topology.conf"
for pid in $(head_descendants "$(cat "$HEAD/pid/slurm")"); do [[ $(cat "/proc/$pid/comm" 2>/dev/null) != slurmctld ]] || kill -TERM "$pid"; done
gone() { ! kill -0 "$(cat "$HEAD/pid/slurm")" 2>/dev/null; }
within gone
head_stop slurm
head_start slurm
check "a controller starts anew with it, and with a node that is no more" $?
within four
is "… and places jobs" "$(hosts -N 2)" 'n1 n3 '
place n2 fabric.isle
place n3 fabric.isle.b1
head_run scontrol reconfigure
has_places() { [[ $(head_run sinfo -h -N -o %f | sort -u | wc -l) -eq 4 ]]; }
within has_places
is "a node at a switch that has switches" "$(made)" \
        'SwitchName=all Switches=isle;SwitchName=isle Switches=isle.b1,isle.b2,isle.own;SwitchName=isle.b1 Switches=isle.b1.l1,isle.b1.own;SwitchName=isle.b1.l1 Nodes=n1;SwitchName=isle.b1.own Nodes=n3;SwitchName=isle.b2 Switches=isle.b2.l9;SwitchName=isle.b2.l9 Nodes=n4;SwitchName=isle.own Nodes=n2;'
within four
is "… is with the others for a job for all" "$(hosts -N 4)" 'n1 n2 n3 n4 '
exit $rc
