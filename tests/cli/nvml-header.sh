#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Our declarations of NVML are those of NVIDIA's own header: of the machine's CUDA toolkit, else of the wheel on PyPI, fetched once.
# lane: wait
set -u
cd "$TOP" || exit 1
test=$BUILD/tests/unit/firstboot/steps/gpu/test-nvml
cache=$BUILD/tests/nvml-header
wheel=nvidia-nvml-dev==13.5.37
sum=7394fcbefa9ba537e8238cbb1caa4cd2db6bbfbff208d217a8a884947113ae6d

if [[ -z ${NVML_H:-} && ! -e /usr/include/nvml.h ]] && ! compgen -G '/usr/local/cuda*/include/nvml.h' >/dev/null; then
        export NVML_H=$(realpath -m "$cache/nvidia/cu13/include/nvml.h")
        if [[ ! -e $NVML_H ]]; then
                mkdir -p "$cache"
                echo "$wheel --hash=sha256:$sum" >"$cache/requirements"
                timeout 120 python3 -m pip download -q --no-deps --only-binary=:all: --platform manylinux2014_x86_64 --require-hashes \
                        -r "$cache/requirements" -d "$cache" >"$cache/log" 2>&1 ||
                        { echo "no CUDA toolkit, and $wheel cannot be fetched: $(tail -n 1 "$cache/log")"; exit 77; }
                python3 -m zipfile -e "$cache"/nvidia_nvml_dev-*.whl "$cache" || exit 1
        fi
fi
CMOCKA_TEST_FILTER='*header*' "$test" >"$cache.log" 2>&1
grep -qE '^\[ +OK \] .*header' "$cache.log" && ! grep -q 'nvml.h is missing' "$cache.log"
status=$?
[[ $status -eq 0 ]] && echo "ok - our declarations are those of nvml.h" || { echo "not ok - our declarations are those of nvml.h"; tail "$cache.log"; }
exit $status
