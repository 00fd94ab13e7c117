#!/bin/bash
# Packages that mean harm, installed into a real tree by its own dpkg: what their scripts try, what they leave behind, and packages
# that are broken on purpose; sources and results of compile stages. Each says what must happen. What archives, overlays, locks and repositories try is in
# tests/unit/builder/stage/test-unpack.c, recipe/test-overlay*.c, tests/cli/lock*.sh; docs/security.md has the list.
#
# lane: compute
# after: e2e/15-stages
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/small.bash"
O=$W/overlays/hostile
D=$W/debs
mkdir -p "$W/images" "$D" "$O"
echo outside >"$W/canary"
chmod 0600 "$W/canary"
cat >"$W/images/small.json" <<'E'
{ "name": "small", "kind": "tree", "overlays": ["hostile"],
  "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] } }
E

# hostile NAME…: builds with these packages, $D/NAME.deb, and no others.
hostile() {
        local name list=
        for name; do
                cp "$D/$name.deb" "$W/site/$name.deb"
                list+="${list:+, }{ \"name\": \"$name\", \"version\": \"1\", \"install\": \"package\",
                        \"url\": \"http://127.0.0.1:$(cat "$W/port")/$name.deb\" }"
        done
        echo "{ \"description\": \"Means harm\", \"artifacts\": [$list] }" >"$O/overlay.json"
        small build >"$W/out" 2>&1
}
# deb NAME: of $D/NAME/, with a control file.
deb() {
        mkdir -p "$D/$1/DEBIAN" "$D/$1/usr/share/means-harm"
        : >"$D/$1/usr/share/means-harm/$1" # dpkg forgets a package without files
        printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: Nobody <nobody@example.invalid>\nDescription: means harm\n' \
                "$1" >"$D/$1/DEBIAN/control"
        chmod -f 0755 "$D/$1/DEBIAN"/p* || true
        dpkg-deb --root-owner-group --build "$D/$1" "$D/$1.deb" >/dev/null
}
# refused NAME EXIT-CODE PATTERN WHAT: its build fails so, and nothing of it is left in the store's drafts.
refused() {
        hostile "$1"
        local s=$?
        [[ $s -eq $2 ]] && grep -q "$3" "$W/out" && [[ $(cat "$W/canary") == outside ]]
        local wrong=$?
        check "$4" $wrong
        [[ $wrong -eq 0 ]] || { echo "# exit code $s"; tail -n 6 "$W/out" | sed 's/^/# /'; }
}
# ar NAME CONTROL DATA: a .deb of these two files, whatever is in them.
ar_deb() {
        (cd "$D" && rm -f "$1.deb" && echo 2.0 >debian-binary && cp "$2" control.tar.gz && cp "$3" data.tar.gz &&
                ar qS "$1.deb" debian-binary control.tar.gz data.tar.gz 2>/dev/null)
}
control() { # NAME: a sound control archive
        mkdir -p "$D/c"
        printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: N <n@example.invalid>\nDescription: x\n' "$1" >"$D/c/control"
        tar -C "$D/c" -czf "$D/control-$1" ./control
}
members() { # FILE PYTHON: a tar of what the lines add
        python3 - "$D/$1" "$2" <<'E'
import io, sys, tarfile
t = tarfile.open(sys.argv[1], "w:gz")
def add(name, kind=tarfile.REGTYPE, to="", text=b"x\n"):
    i = tarfile.TarInfo(name); i.type = kind; i.linkname = to; i.mode = 0o755
    i.size = len(text) if kind == tarfile.REGTYPE else 0
    t.addfile(i, io.BytesIO(text))
exec(sys.argv[2])
t.close()
E
}
in_tree() { small shell -- /bin/sh -c "$1" 2>>"$W/log"; }

# --- what a package's script tries: a line a try, "NAME refused" or "NAME DONE" ---------------------------------------------
mkdir -p "$D/climber/DEBIAN" "$D/climber/usr/bin"
cat >"$D/climber/DEBIAN/postinst" <<'E'
#!/usr/bin/perl
use strict;
use Socket;
open(my $report, ">", "/usr/share/climber") or die;
sub result { printf $report "%s %s\n", $_[0], $_[1] ? "DONE" : "refused"; }
sub call { my $name = shift; result($name, syscall(@_) >= 0); }
my $null = "\0" x 256;
call("mount-tmpfs", 165, my $a = "x", my $b = "/mnt", my $c = "tmpfs", 0, 0);
call("umount", 166, my $m = "/proc", 2);
call("pivot-root", 155, my $p = "/", my $q = "/mnt");
call("open-tree", 428, -100, my $t = "/", 1);
call("fsopen", 430, my $fs = "ext4", 0);
call("unshare-user", 272, 0x10000000);
call("unshare-mount", 272, 0x20000);
open(my $self, "<", "/proc/self/ns/mnt"); call("setns", 308, fileno($self), 0);
my $handle = pack("Ii", 8, 1) . "\2\0\0\0\0\0\0\0";
open(my $bound, "<", "/run/imgbuild/debs"); call("open-by-handle", 304, defined(fileno($bound)) ? fileno($bound) : -100, $handle, 0);
call("ptrace-first", 101, 16, 1, 0, 0);
call("vm-read", 310, 1, $null, 1, $null, 1, 0);
call("kexec", 246, 0, 0, 0, 0);
call("init-module", 175, $null, 16, my $e = "");
call("finit-module", 313, fileno($self), $e, 0);
call("bpf", 321, 0, $null, 64);
call("keyring", 250, 0, -3, 1);
call("userfaultfd", 323, 1);
call("io-uring", 425, 1, $null);
call("perf", 298, $null, 0, -1, -1, 0);
call("clock", 227, 0, pack("qq", 1, 0));
call("settimeofday", 164, pack("qq", 1, 0), 0);
call("reboot", 169, 0xfee1dead, 672274793, 0, 0);
call("swapon", 167, my $s = "/usr/share/climber", 0);
call("kernel-log", 103, 3, $null, 64);
call("iopl", 172, 3);
call("fanotify", 300, 0, 0);
call("quota", 179, 0x80000100, my $dq = "/dev/vda", 0, $null);
call("block-device", 133, my $dev = "/usr/share/disk", 0060600, 0xfe00);
call("af-alg", 41, 38, 5, 0);
call("vsock", 41, 40, 1, 0);
call("terminal", 16, 0, 0x5412, my $ch = "x");
# A chroot is allowed: what is outside of it is the tree still.
mkdir "/var/jail"; opendir(my $top, "/") or die; chroot("/var/jail"); chdir($top);
chdir("..") for 1 .. 30; chroot("."); chdir("/");
result("chroot-out", -e "CANARY" || ! -e "/usr/share/climber");
result("host-file", -e "CANARY" || -e "/..CANARY" || -e "/proc/1/rootCANARY");
result("first-process", open(my $one, "<", "/proc/1/environ"));
result("sysctl", open(my $sys, ">", "/proc/sys/kernel/core_pattern"));
result("sysrq", open(my $rq, ">", "/proc/sysrq-trigger"));
result("kernel-memory", grep { open(my $mem, "<", $_) } "/proc/kcore", "/dev/mem");
result("sysfs", grep { open(my $up, ">", $_) } "/sys/kernel/uevent_helper", "/sys/power/state");
result("cgroup-release", open(my $cg, ">", "/sys/fs/cgroup/release_agent"));
socket(my $sock, PF_INET, SOCK_STREAM, 6); result("host-network", connect($sock, pack_sockaddr_in(PORT, inet_aton("127.0.0.1"))));
my @fds = grep { $_ > 2 && readlink("/proc/self/fd/$_") =~ m{^/} } map { m{(\d+)$} } glob("/proc/self/fd/*");
result("descriptors", grep { readlink("/proc/self/fd/$_") !~ m{^/(usr|var|run/imgbuild|dev|proc|$|etc|tmp)} } @fds);
result("environment", grep { /SECRET/ } values %ENV);
exit 0;
E
sed -i "s|CANARY|$W/canary|g; s|PORT|$(cat "$W/port")|" "$D/climber/DEBIAN/postinst"
deb climber

# --- what a package leaves behind --------------------------------------------------------------------------------------------
mkdir -p "$D/planter/DEBIAN" "$D/planter/usr/bin"
cp /bin/true "$D/planter/usr/bin/root-me"
chmod 4755 "$D/planter/usr/bin/root-me"
cat >"$D/planter/DEBIAN/postinst" <<'E'
#!/usr/bin/perl
# cap_net_raw,cap_sys_admin+ep; a sparse file; names that are none; links where imgbuild writes and mounts.
my $caps = pack("VVVVV", 0x02000001, 1 << 13 | 1 << 21, 0, 0, 0);
system("cp", "/usr/bin/true", "/usr/bin/raw-me") == 0 or exit 1;
syscall(188, my $f = "/usr/bin/raw-me", my $n = "security.capability", $caps, 20, 0) == 0 or exit 2;
open(my $s, ">", "/usr/share/sparse") or exit 3; truncate($s, 2 << 30) or exit 4;
open(my $e, ">", "/usr/share/\e]0;owned\a\nname") or exit 5;
unlink "/etc/resolv.conf"; symlink("/../..CANARY", "/etc/resolv.conf") or exit 6;
mkdir "/usr/lib/imgbuild"; symlink("CANARY", "/usr/lib/imgbuild/not-reproducible");
exit 0;
E
sed -i "s|CANARY|$W/canary|g" "$D/planter/DEBIAN/postinst"
deb planter
HOSTILE_SECRET=SECRET hostile climber planter
s=$?
check "packages whose scripts try everything, and plant what they like, are installed" $s
[[ $s -eq 0 ]] || tail -n 20 "$W/out"
in_tree 'cat /usr/share/climber' >"$W/report"
[[ $(wc -l <"$W/report") -eq 42 ]]
check "its script came to its end" $?
while read -r name result; do
        [[ $result == refused ]]
        check "a script's way out: $name" $?
done <"$W/report"

[[ $(cat "$W/canary") == outside && $(stat -c %a "$W/canary") == 600 ]]
check "links where the resolver's configuration is mounted, and for files of the package, lead to nothing of the host's" $?
mapfile -t layers < <(small_digests | tr ' ' '\n' | cut -c1-32)
size=$(du -sc "${layers[@]/#/$CACHE/layers/}" | tail -n 1 | cut -f1)
[[ ${#layers[@]} -ge 3 && $size -lt 1500000 ]]
check "a sparse file of 2 GiB takes no room in the store" $?
small check --json >"$W/checked" 2>>"$W/log"
python3 - "$W/checked" <<'E'
import json, sys
p = {x["path"]: x for x in json.load(open(sys.argv[1]))["privileged"]}
assert p["/usr/bin/root-me"]["mode"] == "4755", p
assert p["/usr/bin/raw-me"]["capabilities"] == "cap_net_raw,cap_sys_admin", p
E
check "its set-uid program and its capabilities are listed" $?

# --- what the shims are told -------------------------------------------------------------------------------------------------
for what in link fifo large; do
        mkdir -p "$D/later-$what/DEBIAN"
        case $what in
        link) do="ln -s $W/canary" ;;
        fifo) do="mkfifo" ;;
        large) do='truncate -s 1G' ;;
        esac
        cat >"$D/later-$what/DEBIAN/postinst" <<E
#!/bin/sh
f=\$(find /run/imgbuild -type d -name 'later*' | head -n 1)
for n in py3compile update-initramfs mandb ldconfig; do rm -f "\$f/\$n"; $do "\$f/\$n"; done
exit 0
E
        deb "later-$what"
        hostile "later-$what"
        s=$?
        [[ $s -le 1 && $(cat "$W/canary") == outside ]] && ! in_tree 'grep -rqs outside /usr/lib /etc'
        s=$?
        check "a $what where imgbuild reads what is left to do: no file of the host's is read, nothing hangs" $s
        [[ $s -eq 0 ]] || tail -n 5 "$W/out" | sed 's/^/# /'
done

# --- packages that dpkg refuses: those that apt refuses already are in tests/cli/hostile-debs.sh ---------------------------------------------------------------------------------------
members empty ''
control through && members data 'add("./usr/share/way", tarfile.SYMTYPE, "'"$W"'"); add("./usr/share/way/canary")' &&
        ar_deb through "$D/control-through" "$D/data" && refused through 1 'through' "a package that writes through a link of its own"
control dots && members data 'add("./../../../../../../../../'"$W"'/canary")' && ar_deb dots "$D/control-dots" "$D/data" &&
        refused dots 1 'dots' "a package with a file above the root"
control device && members data 'add("./usr/share/disk", tarfile.BLKTYPE)' && ar_deb device "$D/control-device" "$D/data" &&
        refused device 1 'device' "a package with a device node"
control data && head -c 500 /dev/urandom >"$D/rubbish" && ar_deb data "$D/control-data" "$D/rubbish" && refused data 1 'data' "a package whose files are rubbish"
control hard && members data 'add("./usr/share/hard", tarfile.LNKTYPE, "'"$W"'/canary")' && ar_deb hard "$D/control-hard" "$D/data" &&
        refused hard 1 'hard' "a package with a hard link out of the tree"
mkdir -p "$D/failing/DEBIAN" && printf '#!/bin/sh\nkill -9 -1\nexit 1\n' >"$D/failing/DEBIAN/preinst" && deb failing &&
        refused failing 1 'exit code' "a script that kills all that it sees ends its own stage"
# --- archives of compile stages, and what their scripts leave as the stage's result -------------------------------------------------
# compiled NAME EXIT-CODE PATTERN WHAT SCRIPT: with $D/NAME.tar.gz, where there is one, as its source.
compiled() {
        local sources=
        if [[ -e $D/$1.tar.gz ]]; then
                cp "$D/$1.tar.gz" "$W/site/"
                sources=", \"artifacts\": [{ \"name\": \"$1\", \"version\": \"1\", \"url\": \"http://127.0.0.1:$(cat "$W/port")/$1.tar.gz\" }]"
        fi
        echo "{ \"description\": \"Means harm\", \"compile\": [{ \"script\": \"compile.sh\"$sources }] }" >"$O/overlay.json"
        printf '#!/bin/sh\nset -e\n%s\n' "$5" >"$O/compile.sh"
        chmod 0755 "$O/compile.sh"
        small build >"$W/out" 2>&1
        local s=$?
        [[ $s -eq $2 ]] && grep -q "$3" "$W/out" && [[ $(cat "$W/canary") == outside && $(grep -c 'error: ' "$W/out") -le 2 && ! -e $W/canary2 ]]
        local wrong=$?
        check "$4" $wrong
        [[ $wrong -eq 0 ]] || { echo "# exit code $s"; tail -n 6 "$W/out" | cut -c1-300 | sed 's/^/# /'; }
}
members bomb.tar.gz 'add("s/x", text=b"\0" * (300 << 20))'
compiled bomb 1 'bomb cannot be unpacked: .*decompression bomb' "a source that is a bomb" 'exit 0'
members hardlink.tar.gz 'add("s/x", tarfile.LNKTYPE, "s/../../../../../../../../../'"$W"'/canary")'
compiled hardlink 1 'hardlink cannot be unpacked' "a source with a hard link out" 'echo changed >"$ARTIFACTS/hardlink/x"'
members through.tar.gz 'add("s/x", tarfile.SYMTYPE, "'"$W"'"); add("s/x/canary2")'
compiled through 1 'through cannot be unpacked' "a source that writes through its own link" 'exit 0'
members climb.tar.gz 'add("s/../../../../../../../../'"$W"'/canary2")'
compiled climb 1 'climb cannot be unpacked' "a source that climbs" 'exit 0'
members plain.tar.gz 'add("s/x")'
compiled plain 0 '' "a source may be changed by its script, a link in it leads nowhere" 'ln -sf '"$W"'/canary "$ARTIFACTS/plain/x"; ! cat "$ARTIFACTS/plain/x"; mkdir "$DESTDIR/opt"; ln -s '"$W"'/canary "$DESTDIR/opt/leak"'
in_tree 'test -L /opt/leak && ! cat /opt/leak'
check "a link among the results is the image's, not what it leads to on the host" $?
compiled pipe 3 'DESTDIR/opt/pipe is neither file, folder nor link' "a pipe among the results" 'mkdir "$DESTDIR/opt"; mkfifo "$DESTDIR/opt/pipe"'
compiled folder 1 'a folder of the image is in the way' "a link among the results in place of the image's folder" 'ln -s '"$W"' "$DESTDIR/etc"'
compiled deep 1 'DESTDIR/.*cannot copy it into the image' "results of 5,000 levels" 'cd "$DESTDIR"; exec perl -e "for (1 .. 5000) { mkdir q(a); chdir q(a) or die }"'
compiled context 1 'hostile does not compile: the script ended with exit code 3' "a context without end" 'yes >"$IMGBUILD_CONTEXT" & sleep 1; kill $!; exit 3'

# Another script's build may be at work in the store: its folder is locked.
left=()
for folder in "$CACHE"/work/*; do
        [[ -d $folder ]] && flock -n "$folder" true 2>/dev/null && [[ -d $folder ]] && left+=("$folder")
done
[[ ${#left[@]} -eq 0 ]]
check "nothing of all this is left in the store's scratch" $?
exit $rc
