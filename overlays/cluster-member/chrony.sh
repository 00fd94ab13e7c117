#!/bin/sh
# EL's chronyd has its file in another place than Debian's, and reads no folder of sources.
set -eu
[ ! -e /etc/chrony.conf ] || grep -qE '^sourcedir +/etc/chrony/sources\.d' /etc/chrony.conf || echo 'sourcedir /etc/chrony/sources.d' >>/etc/chrony.conf
