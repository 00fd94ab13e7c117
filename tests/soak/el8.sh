#!/bin/bash
# A vendor's image of release 8 as a base: rpm with Berkeley DB, systemd without credentials. It is an EL-like distribution of Debian 11's packages as
# RPMs, the oldest that there is: rpm 4.16, glibc 2.31, OpenSSL 1.1.1, curl 7.74, json-c 0.15, dracut 051, Linux 5.10, systemd 247. Locked, an overlay's package put in by
# its own rpm, the agent compiled in it, the same bytes in two stores, booted until its node is ready, with a secret as credential.
#
# EL8_SYSTEMD: a folder with what EL 8's own systemd 239 installs (github.com/redhat-plumbers/systemd-rhel8, branch rhel-8.10.0, compiled in a tree of
# Debian 11: meson -Dprefix=/usr -Drootprefix=/usr -Dsplit-usr=false -Dlibdir=/usr/lib/x86_64-linux-gnu -Drootlibdir=… -Dpamlibdir=…/security, then
# DESTDIR=… ninja install): it takes Debian's place, as library and headers for the agent too.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/el.bash"
export EL_RELEASE=8
el_project el8-parts
P=$W/parts V=$W/vendor
mkdir -p "$PROJECT/overlays/query"
echo '{ "description": "queries", "packages": { "debian": ["jq"], "el": ["jq"] }, "node": { "site": {} } }' >"$PROJECT/overlays/query/overlay.json"
mkdir -p "$PROJECT/overlays/query/files/etc/firstboot/steps.d"
echo '{ "exec": ["/usr/bin/true"] }' >"$PROJECT/overlays/query/files/etc/firstboot/steps.d/site.json"

"$IMGBUILD" build "$P/el8-parts.json" --cache "$CACHE" --progress plain >>"$W/log" 2>&1
s=$?
check "Debian's tree, whose rpm makes the vendor's, is built" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }

# vendor_tree: into V/new, by that tree's own rpm.
vendor_tree() (
        set -e
        layers=$("$IMGBUILD" plan "$P/el8-parts.json" --cache "$CACHE" --offline --json 2>>"$W/log" |
                python3 -c 'import json,sys; print(*reversed([sys.argv[1] + "/layers/" + s["digest"][:32] + "/tree" for s in json.load(sys.stdin)["stages"]]), sep=":")' "$CACHE")
        mkdir -p "$V"/{tree,upper,work,new/dev,new/proc}
        mount -t overlay overlay -o "lowerdir=$layers,upperdir=$V/upper,workdir=$V/work" "$V/tree"
        trap 'umount -R "$V/tree"' EXIT
        mkdir -p "$V"/tree/mnt/{new,rpms}
        mount --bind "$V/new" "$V/tree/mnt/new"
        mount --bind "$W/site/os/Packages" "$V/tree/mnt/rpms"
        mount -t proc proc "$V/tree/proc"
        mount -t proc proc "$V/tree/mnt/new/proc"
        mount --bind /dev "$V/tree/dev"
        mknod -m 666 "$V/new/dev/null" c 1 3
        # What compiles, and what the overlay brings, is not the vendor's.
        names=$(find "$W/site/os/Packages" -name '*.rpm' -printf '%f\n' | sort | grep -vE '^(.*-dev|gcc-10-[0-9]|gcc-[0-9.]+-|cpp|binutils|libctf|libbinutils|make|libcc1|libisl|libmpc|libmpfr|jq|libjq|libonig|libitm|libatomic|libquadmath|libc-dev-bin)[-0-9]')
        # shellcheck disable=SC2086
        chroot "$V/tree" env SYSTEMD_OFFLINE=1 rpm --root /mnt/new --dbpath /var/lib/rpm --define "_netsharedpath /proc" --nosignature --install \
                $(printf '/mnt/rpms/%s\n' $names)
)
vendor_tree >>"$W/log" 2>&1
s=$?
check "a vendor's tree is installed, its packages in Berkeley DB" $s
[[ $s -eq 0 && $(xxd -s 12 -l 4 -p "$V/new/var/lib/rpm/Packages") == 61150600 ]] || { tail -n 20 "$W/log"; exit 1; }

# own_systemd: EL 8's in place of Debian's, and the headers of its library in the repository.
own_systemd() (
        set -e
        cd "$V/new"
        for package in systemd udev libsystemd0 libudev1 libpam-systemd libnss-systemd systemd-timesyncd systemd-sysv; do chroot . rpm -ql "$package" || true; done |
                while read -r file; do [[ -d .$file && ! -L .$file ]] || rm -f ".$file"; done
        rm -f var/lib/rpm/__db.*
        cp -a --remove-destination "$EL8_SYSTEMD/." .
        rm -rf etc/systemd/system/{network-online.target.wants,multi-user.target.wants/systemd-networkd.service} # EL has NetworkManager
        rm -rf usr/include usr/lib/x86_64-linux-gnu/{libsystemd.so,libudev.so,pkgconfig}
        for name in halt poweroff reboot shutdown; do ln -sfn ../bin/systemctl "usr/sbin/$name"; done
        ln -sfn ../lib/systemd/systemd usr/sbin/init
        chroot . ldconfig
        D=$W/devel/libsystemd-dev L=usr/lib/x86_64-linux-gnu
        mkdir -p "$D/files/$L/pkgconfig" "$D/files/usr/include"
        cp -a "$EL8_SYSTEMD/usr/include/systemd" "$D/files/usr/include/"
        cp -a "$EL8_SYSTEMD/$L/libsystemd.so" "$D/files/$L/"
        cp -a "$EL8_SYSTEMD/$L/pkgconfig/libsystemd.pc" "$D/files/$L/pkgconfig/"
        printf 'Package: libsystemd-dev\nVersion: 239-82\nProvides: systemd-devel\n' >"$D/control"
        rm -rf "$W/site/os/repodata" "$W"/site/os/Packages/libsystemd-dev-*
        "$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" "$W/devel" "$W/site/os"
)
systemd=247
if [[ -n ${EL8_SYSTEMD:-} ]]; then
        systemd=239
        own_systemd >>"$W/log" 2>&1
        s=$?
        check "with EL 8's own systemd" $s
        [[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
fi
release=$(ls "$V/new/usr/lib/modules")
cp "$V/new/usr/lib/modules/$release/vmlinuz" "$V/new/boot/vmlinuz-$release"
cp "$V/new/usr/lib/modules/$release/config" "$V/new/boot/config-$release"
chroot "$V/new" depmod "$release"
echo '/dev/sda1 / ext4 defaults 0 1' >"$V/new/etc/fstab"
ln -sf ../usr/lib/os-release "$V/new/etc/os-release"
ln -s sshd.service "$V/new/usr/lib/systemd/system/ssh.service" # Debian's cloud-init looks for it
echo 'of another boot' >"$V/new/var/lib/rpm/__db.001"
rm -f "$V/new/dev/null"
truncate -s 901M "$V/vendor.raw"
printf '1M,900M\n' | sfdisk -q "$V/vendor.raw" && mke2fs -q -F -t ext4 -E offset=$((1 << 20)) -d "$V/new" "$V/vendor.raw" 900M 2>>"$W/log"
check "a disk is made of it" $?
cat >"$RECIPES/el8.json" <<R
{
        "name": "el8",
        "base": { "image": "$V/vendor.raw", "repositories": { "os": { "uri": "file://$W/site/os/", "key": "os.asc", "fingerprint": "$(<"$W/key/fingerprint")" } } },
        "kernel": { "cmdline": "console=tty0 console=ttyS0,115200 no_timer_check" },
        "overlays": ["firstboot", "query"],
        "disk": { "formats": ["raw"] }
}
R
build el8 >>"$W/log" 2>&1
s=$?
check "it is the base of a disk, the agent compiled in it, every check passed and the disk read back" $s
[[ $s -eq 0 ]] || { tail -n 60 "$W/log"; exit 1; }
python3 - "$RECIPES/el8.lock.json" "$OUT/el8/manifest.json" <<'P'
import json, sys
lock, manifest = (json.load(open(f)) for f in sys.argv[1:])
assert lock["image"]["release"] == "8.10", lock["image"]
added = {p["name"] for s in lock["stages"] if not s["id"].startswith("compile") for p in s["packages"]}
assert added == {"jq", "libjq1", "libonig5"}, added
vendors = {p["name"] for p in manifest["image_packages"]}
assert {"rpm", "kernel-core", "bash"} < vendors and not vendors & added, vendors
P
check "… of which only what was missing is locked, and the manifest names every package of the vendor's" $?
echo '[{"id": "X", "affected": [{"package": {"ecosystem": "Rocky Linux:8", "name": "el-like"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}]}]' >"$W/osv.json"
"$IMGBUILD" inspect "$OUT/el8/el8.raw" --json --vulnerabilities "$W/osv.json" --cache "$CACHE" --progress plain >"$W/inspected" 2>>"$W/log"
python3 - "$W/inspected" "$OUT/el8/manifest.json" <<'P'
import json, sys
o, manifest = (json.load(open(f)) for f in sys.argv[1:])
there = {(p["name"], p["version"]) for p in o["packages"]}
ours = {(p["name"], p["version"]) for key in ("packages", "image_packages") for p in manifest[key]}
assert o["problems"] == [] and there == ours, (o["problems"], there ^ ours)
assert [v["id"] for v in o["vulnerabilities"]] == ["X"] and "rpm" in o["vulnerabilities"][0]["binaries"], o["vulnerabilities"]
P
check "inspect reads them from the disk, and from Berkeley DB what they were made from" $?
root=$(manifest el8 disk.root_start)
! debugfs -R 'ls -p /var/lib/rpm' "$OUT/el8/el8.raw?offset=$root" 2>/dev/null | grep -qE '__db|\.dbenv\.lock'
check "nothing of a database that is open is left" $?

sum=$(sha256sum <"$OUT/el8/el8.raw")
mkdir -p "$W/second"
cp -al "$CACHE/blobs" "$W/second/"
"$IMGBUILD" build "$RECIPES/el8.json" --cache "$W/second" --output "$W/out" --locked --offline --no-proof --progress plain >>"$W/log" 2>&1
s=$?
[[ $s -eq 0 && $sum == "$(sha256sum <"$W/out/el8/el8.raw")" ]]
check "another store makes the same bytes" $?
rm -rf "$W/second" "$W/out"

echo key-of-the-site >"$W/credential"
cat >"$W/commands" <<'C'
echo "== systemd"; systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p'
echo "== rpm"; rpm -q kernel-core jq openssh-server | wc -l; echo '[1]' | jq .[0]
echo "== ready"; firstbootctl status --wait >/dev/null; echo $?
echo "== secret"; firstboot-get site.key; firstbootctl config | grep -c 'credential firstboot.site.key'; stat -c %a /run/firstboot/config.json
echo "== failed"; systemctl --failed --no-legend | grep . || echo none
C
(cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/el8/el8.raw" --cache "$CACHE" --offline --progress plain --until ready --timeout 900 \
        --load-credential "firstboot.site.key:$W/credential" --save "$W/save" -- "$(cat "$W/commands")") >"$W/said" 2>"$W/boot.log"
s=$?
check "it boots until the node is ready" $s
[[ $s -eq 0 ]] || { tail -n 40 "$W/boot.log" "$W/said"; exit 1; }
part() { sed -n "/^== $1\$/,/^== /{/^== /!p}" "$W/said"; }
[[ $(part systemd) == "$systemd" && $(part rpm) == $'3\n1' && $(part ready) -eq 0 ]]
s=$?
check "… with that systemd, and rpm knows what is there" $s
[[ $s -eq 0 ]] || cat "$W/said"
[[ $(part secret) == $'key-of-the-site\n1\n600' ]]
s=$?
check "… a credential that its systemd knows nothing of is the agent's" $s
[[ $s -eq 0 ]] || cat "$W/said"
[[ $(part failed) == none ]]
s=$?
check "… and no unit has failed" $s
[[ $s -eq 0 ]] || part failed
[[ $rc -ne 0 ]] || rm -rf "$V"
exit $rc
