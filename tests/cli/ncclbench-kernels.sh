#!/bin/bash
# The GPU kernels that are checked in are those of the source, and every tool that is here takes them.
set -u
. "$TOP/tests/cli/ncclbench.bash"
room=firstboot/ncclbench
made_by=$(sed -n '1s/.*clang \([0-9]*\);.*/\1/p' $room/kernels.ptx.inc)
[[ -n $made_by ]]
check "kernels.ptx.inc says which compiler made it" $?

clang=
for c in clang-"$made_by" clang; do
        command -v "$c" >/dev/null && [[ $("$c" -dumpversion | cut -d. -f1) == "$made_by" ]] &&
                "$c" -print-targets 2>/dev/null | grep -q nvptx64 && clang=$c && break
done
if [[ -n $clang ]]; then
        CLANG=$clang $room/ptx.sh >"$work/ptx.inc" && cmp -s "$work/ptx.inc" $room/kernels.ptx.inc
        check "kernels.ptx.inc is what kernels.cu compiles to" $?
else
        echo "skip - kernels.ptx.inc is what kernels.cu compiles to: clang $made_by with the nvptx64 target is missing"
fi

# The text as the program has it.
grep '^"' $room/kernels.ptx.inc | sed -e 's/^"//' -e 's/\\n"$//' -e 's/\\"/"/g' >"$work/kernels.ptx"
grep -q '^\.version 6\.0$' "$work/kernels.ptx" && grep -q '^\.target sm_70$' "$work/kernels.ptx"
check "the kernels load on every driver since CUDA 9 and every GPU since V100" $?
if command -v ptxas >/dev/null; then
        for arch in sm_75 sm_80 sm_90 sm_100; do
                ptxas -arch=$arch -o "$work/cubin" "$work/kernels.ptx" && [[ -s $work/cubin ]]
                check "ptxas compiles the kernels for $arch" $?
        done
else
        echo "skip - ptxas compiles the kernels: ptxas (CUDA toolkit) is missing"
fi
if command -v nvcc >/dev/null; then
        # Names and parameters, which the host relies on; the code differs from one compiler to another.
        signature() { tr -d ' \t\n' <"$1" | grep -oE '\.entryncclbench_[a-z]+\([^)]*\)' | sort; }
        nvcc -ptx -o "$work/nvcc.ptx" $room/kernels.cu && [[ -n $(signature "$work/nvcc.ptx") ]] &&
                [[ $(signature "$work/nvcc.ptx") == "$(signature "$work/kernels.ptx")" ]]
        check "nvcc's kernels have the same names and parameters" $?
else
        echo "skip - nvcc's kernels have the same names and parameters: nvcc (CUDA toolkit) is missing"
fi
exit $rc
