#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The overlay monitoring's program for Slurm's figures runs as root, in a folder that is the exporter's: what that user puts there leads it nowhere.
set -u
rc=0
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; find "$T" -ls | sed 's/^/# /'; rc=1; fi; }
program=$TOP/overlays/monitoring/files/usr/lib/monitoring/slurm-textfile
mkdir "$T/bin" "$T/folder"
printf '#!/bin/sh\ncase $* in *%%T*) echo idle 2 ;; *) echo 1/3/0/4 ;; esac\n' >"$T/bin/sinfo"
printf '#!/bin/sh\necho RUNNING 1\n' >"$T/bin/squeue"
chmod +x "$T/bin/"*
run() { umask 077; PATH=$T/bin:$PATH "$program" "$T/folder"; }
good() { [[ $(stat -c %a "$T/folder/slurm.prom") == 644 ]] && grep -qx 'slurm_up 1' "$T/folder/slurm.prom" && grep -qx 'slurm_nodes{state="idle"} 2' "$T/folder/slurm.prom" && [[ ! -L $T/folder/slurm.prom ]]; }

run && good
check "figures are written" $?
run && good
check "and once more" $?
echo secret >"$T/roots"
chmod 0600 "$T/roots"
ln -s "$T/roots" "$T/folder/.slurm.new"
run && good
check "with a link in the way, too" $?
[[ $(cat "$T/roots") == secret && $(stat -c %a "$T/roots") == 600 ]]
check "which is not followed" $?
rm -f "$T/folder/slurm.prom" && ln -s "$T/roots" "$T/folder/slurm.prom"
run && good && [[ $(cat "$T/roots") == secret ]]
check "nor is one under the file's own name" $?
exit $rc
