#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# metadata.root_only, proved by connections in a network namespace that has the service's addresses.
set -u
[[ $(id -u) == 0 ]] || { echo "another user can only be played by root"; exit 77; }
command -v nft >/dev/null && command -v ip >/dev/null || { echo "nft or ip is missing"; exit 77; }
[[ ${IN_NAMESPACE:-} ]] || { unshare -n true 2>/dev/null || { echo "no network namespace can be made"; exit 77; }; IN_NAMESPACE=1 exec unshare -n bash "$0"; }
nft add table inet probe 2>/dev/null && nft delete table inet probe || { echo "the kernel has no nftables"; exit 77; }
source tests/fixtures/node.bash
failed=
trap 'kill $server_pid 2>/dev/null; node_end' EXIT
ip link set lo up
for a in 169.254.169.254/32 168.63.129.16/32 192.0.2.1/32 fd00:ec2::254/128; do ip addr add "$a" dev lo; done
python3 - <<'PY' &
import socket, select
places = [("169.254.169.254", 80), ("169.254.169.254", 53), ("168.63.129.16", 32526), ("192.0.2.1", 80), ("fd00:ec2::254", 80)]
open_ = [socket.create_server(p, family=socket.AF_INET6 if ":" in p[0] else socket.AF_INET) for p in places]
while True:
    for s in select.select(open_, [], [])[0]:
        s.accept()[0].close()
PY
server_pid=$!
# reaches UID HOST PORT
reaches() { setpriv --reuid="$1" --regid=65534 --clear-groups timeout 3 /bin/bash -c 'exec 3<>"/dev/tcp/$1/$2"' - "$2" "$3" 2>/dev/null; }
for _ in $(seq 2400); do reaches 0 192.0.2.1 80 && reaches 0 fd00:ec2::254 80 && break; sleep 0.05; done

node_new
chmod 755 "$NODE"
bus_start && manager_start
configure() { echo "{\"config\":{\"host\":{\"grow_root\":false},\"metadata\":$1}}" >"$NODE/run/firstboot/config.json"; }
run_step() { "$node_build/firstboot-step" host >>"$NODE/agent.log" 2>&1; }

check "without the setting any user reaches the service" reaches 65534 169.254.169.254 80
configure '{"root_only":true,"users":["daemon"]}'
check "the step sets the rules" run_step
check "and again" run_step
check "then no user does" eval '! reaches 65534 169.254.169.254 80'
check "by IPv6 neither" eval '! reaches 65534 fd00:ec2::254 80'
check "nor Azure's wire server" eval '! reaches 65534 168.63.129.16 32526'
check "root does" reaches 0 169.254.169.254 80
check "and whom metadata.users names" reaches "$(id -u daemon)" 169.254.169.254 80
check "the cloud's name server stays open" reaches 65534 169.254.169.254 53
check "and so do other places" reaches 65534 192.0.2.1 80
check "the rules come back at every boot" grep -q '^EnableUnitFiles firstboot-metadata-guard.service' "$NODE/calls"
check "what the unit loads is what was set" eval 'nft flush ruleset && nft -f "$NODE/etc/firstboot/metadata-guard.nft" && ! reaches 65534 169.254.169.254 80'

# A container: a network of its own, and this machine forwards for it. Whoever it is there, it is not root here.
unshare -n sleep 30 &
inside=$!
for _ in $(seq 2400); do [[ $(readlink /proc/$inside/ns/net) != "$(readlink /proc/self/ns/net)" ]] && break; sleep 0.05; done
ip link add outer type veth peer name inner netns $inside
ip addr add 10.9.0.1/24 dev outer && ip link set outer up
nsenter -t $inside -n sh -c 'ip addr add 10.9.0.2/24 dev inner && ip link set inner up && ip route add default via 10.9.0.1'
ip link add far type veth peer name beyond && ip link set beyond up && ip addr del 169.254.169.254/32 dev lo && ip addr add 169.254.169.1/24 dev far && ip link set far up
echo 1 >/proc/sys/net/ipv4/ip_forward
contained() { nsenter -t $inside -n timeout 3 /bin/bash -c 'exec 3<>"/dev/tcp/169.254.169.254/80"' 2>&1; }
check "what is forwarded for a container is refused" eval 'contained | grep -q "Connection refused"'
kill $inside 2>/dev/null

configure '{"root_only":true,"users":["nobody-here"]}'
run_step
check "a user that is not there is told" grep -q 'metadata.users names nobody-here' "$NODE/run/firstboot/results/host.json"
configure '{}'
check "without the setting the rules go" run_step
check "all of them" eval '! nft list table inet firstboot_metadata 2>/dev/null && [ ! -e "$NODE/etc/firstboot/metadata-guard.nft" ]'
[[ -z $failed ]]
