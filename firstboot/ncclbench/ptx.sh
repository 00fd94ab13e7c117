#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Prints kernels.ptx.inc: the PTX of kernels.cu as lines of a C string. `ptx.sh --raw` prints the PTX itself.
# CLANG names the compiler; the text differs a little from one major version to the next.
set -eu
cd "$(dirname "$0")"
compile() {
        "${CLANG:-clang}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 --cuda-path=/nonexistent -nocudainc \
                -nocudalib -Xclang -target-feature -Xclang +ptx60 -std=c++17 -O3 -S -o - kernels.cu
}
if [ "${1:-}" = --raw ]; then compile; exit; fi
printf '/* Made by `make ptx` from kernels.cu with clang %s; do not edit. */\n' \
        "$("${CLANG:-clang}" -dumpversion | cut -d. -f1)"
compile | sed -e 's/[[:space:]]*$//' -e '/^$/d' -e '/^\/\//d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/'
