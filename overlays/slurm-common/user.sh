#!/bin/sh
# Before other overlays' scripts, which may want the user.
set -eu
systemd-sysusers /usr/lib/sysusers.d/slurm-common.conf
systemd-tmpfiles --create /usr/lib/tmpfiles.d/slurm-common.conf
