#!/bin/bash
# ncclbench builds and installs by itself, from a copy of firstboot/ alone, without any CUDA or NCCL.
set -u
. "$TOP/tests/cli/ncclbench.bash"

mkdir -p "$work/source"
cp -r firstboot "$work/source/"
# A PATH without the CUDA toolkit, and a compiler that is told of no CUDA folders.
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin make -s -C "$work/source/firstboot/ncclbench" BUILD="$work/build" DESTDIR="$work/root" \
        install >"$work/log" 2>&1
status=$?
[[ $status -eq 0 && -x $work/root/usr/bin/ncclbench ]]
check "make -C firstboot/ncclbench install" $?
[[ $rc -eq 0 ]] || tail "$work/log"
! grep -rhoE '#include *[<"](cuda|nccl)[^>"]*[>"]' "$work/source/firstboot/ncclbench" | grep -v '"ncclbench/' | grep .
check "no CUDA or NCCL header is included" $?
needed=$(readelf -d "$work/root/usr/bin/ncclbench" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
! grep -qE 'cuda|nccl|nvidia' <<<"$needed"
check "no CUDA or NCCL library is linked ($needed)" $?
env -i PATH=/usr/bin:/bin "$work/root/usr/bin/ncclbench" --version | grep -q '^ncclbench [0-9]'
check "--version" $?
! grep -rn 'builder/' "$work/source/firstboot/ncclbench"
check "nothing of builder/ is used" $?
exit $rc
