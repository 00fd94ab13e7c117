#!/bin/bash
# Enroot with Debian's C library. Its release links musl in and fetches that, kernel headers and makeself as submodules, which an
# archive of a tag does not hold; without makeself there is no `enroot bundle`.
set -euo pipefail
cd "$ARTIFACTS/enroot"
paths=(prefix= exec_prefix=/usr datarootdir=/usr/share)

make -C deps FORCE_GLIBC=1 libbsd
# Without DESTDIR, whose path would go into the programs.
env -u DESTDIR make -j"$JOBS" -o deps FORCE_GLIBC=1 DEPS= "${paths[@]}" all
make -o deps FORCE_GLIBC=1 DEPS= "${paths[@]}" DESTDIR="$DESTDIR" install

# As the release's package has it.
mkdir -p "$DESTDIR/etc/apparmor.d"
mv "$DESTDIR/usr/share/enroot/apparmor.profile" "$DESTDIR/etc/apparmor.d/enroot"
