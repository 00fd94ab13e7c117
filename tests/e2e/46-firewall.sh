#!/bin/bash
# host.firewall proved by connections: the kernel's packet filter in a network namespace, Debian's nft and its configuration
# from the head node's tree, the step's own program; only systemd is a double, which runs what nftables.service would.
#
# after: e2e/50
set -u
source "$TOP/tests/fixtures/node.bash"
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then head_tree; fi
head_enter "$@"
ends() { kill "$server" 2>/dev/null; node_end; }
trap ends EXIT
head_make || { echo "not ok - the head node is made"; exit 1; }

node_new
bus_start
manager_start
mkdir -p "$NODE"/{bin,etc/systemd/system}
touch "$NODE/etc/systemd/system/nftables.service"
declare -f head_bwrap >"$NODE/bwrap.bash"
cat >"$NODE/bin/nft" <<C
#!/bin/bash
HEAD=$HEAD HEAD_LOG=$HEAD_LOG
source $NODE/bwrap.bash
head_bwrap -- nft "\$@"
C
# As the unit has it: ExecStart and ExecStop.
cat >"$NODE/exec/nftables.service" <<C
#!/bin/bash
[[ \$1 == start ]] && exec $NODE/bin/nft -f /etc/nftables.conf
exec $NODE/bin/nft flush ruleset
C
chmod +x "$NODE"/{bin/nft,exec/nftables.service}
python3 -m http.server -b 127.0.0.1 8080 >/dev/null 2>&1 &
server=$!

connects() { curl -s -o /dev/null --max-time 2 http://127.0.0.1:8080/; }
for _ in $(seq 100); do connects && break; sleep 0.1; done
connects
check "without a firewall a connection comes in" $?

# firewall on|off VERDICT: the step with this setting, its status and code.
firewall() {
        local got
        echo "{\"config\":{\"host\":{\"firewall\":\"$1\",\"grow_root\":false}},\"instance\":{\"id\":\"i\"}}" >"$NODE/run/firstboot/config.json"
        PATH=$NODE/bin:$PATH timeout 60 "$node_build/firstboot-step" host >>"$NODE/agent.log" 2>&1
        got=$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["status"], o.get("code", ""))' "$NODE/run/firstboot/results/host.json")
        [[ $got == "$2" ]] || { echo "# $got"; tail -n 5 "$NODE/agent.log"; false; }
}
firewall on 'failed host.firewall-open'
check "Debian's nftables.conf as it comes is no firewall, and is told" $?
firewall off 'done ' # a service that runs is not started again: it would not read its rules
cat >"$HEAD/root/etc/nftables.conf" <<'C'
flush ruleset
table inet site {
        chain input {
                type filter hook input priority filter; policy accept;
                ct state established,related accept
                tcp dport 22 accept
                jump rest
        }
        chain rest { counter reject with tcp reset; }
}
C
firewall on 'done '
check "with rules it is on" $?
! connects
check "and the connection is refused" $?
firewall off 'done '
check "off takes the rules away" $?
connects
check "and the connection comes in" $?
rm "$NODE/etc/systemd/system/nftables.service"
"$NODE/bin/nft" 'add table ip cloud; add chain ip cloud in { type filter hook input priority 0; policy drop; }'
firewall off 'degraded host.firewall-left'
check "rules of somebody else's that stay are told" $?
! connects
check "for they keep the connection out" $?
exit $rc
