# Sourced after head.bash and containers.bash: one machine as machine_new makes them, of the overlay containerd-rootless, with a double of a
# registry (tests/fixtures/registry-double), and containerd of root's or of a user's without root.
#
#   rootless_recipe           writes $RECIPES/rootless.json, the tree
#   rootless_machine          after head_enter: the machine "node", its store in memory, and the registry: $first (its first process), $store,
#                             $port, $image
#   registry_mode WORD        what the registry does from now on
#   containerd_start          root's; ctr COMMAND… asks it, pull [IMAGE] pulls, with what was said in $out
#   user_able                 whether this kernel lets users make namespaces and network cards
#   user_start, user_stop     (1 where something of his runs on after it)
#                             usera's: rootlesskit, slirp4netns and containerd, as nerdctl's script starts them; own COMMAND… is beside it,
#                             octr COMMAND… asks it
#   starts N COMMAND…         COMMAND… with each of the names c1 … cN; the median in ms, or nothing where one failed
#   bypass4netns_overlay PROJECT ARCHIVE   an overlay of it that compiles bypass4netns from its source
#   bypass4netns_profile SOCKET            what a container's system calls are let through to, as its OCI seccomp profile
#   user_left                 whatever containers of usera's left behind, a line each

rootless_recipe() {
        cat >"$RECIPES/rootless.json" <<'R'
{ "name": "rootless", "kind": "tree", "base": { "distro": "debian", "release": "trixie" }, "overlays": ["containerd-rootless", "podman"],
  "packages": ["systemd", "iproute2", "e2fsprogs", "procps"] }
R
}

rootless_machine() {
        mkdir -p "$HEAD/pid" "$HEAD/registry"
        machine_new node && waits on node test -e /run/up || return 1
        first=$(pgrep -P "$(cat "$HEAD/pid/node")")
        store=/proc/$first/root/var/lib/containerd
        touch "$HEAD/node/root/etc/resolv.conf" "$HEAD/node/root/etc/hosts" # which containers with the host's network get
        on node mkdir -p /var/lib/containerd && on node mount -t tmpfs -o size=48M containerd /var/lib/containerd || return 1
        cp "$HEAD/pid/node" "$HEAD/pid/head" # it is asked for the libraries
        small_image "$HEAD/registry/image" "$HEAD/node/root"
        rm "$HEAD/pid/head"
        echo x >"$HEAD/registry/image/etc/of-42"
        "$TOP/tests/fixtures/registry-double" "$HEAD/registry" "$HEAD/registry/port" &
        registry_pid=$!
        waits test -s "$HEAD/registry/port" || return 1
        port=$(<"$HEAD/registry/port") image=127.0.0.1:$port/small:1
}
registry_mode() { echo "$1" >"$HEAD/registry/mode"; }

inside() { nsenter -t "$first" --mount --uts --pid --root --wd -- env -i PATH=/usr/sbin:/usr/bin "$@"; }
containerd_start() { launch node containerd containerd && waits on node ctr version; }
ctr() { on node ctr "$@"; }
pull() { timeout "${limit:-60}" nsenter -t "$first" --mount --uts --pid --root --wd -- env -i PATH=/usr/sbin:/usr/bin ctr images pull --plain-http "${1:-$image}" >"$out" 2>&1; }

user_able() { setpriv --reuid 20001 --regid 20000 --clear-groups unshare --user --mount true 2>/dev/null && [[ -c /dev/net/tun ]]; }
user_environment=(setpriv --reuid 10000 --regid 10000 --clear-groups env HOME=/home/usera XDG_RUNTIME_DIR=/run/user/10000 PATH=/usr/sbin:/usr/bin)
own_run=/run/user/10000/own

user_start() {
        if [[ ! -e $HEAD/node/root/usr/local/bin/own ]]; then
                on node useradd -m -d /home/usera -s /bin/bash -u 10000 usera && on node /usr/lib/rootless/user start 10000 &&
                        on node install -d -o 10000 -g 10000 -m 0700 /run/user/10000 || return 1
                cat >"$HEAD/node/root/usr/local/bin/own-containerd" <<'S'
#!/bin/bash
# Links of root's that came along with /run are in the way of what containerd and runc make there.
run=$XDG_RUNTIME_DIR/own
mkdir -p "$run"
printf 'version = 2\nroot = "%s"\nstate = "%s"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "%s"\n' \
        "$HOME/.local/share/containerd" "$run/state" "$run/containerd.sock" >"$run/config.toml"
exec rootlesskit --state-dir="$run/kit" --net=slirp4netns --mtu=65520 --port-driver=builtin --copy-up=/etc --copy-up=/run --propagation=rslave \
        sh -c 'rm -f /run/containerd /run/runc /run/xtables.lock; exec containerd -c "$1"' - "$run/config.toml"
S
                cat >"$HEAD/node/root/usr/local/bin/own" <<'S'
#!/bin/bash
exec nsenter -U --preserve-credentials -m -n -t "$(cat "$XDG_RUNTIME_DIR/own/kit/child_pid")" -- "$@"
S
                chmod +x "$HEAD"/node/root/usr/local/bin/own{,-containerd}
        fi
        launch node own "${user_environment[@]}" /usr/local/bin/own-containerd
        waits octr version
}
own() { on node "${user_environment[@]}" /usr/local/bin/own "$@"; }
octr() { own ctr -a $own_run/containerd.sock "$@"; }
user_stop() {
        inside pkill -o -u 10000 -x rootlesskit
        for _ in {1..50}; do inside pgrep -u 10000 >/dev/null || return 0; sleep 0.1; done
        return 1
}

starts() { # N COMMAND…
        local i from
        for ((i = 1; i <= $1; i++)); do
                from=$(date +%s%N)
                "${@:2}" "c$i" >>"$HEAD_LOG/starts.log" 2>&1 || return 1
                echo $((($(date +%s%N) - from) / 1000000))
        done | sort -n | awk '{ v[NR] = $1 } END { if (NR == '"$1"') print v[int((NR + 1) / 2)] }'
}
# Root's and usera's container of the image, which ends at once.
start_one() { ctr run --rm --net-host --cgroup '' "$image" "$1" bash -c true; }
# Without cgroups of his own, which systemd would give him, nothing can be limited.
user_start_one() { octr run --rm --cgroup '' --cpu-shares 0 "10.0.2.2:$port/small:1" "$1" bash -c true; }

user_left() {
        inside ps -o comm= -u 10000 | grep -vxE 'rootlesskit|slirp4netns|containerd|exe'
        octr containers ls -q
        octr tasks ls -q
        octr snapshots ls | grep Active
        octr leases ls | grep -v -e '^ID' -e gc.expire=
        own find $own_run/state/io.containerd.runtime.v2.task /run/containerd/fifo /run/containerd/runc "/mnt/localdisk/rootless/10000/containerd/tmpmounts" \
                -mindepth 2 2>/dev/null
        own cat /proc/self/mounts | grep -F /rootfs
        return 0
}

bypass4netns_overlay() { # PROJECT ARCHIVE
        local overlay=$1/overlays/bypass4netns
        mkdir -p "$overlay"
        cat >"$overlay/overlay.json" <<O
{ "description": "bypass4netns, compiled from its source",
  "packages": { "debian": ["libseccomp2"] },
  "compile": [ {
        "on": "base",
        "packages": { "debian": [ "golang-go", "gcc", "libc6-dev", "pkgconf", "libseccomp-dev", "golang-github-gorilla-mux-dev", "golang-github-opencontainers-specs-dev",
                "golang-github-seccomp-libseccomp-golang-dev", "golang-github-sirupsen-logrus-dev", "golang-github-spf13-pflag-dev",
                "golang-github-vtolstov-go-ioctl-dev", "golang-etcd-server-dev", "golang-golang-x-sys-dev" ] },
        "artifacts": [ { "name": "bypass4netns", "version": "0.4.2", "url": "file://$(realpath "$2")" } ],
        "script": "compile.sh" } ] }
O
        cat >"$overlay/compile.sh" <<'O'
#!/bin/bash
# What it imports is there as Debian's packages, for GOPATH mode.
set -euo pipefail
export GOPATH=$PWD/go:/usr/share/gocode GO111MODULE=off GOCACHE=$PWD/cache HOME=$PWD GOFLAGS=-trimpath
mkdir -p go/src/github.com/rootless-containers "$DESTDIR/usr/bin"
cp -a "$ARTIFACTS/bypass4netns" go/src/github.com/rootless-containers/
for program in bypass4netns bypass4netnsd; do
        go build -p "$JOBS" -o "$DESTDIR/usr/bin/$program" "github.com/rootless-containers/bypass4netns/cmd/$program"
done
O
        chmod +x "$overlay/compile.sh"
}

# The calls that bypass4netns 0.4 handles: its own documentation has the list.
bypass4netns_profile() { # SOCKET
        printf '{ "defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"], "listenerPath": "%s",\n' "$1"
        printf '  "syscalls": [ { "names": ["bind", "close", "connect", "setsockopt", "fcntl", "_exit", "exit_group", "getpeername"], "action": "SCMP_ACT_NOTIFY" } ] }\n'
}
