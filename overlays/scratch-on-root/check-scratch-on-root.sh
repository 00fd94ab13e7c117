#!/bin/sh
# The step's program runs and gives a verdict; in a tree nothing is mounted, and a probe changes nothing.
set -eu
step=/usr/lib/scratch-on-root/step
verdict=$(mktemp)
trap 'rm -f "$verdict"' EXIT
if FIRSTBOOT_CHECK=1 FIRSTBOOT_RESULT=$verdict "$step" 2>/dev/null; then
        echo "$step finds something mounted at /mnt/localdisk"
        exit 1
fi
grep -q '"code": "scratch-on-root.gone"' "$verdict" || { echo "$step does not run"; exit 1; }
[ ! -e /var/lib/localdisk ] || { echo "/var/lib/localdisk is in the image"; exit 1; }
