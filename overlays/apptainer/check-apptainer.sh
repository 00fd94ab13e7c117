#!/bin/sh
# Apptainer runs, without any right of root's; what it calls is there; users' calls go through the program that knows the scratch volume.
set -eu
fail() { echo "$1"; exit 1; }
[ -x /usr/bin/apptainer ] || fail "/usr/bin/apptainer is missing"
said=$(/usr/bin/apptainer version 2>&1) || fail "apptainer does not run: $(echo "$said" | tail -n 1)"
package=$(dpkg-query -W -f '${Version}' apptainer)
[ "${said%%-*}" = "${package%%[-~+]*}" ] || fail "apptainer says that it is $said, its package is $package"
helpers=/usr/libexec/apptainer/bin
[ ! -e "$helpers/starter-suid" ] || fail "$helpers/starter-suid is there: a program that is root's for everybody"
for program in starter squashfuse_ll fuse-overlayfs; do [ -x "$helpers/$program" ] || fail "$helpers/$program is missing"; done
for program in newuidmap newgidmap fakeroot fusermount3; do command -v "$program" >/dev/null || fail "$program is missing, which apptainer calls"; done
for program in apptainer singularity; do
        found=$(PATH=/usr/local/bin:/usr/bin command -v "$program")
        [ "$found" = "/usr/local/bin/$program" ] || fail "$program is $found: what it unpacks would go to /tmp and the home folder"
done
[ -e /etc/apptainer/apptainer.conf ] || fail "/etc/apptainer/apptainer.conf is missing"
