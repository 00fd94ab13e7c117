#!/bin/bash
# A power cut, and a full disk, at each write of the verbs that write what people keep: what was there is there, or what was to come, whole;
# a full disk is told once, and how; the next run goes on, and leaves nothing of the one before. Builds are killed in tests/e2e/16-kill.sh and
# 17-kill-disk.sh, OUT/NAME at each call in unit/builder/disk/test-place.
set -u
source "$TOP/tests/fixtures/archive.bash"
node_build=$TOP/$BUILD/firstboot
publish_base
recipe r '"packages": ["tool"]'
host_tools
export ASAN_OPTIONS=verify_asan_link_order=0
K=$T/kept # what a verb writes to

# stopped HOW N COMMAND…: the exit code, in $rc; whether it came so far, in $came.
stopped() {
        rm -f "$T/mark"
        rc=0 came=
        STOP_BELOW=$K STOP_HOW=$1 STOP_AT=$2 STOP_MARK=$T/mark LD_PRELOAD=$TOP/$BUILD/tests/fixtures/stop-at.so \
                "${@:3}" >"$T/out" 2>&1 </dev/null || rc=$?
        if [[ -e $T/mark ]]; then came=yes; fi
}
wrong() { echo "$*" >>"$T/wrong"; sed 's/^/        /' "$T/out" >>"$T/wrong"; }
# told CODE: ended with it, and "No space left" was said in one line.
told() { [[ $rc -eq $1 && $(grep -c 'No space left on device' "$T/out") -eq 1 ]]; }

# each NAME CODE COMMAND…: with functions `before` (makes what is there at first), `sound` (it is whole, old or new) and `after` (it is new, and
# nothing else is there). CODE is what a full disk ends with; where $room is set, a write to it says how much it takes, in these words.
room=
each() {
        local name=$1 code=$2 how n said
        shift 2
        for how in kill full; do
                : >"$T/wrong"
                said=
                for ((n = 1; n < 400; n++)); do
                        rm -rf "$K" && mkdir "$K" && before
                        stopped $how $n "$@" 2>/dev/null
                        [[ -n $came ]] || break
                        [[ $how == full || $rc -ne 0 ]] || wrong "killed at write $n, and all is well?"
                        [[ $how == kill ]] || told "$code" || wrong "full at write $n: exit code $rc"
                        [[ -z $room ]] || ! grep -q "$room.*No space left on device" "$T/out" || said=yes
                        sound || wrong "$how at write $n: $(ls -A "$K")"
                        rc=0
                        "$@" >"$T/out" 2>&1 </dev/null || rc=$?
                        [[ $rc -eq 0 ]] || wrong "$how at write $n: the next run ends with $rc"
                        after || wrong "$how at write $n, after the next run: $(ls -AR "$K")"
                done
                [[ $how == kill || -z $room || -n $said ]] || wrong "no message says$room"
                [[ $rc -eq 0 && $n -gt 2 ]] || wrong "it was to come to its end, after $n writes"
                cp "$T/wrong" "$T/out"
                check "$name: $how at each of $((n - 1)) writes" test ! -s "$T/wrong"
        done
}
export LC_ALL=C
only() { [[ $(ls -A "$K" | tr '\n' ' ') == "$1 " ]]; } # NAMES

# --- lock ----------------------------------------------------------------------------------------------------------------------
cp "$T/images/r.json" "$T/r.json"
"$IMGBUILD" lock "$T/r.json" --cache="$T/cache" --progress=plain --mirror="$URL/debian" >"$T/out" 2>&1
before() { cp "$T/r.json" "$T/r.lock.json" "$K/"; sed -i 's/"libtool"/"libtoo"/' "$K/r.lock.json"; cp "$K/r.lock.json" "$T/old"; }
sound() { cmp -s "$K/r.lock.json" "$T/old" || cmp -s "$K/r.lock.json" "$T/r.lock.json"; }
after() { only 'r.json r.lock.json' && cmp -s "$K/r.lock.json" "$T/r.lock.json"; }
each lock 5 "$IMGBUILD" lock "$K/r.json" --update --cache="$T/cache" --progress=plain --mirror="$URL/debian"

# --- cache export, cache import ------------------------------------------------------------------------------------------------
cp "$T"/images/tools.* "$T/"
"$IMGBUILD" cache export "$T/r.json" "$T/carried.tar" --cache="$T/cache" --mirror="$URL/debian" >"$T/out" 2>&1
before() { echo mine >"$K/r.tar.new"; cp "$T"/r.json "$T"/r.lock.json "$T"/tools.* "$K/"; }
sound() { [[ ! -e $K/r.tar ]] || cmp -s "$K/r.tar" "$T/carried.tar"; }
after() { only 'r.json r.lock.json r.tar r.tar.new tools.json tools.lock.json' && cmp -s "$K/r.tar" "$T/carried.tar" && [[ $(<"$K/r.tar.new") == mine ]]; }
each "cache export" 5 "$IMGBUILD" cache export "$K/r.json" "$K/r.tar" --cache="$T/cache" --mirror="$URL/debian"

# Of two downloads, which is as many places as of a hundred.
python3 - "$T/carried.tar" <<'P'
import io, sys, tarfile
with tarfile.open(sys.argv[1]) as whole:
    members = [(m, whole.extractfile(m).read()) for m in whole.getmembers()[:2]]
with tarfile.open(sys.argv[1], "w", format=tarfile.GNU_FORMAT) as part:
    for m, data in members:
        part.addfile(m, io.BytesIO(data))
P
blobs() { (cd "$K/store/blobs/sha256" 2>/dev/null && find . -type f -printf '%f  %P\n' | sort -k 2); }
before() { :; }
sound() { [[ -z $(blobs) ]] || (cd "$K/store/blobs/sha256" && blobs | sha256sum --quiet -c >/dev/null); }
after() { sound && [[ $(blobs | wc -l) -eq $(tar -tf "$T/carried.tar" | wc -l) && -z $(find "$K" -name '.imgbuild-draft*' -o -path '*/work/*') ]]; }
each "cache import" 5 "$IMGBUILD" cache import "$T/carried.tar" --cache="$K/store"

# --- sign ----------------------------------------------------------------------------------------------------------------------
if command -v minisign >/dev/null; then
        mkdir "$T/x"
        echo disk >"$T/x/x.raw"
        sum=$(sha256sum <"$T/x/x.raw" | cut -d' ' -f1)
        printf '%s  x.raw\n' "$sum" >"$T/x/SHA256SUMS"
        printf '{"name": "x", "identity": "aa", "files": [{"name": "x.raw", "size": 5, "sha256": "%s"}]}' "$sum" >"$T/x/manifest.json"
        minisign -G -W -p "$T/key.pub" -s "$T/secret" >/dev/null
        "$IMGBUILD" sign "$T/x" --key "$T/secret" >"$T/out" 2>&1
        echo exported >"$T/x/x.vhd"
        before() { cp -r "$T/x" "$K/"; }
        sound() { (cd "$K/x" && { [[ ! -e release.sha256 ]] || sha256sum --quiet -c release.sha256; } && { [[ ! -e release.sha256.minisig ]] || minisign -V -q -p "$T/key.pub" -m release.sha256; }) >/dev/null 2>&1; }
        after() { only x && [[ $(ls -A "$K/x" | tr '\n' ' ') == 'SHA256SUMS manifest.json release.sha256 release.sha256.minisig x.raw x.vhd ' ]] && "$IMGBUILD" verify "$K/x" --key "$T/key.pub" >"$T/out" 2>&1; }
        each sign 5 "$IMGBUILD" sign "$K/x" x.vhd --key "$T/secret"
else
        echo "skip - sign: minisign is missing"
fi

# --- export --delta, apply ----------------------------------------------------------------------------------------------------
for disk in old new; do
        truncate -s 4M "$T/$disk.raw"
        printf 'label: gpt\nstart=2048, size=2048\n' | sfdisk -q "$T/$disk.raw"
        head -c 30000 /dev/urandom | dd of="$T/$disk.raw" bs=4096 seek=100 conv=notrunc status=none
done
"$IMGBUILD" export "$T/new.raw" --delta "$T/old.raw" --cache="$T/cache" >"$T/out" 2>&1
before() { echo mine >"$K/x.delta"; echo mine >"$K/new.raw"; }
sound() { [[ $(<"$K/x.delta") == mine ]] || cmp -s "$K/x.delta" "$T/new.raw.delta"; } 2>/dev/null
after() { only 'new.raw x.delta' && cmp -s "$K/x.delta" "$T/new.raw.delta"; }
room=' takes up to '
each "export --delta" 5 "$IMGBUILD" export "$T/new.raw" --delta "$T/old.raw" -o "$K/x.delta" --force --cache="$T/cache"
sound() { [[ $(<"$K/new.raw") == mine ]] || cmp -s "$K/new.raw" "$T/new.raw"; } 2>/dev/null
after() { only 'new.raw x.delta' && cmp -s "$K/new.raw" "$T/new.raw"; }
each apply 5 "$IMGBUILD" apply "$T/new.raw.delta" "$T/old.raw" -o "$K/new.raw" --raw --force
room=

# --- init ----------------------------------------------------------------------------------------------------------------------
"$IMGBUILD" init "$T/project" >"$T/out" 2>&1
whole() { diff -r "$T/project" "$K/site" >/dev/null; }
before() { :; }
sound() { [[ ! -e $K/site ]] || whole; }
after() { only site && whole; }
each "init of a new folder" 5 "$IMGBUILD" init "$K/site"
before() { mkdir "$K/site"; }
sound() { [[ -z $(diff -r "$T/project" "$K/site" | grep -v -e "^Only in $T/project" -e "^Only in $K/site: .imgbuild-init") ]]; }
each "init in an empty folder" 5 "$IMGBUILD" init "$K/site"

# --- config set ----------------------------------------------------------------------------------------------------------------
own=etc/firstboot/conf.d/90-firstbootctl.json
before() { mkdir -p "$K"/{etc/firstboot/conf.d,run/firstboot} && echo '{ "scratch": { "disks": 2 } }' >"$K/$own"; }
has() { [[ $(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["scratch"]["disks"])' "$K/$own") == "$1" ]]; }
sound() { has 2 || has 4; }
after() { [[ $(ls -A "$K/etc/firstboot/conf.d") == 90-firstbootctl.json ]] && has 4; }
FIRSTBOOT_ROOT=$K each "config set" 1 "$node_build/firstbootctl" config set --no-rerun scratch.disks 4
