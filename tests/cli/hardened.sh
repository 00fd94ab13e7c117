#!/bin/bash
# The programs are compiled as firstboot/flags.mk says: at any address, tables read-only once they run, a guarded stack, checked buffers. What CFLAGS or
# LDFLAGS of the environment say instead is theirs.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
if [[ -n ${CFLAGS:-} || -n ${LDFLAGS:-} ]]; then echo "skip - the programs are hardened: CFLAGS or LDFLAGS are set"; exit 0; fi

lacks=
n=0
for program in "$BUILD"/imgbuild "$BUILD"/firstboot/* "$BUILD"/firstboot/ncclbench/ncclbench; do
        [[ -f $program && -x $program ]] && readelf -h "$program" >/dev/null 2>&1 || continue
        n=$((n + 1))
        header=$(readelf -hldW "$program")
        symbols=$(readelf -W --dyn-syms "$program")
        grep -q 'Type: *DYN' <<<"$header" || lacks+="$program: address"$'\n'
        grep -q 'GNU_RELRO' <<<"$header" && grep -Eq 'BIND_NOW|Flags:.* NOW' <<<"$header" || lacks+="$program: tables"$'\n'
        grep -q '__stack_chk_fail' <<<"$symbols" || lacks+="$program: stack"$'\n'
        grep -q '_chk@' <<<"$symbols" || lacks+="$program: buffers"$'\n'
done
[[ $n -ge 8 && -z $lacks ]]
check "imgbuild, the agent's programs and ncclbench are hardened" $?
[[ -z $lacks ]] || sed 's/^/# lacks /' <<<"${lacks%$'\n'}"
exit $rc
