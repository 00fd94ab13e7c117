#!/bin/bash
# RDMA between two machines: soft-RoCE on their private network, with Debian's full kernel and ib_core in exclusive mode (overlay rdma-exclusive). The
# published document's rping and ib_write_bw between them; the counters of both at node_exporter's port 9100, and where a device is in another
# network namespace than who asks. What one machine can show is in e2e/30.
#
# IMAGE=FILE  a disk image with rdma_rxe, rping, perftest and the agent, instead of one that is made
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/cluster.bash"
own_project
cat >"$RECIPES/roce.json" <<'R'
{ "name": "roce", "extends": "debian-13-cpu", "kernel": { "package": "linux-image-amd64", "options": ["RDMA_RXE"] },
  "overlays": ["rdma-exclusive", "monitoring"] }
R
if [[ -z ${IMAGE:-} ]]; then
        build roce >"$E2E/build.log" 2>&1
        s=$?
        check "the image is made" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
fi

# What each of them does at boot; the second one is the client.
cat >"$E2E/roce" <<'S'
#!/bin/bash
modprobe ib_core netns_mode=0
modprobe rdma_rxe
for i in $(seq 300); do nic=$(ip -o -4 address show | sed -n 's/^[0-9]*: \([^ ]*\) *inet 10\.78\.0\..*/\1/p'); [[ -n $nic ]] && break; sleep 1; done
rdma link add rxe0 type rxe netdev "$nic"
[[ $(hostname) == two ]] || exit 0
until rping -c -a 10.78.0.1 -C 3 -v -d >/run/rping 2>&1; do sleep 1; done
until ib_write_bw --report_gbits --report-both -D 5 -F -R 10.78.0.1 >/run/bandwidth 2>&1; do sleep 1; done
echo "roce_client_gbps $(awk '/^ *65536/ { print $4 }' /run/bandwidth)" >/var/lib/prometheus/node-exporter/roce.prom
S
printf '#cloud-config\nruncmd:\n  - [bash, -c, "echo %s | base64 -d >/run/roce; systemd-run --unit=roce bash /run/roce"]\n' "$(base64 -w 0 "$E2E/roce")" >"$E2E/user-data"
image=${IMAGE:-$OUT/roce/roce.qcow2}
cat >"$E2E/cluster.json" <<R
{ "name": "roce", "network": "10.78.0.0/24", "machines": [
  { "name": "one", "image": "$image", "memory": "1G", "until": "multi-user", "user_data": "$E2E/user-data" },
  { "name": "two", "image": "$image", "memory": "1G", "until": "multi-user", "user_data": "$E2E/user-data" } ] }
R

cat >"$E2E/commands" <<'C'
set -u
say() { echo "== $1"; }
before= after= there=
command -v prometheus-node-exporter >/dev/null || echo none >/run/no-exporter
metrics() { [ ! -e /run/no-exporter ] || return 0;  python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())' "http://$1:9100/metrics"; }
value() { metrics "$1" | sed -n "s/^$2{device=\"rxe0\",port=\"1\"} //p"; }
for i in $(seq 300); do [ -e /sys/class/infiniband/rxe0 ] && break; sleep 1; done
say mode; rdma system show | grep -o 'netns exclusive'
say kernel; uname -r
say port; cat /sys/class/infiniband/rxe0/ports/1/state
for i in $(seq 120); do [ -e /run/no-exporter ] && break; before=$(value 10.78.0.2 rdma_port_hw_sent_pkts); [ -n "$before" ] && break; sleep 1; done
say rping; timeout 500 rping -s -a 10.78.0.1 -C 3 -v 2>&1 | grep -c 'server ping data: rdma-ping-'
say bandwidth; timeout 500 ib_write_bw --report_gbits --report-both -D 5 -F -R 2>&1 | awk '/^ *65536/ { print ($4 > 0) ? "some" : "none"; print "# server: " $4 " Gbit/s" >"/dev/stderr" }'
for i in $(seq 120); do [ -e /run/no-exporter ] && break; there=$(metrics 10.78.0.2 | sed -n 's/^roce_client_gbps //p'); [ -n "$there" ] && break; sleep 1; done
say client; [ -n "${there:-}" ] && echo told; echo "# client: ${there:-} Gbit/s" >&2
[ -e /run/no-exporter ] || sleep 35 # the exporter's interval
after=$(value 10.78.0.2 rdma_port_hw_sent_pkts)
say counters; [ "${after:-0}" -gt "$((${before:-0} + 1000))" ] && echo grew; echo "# sent by two: $before, then $after packets" >&2
say received; [ "0$(value 10.78.0.1 rdma_port_hw_rcvd_pkts)" -gt 1000 ] && echo many
say own; /usr/lib/firstboot/rdma-exporter /run/own.prom; [ "0$(sed -n 's/^rdma_port_hw_rcvd_pkts{device="rxe0",port="1"} //p' /run/own.prom)" -gt 1000 ] && echo many
ip netns add gpu-test
say moved; rdma dev set rxe0 netns gpu-test 2>&1 | tail -n 1
say hidden; ip netns exec gpu-test ls /sys/class/infiniband 2>/dev/null | wc -l
ip netns exec gpu-test /usr/lib/firstboot/rdma-exporter /run/away.prom
say away; grep -c '^rdma_port_hw_sent_pkts{device="rxe0",port="1",netns="net:\[' /run/away.prom
say end
C
cluster_run "$E2E/cluster.json"
says "ib_core is in exclusive mode at the first boot" mode 'netns exclusive'
says "soft-RoCE on the private network is an active port" port '4: ACTIVE'
says "the document's rping between two machines" rping 3
says "the document's ib_write_bw between them" bandwidth some
says "what was received is in the exporter's file" own many
if [[ -z ${IMAGE:-} ]]; then
        says "the client's figure, over the network at port 9100" client told
        says "the client's counters" counters grew
        says "and the server's" received many
fi
says "soft-RoCE cannot be moved into a namespace, and the kernel says so" moved 'error: Operation not supported'
says "another namespace does not see the device" hidden 0
says "an exporter in another namespace follows it to where it is" away 1
grep -h '^# .*\(Gbit/s\|packets\)' "$E2E/log" "$E2E/out"
exit "$rc"
