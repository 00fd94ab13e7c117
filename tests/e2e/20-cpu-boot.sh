#!/bin/bash
# debian-13-cpu under OVMF with four NVMe disks and a root disk larger than the image. As its kernel and its systemd hand out
# cgroups, what imgbuild does with one is seen there, too: a double of a greedy command, on imgbuild's own code.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
project
build debian-13-cpu >"$E2E/build.log" 2>&1 || { tail -n 40 "$E2E/build.log"; echo "not ok - debian-13-cpu builds"; exit 1; }
source "$TOP/tests/e2e/guest.bash"

make -s -C "$TOP" "$BUILD/tests/fixtures/greedy" >"$E2E/out" 2>&1 && strip -o "$E2E/greedy" "$TOP/$BUILD/tests/fixtures/greedy"
check "the greedy double is made" $?
# By the seed: an argument of a command may have 128 KiB.
user_data_more="write_files:
  - path: /var/tmp/greedy
    permissions: '0755'
    encoding: gz+b64
    content: $(gzip -9 <"$E2E/greedy" | base64 -w 0)"

boot_image debian-13-cpu '' "
        for what in memory processes killed nothing; do
                echo \"echo \$what:; /var/tmp/greedy \$what 2>&1; echo end:\"
        done >/var/tmp/try
        systemd-run -q -p Delegate=yes --wait --pipe sh /var/tmp/try
        echo outside:; /var/tmp/greedy memory; echo end:" || exit 1
seen_in_guest
check "the guest shows four NVMe disks" "$([[ $(fact nvme) == 4 ]]; echo $?)"

# said WHAT PATTERN: by the double
said() { sed -n "/^$1:/,/^end:/p" "$E2E/debian-13-cpu.facts" | grep -q "$2"; }
said memory '^1 in use' && said memory 'the kernel ended it; limits.memory allows 64.0 MiB' && said memory '^0 left'
check "a unit with Delegate=yes: the kernel ends what takes too much memory; its cgroup is gone afterwards" $?
said processes '^1 in use' && said processes 'limits.processes allows 20' && said processes '^0 left'
check "a unit with Delegate=yes: what asks for too many processes is ended; its cgroup is gone afterwards" $?
said killed '^1 in use' && ! said killed ' left$' && said nothing '^1 in use' && said nothing '^went well' && said nothing '^0 left'
check "what kill -9 left of a cgroup is swept by the next" $?
said outside 'no cgroup'
check "in a session that was not left to imgbuild nothing is made" $?
[[ $rc -eq 0 ]] || sed -n '/^memory:/,$s/^/# /p' "$E2E/debian-13-cpu.facts"
exit $rc
