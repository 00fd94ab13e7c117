#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The rdma step has each port carry data: by a double of perftest, by the real ib_write_bw where no device is, and by libfabric's
# real fi_pingpong over TCP.
#
# lane: clock
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
sysfs() { "$TOP/tests/fixtures/rdma-sysfs" "$NODE" "$@"; }
rdma() { echo "{\"config\":{\"rdma\":{\"watch\":\"0ms\",\"give_up\":\"0ms\"${1:+,$1}}},\"instance\":{}}" >"$NODE/run/firstboot/config.json"; run_step; }
run_step() { rm -f "$NODE/run/firstboot/results/rdma.json"; timeout 180 "$node_build/firstboot-step" rdma >"$NODE/agent.log" 2>&1; rc=$?; }
result() { python3 -c 'import json,sys; o=json.load(open(sys.argv[1]+"/run/firstboot/results/rdma.json")); f=o.get("figures",{}); print(eval(sys.argv[2]))' "$NODE" "$1" 2>&1; }
verdict() { local got; got=$(result '" ".join(filter(None,[o.get("status"),o.get("code")]))'); [[ $got == "$1" ]] || { echo "# $got: $(result 'o.get("message")')"; return 1; }; }
message_has() { [[ $(result 'o.get("message")') == *"$1"* ]] || { echo "# $(result 'o.get("message")')"; return 1; }; }
started() { grep -cE -e "$1" "$NODE/usr/bin/started" 2>/dev/null | grep -qx "$2" || { sed 's/^/# /' "$NODE/usr/bin/started"; return 1; }; }
# does DEVICE WORD…: what the double does there; without words the port is well.
does() { echo "${*:2}" >"$NODE/usr/bin/$1.traffic"; rm -f "$NODE/usr/bin/started"; }
gone() { ! pgrep -f "$NODE/usr/bin/ib_write_bw -d" >/dev/null; }
fresh() {
        node_end
        node_new
        mkdir -p "$NODE/proc/net" "$NODE/etc" "$NODE/usr/bin"
        printf 'Iface\tDestination\n' >"$NODE/proc/net/route"
}
good() { fresh; sysfs mlx5_0 mlx5_1; cp "$TOP/tests/fixtures/perftest-double" "$NODE/usr/bin/ib_write_bw"; }
NODE=

# --- verbs ------------------------------------------------------------------------------------------------------------
good
rdma
check "each port carries data: done" verdict "done"
check "a server and a client for each port" started '^(server|client) -d mlx5_[01] -i 1 ' 4
check "by the GID that NCCL takes" started '^client .* -x 3 ' 2
check "the server listens to this machine alone" started '^server .*--bind_source_ip=127.0.0.1' 2
check "what they carried is in the figures" test "$(result '[(t["device"],t["port"],t["program"],t["gbps"],t["min_gbps"]) for t in f["traffic"]]')" = "[('mlx5_0', 1, 'ib_write_bw', 400.0, 300.0), ('mlx5_1', 1, 'ib_write_bw', 400.0, 300.0)]"
does mlx5_1 299
rdma
check "a port that carries less than its share: rdma.slow" verdict "failed rdma.slow"
check "is named, with limit and share" message_has "mlx5_1 port 1 carries 299.0 Gb/s from itself to itself, should be 300.0 (75 % of 400)"
check "and does not pass by itself" test "$rc" = 1
rdma '"traffic_percent":70'
check "the share is the configuration's" verdict "done"
rdma '"traffic":"off"'
does mlx5_1 299
rdma '"traffic":"off"'
check "and are not, then" test ! -e "$NODE/usr/bin/started"
check "which is done" verdict "done"
FIRSTBOOT_CHECK=full rdma
check "a check leaves the ports to the jobs" test ! -e "$NODE/usr/bin/started"
does mlx5_0 fail; does mlx5_1
rdma
check "a port that is up and carries nothing: rdma.traffic" verdict "failed rdma.traffic"
check "with the program's last words" message_has "mlx5_0 port 1: ib_write_bw from the port to itself ended with exit code 1: Couldn't allocate MR; failed to create mr; Failed to create MR"
check "tried again by the agent, for it may pass" test "$rc" = 75
check "the other port was tried too" started '^client -d mlx5_1' 1
check "nothing is left running" gone
rm -f "$NODE/usr/bin/once"; does mlx5_0 fail once
rdma
check "what fails once is tried once more on another TCP port" verdict "done"
does mlx5_0 silent; rdma
check "a program that ends well and names no bandwidth is not believed" verdict "failed rdma.traffic"
does mlx5_0 hang; rdma '"traffic_limit":"1s"'
check "one that hangs is ended: rdma.traffic" verdict "failed rdma.traffic"
check "and that is said" message_has "ib_write_bw from the port to itself did not end in time"
check "its server is gone too" gone
does mlx5_0 deaf; rdma '"traffic_limit":"1s"'
check "a server that never listens is ended" verdict "failed rdma.traffic"
check "no client was started for it" started '^client -d mlx5_0' 0
does mlx5_0 errors; rdma
check "errors that come with the data: rdma.errors-grow" verdict "failed rdma.errors-grow"
check "are named" message_has "mlx5_0 port 1: counters/symbol_error grew from 0 to 5 while it carried data"
good; does mlx5_0 gone; rdma
check "a device that goes away meanwhile" verdict "failed rdma.device-missing"
good; does mlx5_0 hang; does mlx5_1 hang; sysfs mlx5_2; rdma '"traffic_limit":"1s"'
check "two ports that hang are enough" started '^client -d mlx5_2' 0
good; touch "$NODE/usr/bin/old"; rdma
check "an ib_write_bw that cannot be told where to listen is used all the same" verdict "done"
check "and not told" started 'bind_source_ip' 0
good; for d in mlx5_0 mlx5_1; do echo 0 >"$NODE/sys/class/infiniband/$d/device/local_cpulist"; done; rdma
check "both halves run on the processors next to the card" started 'cpus=1$' 4
good; for d in mlx5_0 mlx5_1; do for w in current max; do echo 8 >"$NODE/sys/class/infiniband/$d/device/${w}_link_width"; echo "16.0 GT/s PCIe" >"$NODE/sys/class/infiniband/$d/device/${w}_link_speed"; done; done
does mlx5_0 90; does mlx5_1 90; rdma
check "a port behind a small slot is held to what the slot carries" verdict "done"
check "which is 75 % of 85 % of eight lanes" test "$(result '[t["min_gbps"] for t in f["traffic"]]')" = "[81.6, 81.6]"
good; rm -r "$NODE/sys"; sysfs mlx5_0 --layer InfiniBand; rdma
check "InfiniBand is named no GID" started '^(server|client) .* -x ' 0
check "and carries data" verdict "done"
fresh; sysfs mlx5_0; rdma
check "an image without perftest: done" verdict "done"
check "and that is in the log" grep -q 'mlx5_0 port 1 carries no test traffic: no ib_write_bw (perftest)' "$NODE/agent.log"
rdma '"traffic":"required"'
check "unless it must have it" verdict "failed rdma.no-test"
echo '#!/bin/sh' >"$NODE/usr/bin/ib_write_bw"; chmod +x "$NODE/usr/bin/ib_write_bw"
rdma
check "a program that only ends with 0 proves nothing" verdict "failed rdma.traffic"
if [[ -x /usr/bin/ib_write_bw && ! -e /sys/class/infiniband ]]; then
        ln -sf /usr/bin/ib_write_bw "$NODE/usr/bin/ib_write_bw"
        rdma
        check "the real ib_write_bw without a device: rdma.traffic" verdict "failed rdma.traffic"
        check "in its own words" message_has "Unable to find the Infiniband/RoCE device"
else
        echo "skip - the real ib_write_bw without a device: perftest is not installed, or there is a device"
fi

# --- EFA --------------------------------------------------------------------------------------------------------------
if [[ -x /usr/bin/fi_pingpong ]]; then
        fresh; sysfs rdmap0s6 --layer Unknown; ln -s "$TOP/tests/fixtures/fi_pingpong-over-tcp" "$NODE/usr/bin/fi_pingpong"
        rdma
        check "EFA: libfabric sends and compares (over TCP here): done" verdict "done"
        check "with the provider of EFA and the port's own domain" started '^-p efa -d rdmap0s6-rdm -e rdm -c -I 20 -S 1048576 -[BP] [0-9]+( 127.0.0.1)? shm=0$' 2
        check "and is in the figures, without a bandwidth" test "$(result 'f["traffic"]')" = "[{'device': 'rdmap0s6', 'port': 1, 'program': 'fi_pingpong'}]"
        ln -sf /usr/bin/fi_pingpong "$NODE/usr/bin/fi_pingpong"
        rdma
        check "the real program where its provider finds no device: rdma.traffic" verdict "failed rdma.traffic"
        check "in its own words" message_has "No data available"
        mkdir -p "$NODE/opt/amazon/efa/bin"; mv "$NODE/usr/bin/fi_pingpong" "$NODE/opt/amazon/efa/bin/"; rdma
        check "AWS' own build of it comes first" verdict "failed rdma.traffic"
else
        echo "skip - EFA's traffic: libfabric-bin is not installed"
fi
fresh; sysfs rdmap0s6 --layer Unknown; rdma
check "EFA without libfabric's programs: done" verdict "done"
check "which is said" grep -q 'rdmap0s6 port 1 carries no test traffic: no fi_pingpong (libfabric)' "$NODE/agent.log"
[[ -z $failed ]]
