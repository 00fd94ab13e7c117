#!/bin/bash
# The overlay apptainer's program, on a double of Apptainer that says what it was given: folders of the user's own on the scratch volume, what a user
# sets himself, NCCL's file, and a folder that is somebody else's.
set -u
rc=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out"; rc=1; fi; }
mkdir -p "$T/scratch"
cat >"$T/apptainer" <<'D'
#!/bin/sh
echo "$APPTAINER_CACHEDIR|$APPTAINER_TMPDIR|$APPTAINER_BINDPATH|$*"
D
sed "s,/usr/bin/apptainer,$T/apptainer,; s,/etc/nccl.conf \\],$T/nccl.conf ]," "$TOP/overlays/apptainer/files/usr/local/bin/apptainer" >"$T/program"
chmod 0755 "$T/apptainer" "$T/program"
call() { env -u APPTAINER_CACHEDIR -u APPTAINER_TMPDIR -u APPTAINER_BINDPATH APPTAINER_SCRATCH="$T/scratch" "${@:1:$(($# - 2))}" "$T/program" "${@: -2}" >"$T/out" 2>&1; }
own=$T/scratch/user-$(id -u)

call exec 'a b.sif'
[[ $? -eq 0 && $(cat "$T/out") == "$own/cache|$own/tmp||exec a b.sif" && -d $own/cache && -d $own/tmp && $(stat -c %a "$own") == 700 ]]
check "layers and what is unpacked are in a folder of the user's own, on the scratch volume" $?
call APPTAINER_CACHEDIR="$T/mine" APPTAINER_TMPDIR="$T/mine/tmp" pull x
[[ $(cat "$T/out") == "$T/mine|$T/mine/tmp||pull x" ]]
check "what a user sets stays" $?
touch "$T/nccl.conf"
call exec x && [[ $(cat "$T/out") == *'|/etc/nccl.conf:/etc/nccl.conf:ro|exec x' ]]
check "NCCL's file is inside, where the node has one" $?
call APPTAINER_BINDPATH=/data exec x && [[ $(cat "$T/out") == *'|/data,/etc/nccl.conf:/etc/nccl.conf:ro|exec x' ]]
check "… beside what the user binds" $?
rm "$T/nccl.conf"
call APPTAINER_SCRATCH="$T/none" exec x && [[ $(cat "$T/out") == '|||exec x' && ! -e $T/none ]]
check "without a scratch volume Apptainer has its own folders" $?
if [[ $EUID -eq 0 ]]; then
        chown 12345 "$own"
        call exec x && [[ $(cat "$T/out") == '|||exec x' ]]
        check "a folder of the user's name that is somebody else's is left alone" $?
fi
rm -rf "$own" && mkdir "$T/elsewhere" && ln -s ../elsewhere "$own"
call exec x && [[ $(cat "$T/out") == '|||exec x' && -z $(ls "$T/elsewhere") ]]
check "… and so is a link of that name" $?
rm "$own"
printf '#!/bin/sh\nexit 7\n' >"$T/apptainer"
call exec x
[[ $? -eq 7 ]]
check "the exit code is Apptainer's" $?
exit $rc
