#!/bin/bash
# Bad luck in every stage: kill -9, Ctrl-C, a full disk, two builds at once. Nothing may stay mounted or running, and the
# next build simply works.
#
# lane: compute
# after: e2e/10
# namespaces: none
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/small.bash"
small_project
small lock >"$W/log" 2>&1 && small shell --stage base -- /bin/true >>"$W/log" 2>&1 # downloads, once
stages=$("$IMGBUILD" plan "$W/images/small.json" --cache "$CACHE" --offline --json |
        python3 -c 'import json,sys; print(*[s["id"] for s in json.load(sys.stdin)["stages"]])')
[[ -n $stages ]]
check "the plan lists stages" $?

new_store() {
        STORE=$W/$1
        rm -rf "$STORE" && mkdir -p "$STORE"
        blobs_of "$W/images/small.lock.json" "$STORE" && small_tools "$STORE"
}

# drop STAGE: that stage and all later ones are to be made again.
drop() {
        local i=0 found= digests
        read -ra digests <<<"$(small_digests)"
        for s in $stages; do
                [[ $s == "$1" ]] && found=1
                [[ -n $found ]] && rm -rf "$STORE/layers/${digests[i]:0:32}"
                i=$((i + 1))
        done
}

# gone: no process of a sandbox of the store is left after some seconds (more, where a machine has the processors), and nothing is
# mounted: a namespace's mounts go with its last process, which may be one that the kernel is still ending.
gone() {
        for _ in $(seq 100); do
                grep -qs "$STORE" /proc/[0-9]*/cmdline /proc/[0-9]*/mountinfo || return 0
                sleep 0.1
        done
        grep -ls "$STORE" /proc/[0-9]*/cmdline /proc/[0-9]*/mountinfo | sed 's/^/# /'
        return 1
}

# until_stage STAGE: starts a build and returns once that stage runs, with $pid.
until_stage() {
        local line
        rm -f "$W/fifo" && mkfifo "$W/fifo"
        "$IMGBUILD" build "$W/images/small.json" --cache "$STORE" --offline --progress plain >"$W/fifo" 2>&1 &
        pid=$!
        exec 3<"$W/fifo"
        while read -r line <&3; do
                [[ $line == "> $1" ]] && return 0
        done
        return 1
}

for signal in KILL INT; do
        new_store "kill-$signal"
        for stage in $stages; do
                drop "$stage" # a stage of some milliseconds may have been over before the signal came
                until_stage "$stage"
                s=$?
                [[ $stage == finalize || $stage == services ]] || sleep "0.0$((RANDOM % 10))"
                kill -$signal "$pid" 2>/dev/null
                wait "$pid" 2>/dev/null
                code=$?
                exec 3<&-
                gone && [[ $s -eq 0 ]]
                check "$signal in stage $stage: no mount and no process stays" $?
                if [[ $signal == INT ]]; then
                        [[ ($code -eq 130 || $code -eq 0) && -z $(ls -A "$STORE/work") ]]
                        check "INT in stage $stage: exit code 130, no scratch stays" $?
                fi
        done
        small build --offline >"$W/out" 2>&1 && [[ -z $(ls -A "$STORE/work") ]]
        check "$signal in every stage: the next build works and sweeps" $?
        rm -rf "$STORE"
done

new_store both
small build --offline >"$W/out1" 2>&1 &
one=$!
small build --offline >"$W/out2" 2>&1 &
two=$!
wait $one && wait $two
check "two builds at once both succeed" $?
[[ $(cat "$W/out1" "$W/out2" | grep -c '^> base') -eq 1 && $(cat "$W/out1" "$W/out2" | grep -c '^> finalize') -eq 1 ]]
check "and make each layer once" $?
rm -rf "$STORE"

# full STAGE: with no room left when that stage begins. In a mount namespace of the test's own.
full_disk() {
        STORE=$W/full
        mkdir -p "$STORE"
        mount -t tmpfs -o size=1g imgbuild-test "$STORE" || return 77
        blobs_of "$W/images/small.lock.json" "$STORE" && small_tools "$STORE"
        local stage used
        for stage in $stages; do
                used=$(df --output=used -k "$STORE" | tail -n 1)
                mount -o remount,size=${used}k "$STORE"
                small shell --offline --stage "$stage" -- /bin/true >"$W/out" 2>&1
                code=$?
                [[ $code -eq 5 ]] && grep -qi 'full\|no space' "$W/out"
                check "a full disk in stage $stage: exit code 5, and said so" $?
                [[ $code -eq 5 ]] || tail -n 5 "$W/out"
                mount -o remount,size=1g "$STORE"
                [[ -z $(ls -A "$STORE/work" 2>/dev/null) ]] && small shell --offline --stage "$stage" -- /bin/true >"$W/out" 2>&1
                check "with room again stage $stage is made" $?
        done
        return $rc
}
export -f full_disk check small small_tools blobs_of
export W CACHE IMGBUILD stages rc
unshare -m bash -c full_disk
s=$?
[[ $s -eq 77 ]] && echo "skip - a full disk: cannot mount a tmpfs"
[[ $s -eq 1 ]] && rc=1
exit $rc
