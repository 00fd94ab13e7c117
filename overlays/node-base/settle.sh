#!/bin/sh
# Does once, here, what systemd would do at the first boot of every node because /usr is newer than /etc and /var:
# linker cache, journal catalog, users. Saves seconds of each first boot.
set -eu
systemctl set-default multi-user.target
systemd-sysusers
ldconfig
journalctl --update-catalog
touch /etc/.updated /var/.updated
# Debian's ssh has a unit of its own that makes host keys, from release 13 on; Ubuntu 24.04's has none, and cloud-init makes them.
if [ -e /usr/lib/systemd/system/sshd-keygen.service ]; then systemctl enable sshd-keygen.service; fi
