#!/bin/bash
# The library in front of a tree's rpm: to it the time is the lock's, to what it starts its own; it asks for no library, nor for a version of a function.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
library=$PWD/$BUILD/rpm-clock.so
# perl's time() is the C library's.
said=$(SOURCE_DATE_EPOCH=1700000000 LD_PRELOAD=$library perl -e 'print time, " ", $ENV{LD_PRELOAD} // "none", " ", `perl -e "print time"`')
read -r inside preload below <<<"$said"
[[ $inside -eq 1700000000 && $preload == none ]]
check "the time is SOURCE_DATE_EPOCH" $?
[[ $below -gt 1700000000 && $below -ge $(($(date +%s) - 60)) ]]
check "… and not that of what is started" $?
! objdump -p "$library" | grep -q NEEDED && ! objdump -T "$library" | grep -qE 'UND.*(GLIBC|\()'
check "any C library will do" $?
cmp -s <(python3 - "$BUILD/imgbuild" "$library" <<'P'
import sys
program, library = (open(f, "rb").read() for f in sys.argv[1:])
sys.stdout.buffer.write(library if library in program else b"")
P
) "$library"
check "imgbuild has it in itself" $?
exit $rc
