#!/bin/sh
# The head is a source of time: munge refuses what comes from a clock that is minutes off.
set -eu
file=/etc/chrony/chrony.conf
[ ! -e /etc/chrony.conf ] || file=/etc/chrony.conf
grep -qE '^sourcedir +/etc/chrony/sources\.d' "$file" || { echo "$file does not read /etc/chrony/sources.d: the node would not take the head's time"; exit 1; }
grep -q '^server head ' /etc/chrony/sources.d/cluster.sources || { echo "/etc/chrony/sources.d/cluster.sources does not name the head"; exit 1; }
