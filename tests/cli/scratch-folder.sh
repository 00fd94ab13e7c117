#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What overlays make for root's programs on the scratch volume, by their own units' commands, where a user has been before them: a folder
# with something in it, a link to root's, a link to his own. In a mount namespace of its own.
set -u
if [[ -z ${SCRATCH_INSIDE:-} ]]; then
        [[ $EUID == 0 ]] && unshare -m true 2>/dev/null || { echo "skip - scratch folders: no mount namespace can be had"; exit 77; }
        SCRATCH_INSIDE=1 exec unshare -m bash "$0"
fi
rc=0
mount --make-rprivate / 2>/dev/null
T=$(mktemp -d) || exit 1
trap '[[ -z ${crowd:-} ]] || kill "$crowd" 2>/dev/null; rm -rf "$T"' EXIT
chmod 0711 "$T"
mount -t tmpfs none /mnt && mkdir /mnt/localdisk && mount -t tmpfs -o mode=1777 none /mnt/localdisk || exit 1
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out"; find /mnt/localdisk "$T/roots" -ls | sed 's/^/# /'; rc=1; fi; }
user() { setpriv --reuid 20001 --regid 20001 --clear-groups "$@"; }
# The unit's commands one after the other, as systemd runs them; the overlay's helper from this tree.
run_unit() { # FILE
        local line
        while read -r line; do
                bash -c "${line//\/usr\/lib\/scratch-folder/$TOP/overlays/scratch-folder/files/usr/lib/scratch-folder}" || return 1
        done < <(sed -n 's/^ExecStart\(Pre\)\{0,1\}=+\{0,1\}//p' "$TOP/overlays/$1" | grep -v systemctl) >"$T/out" 2>&1
}
new() { umount /mnt/localdisk && mount -t tmpfs -o mode=1777 none /mnt/localdisk; rm -rf "$T/roots"; mkdir -m 0755 "$T/roots"; }
# What lies aside, of whom.
aside() { find /mnt/localdisk -mindepth 1 -maxdepth 1 -name "$1.found-*"; }

while read -r file name mode; do
        made() { [[ $(stat -c '%F %u %a' "/mnt/localdisk/$name") == "directory 0 $mode" ]]; }
        new
        run_unit "$file" && made
        check "$name: made for root" $?
        touch "/mnt/localdisk/$name/kept"
        run_unit "$file" && made && [[ -e /mnt/localdisk/$name/kept && -z $(aside "$name") ]]
        check "$name: once more, and it is the same" $?

        new
        user mkdir -p "/mnt/localdisk/$name/data/inside" "/mnt/localdisk/$name/tmp"
        user sh -c "echo his >/mnt/localdisk/$name/data/inside/file"
        run_unit "$file" && made && [[ -z $(find "/mnt/localdisk/$name" -user 20001) ]]
        check "$name: a user's folder is not taken for root's" $?
        [[ $(cat "$(aside "$name")/data/inside/file") == his && $(stat -c %u "$(aside "$name")") == 20001 ]]
        check "$name: … which he still has, aside" $?
        grep -q "/mnt/localdisk/$name belonged to .*(20001), and is /mnt/localdisk/$name.found-" "$T/out"
        check "$name: … and it is said" $?

        for target in "$T/roots" /mnt/localdisk/his /mnt/localdisk/nothing; do
                new
                user mkdir /mnt/localdisk/his
                user ln -s "$target" "/mnt/localdisk/$name"
                run_unit "$file" && made && [[ $(stat -c '%u %a' "$T/roots") == "0 755" && -z $(find "$T/roots" /mnt/localdisk/his -mindepth 1) &&
                        ! -e /mnt/localdisk/nothing && -L $(aside "$name") ]]
                status=$?
                check "$name: a user's link to $(basename "$target") is not followed" $status
        done
done <<'E'
enroot-common/files/etc/systemd/system/enroot-scratch.service enroot 755
apptainer/files/etc/systemd/system/apptainer-scratch.service apptainer 1777
docker/files/etc/systemd/system/docker-scratch.service docker 710
slurm-node/files/etc/systemd/system/slurmd.service.d/20-job-folder.conf jobs 755
E

# Somebody who makes it again and again is told of at the end, or loses.
new
make=$TOP/overlays/scratch-folder/files/usr/lib/scratch-folder/make
# Not by the function: what is killed below is to be the loop itself.
setpriv --reuid 20001 --regid 20001 --clear-groups bash -c 'while :; do mkdir /mnt/localdisk/jobs 2>/dev/null; done' &
crowd=$!
good=0
for _ in {1..20}; do
        rm -rf /mnt/localdisk/jobs
        "$make" 0755 /mnt/localdisk/jobs >"$T/out" 2>&1
        status=$?
        [[ $(stat -c '%F %u %a' /mnt/localdisk/jobs) == "directory 0 755" ]] || { [[ $status != 0 ]] && grep -q 'cannot be made: ' "$T/out"; } || break
        good=$((good + 1))
done
[[ $good -eq 20 ]]
check "a user who is at it all the time: it is root's, or said to be not" $?
kill "$crowd"
wait "$crowd" 2>/dev/null
crowd=
mount -o remount,ro /mnt/localdisk
"$make" 0755 /mnt/localdisk/other >"$T/out" 2>&1
[[ $? -ne 0 ]] && grep -q '/mnt/localdisk/other cannot be made: .*Read-only file system' "$T/out"
check "a volume that cannot be written to is named as such" $?
exit $rc
