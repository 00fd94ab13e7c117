#!/bin/bash
# A Lustre file system on machines: hpc-head, made a server of Lustre too, and two nodes with the overlay lustre-client, whose step mounts has it before
# they are ready. What one node writes the other reads, in a user's jobs; then the network to the server is away, and comes back. Server and client are
# of Lustre's own source, the server's targets in its memory (osd-wbcfs). Compiling takes ten minutes of one processor.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/cluster.bash"
have_source lustre-2.17.57.tar.xz || exit 77
own_project
from_sources "$PROJECT" lustre-client || { echo "not ok - the overlay names the archive"; exit 1; }

# The server: the client's overlay, but for what makes it a client alone.
server=$PROJECT/overlays/lustre-server
cp -a "$PROJECT/overlays/lustre-client" "$server"
sed -i -e 's/--disable-server /--enable-server --disable-ldiskfs --without-zfs /' "$server/compile.sh"
cat >>"$server/compile.sh" <<'C'
install -D -t "$DESTDIR/usr/sbin" usr/sbin/l_getidentity
install -D -t "$DESTDIR/usr/lib/lustre" usr/lib/lustre/mount_osd_wbcfs.so
C
sed -i -e 's/"description": "[^"]*"/"description": "A Lustre server that keeps what it has in memory"/' \
        -e 's/"checks": \[/"services": { "enable": ["lustre-server.service"] },\n        "checks": [/' "$server/overlay.json"
mkdir -p "$server/files/etc/systemd/system" "$server/files/etc/modprobe.d" "$server/files/usr/local/sbin" "$PROJECT/overlays/lnet/files/etc/modprobe.d"
# Machines of a cluster file have two networks, and the first is QEMU's own, where all of them have the same address.
echo 'options lnet ip2nets="tcp 10.79.0.*"' | tee "$PROJECT/overlays/lnet/files/etc/modprobe.d/lnet.conf" >"$server/files/etc/modprobe.d/lnet.conf"
echo '{ "description": "Which of its networks Lustre takes" }' >"$PROJECT/overlays/lnet/overlay.json"
cat >"$server/files/etc/systemd/system/lustre-server.service" <<'U'
[Unit]
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/lustre-server

[Install]
WantedBy=multi-user.target
U
cat >"$server/files/usr/local/sbin/lustre-server" <<'S'
#!/bin/sh -eux
modprobe -a lnet ksocklnd ptlrpc osd_wbcfs mgs mdd mdt lod ofd osp lfsck
target() { # TYPE INDEX: one of the file system's
        mkdir -p "/srv/$1$2"
        OSD_WBC_FSNAME=fsx OSD_WBC_MGS_NID=10.79.0.1@tcp OSD_WBC_PRIMARY_MDT=1 OSD_WBC_TGT_TYPE=$1 OSD_WBC_INDEX=$2 \
                mount -t lustre lustre-wbcfs "/srv/$1$2"
}
target MDT 0
target OST 0
target OST 1
lctl set_param mdt.*.identity_upcall=NONE
S
chmod +x "$server/files/usr/local/sbin/lustre-server"
cat >"$RECIPES/fsx-head.json" <<'R'
{ "name": "fsx-head", "extends": "hpc-head", "overlays": ["lustre-server"], "packages": ["nftables"] }
R
cat >"$RECIPES/fsx-node.json" <<'R'
{ "name": "fsx-node", "extends": "cluster-node", "overlays": ["lustre-client", "lnet"],
  "node": { "mounts": [ { "what": "head:/home", "where": "/home" },
                        { "what": "10.79.0.1@tcp:/fsx", "where": "/fsx", "type": "lustre", "options": "flock" } ] } }
R
cat >"$E2E/cluster.json" <<'R'
{ "name": "fsx", "network": "10.79.0.0/24", "machines": [
  { "name": "head", "image": "fsx-head", "memory": "2560M" },
  { "name": "node", "count": 2, "image": "fsx-node", "memory": "1536M" } ] }
R
for name in fsx-head fsx-node; do
        SECONDS=0
        build "$name" --no-proof >"$E2E/build.log" 2>&1 # the boot is one
        s=$?
        check "$name builds" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
        echo "# $SECONDS s"
done

cat >"$E2E/commands" <<'C'
set -u
say() { echo "== $1"; }
alice() { su - alice -c "$1" 2>/root/err || { echo "exit code $?"; cat /root/err; }; }
for i in $(seq 120); do [ "$(sinfo -h -N -t idle -o %N | wc -l)" = 2 ] && break; sleep 1; done
say server; lctl dl | awk '{ print $3 }' | grep -cE '^(mgs|mdt|obdfilter)$'
say mounted; srun -N 2 findmnt -n -o SOURCE,FSTYPE,TARGET /fsx | sort | uniq -c | awk '{ $1 = $1; print }'
srun -N 2 findmnt -n -o OPTIONS /fsx >&2
say targets; srun -w node1 lfs df /fsx | grep -c '^fsx-'
srun -w node1 lfs df -h /fsx >&2
cluster user add alice --gid 9876 >/dev/null
srun -w node1 sh -c 'mkdir /fsx/alice; chown alice: /fsx/alice; lfs setstripe -c 2 -S 1M /fsx/alice'
say written; alice 'srun -w node1 bash -c "head -c 64M /dev/urandom >/fsx/alice/data; sha256sum </fsx/alice/data >/home/alice/sum; lfs getstripe -c /fsx/alice/data"'
say read; alice 'srun -w node2 bash -c "sha256sum </fsx/alice/data | grep -cxf /home/alice/sum; stat -c %U /fsx/alice/data"'
say lock; alice 'srun -N 2 bash -c "for i in \$(seq 50); do flock /fsx/alice/lock sh -c \"echo x >>/fsx/alice/lines\"; done"'; srun -w node1 sh -c 'wc -l </fsx/alice/lines'
say names; alice 'srun -w node2 bash -c "mkdir /fsx/alice/many; for i in \$(seq 300); do : >/fsx/alice/many/\$i; done"'; srun -w node1 sh -c 'ls /fsx/alice/many | wc -l'
# The server's network is away: whoever asks is held, and a job finds its node drained, with the reason, not hung.
nft add table ip away
nft add chain ip away in '{ type filter hook input priority 0; }'
nft add rule ip away in tcp dport 988 drop
say away; alice 'timeout 120 srun -w node1 true' >&2; for i in $(seq 60); do sinfo -h -R -n node1 -o %E | grep -q . && break; sleep 2; done; sinfo -h -R -n node1 -o %E | grep -oE 'mounts\.(hangs|not-readable)' | head -n 1; sinfo -R >&2
nft delete table ip away
# What the watch has found it lifts itself, once all has been well for watch.healthy and a full check has passed.
say back; for i in $(seq 240); do [ "$(sinfo -h -N -n node1 -t idle -o %N)" = node1 ] && break; sleep 5; done; alice 'timeout 120 srun -w node1 bash -c "sha256sum </fsx/alice/data | grep -cxf /home/alice/sum"'
say symbols; dmesg | grep -c 'Unknown symbol'; srun -N 2 sh -c 'dmesg | grep -c "LustreError.*LBUG"'
say end
C
cluster_run "$E2E/cluster.json"

says "the server has a management, a metadata and two object targets" server 4
says "each node has it mounted" mounted '2 10.79.0.1@tcp:/fsx lustre /fsx'
says "… and sees its targets" targets 3
says "a user's job writes 64 MB over both object targets" written 2
says "… which another node's job reads" read $'1\nalice'
says "two nodes append under one lock" lock 100
says "files that one makes the other lists" names 300
part away | grep -qE '^mounts\.(hangs|not-readable)$'
check "the server away: the node is drained for it, with the reason" $?
says "the server is back: the node comes back by itself, and a job reads what was written" back 1
says "no symbol was missing, no assertion failed" symbols $'0\n0\n0'
exit $rc
