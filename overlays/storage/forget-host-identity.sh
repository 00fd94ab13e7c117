#!/bin/sh
# nvme-cli makes an NVMe-over-Fabrics host id when it is installed. Every node of this image would share it.
set -eu
rm -f /etc/nvme/hostnqn /etc/nvme/hostid
