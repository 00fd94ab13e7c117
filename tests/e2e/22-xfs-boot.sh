#!/bin/bash
# The disk of 15-disk.sh that is another in everything: an XFS root, booted by BIOS. 20-cpu-boot.sh boots ext4 by UEFI.
#
# lane: machine
# after: e2e/15-disk cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
own_project
disk_xfs
build disk-xfs >"$E2E/log" 2>&1 || { tail -n 40 "$E2E/log"; echo "not ok - disk-xfs builds"; exit 1; } # nothing to do after 15-disk

# A unit that fails when multi-user is long reached, and is seen all the same: it says what the root is, too.
cat >"$E2E/late.service" <<'E'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo root is $$(df -B1 --output=fstype,size / | tail -n 1); sleep 5; exit 1'
E
printf '[Unit]\nWants=late.service\n' >"$E2E/late.conf"

# From the project, whose lock of the tools tree is the one that the image was made with. The shell that it ends in is one by ssh: the
# console of 25-boot-trouble.sh is for guests that do not answer.
(cd "$PROJECT" && exec "$TOP/tests/e2e/typed" "A shell of root's in the guest" '' ':~#' 'echo "$(id -un) by ${SSH_CONNECTION%% *}"; exit\r' -- \
        "$IMGBUILD" boot "$OUT/disk-xfs/disk-xfs.qcow2" --firmware bios --disk-size 20G --cache "$CACHE" --progress plain --until multi-user \
        --strict --on-error=shell --load-credential "systemd.extra-unit.late.service:$E2E/late.service" \
        --load-credential "systemd.unit-dropin.multi-user.target:$E2E/late.conf" \
        --timeout 900 --save "$E2E/disk-xfs.boot" -- echo the command ran) >"$E2E/log" 2>&1
s=$?
grep -q 'multi-user reached after' "$E2E/log"
check "the XFS disk boots by BIOS" $?
[[ $s -eq 1 ]] && grep -q -- '--strict: failed in the guest: late.service ' "$E2E/log" && ! grep -q '^the command ran' "$E2E/log"
check "a unit that fails after the marker fails a strict boot, by name" $?
grep -q 'root by 10[.]' "$E2E/log"
check "--on-error=shell: a shell of root's by ssh in a guest whose services are up" $?
[[ $rc -eq 0 ]] || tail -n 40 "$E2E/log" "$E2E/disk-xfs.boot/console.log"
sed -n 's/.*: root is //p' "$E2E/disk-xfs.boot/journal.log" >"$E2E/xfs.df"
read -r type size < <(tail -n 1 "$E2E/xfs.df")
[[ $type == xfs && $size -gt $((18 << 30)) ]]
check "its root has grown to the volume" $?
exit $rc
