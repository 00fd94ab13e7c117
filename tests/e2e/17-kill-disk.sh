#!/bin/bash
# kill -9 and Ctrl-C in each stage of a disk recipe that a tree has not (16-kill.sh has those): initramfs, check, disk, export, proof
# and the moment before the image gets its name. Nothing stays mounted, running or half-written, an image that was there is still
# whole, and the next build makes the bytes of one that nobody disturbed.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
project
[[ -s $RECIPES/debian-13-cpu.lock.json ]] || build debian-13-cpu --no-proof >"$E2E/log" 2>&1 || { tail -n 40 "$E2E/log"; exit 1; }
own_project

# The smallest disk there is, of debian-13-cpu's base and kernel, whose layers are in the store.
printf '{ "name": "kill", "overlays": ["slim"], "base": %s, "kernel": %s, "disk": { "formats": ["qcow2"] } }\n' \
        '{ "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] }' \
        '{ "package": "linux-image-cloud-amd64" }' >"$RECIPES/kill.json"
python3 - "$RECIPES" <<'E'
import json, sys
with open(sys.argv[1] + "/debian-13-cpu.lock.json", encoding="utf-8") as f:
    lock = json.load(f)
lock["recipe"] = "kill"
lock["stages"] = [s for s in lock["stages"] if s["id"] in ("base", "kernel")]
with open(sys.argv[1] + "/kill.lock.json", "w", encoding="utf-8") as f:
    json.dump(lock, f)
E
OUT=$E2E/images
rm -rf "$OUT" "$E2E/undisturbed"
mkdir -p "$OUT"

own=$("$IMGBUILD" plan "$RECIPES/kill.json" --cache "$CACHE" --offline --json |
        python3 -c 'import json, sys
for s in json.load(sys.stdin)["stages"]:
    if s["id"] not in ("base", "kernel"): print(s["digest"][:32])')
[[ $(wc -w <<<"$own") -ge 3 ]]
check "the recipe's own layers begin at its initramfs" $?
drop() { local l; for l in $own; do rm -rf "$CACHE/layers/$l"; done; }

# What is in the image, and in the layers that it is made of.
sums() { # OUT
        (cd "$1/kill" && sha256sum kill.qcow2 && grep -v kill.qcow2 SHA256SUMS)
        local l
        for l in $own; do (cd "$CACHE/layers/$l/tree" && find . -printf '%p %y %m %U:%G %T@ %l\n' | sort && find . -type f -exec sha256sum {} + | sort); done | sha256sum
}

drop
OUT=$E2E/undisturbed build kill --offline --no-proof >"$E2E/log" 2>&1
s=$?
check "a build that nobody disturbs" $s
[[ $s -eq 0 ]] || { tail -n 40 "$E2E/log"; exit 1; }
wanted=$(sums "$E2E/undisturbed")

# The last moment before the image gets its name is told by the program itself: when it writes the draft out to disk.
gcc -shared -fPIC -x c -o "$E2E/commit.so" - <<'E'
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int syncfs(int fd) {
        char link[64], path[PATH_MAX] = "", *signal = getenv("TEST_SIGNAL");
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (signal && readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "/.kill.new"))
                raise(atoi(signal));
        return (int) syscall(SYS_syncfs, fd);
}
E
check "the moment of the commit can be met" $?

# running NAMES: what runs of these programs in this script's namespace, in whatever sandbox.
running() { cat /proc/[0-9]*/comm 2>/dev/null | grep -E "^($1)"; }

# nothing_left: the sandboxes and the appliance end with the build, at once or, on a busy machine, soon.
nothing_left() {
        for _ in $(seq 600); do
                running 'imgbuild|bwrap|qemu|supermin|mkinitramfs|mke2fs' >"$E2E/left" || break
                sleep 0.1
        done
        sed 's/^/# still running: /' "$E2E/left"
        [[ ! -s $E2E/left ]] && no_leftovers
}

# disturb SIGNAL STAGE: a build gets the signal in that stage, with all that its process group is, as on a terminal. Sets $code, and
# $met where the build did not come further than that stage.
declare -A moment=([initramfs]=mkinitramfs [disk]=mke2fs [export]=qemu-img [proof]=qemu-system)
declare -A following=([initramfs]=files:slim [check]=disk [disk]=export [export]=proof)
disturb() {
        local line pid preload=
        [[ $2 != commit ]] || preload=$E2E/commit.so
        rm -f "$E2E/fifo" && mkfifo "$E2E/fifo"
        LD_PRELOAD=$preload ASAN_OPTIONS=verify_asan_link_order=0 TEST_SIGNAL=$(kill -l "$1") env --default-signal=INT,QUIT setsid \
                "$IMGBUILD" build "$RECIPES/kill.json" --cache "$CACHE" --output "$OUT" --offline --force --progress plain \
                $([[ $2 == proof ]] || echo --no-proof) >"$E2E/fifo" 2>&1 &
        pid=$!
        exec 3<"$E2E/fifo"
        : >"$E2E/said"
        while read -r line <&3; do
                echo "$line" >>"$E2E/said"
                [[ $line != "> $2" ]] || break
        done
        if [[ $2 != commit ]]; then
                while [[ -n ${moment[$2]:-} && -e /proc/$pid/exe ]] && ! running "${moment[$2]}" >/dev/null; do :; done
                kill "-$1" -- -$pid 2>/dev/null
        fi
        { cat <&3 >>"$E2E/said"; wait $pid; code=$?; } 2>/dev/null # not what bash says of a job that was killed
        exec 3<&-
        met=
        case $2 in
        commit) [[ $code -eq $((128 + $(kill -l "$1"))) ]] && met=1 ;;
        *) ! grep -qx -e "> ${following[$2]:-none}" -e '.*Baked .*' "$E2E/said" && met=1 ;;
        esac
}

files() { (cd "$OUT" && find . -type f ! -name '.*' ! -path '*/.kill.new/*' -exec sha256sum {} + | sort); }

# A stage of some milliseconds may be over before the signal is there, and the image made: then it is sent again.
disturb_surely() {
        for _ in $(seq 30); do
                before=$(files)
                disturb "$1" "$2"
                [[ -z $met ]] || return 0
        done
        cat "$E2E/said"
        return 1
}

for signal in KILL INT; do
        drop
        for stage in initramfs check disk export proof commit; do
                disturb_surely $signal $stage && [[ $code -eq $((128 + $(kill -l $signal))) ]] && nothing_left
                check "$signal in $stage: no process and no mount stays" $?
                if [[ $signal$stage == INTcommit ]]; then
                        [[ $(sums "$OUT") == "$wanted" && ! -e $OUT/.kill.new ]]
                        check "INT in commit: what was begun is finished" $?
                else
                        [[ $(files) == "$before" ]]
                        check "$signal in $stage: the folder of images is what it was" $?
                fi
                [[ $signal == INT ]] || continue
                no_scratch && [[ ! -e $OUT/.kill.new ]]
                check "INT in $stage: no scratch and no draft stays" $?
        done
        build kill --offline --no-proof >"$E2E/log" 2>&1 && no_scratch && [[ $(ls -A "$OUT" | tr '\n' ' ') == ".kill.lock kill " ]]
        check "$signal in every stage: the next build works, and sweeps" $?
        [[ $(sums "$OUT") == "$wanted" ]]
        check "$signal in every stage: image and layers have the bytes of the build that nobody disturbed" $?
done
exit $rc
