#!/bin/sh
# Does once, here, what systemd would do at the first boot of every node because /usr is newer than /etc and /var:
# linker cache, journal catalog, users. Saves seconds of each first boot.
set -eu
systemctl set-default multi-user.target
systemd-sysusers
ldconfig
touch /etc/.updated /var/.updated
# systemd before 243 has it in another order each time: there the first boot makes it.
version=$(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
if [ "$version" -ge 243 ]; then
        journalctl --update-catalog
else
        rm -f /var/lib/systemd/catalog/database /var/.updated
fi
# Debian's ssh has a unit of its own that makes host keys, from release 13 on; Ubuntu 24.04's has none, and cloud-init makes them.
if [ -e /usr/lib/systemd/system/sshd-keygen.service ]; then systemctl enable sshd-keygen.service; fi
