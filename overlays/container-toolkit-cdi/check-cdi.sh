#!/bin/sh
# The toolkit's programs are there and run.
set -eu
fail() { echo "$1"; exit 1; }
for program in nvidia-ctk nvidia-cdi-hook; do
        command -v "$program" >/dev/null || fail "$program is missing: overlay container-toolkit, container-toolkit-source or container-toolkit-el brings it"
done
nvidia-ctk --version >/dev/null || fail "nvidia-ctk does not run"
