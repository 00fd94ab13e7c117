#!/bin/sh
# The toolkit's programs are there, and containerd's configuration names the runtime it brought.
set -eu
for program in nvidia-ctk nvidia-container-cli nvidia-container-runtime containerd; do
        if ! command -v "$program" >/dev/null; then
                echo "$program is missing: is nvidia-container-toolkit installed from the vendor's repository?"
                exit 1
        fi
done
grep -q 'BinaryName = "/usr/bin/nvidia-container-runtime"' /etc/containerd/config.toml || {
        echo "/etc/containerd/config.toml does not name nvidia-container-runtime: a package replaced it"
        exit 1
}
