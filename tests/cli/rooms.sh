#!/bin/bash
# The rooms of builder/ and firstboot/ keep to their plan (docs/architecture.md): who may include whom, by which door, and
# no circles. The checker itself is shown to see each kind of fault.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

faults=$(python3 tests/fixtures/rooms.py "$TOP" "$TOP/$BUILD")
check "rooms include only what the plan allows, and no files run in a circle" $?
echo "$faults"

# fault NAME PATTERN: a copy of the tree, changed by the commands on standard input, has a fault that matches.
fault() {
        rm -rf "$work/tree"
        mkdir "$work/tree"
        cp -r builder firstboot "$work/tree/"
        (cd "$work/tree" && source /dev/stdin) || return
        python3 tests/fixtures/rooms.py "$work/tree" "$TOP/$BUILD" | grep -qE "$2"
        check "$1" $?
}
fault "an arrow upwards is seen" 'store/digest\.c: includes plan/plan\.h: store may not look up to plan' <<<'echo "#include \"plan/plan.h\"" >>builder/store/digest.c'
fault "another room's internal header is seen" 'boot/boot\.c: includes disk/internal\.h, which is not a door' <<<'sed -i "s/\"boot\/boot.h\"/\"disk\/internal.h\"/; s/\"boot\/internal.h\"/\"disk\/internal.h\"/" builder/boot/boot.c'
fault "a room that the plan does not know is seen" 'builder/cellar: no room' <<<'mkdir builder/cellar'
fault "a door that grew past a screen is seen" 'builder/plan/plan\.h: [0-9]+ lines' <<<'yes "/* */" | head -n 100 >>builder/plan/plan.h'
fault "a door that opens a room's inside to all is seen" 'builder/boot/boot\.h: opens boot/internal\.h to all' <<<'sed -i "s/#pragma once/#pragma once\n#include \"boot\/internal.h\"/" builder/boot/boot.h'
fault "a name that repeats its room's is seen" 'builder/disk/disk-esp\.c: the name repeats the room' <<<'mv builder/disk/esp.c builder/disk/disk-esp.c'
fault "the agent's rooms are held too" 'firstboot/contract/graph\.c: includes daemon/state\.h' <<<'echo "#include \"daemon/state.h\"" >>firstboot/contract/graph.c'
fault "the builder takes nothing of the agent's but what is shared" 'includes steps/step\.h' <<<'echo "#include \"steps/step.h\"" >>builder/boot/seed.c'

# A circle, in objects of its own.
mkdir -p "$work/circle/builder/boot"
cp builder/boot/*.c "$work/circle/builder/boot/"
for x in boot:ssh ssh:boot; do
        echo "void in_${x#*:}(void); void in_${x%:*}(void); void in_${x%:*}(void) { in_${x#*:}(); }" >"$work/x.c"
        gcc -c -o "$work/circle/builder/boot/${x%:*}.o" "$work/x.c"
done
python3 tests/fixtures/rooms.py "$TOP" "$work/circle" | grep -q 'a circle of 2 files: boot/boot -> boot/ssh'
check "a circle is seen" $?
exit $rc
