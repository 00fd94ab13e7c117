#!/bin/sh
# What Enroot's GPU hook calls: the package has it, the toolkit's source does not.
set -eu
command -v nvidia-container-cli >/dev/null || {
        echo "nvidia-container-cli is missing: is nvidia-container-toolkit installed from the vendor's repository?"
        exit 1
}
