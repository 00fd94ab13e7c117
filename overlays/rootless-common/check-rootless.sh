#!/bin/sh
# Users can be given further ids, cgroups and a session bus; nothing but our drop-in makes their folders.
set -eu
fail() { echo "$1"; exit 1; }
for program in newuidmap newgidmap; do
        path=$(command -v "$program") || fail "$program is missing: the package uidmap has it, shadow-utils on Enterprise Linux"
        [ -u "$path" ] || [ -n "$(getcap "$path" 2>/dev/null)" ] || fail "$path is neither set-uid nor has capabilities: no user can be given his subordinate ids"
done
for program in slirp4netns pasta getent setpriv flock awk findmnt lsattr; do
        command -v "$program" >/dev/null || fail "$program is missing"
done
[ -e /usr/lib/systemd/user/dbus.socket ] || fail "users have no bus of their own: the package dbus-user-session has it, dbus-common on Enterprise Linux"
/usr/lib/rootless/user remove 4294967294 || fail "/usr/lib/rootless/user does not run"
