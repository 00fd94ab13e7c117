#!/bin/bash
# The tarball is reproducible; the Debian packages are built from it in a clean tree, lintian finds no error in them, and
# installed over the host's files (in an overlay that nobody else sees) they work and can be removed again.
#
# long: yes
set -u
cd "$TOP" || exit 1
for program in dh dpkg-buildpackage lintian; do
        command -v $program >/dev/null || { echo "$program is missing: apt install debhelper dpkg-dev lintian"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
check() { # NAME STATUS
        if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi
}

export XZ_OPT=-0 # three tarballs, which nobody downloads
version=$(sed -n 's/^VERSION := //p' firstboot/version.mk)
tarball=dist/imgbuild-$version.tar.xz
make -s dist BUILD="$work/a" >"$work/log" 2>&1 && make -s dist BUILD="$work/b" >>"$work/log" 2>&1 && cmp "$work/a/$tarball" "$work/b/$tarball"
check "make dist gives the same bytes twice" $?
[[ $rc -eq 0 ]] || { cat "$work/log"; exit 1; }
if [[ -e .git ]]; then
        diff <(git ls-files | while IFS= read -r f; do [[ ! -e $f && ! -L $f ]] || echo "imgbuild-$version/$f"; done | sort) <(tar -tf "$work/a/$tarball" | sort)
        check "the tarball has git's tracked files and no others" $?
fi
mkdir "$work/unpacked"
tar -C "$work/unpacked" -xf "$work/a/$tarball"
touch "$work/unpacked/imgbuild-$version/left-over.o"
make -s -C "$work/unpacked/imgbuild-$version" dist BUILD="$work/c" >"$work/log" 2>&1 && cmp "$work/a/$tarball" "$work/c/$tarball"
check "make dist in the unpacked tarball gives the same bytes again" $?

# Nothing here depends on the optimisation, and it takes most of the time.
DEB_BUILD_OPTIONS="noopt nocheck noautodbgsym parallel=$(nproc)" DEB_CFLAGS_STRIP=-g make -s deb BUILD="$work/a" >"$work/log" 2>&1
packages=("$work/a/deb/firstboot_${version}_"*.deb "$work/a/deb/imgbuild_${version}_"*.deb)
[[ ${#packages[@]} -eq 2 && -e ${packages[0]} && -e ${packages[1]} ]]
check "make deb makes the packages imgbuild and firstboot" $?
[[ $rc -eq 0 ]] || { cat "$work/log"; exit 1; }
[[ -z $(find "$work/a/deb" -mindepth 1 -type d) ]]
check "nothing is left of the build" $?

lintian --allow-root --tag-display-limit 0 --fail-on error "${packages[@]}" >"$work/lintian" 2>&1
check "lintian finds no errors" $?
[[ $rc -eq 0 ]] || cat "$work/lintian"

for p in "${packages[@]}"; do dpkg-deb -c "$p"; done >"$work/contents"
! awk '{ print $6 }' "$work/contents" | grep -vE '^\./((usr/((bin|lib|share)/.*)?)|(etc/(firstboot/.*)?)|(var/(lib/(firstboot/)?)?))?$'
check "no file is where packages own nothing" $?
# Links to programs under other names, inside of /usr.
! awk '($1 !~ /^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--)$/ && !($1 == "lrwxrwxrwx" && $NF ~ /^(\.\.\/\.\.\/bin\/)?[a-z0-9-]+$/)) || $2 != "root/root"' "$work/contents" | grep .
check "files are root's, nobody else writes them, none has special rights" $?
! awk '$1 !~ /^d/ { print $6 }' "$work/contents" | sort | uniq -d | grep .
check "the packages have no file in common" $?
scripts=$(for p in "${packages[@]}"; do dpkg-deb --ctrl-tarfile "$p" | tar -t; done | grep -E '(pre|post)(inst|rm)$')
[[ -z $scripts ]]
check "no maintainer script starts anything on a build host" $?
dpkg-deb -f "${packages[1]}" Depends >"$work/depends"
lacks=0
for p in mmdebstrap bubblewrap libguestfs-tools uidmap fdisk gpg gpg-agent gpgv apt-utils dpkg-dev openssh-client libjson-c5 libcurl; do
        grep -q "$p" "$work/depends" || { echo "# imgbuild does not depend on $p"; lacks=1; }
done
check "imgbuild depends on the programs that it runs" $lacks

if [[ $EUID -ne 0 ]]; then
        echo "skip - installed and removed: needs root for an overlay of the host's files"
        exit $rc
fi

# --- in the overlay, as root of a mount namespace of its own ----------------------------------------------------------
cat >"$work/inside" <<'INSIDE'
cd /
check() {
        if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; return 1; fi
}
rc=0 work=$1
export HOME=/root TERM=dumb
# The host's own dependencies are tests/deps' business; and some containers keep manual pages out.
dpkg -i --force-depends --no-triggers --path-include='/usr/share/man/*' --path-include='/usr/share/doc/*' "$work"/a/deb/*.deb >"$work/dpkg" 2>&1
check "dpkg installs them" $?
[[ $rc -eq 0 ]] || cat "$work/dpkg"

[[ $(imgbuild --version) == *"$2"* ]]
check "imgbuild --version" $?
imgbuild plan --help | grep -q '^imgbuild plan RECIPE'
check "imgbuild plan --help" $?
imgbuild plan --offline --cache="$work/cache" /usr/share/imgbuild/images/debian-13-cpu.json >"$work/plan" 2>&1
# Without a network there is no lock, but recipe and overlays were found and understood.
! grep -iE 'overlay|unknown|cannot (read|open)|json:' "$work/plan" && grep -qiE 'offline|lock' "$work/plan"
check "imgbuild plan finds the installed recipes and overlays" $?
[[ $rc -eq 0 ]] || cat "$work/plan"
grep -aq /usr/share/imgbuild /usr/bin/imgbuild && ! grep -aq /usr/local/share/imgbuild /usr/bin/imgbuild
check "imgbuild looks for its data below /usr" $?
[[ -e /usr/share/imgbuild/firstboot/Makefile && -e /usr/share/imgbuild/firstboot/ncclbench/kernels.ptx.inc ]]
check "the agent's sources are there for the images" $?

firstbootctl --help | grep -q firstbootctl
check "firstbootctl --help" $?
ncclbench --version | grep -q '^ncclbench '
check "ncclbench --version" $?
missing=$(for f in /usr/bin/imgbuild /usr/bin/firstbootctl /usr/bin/ncclbench /usr/lib/firstboot/*; do
        [[ ! -x $f || -d $f ]] || ldd "$f" | grep 'not found'; done)
[[ -z $missing ]]
check "all programs find their libraries" $?
[[ -z $missing ]] || echo "# $missing"

units=(/usr/lib/systemd/system/firstboot*.service /usr/lib/systemd/system/firstboot*.timer /usr/lib/systemd/system/node-ready.target)
systemd-analyze verify --man=no "${units[@]/firstboot@.service/firstboot@host.service}" >"$work/verify" 2>&1
status=$?
# systemd before 254 has no ImportCredential= and says so.
! grep -E 'firstboot|node-ready' "$work/verify" | grep -v "Unknown key 'ImportCredential'" && [[ $status -eq 0 ]]
check "systemd-analyze verify finds no fault in the units" $?
[[ $status -eq 0 ]] || cat "$work/verify"
! find /etc/systemd/system -name 'firstboot*' -o -name 'node-ready*' | grep .
check "no unit is enabled" $?
xmllint --noout --nonet /usr/share/dbus-1/system.d/org.imgbuild.FirstBoot1.conf \
        /usr/share/polkit-1/actions/org.imgbuild.FirstBoot1.policy
check "the D-Bus and polkit files are XML" $?

pages=$(dpkg -L imgbuild firstboot | grep '/man/.*\.gz$')
bad=0
for page in $pages; do
        name=${page##*/} name=${name%.gz}
        [[ $(MANPATH=/usr/share/man man -w "${name##*.}" "${name%.*}" 2>/dev/null) == "$page" ]] || { echo "# man -w does not find $name"; bad=1; }
        [[ -z $(zcat "$page" | LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l - 2>&1 >/dev/null) ]] || { echo "# groff warns of $name"; bad=1; }
done
if command -v man >/dev/null; then
        [[ $bad -eq 0 && $(wc -w <<<"$pages") -ge 15 ]]
        check "man finds the pages, and groff has nothing to complain about" $?
else
        echo "skip - manual pages: man is missing"
fi

complete_with() { # PROGRAM WORD…: what bash offers for the last word
        local COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=() function
        . "/usr/share/bash-completion/completions/$1" || return 1
        function=$(complete -p "$1" | sed 's/.* -F \([^ ]*\).*/\1/')
        "$function" 2>/dev/null
        echo "${COMPREPLY[*]}"
}
[[ $(complete_with ncclbench --data) == --datatype= && $(complete_with ncclbench all_r) == all_reduce ]]
check "bash completes ncclbench" $?
for f in /usr/share/bash-completion/completions/{imgbuild,firstbootctl}; do
        [[ -e $f ]] || continue
        [[ $(complete_with "${f##*/}" "${f##*/}" --hel) == *--help* ]]
        check "bash completes ${f##*/}" $?
done
if command -v zsh >/dev/null; then
        bad=0
        for f in $(dpkg -L imgbuild firstboot | grep /vendor-completions/_); do zsh -n "$f" || bad=1; done
        check "zsh can read its completions" $bad
else
        echo "skip - zsh's completions: zsh is missing"
fi

dpkg --no-triggers --purge imgbuild firstboot >"$work/dpkg" 2>&1
purged=$?
left=$(ls -d /usr/share/imgbuild /usr/lib/firstboot /etc/firstboot /usr/bin/ncclbench 2>/dev/null)
[[ $purged -eq 0 && -z $left ]]
check "purged, they leave nothing behind" $? || sed 's/^/# /' "$work/dpkg" <(find $left)
exit $rc
INSIDE
mkdir "$work/overlay"
unshare --mount --net bash -c '
        set -e
        mount -t tmpfs tmpfs "$1/overlay"
        mkdir "$1/overlay/upper" "$1/overlay/work" "$1/overlay/root"
        mount -t overlay -o "lowerdir=/,upperdir=$1/overlay/upper,workdir=$1/overlay/work" packages "$1/overlay/root"
        for f in proc sys dev; do mount --rbind /$f "$1/overlay/root/$f"; done
        mount --bind "$1" "$1/overlay/root$1"
        exec chroot "$1/overlay/root" bash "$1/inside" "$1" "$2"' unshare "$work" "$version"
check "the installed packages work" $?
exit $rc
