#!/bin/sh
# dpkg.cfg.d/ keeps dpkg from unpacking these; here goes what scripts made, or came otherwise than through dpkg.
# Copyright files and licences stay: packages may not be passed on without them. Character maps and locale sources stay too, so that
# a site can still make its locale.
set -eu
rm -rf /usr/share/man /usr/share/info /usr/share/lintian /usr/share/bug /usr/share/doc-base
if [ -d /usr/share/doc ]; then
        find /usr/share/doc -mindepth 2 ! -name copyright ! -name 'LICEN[CS]E*' ! -name 'COPYING*' ! -type d -delete
        find /usr/share/doc -mindepth 1 -type d -empty -delete
fi
[ ! -d /usr/share/locale ] || find /usr/share/locale -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
# The same for what rpm installs later.
if [ -d /etc/rpm ] && [ ! -d /var/lib/dpkg ]; then echo '%_excludedocs 1' >/etc/rpm/macros.slim; fi
