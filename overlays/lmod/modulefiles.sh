#!/bin/bash
# Module files of what this image has, by the packages' versions, and of each Python environment that brought none of its own.
set -euo pipefail
to=/opt/modulefiles
install -d -m 0755 "$to"

# EL's Open MPI asks for modules of any kind: where dnf took environment-modules for it, login shells would have that.
profile=/usr/share/lmod/lmod/init/profile
if [[ -e $profile ]] && alternatives --display modules.sh >/dev/null 2>&1; then alternatives --set modules.sh "$profile"; fi

# version_of DEBIAN EL: patterns; of the first installed package, without the distribution's part, nothing where there is none.
version_of() {
        if command -v dpkg-query >/dev/null; then
                { dpkg-query -W -f '${db:Status-Abbrev}${Version}\n' "$1" 2>/dev/null || true; } | sed -n 's/^ii *\([0-9]*:\)\{0,1\}\([0-9]\+\(\.[0-9]\+\)*\).*/\2/p' | head -n 1
        else
                # shellcheck disable=SC2254 # a pattern
                rpm -qa --queryformat '%{NAME} %{VERSION}\n' | sort | while read -r name version; do case $name in $2) echo "$version" && break ;; esac; done
        fi
}
module() { # NAME VERSION TEXT [LINE…]
        [[ -n $2 && ! -e $to/$1.lua && ! -e $to/$1/$2.lua ]] || return 0
        install -d -m 0755 "$to/$1"
        printf '%s\n' "whatis(\"$3 $2: the image's own, there without this module too\")" "${@:4}" >"$to/$1/$2.lua"
        chmod 0644 "$to/$1/$2.lua"
}

cuda=$(version_of 'libcudart[0-9]*' 'cuda-cudart-[0-9]*') nccl=$(version_of libnccl2 libnccl)
module cuda "$cuda" 'The CUDA runtime library' "setenv(\"CUDA_VERSION\", \"$cuda\")"
module nccl "$nccl" NCCL "setenv(\"NCCL_VERSION\", \"$nccl\")"
mpi=/usr
[[ ! -d /usr/lib64/openmpi/bin ]] || mpi=/usr/lib64/openmpi
module openmpi "$(version_of openmpi-bin openmpi)" 'Open MPI' "setenv(\"MPI_HOME\", \"$mpi\")"
module python "$(version_of python3 python3)" Python

for config in /opt/*/*/pyvenv.cfg; do
        [[ -e $config ]] || continue
        environment=${config%/pyvenv.cfg}
        grep -qsrF "\"$environment/bin\"" "$to" && continue
        name=${environment##*/}
        [[ ! -e $to/$name && ! -e $to/$name.lua ]] || { echo "$environment has no module: /opt/modulefiles has another $name"; continue; }
        printf '%s\n' "whatis(\"The Python environment $environment\")" 'family("python_environment")' "prepend_path(\"PATH\", \"$environment/bin\")" \
                "setenv(\"VIRTUAL_ENV\", \"$environment\")" >"$to/$name.lua"
        chmod 0644 "$to/$name.lua"
done
