#!/bin/sh
# pam_mkhomedir is in libpam-modules already; it is only not switched on.
set -eu
pam-auth-update --package --enable mkhomedir
grep -q pam_mkhomedir.so /etc/pam.d/common-session
