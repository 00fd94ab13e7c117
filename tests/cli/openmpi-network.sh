#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Which network the overlay openmpi tells Open MPI: the one that the cluster's head is on, on nodes and on the head; what somebody has
# set himself stays. The program with doubles of getent and ip.
set -u
cd "$TOP" || exit 1
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; tail -n 5 "$T"/etc/openmpi/*.conf; fi; }
double() { { echo '#!/bin/bash'; cat; } >"$T/bin/$1"; chmod +x "$T/bin/$1"; }
fresh() { mkdir -p "$T/etc/openmpi" "$T/bin"; for f in openmpi prte; do printf '# %s-mca-params\nbtl = ^openib\n' $f >"$T/etc/openmpi/$f-mca-params.conf"; done; }
write() { PATH=$T/bin:$PATH overlays/openmpi/files/usr/lib/openmpi-network/write "$T"; }
ours() { grep -hE '_if_(in|ex)clude *=' "$T/etc/openmpi/$1-mca-params.conf"; }
at() { # ADDRESS-OF-THE-HEAD OWN-ADDRESS
        double getent <<<"[[ \$* == 'ahostsv4 head' ]] && printf '%s STREAM head\n%s DGRAM\n' $1 $1"
        double ip <<I
case \$* in
*'route get $1') echo '$1 dev eth1 src $2 uid 0 \\    cache' ;;
*'route show scope link') printf '%s\n' '10.0.2.0/24 dev eth0 proto kernel src 10.0.2.15 metric 1024 ' '10.0.2.2 dev eth0 proto dhcp src 10.0.2.15' '10.77.0.0/24 dev eth1 proto kernel src $2 ' ;;
esac
I
}

fresh
at 10.77.0.1 10.77.0.2
write && [[ $(ours openmpi) == 'btl_tcp_if_include = 10.77.0.0/24' && $(ours prte) == 'prte_if_include = 10.77.0.0/24' ]]
check "a node names the head's network, not QEMU's" $?
cp -r "$T/etc" "$T/before"
write && diff -r "$T/etc" "$T/before"
check "a second time changes nothing" $?
at 10.77.0.1 10.77.0.1
write && diff -r "$T/etc" "$T/before"
check "… nor does it say anything else on the head itself" $?
sed -i 's,10.77.0.0/24,10.99.0.0/16,' "$T"/etc/openmpi/*.conf
write && diff -r "$T/etc" "$T/before" && grep -q '^btl = ^openib' "$T/etc/openmpi/openmpi-mca-params.conf"
check "another network takes the place of the last one, and the rest stays" $?
fresh
echo ' btl_tcp_if_exclude= lo' >>"$T/etc/openmpi/openmpi-mca-params.conf"
write && [[ $(ours openmpi) == ' btl_tcp_if_exclude= lo' && $(ours prte) == 'prte_if_include = 10.77.0.0/24' ]]
check "what somebody has set stays" $?
# Open MPI 4, as EL has it: another folder, one file for both.
fresh
mkdir "$T/etc/openmpi-x86_64"
printf '# openmpi-mca-params\nbtl = ^openib\n' >"$T/etc/openmpi-x86_64/openmpi-mca-params.conf"
cp -r "$T/etc/openmpi" "$T/debians"
el() { sed -n 's/^\([a-z_]*_if_.*\)/\1/p' "$T/etc/openmpi-x86_64/openmpi-mca-params.conf"; }
write && [[ $(el) == $'btl_tcp_if_include = 10.77.0.0/24\noob_tcp_if_include = 10.77.0.0/24' ]] && diff -r "$T/etc/openmpi" "$T/debians"
check "EL's Open MPI and its starter are told in EL's file" $?
cp -r "$T/etc/openmpi-x86_64" "$T/once"
write && diff -r "$T/etc/openmpi-x86_64" "$T/once"
check "… once" $?
echo 'oob_tcp_if_include = eth9' >"$T/etc/openmpi-x86_64/openmpi-mca-params.conf"
write && [[ $(el) == $'oob_tcp_if_include = eth9\nbtl_tcp_if_include = 10.77.0.0/24' ]]
check "… and what somebody has set for the starter alone stays" $?
rm -r "$T/etc/openmpi-x86_64"
fresh
double getent <<<'exit 2'
write && [[ -z $(ours openmpi)$(ours prte) ]]
check "without a head nothing is said" $?
exit $rc
