#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A journald that hangs, as one does whose disk does not answer: nobody takes what is written to its sockets. The agent goes on.
#
# lane: clock
set -u
if [[ -z ${JOURNAL_INSIDE:-} ]]; then
        [[ $EUID -eq 0 ]] && unshare --mount true 2>/dev/null || { echo "root (a /run of its own)"; exit 77; }
        export JOURNAL_INSIDE=1
        exec unshare --mount --propagation private "$0" "$@"
fi
mount -t tmpfs none /run && mkdir -p /run/systemd/journal || exit 1
source tests/fixtures/node.bash
trap 'node_end; kill $holder 2>/dev/null' EXIT
failed=

# fill SOCKET: a socket at this path that nobody reads, full.
cat >"/run/fill" <<'P'
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
t = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
t.setblocking(False)
try:
    while True:
        t.sendto(b"MESSAGE=full\n", sys.argv[1])
except BlockingIOError:
    open(sys.argv[1] + ".full", "w")
time.sleep(3600)
P
# The agent with such a standard error, as systemd makes it.
cat >"/run/deaf" <<'P'
import os, socket, sys
a, b = socket.socketpair()
a.setblocking(False)
try:
    while True:
        a.send(b"x" * 4096)
except BlockingIOError:
    pass
a.setblocking(True)
os.set_inheritable(b.fileno(), True)
os.dup2(a.fileno(), 2)
os.dup2(a.fileno(), 1)
os.execv(sys.argv[1], sys.argv[1:])
P
python3 /run/fill /run/systemd/journal/socket & holder=$!
for _ in $(seq 1200); do [[ -e /run/systemd/journal/socket.full ]] && break; sleep 0.05; done
check "(the journal's socket is full)" test -e /run/systemd/journal/socket.full

node_new
step a '{}' <<<'[ ! -e $FIRSTBOOT_ROOT/bad ]'
node_boot
check "with a journald that hangs the node gets ready" node_wait ready 30
touch "$NODE/bad"
timeout 30 "$node_build/firstbootctl" rerun --wait a >/dev/null 2>&1
check "what goes wrong is told" node_wait failed 30
node_down
rm -rf "$NODE/run/firstboot"; rm "$NODE/bad"

agent_start() { python3 /run/deaf "$node_build/firstbootd" & agent_pid=$!; }
# Enough warnings to fill whatever room is left.
echo '{"metrics":{"directory":"/metrics"}}' >"$NODE/etc/firstboot/node.json"
mkdir -p "$NODE/metrics/firstboot.prom/in-the-way"
node_boot 2
check "nor is one waited for at the other end of its standard error" node_wait ready 30
node_down
kill "$holder"; wait "$holder" 2>/dev/null

# And one that listens gets everything.
cat >"/run/listen" <<'P'
import os, socket, sys
os.unlink(sys.argv[1])
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
with open(sys.argv[2], "wb", buffering=0) as f:
    while True:
        f.write(s.recv(1 << 20) + b"\n--\n")
P
python3 /run/listen /run/systemd/journal/socket /run/said & holder=$!
rm -rf "$NODE/run/firstboot" "$NODE/metrics"
step a '{}' <<<'result "{\"status\":\"degraded\",\"code\":\"host.sysctl\",\"message\":\"one\\ntwo\"}"'
for _ in $(seq 1200); do [[ -s /run/said ]] && break; python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"MESSAGE=hello", "/run/systemd/journal/socket")' 2>/dev/null; sleep 0.05; done
node_boot 3
check "(the node is degraded)" node_wait degraded 60
entry() { python3 -c '
import sys
entries = []
for part in open("/run/said", "rb").read().split(b"\n--\n"):
    e = dict(l.split(b"=", 1) for l in part.split(b"\n") if b"=" in l)
    entries.append({k.decode(): v.decode() for k, v in e.items()})
print(eval(sys.argv[1]))' "$1"; }
check "a journald that listens has the verdict, with its id" test "$(entry '[(e["CODE"], e["STEP"], e["PRIORITY"], len(e["MESSAGE_ID"])) for e in entries if e.get("CODE") == "event.degraded"]')" = "[('event.degraded', 'node', '4', 32)]"
check "and each step's reason, with what to do" test "$(entry '[(e["STEP"], e["ATTEMPT"], e["TEXT"], len(e["REMEDY"]) > 10) for e in entries if e.get("CODE") == "host.sysctl"]')" = "[('a', '1', 'one two', True)]"
[[ -z $failed ]]
