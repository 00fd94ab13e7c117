#!/bin/sh
# Apptainer runs, without any right of root's; what it calls is there; users' calls go through the program that knows the scratch volume.
set -eu
fail() { echo "$1"; exit 1; }
[ -x /usr/bin/apptainer ] || fail "/usr/bin/apptainer is missing"
said=$(/usr/bin/apptainer version 2>&1) || fail "apptainer does not run: $(echo "$said" | tail -n 1)"
if command -v dpkg-query >/dev/null; then
        package=$(dpkg-query -W -f '${Version}' apptainer)
else
        # rpm's database wants to be written beside, even for who only reads it.
        database=$(mktemp -d)
        trap 'rm -rf "$database"' EXIT
        cp "$(rpm --eval '%_dbpath')"/* "$database"
        package=$(rpm --dbpath "$database" -q --queryformat '%{VERSION}' apptainer)
fi
[ "${said%%-*}" = "${package%%[-~+]*}" ] || fail "apptainer says that it is $said, its package is $package"
# The vendor's package has what it calls in a folder of its own, Debian's takes other packages' programs.
for helpers in /usr/libexec/apptainer/bin /usr/lib/*/apptainer/bin; do [ ! -d "$helpers" ] || break; done
setuid=$(find "${helpers%/bin}" /usr/bin/apptainer -perm /6000 -o -name starter-suid | head -n 1)
[ -z "$setuid" ] || fail "$setuid is there: a program that is root's for everybody"
[ -x "$helpers/starter" ] || fail "$helpers/starter is missing"
for program in squashfuse_ll fuse-overlayfs; do
        PATH=$helpers:$PATH command -v "$program" >/dev/null || fail "$program is missing, which apptainer calls"
done
for program in newuidmap newgidmap fakeroot fusermount3; do command -v "$program" >/dev/null || fail "$program is missing, which apptainer calls"; done
for program in apptainer singularity; do
        found=$(PATH=/usr/local/bin:/usr/bin command -v "$program")
        [ "$found" = "/usr/local/bin/$program" ] || fail "$program is $found: what it unpacks would go to /tmp and the home folder"
done
[ -e /etc/apptainer/apptainer.conf ] || fail "/etc/apptainer/apptainer.conf is missing"
for path in $(sed -n 's/^bind path = //p' /etc/apptainer/apptainer.conf); do
        [ -e "${path%%:*}" ] || fail "${path%%:*} is missing, which apptainer.conf has bound into each container: none would start"
done
